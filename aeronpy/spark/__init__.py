"""Recordings as Spark rows: ``spark.read.format("aeron-archive").load("archive/")``. Needs pyspark 4.0 or later."""

from aeronpy.spark.source import AeronArchiveDataSource

__all__ = ["AeronArchiveDataSource"]
