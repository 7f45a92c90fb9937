"""Record streams into a directory in the files of Aeron Archive; `aeronpy.recording` reads them back."""

from aeronpy.archive.archive import Archive, RecordingSubscription, SourceLocation
from aeronpy.recording import RecordingDescriptor

__all__ = ["Archive", "RecordingDescriptor", "RecordingSubscription", "SourceLocation"]
