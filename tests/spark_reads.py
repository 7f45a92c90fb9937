"""The Spark source called as Spark calls it, without a JVM."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import BinaryType, IntegerType, LongType, ShortType, StringType, StructField, StructType

from aeronpy.spark import AeronArchiveDataSource
from aeronpy.spark.source import AeronArchiveReader
from tests.recording_tapes import TERM, Tape


def reader_of(directory: Path | str, ddl: str | None = None, **options: str) -> AeronArchiveReader:
    source = AeronArchiveDataSource({"path": str(directory), **options})
    return source.reader(schema=source.schema() if ddl is None else schema_of(ddl))


def schema_of(ddl: str) -> StructType:
    """``name TYPE [NOT NULL], ...``: Spark's own parser of this needs a JVM."""
    types = {"BIGINT": LongType(), "INT": IntegerType(), "SMALLINT": ShortType(), "STRING": StringType()}
    fields = [part.split() for part in ddl.split(",")]
    return StructType([StructField(name, types.get(kind, BinaryType()), not rest) for name, kind, *rest in fields])


def rows_of(reader: AeronArchiveReader) -> list[dict[str, Any]]:
    """All rows, with reader and partitions sent through pickle as Spark does."""
    rows: list[dict[str, Any]] = []
    for partition in reader.partitions() or [InputPartition(None)]:
        shipped_reader, shipped = pickle.loads(pickle.dumps((reader, partition)))
        for batch in shipped_reader.read(shipped):
            rows += batch.to_pylist()
    return rows


def messages_of(count: int = 400, size: int = 300, *, segment_length: int = TERM, **fields: Any) -> Tape:
    recording = Tape(segment_length=segment_length, **fields)
    for index in range(count):
        recording.message(bytes([index % 251]) * (size + index % 7), index)
    return recording
