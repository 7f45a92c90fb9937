"""What Spark imports to find the source."""

from aeronpy.spark import AeronArchiveDataSource as DefaultSource

__all__ = ["DefaultSource"]
