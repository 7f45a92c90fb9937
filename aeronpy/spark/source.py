"""The Python data source ``aeron-archive``: archive directories as batch DataFrames.

Spark pickles these classes by the name of their module, so executors need this package too; the compiled module is
used where it is installed and not needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from aeronpy.errors import CorruptError
from aeronpy.recording.batch import Batch
from aeronpy.recording.catalog import NULL, RecordingDescriptor, RecordingState
from aeronpy.recording.columns import scanned_columns
from aeronpy.recording.reader import ArchiveDirectory, open_archive
from aeronpy.recording.walk import Walker
from aeronpy.spark.options import Options
from aeronpy.spark.plan import Part, is_chosen, plan
from aeronpy.spark.schema import (
    RECORDING_COLUMNS,
    arrow_schema,
    check_schema,
    known_columns,
    recordings_schema,
    rows_schema,
)

if TYPE_CHECKING:
    import pyarrow as pa


class AeronArchiveDataSource(DataSource):  # type: ignore[misc, unused-ignore]
    """``spark.read.format("aeron-archive").option(...).load(directory)``; for the options see ``options.NAMES``."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return "aeron-archive"

    def schema(self) -> StructType:
        """The columns that the options choose, all nullable."""
        options = Options.parse(self.options)
        if options.table == "recordings":
            return recordings_schema()
        return rows_schema(options.unit, options.columns)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of exactly the columns of the schema, which may be fewer, in its order."""
        options = Options.parse(self.options)
        if options.table == "recordings":
            return RecordingsReader(options, schema)
        return RowsReader(options, schema)


class TaskParts(InputPartition):  # type: ignore[misc, unused-ignore]
    """What one task reads."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        super().__init__(parts)
        self.parts = parts


class RowsReader(DataSourceReader):  # type: ignore[misc, unused-ignore]
    """Messages or frames."""

    def __init__(self, options: Options, schema: StructType) -> None:
        check_schema(schema, known_columns(options.unit))
        self._options, self._schema = options, schema

    def partitions(self) -> list[InputPartition]:
        """One for each task. Where a live recording ends is settled here, once for the DataFrame."""
        return [TaskParts(parts) for parts in plan(self._options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Arrow batches of one task. Raises CorruptError with file, position and the option that lifts it."""
        if not isinstance(partition, TaskParts):
            return  # an empty plan: Spark makes one partition of it that says nothing
        options = self._options
        schema = arrow_schema(self._schema, known_columns(options.unit))
        # positions come along: they tell how many rows there are where all that is asked for is constant
        wanted = scanned_columns(field.name.lower() for field in self._schema.fields) | {"position"}
        for part, channel, source_identity in partition.parts:
            for arrays in Walker(part, wanted, options.policy, frames=options.unit == "frame"):
                batch = Batch(part.files, options.unit, len(arrays["position"]), arrays, channel, source_identity)
                yield batch.to_arrow(schema=schema)


class RecordingsReader(DataSourceReader):  # type: ignore[misc, unused-ignore]
    """The catalogs, a row a recording of any state."""

    def __init__(self, options: Options, schema: StructType) -> None:
        check_schema(schema, RECORDING_COLUMNS)
        self._options, self._schema = options, schema

    def partitions(self) -> list[InputPartition]:
        """One for each path."""
        return [InputPartition(path) for path in self._options.paths]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one catalog."""
        import pyarrow as pa

        if partition.value is None:
            return
        schema = arrow_schema(self._schema, RECORDING_COLUMNS)
        names = [field.name for field in self._schema.fields]
        rows = [{name: row[name.lower()] for name in names} for row in self._rows(partition.value)]
        yield pa.RecordBatch.from_pylist(rows, schema=schema)

    def _rows(self, path: str) -> Iterator[dict[str, Any]]:
        options = self._options
        archive = open_archive(path, aeron_dir=options.aeron_dir)
        for ids in options.recording_ids or ():
            if len(ids) == 1:
                archive.catalog.entry(ids[0])
        for entry in archive.catalog.entries:
            if not is_chosen(options.recording_ids, entry.recording_id):
                continue
            if not is_chosen(options.stream_ids, entry.stream_id):
                continue
            row: dict[str, Any] = {name: getattr(entry, name) for name in RECORDING_COLUMNS if hasattr(entry, name)}
            row["state"] = entry.state.name
            row["path"] = path
            row["stop_position"] = None if entry.stop_position == NULL else entry.stop_position
            row["readable_position"] = _readable_position(archive, entry)
            for name in ("start_timestamp", "stop_timestamp"):
                row[name] = None if row[name] == NULL else row[name] * 1000
            yield row


def _readable_position(archive: ArchiveDirectory, entry: RecordingDescriptor) -> int | None:
    """Where reading would end now; None for what cannot be read."""
    if entry.state is not RecordingState.VALID:
        return None
    try:
        return archive.recording(entry.recording_id).edge().position
    except CorruptError:
        return None
