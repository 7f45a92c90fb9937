"""The classes that Spark sees: the source, its reader and its partitions.

Spark imports this module in every session that looks for a Python source, so what reading needs is imported when
something is read.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
    from pyspark.sql.types import StructType
except ImportError as error:  # no pyspark, or one before the Python Data Source API
    raise ImportError(f"aeronpy.spark needs pyspark 4.0 or newer ({error}): pip install 'aeronpy[spark]'") from error

from aeronpy.errors import CorruptError
from aeronpy.spark.options import ReadOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from aeronpy.recording.catalog import RecordingDescriptor
    from aeronpy.spark.plan import Part


class AeronArchiveDataSource(DataSource):
    """``spark.read.format("aeron-archive")``: the recordings of archive directories, a row a message.

    Rows of a partition are in the order of their positions; across partitions sort by ``recording_id, position``.
    What is read is fixed when a DataFrame is planned first: load again to see what was recorded since. Spark prunes no
    columns of Python sources: ``columns``, ``payload=none`` or ``.schema()`` with a subset save about half the time.

    Options, with their defaults:

    - ``path``: the directory, or several by ``load([...])``; local to the driver and to all executors
    - ``table``: ``messages``, or ``recordings`` for a row a catalog entry
    - ``recordingIds``, ``streamIds``: all, or as in ``1,2,5-9``
    - ``startingPositions`` (earliest), ``endingPositions`` (latest): a word, or JSON ``{"7": 4096}``; messages that
      begin in [starting, ending) are read, so that a row's ``end_position`` is where the next read may start
    - ``columns``: all of the unit, or names; ``channel``, ``source_identity``, ``file`` and ``corrupt`` on request only
    - ``unit``: ``message``, or ``frame`` with type and padding; ``payload``: ``keep`` or ``none``
    - ``splitBytes`` (128m): of recording for one task; longer segments are cut at terms, shorter ones go together
    - ``batchRows`` (10000), ``batchBytes`` (8m): of one Arrow batch, whichever comes first
    - ``onCorrupt``: ``fail``, ``skipTerm``, or ``stop`` the recording there, for which one task reads all of it
    - ``onIncompleteMessage``: ``drop``, ``fail``, or ``emit`` with the reason in the column ``corrupt``
    - ``aeronDir``: of the driver of a running archive, by default the one that the archive's mark file names
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = ReadOptions.parse(options)

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "aeron-archive"

    def schema(self) -> StructType:
        """The schema where the user gives none: the default columns, or those of the option ``columns``."""
        from aeronpy.spark.schema import inferred_schema

        return inferred_schema(self._options)

    def reader(self, schema: StructType) -> AeronArchiveReader:
        """A reader of exactly these columns in this order, which may be a subset. Raises ArgumentError."""
        return AeronArchiveReader(self._options, schema)


class MessagesPartition(InputPartition):
    """Parts of recordings for one task; it yields the messages that begin in them."""

    def __init__(self, parts: tuple[Part, ...]) -> None:
        super().__init__(parts)


class RecordingsPartition(InputPartition):
    """The catalog of one archive."""

    def __init__(self, path: str) -> None:
        super().__init__(path)


class AeronArchiveReader(DataSourceReader):
    """Plans on the driver and reads in tasks. Nothing in it changes after it was made."""

    def __init__(self, options: ReadOptions, schema: StructType) -> None:
        from aeronpy.spark.schema import check_schema

        check_schema(schema, options)
        self._options = options
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        """One partition for every ``splitBytes`` of recordings, or one for every archive's catalog."""
        from aeronpy.spark.plan import plan_messages

        if self._options.table == "recordings":
            return [RecordingsPartition(path) for path in self._options.paths]
        with_texts = not {"channel", "source_identity"}.isdisjoint(name.lower() for name in self._schema.fieldNames())
        return [MessagesPartition(parts) for parts in plan_messages(self._options, with_texts=with_texts)]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Arrow batches of at most ``batchRows`` rows. Raises CorruptError or NotFoundError, naming what lifts it."""
        # For an empty list of partitions Spark makes one of its own, with nothing in it.
        if isinstance(partition, RecordingsPartition):
            return self._read_recordings(partition.value)
        if isinstance(partition, MessagesPartition):
            return self._read_messages(partition.value)
        return iter(())

    def _read_messages(self, parts: tuple[Part, ...]) -> Iterator[pa.RecordBatch]:
        from aeronpy.recording.batch import Batch
        from aeronpy.recording.columns import scanned_columns
        from aeronpy.recording.walk import Policy, Walker
        from aeronpy.spark.schema import arrow_schema

        options = self._options
        schema = arrow_schema(self._schema, options)
        # Constant columns alone would leave nothing to count rows by.
        wanted = scanned_columns(name.lower() for name in schema.names) | {"position"}
        policy = Policy(options.on_corrupt, options.on_incomplete, options.batch_rows, options.batch_bytes)
        for part in parts:
            for arrays in Walker(part.range, wanted, policy, frames=options.unit == "frame"):
                batch = Batch(
                    part.range.files, options.unit, len(arrays["position"]), arrays, part.channel, part.source_identity
                )
                yield batch.to_arrow(schema=schema)

    def _read_recordings(self, path: str) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from aeronpy.recording.catalog import read_catalog
        from aeronpy.spark.plan import choose_entries
        from aeronpy.spark.schema import arrow_schema

        schema = arrow_schema(self._schema, self._options)
        entries = choose_entries(read_catalog(path), self._options)
        rows = [_recording_row(entry, path, self._options.aeron_dir) for entry in entries]
        yield pa.RecordBatch.from_arrays(
            [pa.array([row[field.name.lower()] for row in rows], field.type) for field in schema], schema=schema
        )


def _recording_row(entry: RecordingDescriptor, path: str, aeron_dir: str | None) -> dict[str, Any]:
    """A catalog entry by the columns of table=recordings."""
    from aeronpy.spark.schema import RECORDING_COLUMNS

    row = {name: getattr(entry, name) for name in RECORDING_COLUMNS if hasattr(entry, name)}
    return row | {
        "state": entry.state.name,
        "stop_position": None if entry.is_active else entry.stop_position,
        "readable_position": _readable_position(entry, path, aeron_dir),
        "start_timestamp": _microseconds(entry.start_timestamp),
        "stop_timestamp": _microseconds(entry.stop_timestamp),
        "path": path,
    }


def _readable_position(entry: RecordingDescriptor, path: str, aeron_dir: str | None) -> int | None:
    """Where reading would end now; None for what cannot be read."""
    from aeronpy.recording.catalog import RecordingState
    from aeronpy.recording.live_edge import find_edge

    if entry.state is not RecordingState.VALID or any(entry.faults()):
        return None
    try:
        return find_edge(path, entry, aeron_dir=aeron_dir).position
    except CorruptError:
        return None


def _microseconds(milliseconds: int) -> int | None:
    return None if milliseconds == -1 else milliseconds * 1000
