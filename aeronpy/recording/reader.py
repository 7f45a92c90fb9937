"""An archive's directory as objects: recordings, their messages, their columns."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from aeronpy.errors import ArgumentError, CorruptError, NotFoundError
from aeronpy.recording.batch import Batch, arrow_schema
from aeronpy.recording.catalog import Catalog, RecordingDescriptor, RecordingState, read_catalog
from aeronpy.recording.check import Finding, check_recording
from aeronpy.recording.columns import Unit, choose_columns, scanned_columns
from aeronpy.recording.live_edge import Edge, find_edge
from aeronpy.recording.message import Frame, Message
from aeronpy.recording.scan import EngineName
from aeronpy.recording.segments import RecordingFiles
from aeronpy.recording.walk import (
    BYTES_DEFAULT,
    ROWS_DEFAULT,
    OnCorrupt,
    OnIncomplete,
    Policy,
    Range,
    ScanReport,
    Walker,
)

if TYPE_CHECKING:
    import pyarrow as pa

_MESSAGE_SCAN = (
    "position",
    "end_position",
    "term_id",
    "term_offset",
    "flags",
    "reserved_value",
    "fragments",
    "payload",
)
_FRAME_SCAN = (
    "position",
    "end_position",
    "frame_session_id",
    "term_id",
    "term_offset",
    "flags",
    "type",
    "reserved_value",
    "length",
    "payload",
)


class Recording:
    """One recording of an archive's directory. Holds no file open; safe to share among threads.

    The descriptor is that of the moment of listing: open the archive again to see a recording grow or stop.
    """

    def __init__(
        self,
        archive_dir: Path,
        descriptor: RecordingDescriptor,
        *,
        aeron_dir: str | os.PathLike[str] | None = None,
        engine: EngineName = "auto",
    ) -> None:
        self.archive_dir = archive_dir
        self.descriptor = descriptor
        self._aeron_dir = aeron_dir
        self._engine = engine

    def __repr__(self) -> str:
        d = self.descriptor
        return (
            f"Recording(recording_id={d.recording_id}, stream_id={d.stream_id}, channel={d.stripped_channel!r}, "
            f"start_position={d.start_position}, stop_position={d.stop_position})"
        )

    @property
    def recording_id(self) -> int:
        """Its id within the archive."""
        return self.descriptor.recording_id

    @property
    def start_position(self) -> int:
        """Where it begins; not 0 when it was joined late or purged."""
        return self.descriptor.start_position

    @property
    def stop_position(self) -> int:
        """Where it ends, or -1 while nobody has stopped it: see edge()."""
        return self.descriptor.stop_position

    @property
    def start_timestamp(self) -> int:
        """When it began, epoch ms."""
        return self.descriptor.start_timestamp

    @property
    def stop_timestamp(self) -> int:
        """When it ended, epoch ms, or -1."""
        return self.descriptor.stop_timestamp

    @property
    def session_id(self) -> int:
        """Session of the publication that it recorded last."""
        return self.descriptor.session_id

    @property
    def stream_id(self) -> int:
        """Stream that it recorded."""
        return self.descriptor.stream_id

    @property
    def stripped_channel(self) -> str:
        """Channel that the archive subscribed to."""
        return self.descriptor.stripped_channel

    @property
    def original_channel(self) -> str:
        """Channel as it was asked for."""
        return self.descriptor.original_channel

    @property
    def source_identity(self) -> str:
        """Who sent: ``ip:port``, or ``aeron:ipc``."""
        return self.descriptor.source_identity

    @property
    def initial_term_id(self) -> int:
        """Term id of position 0."""
        return self.descriptor.initial_term_id

    @property
    def term_buffer_length(self) -> int:
        """Bytes of a term."""
        return self.descriptor.term_buffer_length

    @property
    def segment_file_length(self) -> int:
        """Bytes of a segment file."""
        return self.descriptor.segment_file_length

    @property
    def mtu_length(self) -> int:
        """Longest frame that the publication sent, in bytes."""
        return self.descriptor.mtu_length

    def files(self) -> RecordingFiles:
        """What it takes to read its segments. Raises CorruptError where the catalog's numbers are impossible."""
        for fault in self.descriptor.faults():
            raise CorruptError(
                f"{self.archive_dir}: catalog entry of recording {self.recording_id} at "
                f"{self.descriptor.entry_offset}: {fault}: restore the catalog from a copy"
            )
        return RecordingFiles.of(self.archive_dir, self.descriptor)

    def edge(self) -> Edge:
        """How far it can be read now, and how that is known."""
        self.files()
        return find_edge(self.archive_dir, self.descriptor, aeron_dir=self._aeron_dir)

    def range(self, start_position: int | None = None, stop_position: int | None = None) -> Range:
        """The part that begins in [start, stop), by default all. Raises ArgumentError outside what can be read."""
        files, edge = self.files(), self.edge()
        start = files.start_position if start_position is None else start_position
        stop = edge.position if stop_position is None else stop_position
        if start < files.start_position:
            raise ArgumentError(
                f"recording {self.recording_id} begins at {files.start_position}, position {start} is before it: "
                "was it purged up to there?"
            )
        if stop > edge.position or start > edge.position:
            raise ArgumentError(
                f"recording {self.recording_id} can be read up to {edge.position} ({edge.kind.value}), "
                f"position {max(start, stop)} is past it"
            )
        return Range(files, start, stop, edge.position, edge.is_live)

    def batches(
        self,
        start_position: int | None = None,
        stop_position: int | None = None,
        *,
        unit: Unit = "message",
        columns: Iterable[str] | None = None,
        rows_max: int = ROWS_DEFAULT,
        bytes_max: int = BYTES_DEFAULT,
        on_corrupt: OnCorrupt = "fail",
        on_incomplete: OnIncomplete = "drop",
        report: ScanReport | None = None,
    ) -> Iterator[Batch]:
        """Rows by the column, at most rows_max and about bytes_max of payload at a time.

        Messages whose first frame begins in [start, stop) belong to it, wherever these lie. Raises CorruptError with
        file, position and header, after all that comes before it.
        """
        wanted = scanned_columns(choose_columns(unit, columns))
        yield from self._batches(
            self.range(start_position, stop_position),
            unit,
            wanted,
            Policy(on_corrupt, on_incomplete, rows_max, bytes_max, self._engine),
            report,
        )

    def _batches(
        self, part: Range, unit: Unit, wanted: frozenset[str], policy: Policy, report: ScanReport | None = None
    ) -> Iterator[Batch]:
        for arrays in Walker(part, wanted, policy, frames=unit == "frame", report=report):
            count = (
                len(arrays["payload_offsets"]) - 1 if "payload_offsets" in arrays else len(next(iter(arrays.values())))
            )
            yield Batch(
                part.files, unit, count, arrays, self.descriptor.stripped_channel, self.descriptor.source_identity
            )

    def messages(
        self,
        start_position: int | None = None,
        stop_position: int | None = None,
        *,
        on_corrupt: OnCorrupt = "fail",
        on_incomplete: OnIncomplete = "drop",
    ) -> Iterator[Message]:
        """Whole messages in order, put together from their fragments. Raises as batches()."""
        policy = Policy(on_corrupt, on_incomplete, engine=self._engine)
        part = self.range(start_position, stop_position)
        for batch in self._batches(part, "message", frozenset(_MESSAGE_SCAN), policy):
            a = batch.arrays
            for payload, position, end, term_id, offset, flags, reserved, fragments in zip(
                batch.payloads(),
                a["position"].tolist(),
                a["end_position"].tolist(),
                a["term_id"].tolist(),
                a["term_offset"].tolist(),
                a["flags"].tolist(),
                a["reserved_value"].tolist(),
                a["fragments"].tolist(),
                strict=True,
            ):
                yield Message(
                    payload,
                    position,
                    end,
                    part.files.session_id,
                    part.files.stream_id,
                    term_id,
                    offset,
                    flags,
                    reserved,
                    fragments,
                )

    def frames(
        self,
        start_position: int | None = None,
        stop_position: int | None = None,
        *,
        on_corrupt: OnCorrupt = "fail",
    ) -> Iterator[Frame]:
        """Frames in order as they are on disk, padding too. Raises as batches()."""
        policy = Policy(on_corrupt, engine=self._engine)
        part = self.range(start_position, stop_position)
        for batch in self._batches(part, "frame", scanned_columns(_FRAME_SCAN), policy):
            a = batch.arrays
            for payload, position, end, frame_session, term_id, offset, flags, kind, reserved, length in zip(
                batch.payloads(),
                a["position"].tolist(),
                a["end_position"].tolist(),
                a["session_id"].tolist(),
                a["term_id"].tolist(),
                a["term_offset"].tolist(),
                a["flags"].tolist(),
                a["type"].tolist(),
                a["reserved_value"].tolist(),
                a["length"].tolist(),
                strict=True,
            ):
                yield Frame(
                    payload,
                    position,
                    end,
                    part.files.session_id,
                    frame_session,
                    part.files.stream_id,
                    term_id,
                    offset,
                    flags,
                    kind,
                    reserved,
                    length,
                )

    def numpy(
        self, dtype: DTypeLike, start_position: int | None = None, stop_position: int | None = None
    ) -> NDArray[Any]:
        """All payloads as one structured array. Raises ArgumentError naming the first message of another size."""
        policy = Policy(engine=self._engine)
        part = self.range(start_position, stop_position)
        views = [b.view(dtype) for b in self._batches(part, "message", frozenset({"position", "payload"}), policy)]
        return np.concatenate(views) if views else np.empty(0, dtype)

    def to_arrow(
        self,
        columns: Iterable[str] | None = None,
        *,
        start_position: int | None = None,
        stop_position: int | None = None,
        unit: Unit = "message",
        on_corrupt: OnCorrupt = "fail",
        on_incomplete: OnIncomplete = "drop",
    ) -> pa.Table:
        """All rows as an Arrow table, in chunks of a batch each. Needs pyarrow."""
        import pyarrow as pa

        chosen = choose_columns(unit, columns)
        schema = arrow_schema(chosen)
        batches = self.batches(
            start_position,
            stop_position,
            unit=unit,
            columns=chosen,
            on_corrupt=on_corrupt,
            on_incomplete=on_incomplete,
        )
        return pa.Table.from_batches([batch.to_arrow(schema=schema) for batch in batches], schema=schema)

    def to_parquet(
        self,
        path: str | os.PathLike[str],
        columns: Iterable[str] | None = None,
        *,
        start_position: int | None = None,
        stop_position: int | None = None,
        unit: Unit = "message",
        on_corrupt: OnCorrupt = "fail",
        on_incomplete: OnIncomplete = "drop",
        compression: str = "zstd",
    ) -> int:
        """Write all rows to a Parquet file, a batch at a time; returns the rows. Needs pyarrow."""
        import pyarrow.parquet as pq

        chosen = choose_columns(unit, columns)
        schema = arrow_schema(chosen)
        rows = 0
        with pq.ParquetWriter(os.fspath(path), schema, compression=compression) as writer:
            for batch in self.batches(
                start_position,
                stop_position,
                unit=unit,
                columns=chosen,
                on_corrupt=on_corrupt,
                on_incomplete=on_incomplete,
                rows_max=8 * ROWS_DEFAULT,
                bytes_max=4 * BYTES_DEFAULT,
            ):
                writer.write_batch(batch.to_arrow(schema=schema))
                rows += len(batch)
        return rows

    def check(self, checksum: str | None = None) -> list[Finding]:
        """What is wrong with it, as far as catalog and files tell; reads every frame.

        With ``checksum`` ("CRC-32", "CRC-32C") also what the archive stored of those.
        """
        return check_recording(self.archive_dir, self.descriptor, self.edge, checksum)


class ArchiveDirectory:
    """An archive's directory as it was when opened. Iterating gives its valid recordings in order of their ids."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        aeron_dir: str | os.PathLike[str] | None = None,
        engine: EngineName = "auto",
    ) -> None:
        self.path = Path(path)
        self.catalog: Catalog = read_catalog(self.path)
        self._aeron_dir = aeron_dir
        self._engine = engine

    def __iter__(self) -> Iterator[Recording]:
        for entry in self.catalog.entries:
            if entry.state is RecordingState.VALID:
                yield self._recording(entry)

    def recordings(self, *, stream_id: int | None = None, channel_contains: str = "") -> list[Recording]:
        """The valid recordings of that stream and with that text in their channel."""
        return [r for r in self if stream_id in (None, r.stream_id) and channel_contains in r.stripped_channel]

    def recording(self, recording_id: int) -> Recording:
        """The recording of that id. Raises NotFoundError, also for one that was deleted or marked invalid."""
        entry = self.catalog.entry(recording_id)
        if entry.state is not RecordingState.VALID:
            raise NotFoundError(f"recording {recording_id} in {self.path} is {entry.state.name}")
        return self._recording(entry)

    def check(self, checksum: str | None = None) -> list[Finding]:
        """What is wrong with the recordings, all of them."""
        return [finding for recording in self for finding in recording.check(checksum)]

    def _recording(self, entry: RecordingDescriptor) -> Recording:
        return Recording(self.path, entry, aeron_dir=self._aeron_dir, engine=self._engine)


def open_archive(
    path: str | os.PathLike[str],
    *,
    aeron_dir: str | os.PathLike[str] | None = None,
    engine: EngineName = "auto",
) -> ArchiveDirectory:
    """Open an archive's directory for reading: no driver and no archive process are needed.

    While the archive runs, recordings that grow are read up to what is safely on disk; ``aeron_dir`` is then its
    driver's directory, by default the one that the archive names. Raises NotFoundError, VersionError, CorruptError.
    """
    return ArchiveDirectory(path, aeron_dir=aeron_dir, engine=engine)
