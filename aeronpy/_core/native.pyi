"""Types of the compiled module; stubtest holds this file to it. One section per room, in the order of native.pyx."""

import builtins
from collections.abc import Callable, Iterator
from os import PathLike
from types import TracebackType
from typing import Any, Self, TypeAlias, final, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, disjoint_base

from aeronpy.client.values import ControlledAction, OfferResult

# Before Python 3.12 type checkers do not know that an array has a buffer.
_Readable: TypeAlias = Buffer | npt.NDArray[Any]

# --- base ---

def parse_duration_ns(text: str) -> int:
    """Return the nanoseconds of a duration: digits, then ns (or nothing), us, ms or s. Raises ArgumentError."""

def name_thread(name: str) -> None:
    """Let the system call this thread so; it shows the first 15 letters."""

@final
class IdleStrategy:
    """What a thread does when a duty cycle found no work, by name and arguments as Aeron's settings give them."""

    def __new__(cls, name: str, arguments: str = "") -> Self: ...
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> str: ...
    def idle(self, work_count: int = 0) -> None:
        """Idle if work_count is 0 or less, without the GIL; hears signals."""
    def reset(self) -> None:
        """Begin again, as after work."""

# --- logbuffer ---

@final
class LogMapping:
    """The memory of a log. Who holds a view of it keeps it mapped."""

@final
class LogBuffer:
    """A log file: three terms and the metadata of one stream."""

    @staticmethod
    def open(path: str | PathLike[str]) -> LogBuffer: ...
    @staticmethod
    def create(
        path: str | PathLike[str],
        *,
        term_length: int,
        mtu_length: int = 1408,
        page_size: int = 4096,
        session_id: int = 0,
        stream_id: int = 0,
        initial_term_id: int = 0,
        term_id: int | None = None,
        term_offset: int = 0,
        correlation_id: int = 0,
        type: int = 0,
        sparse: bool = True,
    ) -> LogBuffer: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    @property
    def closed(self) -> bool: ...
    def term(self, partition: int) -> memoryview: ...
    def metadata(self) -> memoryview: ...
    def fields(self) -> dict[str, Any]: ...
    @property
    def term_length(self) -> int: ...
    @property
    def mtu_length(self) -> int: ...
    @property
    def initial_term_id(self) -> int: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def active_term_count(self) -> int: ...
    @property
    def is_connected(self) -> bool: ...
    @is_connected.setter
    def is_connected(self, value: bool) -> None: ...
    @property
    def producer_position(self) -> int: ...
    def clean(self, clean_position: int, target: int) -> int: ...
    def unblock(self, position: int, is_abandoned: bool = False) -> bool: ...
    def scan(self, position: int, bytes_max: int) -> tuple[int, int]: ...
    def block_scan(self, position: int, bytes_max: int) -> int: ...

@final
class LogClaim:
    """Space in a log, reserved and not yet readable: write into ``buffer``, then commit or abort, once."""

    @property
    def buffer(self) -> memoryview: ...
    def commit(self) -> None: ...
    def abort(self) -> None: ...

@final
class LogAppender:
    """Appends to a log as a publication does: results are positions, or Aeron's negative codes."""

    def __new__(cls, log: LogBuffer, limit: Buffer, *, exclusive: bool = False) -> Self: ...
    @property
    def position(self) -> int: ...
    def offer(self, *parts: Buffer) -> int: ...
    def claim(self, length: int) -> tuple[int, LogClaim | None]: ...
    def append_padding(self, length: int) -> int: ...
    def offer_block(self, block: Buffer) -> int: ...

# --- control ---

@final
class CounterInfo:
    """One counter as it was at one moment; owns its bytes."""

    @property
    def counter_id(self) -> int: ...
    @property
    def state(self) -> int: ...
    @property
    def type_id(self) -> int: ...
    @property
    def value(self) -> int: ...
    @property
    def registration_id(self) -> int: ...
    @property
    def owner_id(self) -> int: ...
    @property
    def reference_id(self) -> int: ...
    @property
    def key(self) -> bytes: ...
    @property
    def label(self) -> str: ...

@final
class CountersReader:
    """Reads the counters of a driver while they change. Belongs to whoever mapped them, and closes with it."""

    @property
    def max_counter_id(self) -> int: ...
    def __iter__(self) -> Iterator[CounterInfo]: ...
    def info(self, counter_id: int) -> CounterInfo | None: ...
    def value(self, counter_id: int) -> int: ...
    def state(self, counter_id: int) -> int:
        """Return the state of an id: 1 allocated, -1 given back, 0 never used."""
    def free_for_reuse_deadline_ms(self, counter_id: int) -> int: ...
    def find_by_registration(self, type_id: int, registration_id: int) -> int | None: ...
    def find_by_key(self, type_id: int, key: int) -> int | None: ...

@final
class ErrorRecord:
    """A distinct error: how often and when it was observed (epoch ms), and its text."""

    @property
    def observations(self) -> int: ...
    @property
    def first_observation_ms(self) -> int: ...
    @property
    def last_observation_ms(self) -> int: ...
    @property
    def text(self) -> str: ...

@final
class LossEntry:
    """Loss seen by one image: how often, how many bytes, when (epoch ms), on which stream, from whom."""

    @property
    def observations(self) -> int: ...
    @property
    def bytes_lost(self) -> int: ...
    @property
    def first_observation_ms(self) -> int: ...
    @property
    def last_observation_ms(self) -> int: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def channel(self) -> str: ...
    @property
    def source(self) -> str: ...

def read_error_log(buffer: Buffer, since_ms: int = 0) -> Iterator[ErrorRecord]: ...
def read_loss_report(buffer: Buffer) -> Iterator[LossEntry]: ...

@final
class CncFile:
    """The command-and-control file of a directory, mapped read-only: for tools, whether its driver lives or not."""

    def __new__(cls, directory: str | PathLike[str]) -> Self: ...
    @property
    def directory(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    @property
    def version(self) -> tuple[int, int, int]: ...
    @property
    def pid(self) -> int: ...
    @property
    def start_timestamp_ms(self) -> int: ...
    @property
    def client_liveness_timeout_ns(self) -> int: ...
    @property
    def file_page_size(self) -> int: ...
    @property
    def heartbeat_timestamp_ms(self) -> int: ...
    @property
    def to_driver_capacity(self) -> int: ...
    @property
    def to_driver_size(self) -> int: ...
    @property
    def to_driver_producer_position(self) -> int: ...
    @property
    def to_driver_consumer_position(self) -> int: ...
    @property
    def counters(self) -> CountersReader: ...
    def errors(self, since_ms: int = 0) -> Iterator[ErrorRecord]: ...
    def error_log(self) -> bytes: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

# --- client ---

@final
class ClientLog:
    """A mapped log. Whoever shows its bytes holds a reference, so that it is unmapped after the last of them."""

    def __new__(cls, path: str, pre_touch: bool = False) -> Self: ...
    @property
    def path(self) -> str: ...

@final
class CncMapping:
    """A driver's CnC file, mapped to read and write. Everything that points into it holds a reference."""

    def __new__(cls, directory: str, timeout_ms: int) -> Self: ...
    @property
    def directory(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def start_timestamp_ms(self) -> int: ...
    @property
    def client_liveness_timeout_ns(self) -> int: ...
    @property
    def heartbeat_timestamp_ms(self) -> int: ...
    @property
    def counters(self) -> CountersReader: ...

def driver_is_active(directory: str, timeout_ms: int = 10_000) -> bool:
    """Whether a media driver lives in a directory; waits for one that is starting."""

@final
class Waiter:
    """What one thread waits for and another brings. Waiting releases the GIL and hears signals."""

    def __new__(cls) -> Self: ...
    @property
    def result(self) -> object: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def done(self) -> bool: ...
    def complete(self, result: object, error: BaseException | None = None) -> None: ...
    def on_done(self, callback: Callable[[], object] | None) -> None:
        """Call this, on the thread that completes it, or at once where it is done. One callback; None takes it back."""
    def wait(self, timeout_s: float | None = None) -> bool: ...

@final
class ClientCore:
    """The C side of a client: keeps it alive at the driver on its own thread, and queues what needs a decision."""

    def __new__(
        cls,
        cnc: CncMapping,
        *,
        driver_timeout_ms: int,
        keepalive_interval_ns: int,
        idle_sleep_ns: int,
        client_name: str,
        version: str,
        commit: str,
        woken_sleep_ns: int = 0,
    ) -> Self: ...
    @property
    def client_id(self) -> int: ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def is_forked(self) -> bool: ...
    @property
    def termination(self) -> tuple[int, str] | None: ...
    @property
    def counters(self) -> CountersReader: ...
    @property
    def cnc(self) -> CncMapping: ...
    def start(self, idle: IdleStrategy | None = None) -> None: ...
    def do_work(self) -> int: ...
    def close(self) -> None: ...
    def next_correlation_id(self) -> int: ...
    def command(self, type: int, body: Buffer) -> None: ...
    def post(self, type: int, body: Buffer) -> bool: ...
    def watch(self, id: int) -> None: ...
    def unwatch(self, id: int) -> None: ...
    def watch_counters(self, wanted: bool) -> None: ...
    def awaiting(self, delta: int) -> None: ...
    def wait(self, timeout_s: float | None) -> None: ...
    def wake(self) -> None: ...
    def next_event(self) -> tuple[int, bytes] | None: ...
    def open_log(self, path: str, pre_touch: bool = False) -> ClientLog: ...

@disjoint_base
class CounterBase:
    """A counter of the driver's, for those who may change it."""

    def __new__(cls, core: ClientCore, counter_id: int, registration_id: int, *args: Any, **kwargs: Any) -> Self: ...
    @property
    def counter_id(self) -> int: ...
    @property
    def registration_id(self) -> int: ...
    @property
    def is_closed(self) -> bool: ...
    def get(self) -> int:
        """The value, seeing all that its writer did before."""
    def set(self, value: int) -> None:
        """Store a value after all that was done before."""
    def get_and_set(self, value: int) -> int:
        """Store a value atomically; returns the one before."""
    def increment(self) -> int:
        """Add one atomically; returns the value before."""
    def get_and_add(self, delta: int) -> int:
        """Add atomically; returns the value before."""
    def compare_and_set(self, expected: int, value: int) -> bool:
        """Store value if expected is there; whether it was."""
    def propose_max(self, value: int) -> None:
        """Store value if it is larger; for counters with one writer."""
    def _mark_closed(self) -> None: ...

@final
class FragmentView:
    """The bytes of one message or fragment, where they lie. One object is re-pointed from message to message."""

    def __init__(self, *args: object, **kwargs: object) -> None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    @overload
    def __getitem__(self, index: int, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> bytes: ...
    def __iter__(self) -> Iterator[int]: ...
    def __bytes__(self) -> bytes: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def tobytes(self) -> bytes:
        """A copy of the bytes."""
    def unpack(self, format: str, offset: int = 0) -> tuple[Any, ...]:
        """Fields at an offset by a ``struct`` format, as a tuple."""
    def get_uint8(self, offset: int) -> int: ...
    def get_int16(self, offset: int) -> int: ...
    def get_uint16(self, offset: int) -> int: ...
    def get_int32(self, offset: int) -> int: ...
    def get_uint32(self, offset: int) -> int: ...
    def get_int64(self, offset: int) -> int: ...
    def get_uint64(self, offset: int) -> int: ...
    def get_float32(self, offset: int) -> float: ...
    def get_float64(self, offset: int) -> float: ...

@final
class Header:
    """What the frame of a message says. One object is re-used; valid inside the handler only."""

    def __init__(self, *args: object, **kwargs: object) -> None: ...
    @property
    def frame_length(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def type(self) -> int: ...
    @property
    def term_offset(self) -> int: ...
    @property
    def session_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def term_id(self) -> int: ...
    @property
    def reserved_value(self) -> int: ...
    @property
    def position(self) -> int: ...
    @property
    def next_term_offset(self) -> int: ...
    @property
    def initial_term_id(self) -> int: ...
    @property
    def position_bits_to_shift(self) -> int: ...
    @property
    def image(self) -> Image: ...

_FragmentHandler = Callable[[FragmentView, Header], object]
_ControlledHandler = Callable[[FragmentView, Header], ControlledAction | None]
_BlockHandler = Callable[[FragmentView, int, int], object]
_RawBlockHandler = Callable[[int, int, FragmentView, int, int], object]

@disjoint_base
class FragmentAssembler:
    """A handler that gives whole messages to another one: ``subscription.poll(FragmentAssembler(handler))``."""

    def __new__(
        cls, handler: _FragmentHandler, initial_buffer_length: int = 0, *, unassembled_limit: int | None = None
    ) -> Self: ...
    @property
    def handler(self) -> _FragmentHandler: ...
    def __call__(self, buffer: FragmentView, header: Header) -> Any: ...
    @property
    def refused_count(self) -> int: ...
    def free_session_buffer(self, session_id: int) -> bool:
        """Free what was kept for one session, and lose an unfinished message of it; whether there was anything."""
    def clear(self) -> None:
        """Free what was kept for all sessions."""

class ControlledFragmentAssembler(FragmentAssembler):
    """A FragmentAssembler for controlled polls alone: a message that its handler aborts comes again whole."""

    def __new__(
        cls, handler: _ControlledHandler, initial_buffer_length: int = 0, *, unassembled_limit: int | None = None
    ) -> Self: ...

@final
class ImageFragmentAssembler(FragmentAssembler):
    """A FragmentAssembler with one buffer, for the polls of one image."""

@final
class ImageControlledFragmentAssembler(ControlledFragmentAssembler):
    """A ControlledFragmentAssembler with one buffer, for the controlled polls of one image."""

@final
class BufferClaim:
    """Space in a log for one message, written in place: leave the ``with`` block to send, by an error to drop it."""

    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def result(self) -> int | OfferResult: ...
    @property
    def position(self) -> int | OfferResult: ...
    @property
    def buffer(self) -> memoryview: ...
    @property
    def reserved_value(self) -> int: ...
    @reserved_value.setter
    def reserved_value(self, value: int) -> None: ...
    @property
    def flags(self) -> int: ...
    @flags.setter
    def flags(self, value: int) -> None: ...
    @property
    def type(self) -> int: ...
    @type.setter
    def type(self, value: int) -> None: ...
    def commit(self) -> None:
        """Send the message."""
    def abort(self) -> None:
        """Drop the message: its space becomes padding."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: builtins.type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

_ReservedValue = int | Callable[[FragmentView], int] | None

@disjoint_base
class PublicationBase:
    """What both kinds of publications share: offers, claims, positions."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def _attach(
        self,
        core: ClientCore,
        log: ClientLog,
        is_exclusive: bool,
        channel: str,
        stream_id: int,
        session_id: int,
        registration_id: int,
        original_registration_id: int,
        position_limit_id: int,
        channel_status_id: int,
    ) -> None: ...
    def _why_closed(self) -> str: ...
    def _mark_closed(self) -> None: ...
    def _release_log(self) -> None: ...
    def _append_padding(self, length: int) -> int | OfferResult: ...
    def _offer_block(self, block: _Readable) -> int | OfferResult: ...
    @property
    def channel(self) -> str: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def session_id(self) -> int: ...
    @property
    def registration_id(self) -> int: ...
    @property
    def original_registration_id(self) -> int: ...
    @property
    def position_limit_id(self) -> int: ...
    @property
    def channel_status_id(self) -> int: ...
    @property
    def mtu_length(self) -> int: ...
    def fileno(self) -> int:
        """A descriptor for `select` and its kin: readable when the publication may take messages again."""
    def arm(self) -> bool:
        """Announce a sleep on `fileno`: True, it becomes readable on need; False, an offer now need not be refused."""
    def disarm(self) -> None:
        """Make the descriptor quiet again after it was readable, for loops that do not come to `arm` at once."""
    @property
    def is_closed(self) -> bool: ...
    @property
    def is_connected(self) -> bool: ...
    @property
    def position(self) -> int | OfferResult: ...
    @property
    def position_limit(self) -> int | OfferResult: ...
    @property
    def available_window(self) -> int | OfferResult: ...
    @property
    def max_payload_length(self) -> int: ...
    @property
    def max_message_length(self) -> int: ...
    @property
    def max_possible_position(self) -> int: ...
    @property
    def term_buffer_length(self) -> int: ...
    @property
    def initial_term_id(self) -> int: ...
    @property
    def position_bits_to_shift(self) -> int: ...
    @property
    def native_address(self) -> int: ...
    @property
    def native_handle(self) -> NativeHandle:
        """A `NativeHandle` for the functions of aeronpy.h; keep it as long as native code has its address."""
    def offer(self, buffer: _Readable, *more: _Readable, reserved_value: _ReservedValue = None) -> int | OfferResult:
        """Append a message made of one or several buffers; returns the new position or an `OfferResult`."""
    def send(
        self,
        buffer: _Readable,
        *more: _Readable,
        timeout_s: float | None = 10.0,
        idle: str = "backoff",
        reserved_value: _ReservedValue = None,
    ) -> int:
        """Append a message, waiting up to timeout_s (None: for ever) until it is accepted; returns the position."""
    def offer_batch(self, messages: _Readable | tuple[_Readable, Any]) -> int:
        """Append many messages in one crossing, without the GIL; returns how many were accepted."""
    def try_claim(self, length: int) -> BufferClaim:
        """Claim space for a message of length bytes, up to `max_payload_length`; returns a `BufferClaim`."""

@final
class MessageBatch:
    """Many whole messages at once, where they lie. Close it (or leave its ``with`` block) to move the position."""

    def __init__(self, *args: object, **kwargs: object) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[memoryview]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exception: object) -> None: ...
    def __del__(self) -> None: ...
    def close(self) -> None:
        """Move the position behind the batch's messages. Twice is fine."""
    @property
    def refused_count(self) -> int: ...
    @property
    def lengths(self) -> npt.NDArray[np.int32]: ...
    @property
    def positions(self) -> npt.NDArray[np.int64]: ...
    @property
    def session_ids(self) -> npt.NDArray[np.int32]: ...
    def payload(self, index: int) -> memoryview:
        """The bytes of one message, as a read-only memoryview; IndexError."""
    def view(self, dtype: npt.DTypeLike, *, copy: bool = False) -> npt.NDArray[Any]:
        """The messages as an array of ``dtype``, one item each, without a copy."""
    def gather(self) -> npt.NDArray[np.uint8]:
        """All payloads, one behind the other, as a new array of uint8."""
    def to_arrow(self) -> Any:
        """A pyarrow table of position (int64), session_id (int32) and payload (binary); a copy."""

@final
class Image:
    """One stream from one source, as one subscription sees it."""

    def __new__(
        cls,
        core: ClientCore,
        log: ClientLog,
        *,
        subscription: SubscriptionBase,
        correlation_id: int,
        session_id: int,
        stream_id: int,
        subscriber_position_id: int,
        source_identity: str,
    ) -> Self: ...
    def _close(self) -> None: ...
    def _release_log(self) -> None: ...
    def poll(self, handler: _FragmentHandler, fragment_limit: int = 10) -> int:
        """Call ``handler(buffer, header)`` for up to fragment_limit fragments; returns how many."""
    def bounded_poll(self, handler: _FragmentHandler, limit_position: int, fragment_limit: int = 10) -> int:
        """As poll, for fragments that begin before limit_position."""
    def controlled_poll(self, handler: _ControlledHandler, fragment_limit: int = 10) -> int:
        """As poll; the handler answers a `ControlledAction`, or None to continue."""
    def bounded_controlled_poll(
        self, handler: _ControlledHandler, limit_position: int, fragment_limit: int = 10
    ) -> int:
        """As controlled_poll, for fragments that begin before limit_position."""
    def block_poll(self, handler: _BlockHandler, block_length_limit: int) -> int:
        """Call ``handler(block, session_id, term_id)`` for a run of whole frames; returns its bytes."""
    def raw_poll(self, handler: _RawBlockHandler, block_length_limit: int) -> int:
        """As block_poll, with where the block lies in the log's file, to be sent or copied from there."""
    def controlled_peek(
        self, initial_position: int, handler: _ControlledHandler, limit_position: int = 0x7FFFFFFFFFFFFFFF
    ) -> int:
        """As controlled_poll from a position of the caller's in the current term, without moving the image's own."""
    def set_position(self, new_position: int) -> bool:
        """Go on reading from a later position of the current term; False once closed."""
    def reject(self, reason: str) -> None:
        """Refuse this image: its publisher is told why, and it goes away. Raises RegistrationError, ArgumentError."""
    @property
    def correlation_id(self) -> int: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def session_id(self) -> int: ...
    @property
    def subscriber_position_id(self) -> int: ...
    @property
    def mtu_length(self) -> int: ...
    @property
    def source_identity(self) -> str: ...
    @property
    def subscription(self) -> SubscriptionBase | None: ...
    @property
    def native_address(self) -> int:
        """Address of the C image reader, for native code; valid while this object is alive."""
    @property
    def position(self) -> int: ...
    @property
    def join_position(self) -> int: ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def is_end_of_stream(self) -> bool: ...
    @property
    def end_of_stream_position(self) -> int: ...
    @property
    def is_publication_revoked(self) -> bool: ...
    @property
    def active_transport_count(self) -> int: ...
    @property
    def initial_term_id(self) -> int: ...
    @property
    def term_buffer_length(self) -> int: ...
    @property
    def position_bits_to_shift(self) -> int: ...

@disjoint_base
class SubscriptionBase:
    """The polls of a subscription, over its images in turn. One thread at a time."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def _attach(
        self,
        core: ClientCore,
        channel: str,
        stream_id: int,
        registration_id: int,
        channel_status_id: int,
        error_handler: Callable[[Exception], object] | None = None,
    ) -> None: ...
    def _set_images(self, images: tuple[Image, ...]) -> None: ...
    def _mark_closed(self) -> None: ...
    @property
    def is_polling(self) -> bool: ...
    @property
    def channel(self) -> str: ...
    @property
    def stream_id(self) -> int: ...
    @property
    def registration_id(self) -> int: ...
    @property
    def channel_status_id(self) -> int: ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def images(self) -> tuple[Image, ...]: ...
    @property
    def image_count(self) -> int: ...
    @property
    def has_no_images(self) -> bool: ...
    @property
    def is_connected(self) -> bool: ...
    def image_by_session_id(self, session_id: int) -> Image | None:
        """The image of a session, or None."""
    def image_at_index(self, index: int) -> Image:
        """The image at an index of `images`; IndexError."""
    def poll(self, handler: _FragmentHandler, fragment_limit: int = 10) -> int:
        """Call ``handler(buffer, header)`` for up to fragment_limit fragments; returns how many."""
    def controlled_poll(self, handler: _ControlledHandler, fragment_limit: int = 10) -> int:
        """As poll; the handler answers a `ControlledAction`, or None to continue."""
    def block_poll(self, handler: _BlockHandler, block_length_limit: int) -> int:
        """As of each image in turn, each with the full limit; returns the bytes of all."""
    def raw_poll(self, handler: _RawBlockHandler, block_length_limit: int) -> int:
        """As of each image in turn, each with the full limit; returns the bytes of all."""
    def poll_native(
        self,
        handler: object,
        context: object = 0,
        fragment_limit: int = 10,
        *,
        assemble: bool = False,
        controlled: bool = False,
    ) -> int:
        """Call a native function for up to fragment_limit fragments, without the GIL; returns how many."""
    @property
    def native_handle(self) -> NativeHandle:
        """A `NativeHandle` for the functions of aeronpy.h; keep it as long as native code has its address."""
    def poll_batch(self, messages_max: int = 4096) -> MessageBatch:
        """Take up to messages_max whole messages in one crossing; returns a `MessageBatch`, to be closed."""
    def fileno(self) -> int:
        """A descriptor for `select` and its kin: readable when there may be something to poll."""
    def arm(self) -> bool:
        """Announce a sleep on `fileno`: True, it becomes readable on need; False, there is something to poll now."""
    def disarm(self) -> None:
        """Make the descriptor quiet again after it was readable, for loops that do not come to `arm` at once."""
    def wait(self, timeout_s: float | None = None, idle: str | None = None) -> bool:
        """Sleep without the GIL until there is something to poll; False when timeout_s passed, or once closed."""

_C_API: object  # the capsule of aeronpy.h's table

def native_api_address() -> int:
    """Address of the table of aeronpy.h, which lives as long as the process."""

@final
class NativeHandle:
    """A publication or subscription as the functions of aeronpy.h take it: hand on its `address`, and keep this."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __index__(self) -> int: ...
    @property
    def address(self) -> int: ...
    @property
    def is_closed(self) -> bool: ...

# --- driver ---

def format_address(address: Buffer) -> str:
    """Text of a ``sockaddr_storage``: ``a.b.c.d:port`` or ``[v6]:port``."""

def log_file_length(term_length: int, page_size: int) -> int:
    """Bytes of a log file with such terms."""

def driver_heartbeat_age_ms(directory: str, timeout_ms: int) -> tuple[bool, int]:
    """``(is_active, age)`` of the driver in a directory; waits up to ``timeout_ms`` for one that is starting."""

@final
class DriverCore:
    """The native parts of one media driver: files, counters, logs, agents and their threads.

    All but ``wake`` belongs to the decision thread. Nothing works in a forked child.
    """

    directory: str
    page_size: int

    def __new__(cls, directory: str, config: dict[str, Any], labels: list[bytes]) -> Self: ...
    @property
    def is_open(self) -> bool:
        """True until closed, in the process that opened it."""
    def ready(self) -> None:
        """Let clients in: the last step of a start."""
    def start(self, mode: int, settings: list[tuple[bytes, bytes, int, bytes | None]]) -> None:
        """Start the threads of a mode; settings are ``(strategy, arguments, cpu, thread name or None)`` per agent."""
    def stop(self) -> None:
        """Join the threads; safe twice."""
    def do_work(self) -> int:
        """A cycle of every agent on this thread (INVOKER)."""
    def idle(self, work: int) -> None:
        """What the first agent's strategy does after such a cycle (INVOKER)."""
    def close(self) -> None:
        """Stop, free every resource, say goodbye to clients, unmap. Safe twice; nothing in a forked child."""
    def wait(self, timeout_ns: int) -> bool:
        """Sleep until the core has events, or somebody wakes us; False when the time is over."""
    def wake(self) -> None:
        """End a wait. Safe from any thread."""
    def poll_events(self, limit: int) -> list[tuple[int, bytes]]:
        """Up to ``limit`` events as ``(type, bytes)``."""
    def start_trace(self, events: int) -> None:
        """Record events of the native threads, bit n for event n, from now on: once, before anything else is made."""
    def poll_trace(self, limit: int) -> list[tuple[int, int, bytes, int, bytes]]:
        """Up to ``limit`` of them: ``(event, monotonic time in ns, address or b"", length of the datagram, body)``."""
    def trace_dropped(self) -> int:
        """How many found no room so far."""
    def add_client(self, client_id: int, counter_id: int) -> None:
        """Watch a client's heartbeat."""
    def remove_client(self, client_id: int) -> None:
        """Watch it no more."""
    def next_correlation_id(self) -> int:
        """A fresh id from the counter that clients draw from too."""
    def transmit(self, type_id: int, message: Buffer) -> None:
        """Broadcast one event to all clients."""
    def allocate_counter(
        self,
        type_id: int,
        key: bytes,
        label: bytes,
        registration_id: int,
        owner_id: int,
        reference_id: int = 0,
        value: int = 0,
    ) -> int:
        """Allocate a counter and return its id; key and label are clipped to their limits."""
    def free_counter(self, counter_id: int) -> None:
        """Give a counter back."""
    def append_label(self, counter_id: int, text: bytes) -> None:
        """Write on at the end of a counter's label."""
    def set_key(self, counter_id: int, key: bytes) -> None:
        """Rewrite a counter's key."""
    def find_counter(self, type_id: int, registration_id: int) -> tuple[int, int] | None:
        """``(counter id, owner id)`` of the allocated counter with this type and registration, or None."""
    def counter_value(self, counter_id: int) -> int:
        """The value of a counter."""
    def set_counter(self, counter_id: int, value: int) -> None:
        """Set the value of a counter that has no other writer."""
    def count(self, system_counter: int, delta: int = 1) -> None:
        """Add to a system counter, which any agent may write."""
    def record_error(self, text: str) -> None:
        """Put a sentence into the distinct error log and count it."""

@final
class DriverLog:
    """A log file, made from the settings in its metadata, until a publication or an image takes it over.

    Making and discarding may take as long as writing the whole file: both let go of the GIL, on any thread.
    """

    path: str
    correlation_id: int

    def __new__(cls, path: str, settings: dict[str, Any]) -> Self: ...
    def discard(self) -> None:
        """Unmap and delete a log that nobody took. Safe twice; nothing when it was taken."""

@disjoint_base
class _Resource:
    """What a DriverCore runs: kept alive by it until freed."""

    def free(self) -> None:
        """Give memory, files and sockets back, once the agents let go of it. Safe twice, and on any thread."""

class _Subscribable(_Resource):
    """A log that subscribers read: clients of an IPC publication or an image, spies of a network publication."""

    def add_subscriber(self, registration_id: int, counter_id: int, tether: bool, rejoin: bool) -> int | None:
        """Let one in: the join position, also set in the counter, or None when it takes no subscribers now."""
    def remove_subscriber(self, registration_id: int) -> bool:
        """True when it was there."""

@final
class IpcPublicationCore(_Subscribable):
    """A log whose readers map it themselves."""

    def __new__(
        cls,
        core: DriverCore,
        log: DriverLog,
        settings: dict[str, Any],
    ) -> Self: ...
    def add(self) -> None:
        """Let the core run it."""
    def close(self) -> None:
        """No client holds it any more: it drains."""
    def revoke(self) -> None:
        """End it without draining."""
    def reject(self) -> None:
        """Drop its subscribers and take none until the cool-down is over."""

def socket_buffer_length(is_send: bool, wanted: int = 0) -> int: ...
def interfaces() -> list[tuple[str, str, int, int, int]]:
    """Addresses of this machine: ``(name, address text without port, prefix length, index, flags)``."""

@final
class GossipCore(_Resource):
    """A socket that tells and hears names, on a native thread or where `do_work` is called. Any thread may ask it."""

    def __new__(cls, core: DriverCore, settings: dict[str, Any]) -> Self: ...
    def start(self, cpu: int) -> None:
        """Run on a thread of its own, which never takes the GIL; cpu -1: any."""
    def do_work(self) -> int:
        """A cycle on this thread (INVOKER)."""
    def bound_address(self) -> bytes:
        """Where its socket is bound, as bytes of a ``sockaddr_storage``."""
    def set_bootstrap(self, index: int, address: Buffer) -> None:
        """Whom to tell from the start."""
    def is_neighbor(self, address: Buffer) -> bool:
        """Was it heard from, or of, lately?"""
    def find(self, name: str) -> str | None:
        """The IP address of a name as text; None when nobody spoke of it lately."""

@final
class SendEndpointCore(_Resource):
    """The socket that the publications of one channel send from."""

    def __new__(cls, core: DriverCore, channel: dict[str, Any], endpoint_id: int, status_id: int) -> Self: ...
    def bound_address(self) -> bytes:
        """Where its socket is bound, as bytes of a ``sockaddr_storage``."""
    def add(self) -> None:
        """Hand it to the sender; CapacityError when the sender's queue is full now."""
    def remove(self) -> None:
        """Ask the sender to let go of it; CapacityError when the sender's queue is full now."""
    def add_destination(self, destination_id: int, address: Buffer | None) -> None:
        """Send there too; the address of a name that nobody knows yet is None. CapacityError as above."""
    def remove_destination(self, destination_id: int) -> None:
        """Send there no more; nothing when it is not there. CapacityError as above."""
    def move(self, destination_id: int, address: Buffer) -> None:
        """The name of a destination, or with -1 of the channel, has another address now. CapacityError as above."""

@final
class ReceiveEndpointCore(_Resource):
    """What the subscriptions of one channel share: the streams that they want, and destinations that bring them."""

    def __new__(cls, core: DriverCore, channel: dict[str, Any], endpoint_id: int, status_id: int) -> Self: ...
    def remove(self) -> None:
        """Ask the receiver to let go of it and its destinations; CapacityError when its queue is full, as all below."""
    def add_stream(self, stream_id: int, session_id: int | None = None) -> None:
        """Take a stream: of one session, or of all. One session is asked for at once, each time this is called."""
    def remove_stream(self, stream_id: int, session_id: int | None = None) -> None:
        """Take it no more."""
    def refuse_image(self, stream_id: int, session_id: int) -> None:
        """No image was made for a SETUP: the next one may ask again."""

@final
class ReceiveDestinationCore(_Resource):
    """One socket of a receive endpoint, bound."""

    def __new__(cls, endpoint: ReceiveEndpointCore, channel: dict[str, Any], destination_id: int) -> Self: ...
    def bound_address(self) -> bytes:
        """Where its socket is bound, as bytes of a ``sockaddr_storage``."""
    def add(self) -> None:
        """Hand it to the receiver; CapacityError when the receiver's queue is full now, as all below."""
    def remove(self) -> None:
        """Ask the receiver to let go of it."""
    def set_control(self, address: Buffer) -> None:
        """The name of its explicit control address stands for this ``sockaddr_storage`` now."""

@final
class NetworkPublicationCore(_Subscribable):
    """A log that the sender drains to the wire."""

    def __new__(
        cls,
        core: DriverCore,
        endpoint: SendEndpointCore,
        log: DriverLog,
        settings: dict[str, Any],
    ) -> Self: ...
    def add(self) -> None:
        """Let core and sender run it; CapacityError when the sender's queue is full now."""
    def close(self) -> None:
        """No client holds it any more: it drains."""
    def revoke(self) -> None:
        """End it without draining."""

@final
class ImageCore(_Subscribable):
    """One stream from one source, rebuilt."""

    def __new__(
        cls,
        core: DriverCore,
        endpoint: ReceiveEndpointCore,
        log: DriverLog,
        settings: dict[str, Any],
    ) -> Self: ...
    def add_first_subscriber(self, registration_id: int, counter_id: int, tether: bool, rejoin: bool) -> None:
        """A subscriber from the start, before core and receiver know the image; its counter is set already."""
    def add(self) -> None:
        """Let core and receiver run it; CapacityError when the receiver's queue is full now."""
    def set_response(self, session_id: int | None) -> None:
        """Tell the source which session answers it, until this is called with None."""
    def reject(self, reason: bytes) -> None:
        """Answer the source with errors in place of status messages."""

# --- archive ---

def put_i32_ordered(buffer: Buffer, offset: int, value: int) -> None:
    """Store after all that was stored before, for readers in other processes. The offset is 4-aligned."""

def put_i64_ordered(buffer: Buffer, offset: int, value: int) -> None:
    """As put_i32_ordered, of 8 aligned bytes, which no reader sees half written."""

def compare_and_set_i64(buffer: Buffer, offset: int, expected: int, value: int) -> bool:
    """Store value if expected is there; whether it was."""

@final
class ErrorLogWriter:
    """Writes a distinct error log into a zeroed buffer, which it keeps alive until closed. Safe from any thread."""

    def __new__(cls, buffer: Buffer) -> Self: ...
    def record(self, text: str) -> None:
        """Count an error once more, or for the first time; CapacityError when the log has no room for it."""
    def close(self) -> None:
        """Let go of the buffer. Safe twice."""

@final
class Recorder:
    """Owns the thread that records images into segment files; it never needs the interpreter."""

    def __new__(
        cls,
        directory: str | PathLike[str],
        mark: Buffer,
        activity_offset: int,
        block_max: int = ...,
        sync_level: int = 0,
        idle_strategy: str = "backoff",
        idle_arguments: str = "",
        cpu: int = -1,
    ) -> Self: ...
    def add(
        self, recording_id: int, image: Image, counter: CounterBase, start_position: int, segment_length: int
    ) -> None:
        """Record an image from its position on; the counter follows. StateError where a file is in the way."""
    def abort(self, recording_id: int) -> bool:
        """Let a recording end where it is; whether there was one. `wait` tells when it has ended."""
    def wait(self, timeout_s: float) -> tuple[int, int, int, str] | None:
        """Wait for a recording to end: ``(recording_id, stop_position, code, text)``; None when woken or late."""
    def wake(self) -> None:
        """Make `wait` return. Safe from any thread."""
    def close(self) -> None:
        """Stop the thread; what still records ends unreported. Safe twice, not while another thread waits."""

# --- recording ---

@final
class SegmentColumns:
    """Arrays that a SegmentScan appends rows to; those that are None are not wanted. Keeps them alive."""

    def __new__(
        cls,
        rows_max: int,
        bytes_max: int,
        position: Buffer | None = None,
        end_position: Buffer | None = None,
        term_id: Buffer | None = None,
        term_offset: Buffer | None = None,
        flags: Buffer | None = None,
        type: Buffer | None = None,
        session_id: Buffer | None = None,
        reserved_value: Buffer | None = None,
        fragments: Buffer | None = None,
        length: Buffer | None = None,
        incomplete: Buffer | None = None,
        payload_offsets: Buffer | None = None,
        payload: Buffer | None = None,
    ) -> SegmentColumns: ...
    @property
    def row_count(self) -> int: ...
    @property
    def byte_count(self) -> int: ...

@final
class SegmentScan:
    """Walks the frames of a recording and appends what it finds to columns. For one thread."""

    def __new__(
        cls,
        initial_term_id: int,
        term_length: int,
        stream_id: int,
        position: int,
        limit: int,
        *,
        from_position: int,
        to_position: int,
        frames: bool = False,
        emit_incomplete: bool = False,
        live: bool = False,
    ) -> SegmentScan: ...
    def run(self, memory: Buffer, columns: SegmentColumns) -> int: ...
    @property
    def position(self) -> int: ...
    @position.setter
    def position(self, value: int) -> None: ...
    @property
    def frame_count(self) -> int: ...
    @property
    def incomplete_count(self) -> int: ...
    @property
    def incomplete_position(self) -> int: ...
    @property
    def fault(self) -> tuple[int, int, bytes] | None: ...
