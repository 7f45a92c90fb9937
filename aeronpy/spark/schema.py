"""Spark's schemas of what can be read, and the exact Arrow schemas that Spark wants for them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from pyspark.sql.types import (
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from aeronpy.errors import ArgumentError
from aeronpy.recording.columns import all_columns, default_columns
from aeronpy.spark.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

# One row a catalog entry. Times are the archive's clock, in whole milliseconds.
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
_MAY_BE_NULL: Final = frozenset({"stop_timestamp", "stop_position", "readable_position", "corrupt"})
_SPARK: Final[dict[str, DataType]] = {
    "int64": LongType(),
    "int32": IntegerType(),
    "int16": ShortType(),
    "binary": BinaryType(),
    "string": StringType(),
    "timestamp": TimestampType(),
}


def known_columns(options: ReadOptions) -> dict[str, str]:
    """All columns that these options allow to ask for, and their types."""
    known = dict(RECORDING_COLUMNS) if options.table == "recordings" else all_columns(options.unit)
    if options.payload == "none":
        known.pop("payload", None)
    return known


def inferred_schema(options: ReadOptions) -> StructType:
    """The schema where the user gives none. Raises ArgumentError for an unknown column."""
    known = known_columns(options)
    if options.columns is not None:
        names = list(options.columns)
        for name in names:
            _check_known(name, known, options)
            if [each.lower() for each in names].count(name.lower()) > 1:
                raise ArgumentError(f"columns has {name!r} twice")
    elif options.table == "recordings":
        names = list(RECORDING_COLUMNS)
    else:
        names = [name for name in default_columns(options.unit) if name in known]
        if options.on_incomplete == "emit":
            names.append("corrupt")
    return StructType([StructField(name, _SPARK[known[name.lower()]]) for name in names])


def check_schema(schema: StructType, options: ReadOptions) -> None:
    """Refuse a schema, which may be the user's, that cannot be honoured to the letter; ArgumentError says why."""
    known = known_columns(options)
    names = [name.lower() for name in schema.fieldNames()]
    if not names:
        raise ArgumentError("the schema has no column: ask for one at least, recording_id is the cheapest")
    for field in schema.fields:
        _check_known(field.name, known, options)
        kind = _SPARK[known[field.name.lower()]]
        if field.dataType != kind:
            raise ArgumentError(
                f"column {field.name} is {kind.simpleString()}, the schema says {field.dataType.simpleString()}: "
                "read it as it is and cast afterwards"
            )
        if not field.nullable and field.name.lower() in _MAY_BE_NULL:
            raise ArgumentError(f"column {field.name} may be null, the schema says it may not")
        if names.count(field.name.lower()) > 1:
            raise ArgumentError(f"the schema has column {field.name} twice")
    if options.columns is not None and names != [name.lower() for name in options.columns]:
        raise ArgumentError(
            f"columns asks for {', '.join(options.columns)} and .schema() for {', '.join(names)}: give one of the two"
        )


def _check_known(name: str, known: dict[str, str], options: ReadOptions) -> None:
    if name.lower() in known:
        return
    if name.lower() == "payload" and options.payload == "none":
        raise ArgumentError("the schema asks for payload and payload=none takes it away: leave one of them out")
    what = "table=recordings" if options.table == "recordings" else f"unit={options.unit}"
    nearest = difflib.get_close_matches(name.lower(), known, 1, 0.0)[0]
    raise ArgumentError(f"no column {name!r} with {what}: did you mean {nearest!r}? There are {', '.join(known)}")


def arrow_schema(schema: StructType, options: ReadOptions) -> pa.Schema:
    """Names, order, types and nullability as Spark compares them with every batch."""
    import pyarrow as pa

    known = known_columns(options)
    types = {
        "int64": pa.int64(),
        "int32": pa.int32(),
        "int16": pa.int16(),
        "binary": pa.binary(),
        "string": pa.string(),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }
    return pa.schema(
        [pa.field(field.name, types[known[field.name.lower()]], field.nullable) for field in schema.fields]
    )
