"""An archive directory, and the recordings that run in it."""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import shutil
import struct
import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final

from aeronpy._core import native
from aeronpy._core.native import Image
from aeronpy.archive.catalog import CatalogWriter
from aeronpy.archive.channels import recording_key, strip_channel
from aeronpy.archive.mark_file import ACTIVITY_TIMESTAMP_OFFSET, MarkFileWriter, now_ms
from aeronpy.archive.recovery import recover
from aeronpy.client.aeron import Aeron
from aeronpy.client.counter import Counter
from aeronpy.client.subscription import Subscription
from aeronpy.errors import BY_CODE, AeronError, AeronTimeoutError, ArchiveError, ArgumentError, StateError, StorageError
from aeronpy.recording import RecordingDescriptor
from aeronpy.recording.catalog import NULL
from aeronpy.uri import ChannelUri

RECORDING_POSITION_TYPE_ID: Final = 100
SEGMENT_LENGTH_DEFAULT: Final = 128 << 20
FILE_IO_MAX_LENGTH_DEFAULT: Final = 1 << 20
LOW_STORAGE_SPACE_THRESHOLD_DEFAULT: Final = 128 << 20

_SOURCE_IDENTITY_MAX: Final = 88
_LABEL_MAX: Final = 380

_log: Final = logging.getLogger(__name__)

ErrorHandler = Callable[[AeronError], None]


class SourceLocation(IntEnum):
    """Where the stream is recorded from: a spy on this driver's publication, or as any subscriber."""

    LOCAL = 0
    REMOTE = 1


@dataclass(slots=True)
class _Session:
    """A recording that runs."""

    image: Image
    counter: Counter
    request: RecordingSubscription


class RecordingSubscription:
    """A request to record: every image of its subscription becomes a recording of its own."""

    def __init__(self, archive: Archive, channel: str, stripped_channel: str, stream_id: int, auto_stop: bool) -> None:
        self._archive = archive
        self._stripped_channel = stripped_channel
        self._subscription: Subscription | None = None
        self.channel = channel
        self.stream_id = stream_id
        self.auto_stop = auto_stop
        self.recording_ids: list[int] = []
        """The recordings so far, in the order of their images."""
        self.errors: list[AeronError] = []
        """Why recordings of this request failed."""

    @property
    def is_stopped(self) -> bool:
        """True once no image of it is recorded any more, nor will be."""
        return self in self._archive._stopped

    def await_recording(self, timeout_s: float = 5.0) -> int:
        """Wait for the first image and return its recording id; AeronTimeoutError when none comes."""
        if not self._archive._wait_for(lambda: bool(self.recording_ids or self.errors), timeout_s):
            raise AeronTimeoutError(f"no image of stream {self.stream_id} of {self.channel} came in {timeout_s} s")
        if not self.recording_ids:
            raise self.errors[0]
        return self.recording_ids[0]

    def await_ended(self, timeout_s: float = 5.0) -> bool:
        """Wait until a first recording ran and all have ended; raises the error of the first that failed."""
        ended = self._archive._wait_for(
            lambda: bool(self.recording_ids or self.errors) and not self._archive._runs(self), timeout_s
        )
        if self.errors:
            raise self.errors[0]
        return ended

    def stop(self) -> None:
        """Stop recording, as `Archive.stop_recording` does."""
        self._archive.stop_recording(self)

    def __enter__(self) -> RecordingSubscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class Archive:
    """Records streams into a directory that any Aeron archive can serve. Safe from any thread.

    Frames are written by a native thread; a Python thread keeps the catalog. Use `open`.
    """

    def __init__(
        self,
        *,
        directory: Path,
        aeron: Aeron,
        owns_aeron: bool,
        mark: MarkFileWriter,
        catalog: CatalogWriter,
        recorder: native.Recorder,
        archive_id: int,
        segment_length: int,
        low_storage_space_threshold: int,
        error_handler: ErrorHandler | None,
    ) -> None:
        self.directory = directory
        self.archive_id = archive_id
        self._aeron = aeron
        self._owns_aeron = owns_aeron
        self._mark = mark
        self._catalog = catalog
        self._recorder = recorder
        self._segment_length = segment_length
        self._low_storage_space_threshold = low_storage_space_threshold
        self._error_handler = error_handler
        self._arrivals: deque[tuple[RecordingSubscription, Image]] = deque()
        self._settling: deque[RecordingSubscription] = deque()
        self._stopped: weakref.WeakSet[RecordingSubscription] = weakref.WeakSet()
        self._requests: dict[str, RecordingSubscription] = {}
        self._sessions: dict[int, _Session] = {}
        self._changed = threading.Condition(threading.RLock())
        self._pid = os.getpid()
        self._is_closing = False
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="archive-conductor", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # while the client still lives: what was made last is closed first

    @classmethod
    def open(
        cls,
        directory: str | PathLike[str],
        aeron: Aeron | None = None,
        *,
        archive_id: int | None = None,
        segment_length: int = SEGMENT_LENGTH_DEFAULT,
        file_io_max_length: int = FILE_IO_MAX_LENGTH_DEFAULT,
        file_sync_level: int = 0,
        catalog_file_sync_level: int | None = None,
        low_storage_space_threshold: int = LOW_STORAGE_SPACE_THRESHOLD_DEFAULT,
        recorder_idle_strategy: str = "backoff",
        error_handler: ErrorHandler | None = None,
    ) -> Archive:
        """Open an archive directory, made when absent; lengths in bytes. Without ``aeron`` it connects one.

        Recordings that an unclean end left open are given their stop positions first. Raises ActiveError while
        another archive serves the directory, CorruptError where a recording's tail needs the operator.
        """
        if not 65536 <= segment_length <= 1 << 30 or segment_length & (segment_length - 1):
            raise ArgumentError(f"segment length {segment_length} is no power of two from 64 KiB to 1 GiB")
        if file_io_max_length < 65536 or file_io_max_length & (file_io_max_length - 1):
            raise ArgumentError(f"file_io_max_length {file_io_max_length} is no power of two from 64 KiB")
        catalog_level = file_sync_level if catalog_file_sync_level is None else catalog_file_sync_level
        if not 0 <= file_sync_level <= catalog_level <= 2:
            raise ArgumentError(f"sync levels: 0 <= files ({file_sync_level}) <= catalog ({catalog_level}) <= 2")
        path = Path(directory).absolute()
        path.mkdir(parents=True, exist_ok=True)
        identity = secrets.randbits(63) if archive_id is None else archive_id
        client = Aeron.connect() if aeron is None else aeron
        mark = catalog = None
        try:
            mark = MarkFileWriter.activate(path, identity, str(client.aeron_dir))
            catalog = CatalogWriter.open(path, sync_level=catalog_level)
            recover(path, catalog)
            recorder = native.Recorder(
                path,
                mark.buffer,
                ACTIVITY_TIMESTAMP_OFFSET,
                block_max=file_io_max_length,
                sync_level=file_sync_level,
                idle_strategy=recorder_idle_strategy,
            )
            mark.signal_ready()
        except BaseException:
            for thing in (catalog, mark, client if aeron is None else None):
                if thing is not None:
                    thing.close()
            raise
        return cls(
            directory=path,
            aeron=client,
            owns_aeron=aeron is None,
            mark=mark,
            catalog=catalog,
            recorder=recorder,
            archive_id=identity,
            segment_length=segment_length,
            low_storage_space_threshold=low_storage_space_threshold,
            error_handler=error_handler,
        )

    def start_recording(
        self,
        channel: str | ChannelUri,
        stream_id: int,
        source_location: SourceLocation = SourceLocation.REMOTE,
        auto_stop: bool = False,
        *,
        strict: bool = True,
    ) -> RecordingSubscription:
        """Record every image of a channel and stream, from where it joins. Returns before any image came.

        With ``auto_stop`` the end of one recording ends the request. Raises ArchiveError when the stream is being
        recorded already, StorageError when the disk is nearly full.
        """
        asked = channel if isinstance(channel, ChannelUri) else ChannelUri.parse(channel, strict)
        stripped = strip_channel(asked)
        is_spy = asked.is_spy or (source_location == SourceLocation.LOCAL and asked.is_udp)
        subscribed = ChannelUri(stripped.media, stripped.params, "aeron-spy" if is_spy else "")
        key = recording_key(asked, stream_id)
        request = RecordingSubscription(self, str(channel), str(stripped), stream_id, auto_stop)
        with self._changed:
            self._check_open()
            self._check_space()
            if key in self._requests:
                raise ArchiveError(f"stream {stream_id} of {stripped} is being recorded already")
            self._requests[key] = request
        try:
            request._subscription = self._aeron.add_subscription(
                str(subscribed), stream_id, lambda image: self._on_image(request, image), strict=strict
            )
        except BaseException:
            with self._changed:
                del self._requests[key]
            raise
        return request

    def stop_recording(self, request: RecordingSubscription) -> None:
        """End a request's recordings where they are, and its subscription. Safe twice."""
        with self._changed:
            if not self._is_closed:
                self._stop(request)
                self._settling.append(request)
                self._recorder.wake()
                self._changed.wait_for(lambda: request not in self._requests.values())

    def recordings(self, channel_contains: str = "", stream_id: int | None = None) -> list[RecordingDescriptor]:
        """The recordings of the catalog whose original channel and stream id match, in order of their ids."""
        with self._changed:
            self._check_open()
            return [
                descriptor
                for descriptor in self._catalog
                if channel_contains in descriptor.original_channel and stream_id in (None, descriptor.stream_id)
            ]

    def list_recording(self, recording_id: int) -> RecordingDescriptor:
        """One recording of the catalog; NotFoundError when there is none."""
        with self._changed:
            self._check_open()
            return self._catalog.descriptor(recording_id)

    def get_recording_position(self, recording_id: int) -> int:
        """How far a running recording has got, or -1 when it is not running."""
        with self._changed:
            session = self._sessions.get(recording_id)
            return NULL if session is None else session.counter.get()

    def get_start_position(self, recording_id: int) -> int:
        """Where a recording begins."""
        return self.list_recording(recording_id).start_position

    def get_stop_position(self, recording_id: int) -> int:
        """Where a recording ended, or -1 while it runs."""
        return self.list_recording(recording_id).stop_position

    def close(self) -> None:
        """Stop all recordings, store their ends, and leave the directory to others. Safe twice; also done at exit."""
        if self._pid != os.getpid():
            return  # a fork's child has neither the threads nor a right to the directory
        atexit.unregister(self.close)
        with self._changed:
            if self._is_closing:
                return
            self._is_closing = True
            requests = list(self._requests.values())
        for request in requests:
            self.stop_recording(request)
        with self._changed:
            self._is_closed = True
        self._recorder.wake()
        self._thread.join()
        self._recorder.close()
        self._catalog.close()
        self._mark.close()
        if self._owns_aeron:
            self._aeron.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._is_closing:
            raise StateError(f"the archive in {self.directory} is closed")

    def _check_space(self) -> None:
        free = shutil.disk_usage(self.directory).free
        if free <= self._low_storage_space_threshold:
            raise StorageError(
                f"{self.directory} has {free} bytes free: a recording starts with more than "
                f"low_storage_space_threshold={self._low_storage_space_threshold}"
            )

    def _stop(self, request: RecordingSubscription) -> None:
        self._stopped.add(request)
        for recording_id, session in self._sessions.items():
            if session.request is request:
                self._recorder.abort(recording_id)

    def _runs(self, request: RecordingSubscription) -> bool:
        return any(session.request is request for session in self._sessions.values())

    def _wait_for(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(condition, timeout_s)

    # From here on: the archive's thread, but for _on_image, which is the client's.

    def _on_image(self, request: RecordingSubscription, image: Image) -> None:
        self._arrivals.append((request, image))
        self._recorder.wake()

    def _run(self) -> None:
        while not self._is_closed:
            ended = self._recorder.wait(1.0)
            if ended is not None:
                self._end(*ended)
            while self._arrivals:
                request, image = self._arrivals.popleft()
                try:
                    self._begin(request, image)
                except AeronError as error:
                    self._report(request, error)
                except Exception as error:  # the others go on, whatever it was
                    self._report(request, ArchiveError(f"cannot record {image!r}: {error!r}"))
            while self._settling:
                self._settle(self._settling.popleft())

    def _settle(self, request: RecordingSubscription) -> None:
        """Let go of a stopped request once none of its recordings runs."""
        if not request.is_stopped or self._runs(request):
            return
        if request._subscription is not None:
            request._subscription.close()
        with self._changed:
            self._requests = {key: known for key, known in self._requests.items() if known is not request}
            self._changed.notify_all()

    def _begin(self, request: RecordingSubscription, image: Image) -> None:
        with self._changed:
            if request.is_stopped:
                return
            recording_id = self._catalog.add(
                start_timestamp=now_ms(),
                start_position=image.join_position,
                initial_term_id=image.initial_term_id,
                segment_file_length=max(self._segment_length, image.term_buffer_length),
                term_buffer_length=image.term_buffer_length,
                mtu_length=image.mtu_length,
                session_id=image.session_id,
                stream_id=request.stream_id,
                stripped_channel=request._stripped_channel,
                original_channel=request.channel,
                source_identity=image.source_identity,
            )
            descriptor = self._catalog.descriptor(recording_id)
        counter = None
        try:
            counter = self._add_counter(descriptor)
            with self._changed:
                self._recorder.add(
                    recording_id, image, counter, descriptor.start_position, descriptor.segment_file_length
                )
                self._sessions[recording_id] = _Session(image, counter, request)
                request.recording_ids.append(recording_id)
                self._changed.notify_all()
                if request in self._stopped:  # meanwhile
                    self._recorder.abort(recording_id)
        except BaseException:
            with self._changed:
                self._catalog.stop(recording_id, descriptor.start_position)
            if counter is not None:
                counter.close()
            raise

    def _add_counter(self, descriptor: RecordingDescriptor) -> Counter:
        source = descriptor.source_identity.encode("ascii")[:_SOURCE_IDENTITY_MAX]
        key = struct.pack("<qii", descriptor.recording_id, descriptor.session_id, len(source)) + source
        key += struct.pack("<q", self.archive_id)
        suffix = f" - archiveId={self.archive_id}"
        label = (
            f"rec-pos: {descriptor.recording_id} {descriptor.session_id} {descriptor.stream_id} "
            f"{descriptor.stripped_channel}"
        )
        counter = self._aeron.add_counter(RECORDING_POSITION_TYPE_ID, label[: _LABEL_MAX - len(suffix)] + suffix, key)
        counter.set(descriptor.start_position)
        return counter

    def _end(self, recording_id: int, stop_position: int, code: int, text: str) -> None:
        with self._changed:
            session = self._sessions.pop(recording_id)
            self._catalog.stop(recording_id, stop_position)
            self._changed.notify_all()
        session.counter.close()  # after the stop position: readers whose counter goes look into the catalog
        if code < 0:
            self._report(session.request, BY_CODE.get(code, AeronError)(text, code))
        with self._changed:
            if session.request.auto_stop:
                self._stop(session.request)
        self._settle(session.request)

    def _report(self, request: RecordingSubscription, error: AeronError) -> None:
        with self._changed:
            request.errors.append(error)
            self._changed.notify_all()
        try:
            self._mark.errors.record(f"{type(error).__name__}: {error}")
        except AeronError:
            pass  # the log is full; the request and the handler still hear of it
        if self._error_handler is not None:
            try:
                self._error_handler(error)
            except Exception:
                _log.exception("the error handler of the archive in %s failed", self.directory)
