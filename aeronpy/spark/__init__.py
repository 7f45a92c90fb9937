"""The PySpark source ``aeron-archive``: recordings of an Aeron archive as rows, one a message.

``spark.read.format("aeron-archive").load("archive/")``; Spark finds it without registration where this package is
installed. Batch reads; the options are those of `aeronpy.spark.options`.
"""

from aeronpy.spark.source import AeronArchiveDataSource

__all__ = ["AeronArchiveDataSource"]
