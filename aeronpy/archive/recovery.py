"""Give recordings an end whose archive did not live to do so (spec: archive, section 2.8)."""

from __future__ import annotations

from pathlib import Path

from aeronpy.archive.catalog import CatalogWriter
from aeronpy.errors import CorruptError
from aeronpy.recording.recovery import recover_stop_position
from aeronpy.recording.segments import RecordingFiles, list_segments


def recover(directory: Path, catalog: CatalogWriter) -> list[int]:
    """Store a stop position for every recording that has none; returns their ids.

    CorruptError where a last frame may be half written: a reader takes it as absent, but what becomes of it is the
    operator's decision. Nothing was changed then.
    """
    segments = list_segments(directory)
    stops: dict[int, int] = {}
    for descriptor in catalog:
        if not descriptor.is_active:
            continue
        for fault in descriptor.faults():
            raise CorruptError(
                f"{directory}: catalog entry of recording {descriptor.recording_id} at {descriptor.entry_offset}: "
                f"{fault}: restore the catalog from a copy"
            )
        files = RecordingFiles.of(directory, descriptor)
        found = recover_stop_position(files, segments.get(descriptor.recording_id, []))
        if found.dropped_position >= 0:
            raise CorruptError(
                f"{directory}: the last frame of recording {descriptor.recording_id}, at position "
                f"{found.dropped_position}, may be half written: a page of it is empty. Verify the recording with "
                "Aeron's ArchiveTool, which asks whether to keep the frame"
            )
        stops[descriptor.recording_id] = found.position
    for recording_id, position in stops.items():
        catalog.stop(recording_id, position)
    return list(stops)
