"""Schemas of the source's tables, as Spark and as Arrow know them; both must be equal to the letter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from aeronpy.errors import ArgumentError
from aeronpy.recording.columns import Unit, all_columns, choose_columns

if TYPE_CHECKING:
    import pyarrow as pa

_SPARK_TYPES: Final[dict[str, Any]] = {
    "int16": ShortType(),
    "int32": IntegerType(),
    "int64": LongType(),
    "binary": BinaryType(),
    "string": StringType(),
    "timestamp": TimestampType(),
}
RECORDING_COLUMNS: Final = {
    "recording_id": "int64",
    "state": "string",
    "start_position": "int64",
    "stop_position": "int64",
    "readable_position": "int64",
    "start_timestamp": "timestamp",
    "stop_timestamp": "timestamp",
    "initial_term_id": "int32",
    "segment_file_length": "int32",
    "term_buffer_length": "int32",
    "mtu_length": "int32",
    "session_id": "int32",
    "stream_id": "int32",
    "stripped_channel": "string",
    "original_channel": "string",
    "source_identity": "string",
    "control_session_id": "int64",
    "correlation_id": "int64",
    "path": "string",
}


def rows_schema(unit: Unit, columns: Iterable[str]) -> StructType:
    """Spark's schema of messages or frames."""
    return _struct(choose_columns(unit, columns))


def recordings_schema() -> StructType:
    """Spark's schema of the table of recordings."""
    return _struct(RECORDING_COLUMNS)


def _struct(columns: dict[str, str]) -> StructType:
    return StructType([StructField(name, _SPARK_TYPES[kind], True) for name, kind in columns.items()])


def check_schema(schema: StructType, known: dict[str, str]) -> None:
    """Refuse a schema of the user's that asks for what there is not. Raises ArgumentError naming column and type."""
    for field in schema.fields:
        kind = known.get(field.name.lower())
        if kind is None:
            raise ArgumentError(f"the schema has a column {field.name!r}; there are {', '.join(known)}")
        if field.dataType != _SPARK_TYPES[kind]:
            raise ArgumentError(
                f"column {field.name} is {_SPARK_TYPES[kind].simpleString()}, the schema says "
                f"{field.dataType.simpleString()}: read it as it is and cast it"
            )
    if not schema.fields:
        raise ArgumentError("the schema has no column")


def known_columns(unit: Unit) -> dict[str, str]:
    """What a user's schema may ask for of messages or frames."""
    return all_columns(unit)


def arrow_schema(schema: StructType, known: dict[str, str]) -> pa.Schema:
    """The same schema for Arrow: names, order, types and nullability."""
    import pyarrow as pa

    types = {
        "int16": pa.int16(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "binary": pa.binary(),
        "string": pa.string(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    return pa.schema(
        [pa.field(field.name, types[known[field.name.lower()]], field.nullable) for field in schema.fields]
    )
