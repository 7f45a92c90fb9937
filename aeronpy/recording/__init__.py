"""Recordings as data: read an archive's directory with no driver and no archive process.

Pure Python over NumPy, with the C scanner where the compiled module is installed; pyarrow only for Arrow and Parquet.
"""

from aeronpy.recording.batch import Batch
from aeronpy.recording.catalog import Catalog, RecordingDescriptor, RecordingState, read_catalog
from aeronpy.recording.check import Finding
from aeronpy.recording.live_edge import Edge, EdgeKind
from aeronpy.recording.mark_file import MarkFile, find_mark_file, read_mark_file
from aeronpy.recording.message import Frame, Message
from aeronpy.recording.reader import ArchiveDirectory, Recording, open_archive
from aeronpy.recording.walk import ScanReport

__all__ = [
    "ArchiveDirectory",
    "Batch",
    "Catalog",
    "Edge",
    "EdgeKind",
    "Finding",
    "Frame",
    "MarkFile",
    "Message",
    "Recording",
    "RecordingDescriptor",
    "RecordingState",
    "ScanReport",
    "find_mark_file",
    "open_archive",
    "read_catalog",
    "read_mark_file",
]
