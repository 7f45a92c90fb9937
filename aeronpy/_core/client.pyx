# Wrappers of the client room: mappings with owners, the core, counters. Polls and offers stand in client_*.pyx.
from cpython.buffer cimport (
    PyBUF_CONTIG_RO, PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release,
    PyObject_GetBuffer,
)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF, Py_XDECREF, PyObject
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from aeronpy._core.c_client cimport *
from aeronpy._core.c_native cimport *
from aeronpy.native_api cimport *

import struct as _struct
import time as _time
import weakref as _weakref

from aeronpy.client.values import ControlledAction as _ControlledAction, OfferResult as _OfferResult


cdef extern from "<stdlib.h>" nogil:
    void *aligned_alloc(size_t alignment, size_t size)


cdef extern from *:
    """
    /* A Python error is set already: let it reach the caller. */
    static int apy_propagate(void) { return -1; }
    """
    int apy_propagate() except -1


# Waits release the GIL and come back this often to look for signals.
cdef int64_t SIGNAL_CHECK_NS = 20_000_000

# The driver's counter that a "controllable" idle strategy obeys.
cdef int32_t CONDUCTOR_IDLE_CONTROL = 22

# Counts up in every forked child: what was made before belongs to the parent.
cdef int _generation = 0


def _after_fork():
    global _generation
    _generation += 1


_os.register_at_fork(after_in_child=_after_fork)


cdef int refuse_fork() except -1:
    raise _errors.StateError("this was made before a fork and belongs to the parent: connect in the child")


cdef inline int check_generation(int generation) except -1:
    return refuse_fork() if generation != _generation else 0


cdef int64_t nanoseconds(object seconds) except? -1:
    # None waits as long as time lasts.
    if seconds is None:
        return <int64_t>1 << 62
    if not seconds >= 0:
        raise _errors.ArgumentError(f"a timeout of {seconds!r} s: it must be 0 or more, or None to wait for ever")
    return <int64_t>min(seconds * 1e9, 4e18)


cdef char *_BYTES_FORMAT = b"B"


cdef int fill_buffer(Py_buffer *buffer, int flags, object owner, const uint8_t *data, Py_ssize_t length,
                     bint readonly) except -1:
    # The consumer holds the owner, so the memory outlives every view taken from it.
    if readonly and flags & PyBUF_WRITABLE:
        raise BufferError("received bytes are read-only: copy them with bytes()")
    buffer.obj = owner
    buffer.buf = <void *>data
    buffer.len = length
    buffer.itemsize = 1
    buffer.readonly = readonly
    buffer.ndim = 1
    buffer.format = _BYTES_FORMAT if flags & PyBUF_FORMAT else NULL
    buffer.shape = &buffer.len if flags & PyBUF_ND else NULL
    buffer.strides = &buffer.itemsize if (flags & PyBUF_STRIDES) == PyBUF_STRIDES else NULL
    buffer.suboffsets = NULL
    buffer.internal = NULL
    return 0


@cython.final
cdef class _OwnedMemory:
    # malloc'ed bytes with an owner, for views of messages that were put together from fragments.
    cdef uint8_t *_data

    def __dealloc__(self):
        free(self._data)


cdef _OwnedMemory owned_memory(uint8_t *data):
    cdef _OwnedMemory memory = _OwnedMemory.__new__(_OwnedMemory)
    memory._data = data
    return memory


@cython.final
cdef class ClientLog:
    """A mapped log. Whoever shows its bytes holds a reference, so that it is unmapped after the last of them."""

    cdef apy_log_t _log
    cdef bint _is_open
    cdef int _file
    cdef readonly str path
    cdef object __weakref__

    def __cinit__(self, str path not None, bint pre_touch=False):
        cdef bytes encoded = _os.fsencode(path)
        cdef const char *text = encoded
        cdef int rc
        self._file = -1
        with nogil:
            rc = apy_log_open(&self._log, text)
            if rc >= 0 and pre_touch:
                apy_mapping_touch(&self._log.mapping)
        check(rc)
        self._is_open = True
        self.path = path

    def __dealloc__(self):
        if self._is_open:
            apy_log_close(&self._log)
        if self._file >= 0:
            _os.close(self._file)

    cdef int file(self) except -1:
        # For those who read the log by a descriptor; the mapping needs none.
        if self._file < 0:
            try:
                self._file = _os.open(self.path, _os.O_RDONLY | _os.O_CLOEXEC)
            except FileNotFoundError:
                raise _errors.StateError(f"{self.path} is gone: the driver removed it, as its stream ended") from None
        return self._file


@cython.final
cdef class CncMapping:
    """A driver's CnC file, mapped to read and write. Everything that points into it holds a reference."""

    cdef apy_cnc_t _cnc
    cdef apy_ringer_t _ringer
    cdef readonly str directory
    cdef int _generation

    def __cinit__(self, str directory not None, int64_t timeout_ms):
        self._ringer.fd = -1
        cdef bytes encoded = _os.fsencode(directory)
        cdef const char *text = encoded
        cdef int rc = 0
        cdef int64_t left = timeout_ms
        cdef int64_t slice_ms
        self.directory = directory
        self._generation = _generation
        # In slices, so that Ctrl-C is heard; the last one says what was missing.
        while True:
            slice_ms = min(left, 200)
            with nogil:
                rc = apy_cnc_open_for(&self._cnc, text, timeout_ms, slice_ms)
            left -= slice_ms
            PyErr_CheckSignals()
            if rc != _TIMEOUT_CODE or left <= 0:
                break
        if rc == _TIMEOUT_CODE:
            text_of = apy_error_text().decode("utf-8", "replace").partition(": ")[2]
            raise _errors.DriverTimeout(f"no live media driver within {timeout_ms} ms: {text_of}", rc)
        check(rc)
        apy_ringer_open(&self._ringer, text)

    def __dealloc__(self):
        apy_ringer_close(&self._ringer)
        if self._cnc.header != NULL:
            apy_cnc_close(&self._cnc)

    @property
    def pid(self):
        """Process id of the driver."""
        return self._cnc.header.pid

    @property
    def start_timestamp_ms(self):
        """When the driver started, epoch ms."""
        return self._cnc.header.start_ms

    @property
    def client_liveness_timeout_ns(self):
        """After how long without a keepalive the driver gives up on a client."""
        return self._cnc.header.client_liveness_timeout_ns

    @property
    def heartbeat_timestamp_ms(self):
        """The driver's last sign of life, epoch ms; -1 after an orderly shutdown."""
        return apy_load_acquire_i64(self._cnc.ring.heartbeat_ms)

    @property
    def counters(self):
        """The driver's counters."""
        check_generation(self._generation)
        return counters_reader(self, &self._cnc.counters)


cdef int _TIMEOUT_CODE = -5


def driver_is_active(str directory not None, int64_t timeout_ms=10_000):
    """Whether a media driver lives in a directory; waits for one that is starting."""
    cdef bytes encoded = _os.fsencode(directory)
    cdef const char *text = encoded
    cdef int rc
    with nogil:
        rc = apy_cnc_driver_is_active(text, timeout_ms, NULL)
    return check(rc) == 1


@cython.final
cdef class Waiter:
    """What one thread waits for and another brings. Waiting releases the GIL and hears signals."""

    cdef apy_wake_t _wake
    cdef readonly object result
    cdef readonly object error
    cdef readonly bint done
    cdef object _callback

    def __cinit__(self):
        apy_wake_init(&self._wake)

    def complete(self, result, error=None):
        """Bring the result, or the error to raise."""
        self.result = result
        self.error = error
        self.done = True
        apy_wake_signal(&self._wake)
        if self._callback is not None:
            self._callback()

    def on_done(self, callback):
        """Call this, on the thread that completes it, or at once where it is done. One callback; None takes it back."""
        self._callback = callback
        if self.done and callback is not None:
            callback()

    def wait(self, timeout_s=None):
        """Wait until complete was called; False when timeout_s passed first."""
        cdef apy_clock_t clock = apy_clock_system()
        cdef int64_t timeout_ns = nanoseconds(timeout_s)
        cdef int64_t started_ns = apy_nano_time(&clock)
        cdef int64_t left_ns
        while not self.done:
            left_ns = timeout_ns - (apy_nano_time(&clock) - started_ns)
            if left_ns <= 0:
                return False
            with nogil:
                apy_wake_wait(&self._wake, min(left_ns, SIGNAL_CHECK_NS))
            PyErr_CheckSignals()
        return True


@cython.final
cdef class ClientCore:
    """The C side of a client: keeps it alive at the driver on its own thread, and queues what needs a decision."""

    cdef apy_client_core_t *_core
    cdef CncMapping _cnc
    cdef CountersReader _counters
    cdef int _generation
    cdef bint _is_closed
    cdef readonly int64_t client_id

    def __cinit__(self, CncMapping cnc not None, *, int64_t driver_timeout_ms, int64_t keepalive_interval_ns,
                  int64_t idle_sleep_ns, str client_name not None, str version not None, str commit not None,
                  int64_t woken_sleep_ns=0):
        cdef apy_client_params_t params
        cdef bytes directory = _os.fsencode(cnc.directory)
        cdef bytes name = client_name.encode("ascii", "replace")
        cdef bytes version_text = version.encode("ascii")
        cdef bytes commit_text = commit.encode("ascii")
        params.driver_timeout_ms = driver_timeout_ms
        params.keepalive_interval_ns = keepalive_interval_ns
        params.inter_service_timeout_ns = cnc._cnc.header.client_liveness_timeout_ns
        params.idle_sleep_ns = idle_sleep_ns
        params.woken_sleep_ns = woken_sleep_ns
        params.directory = directory
        params.client_name = name
        params.version = version_text
        params.commit = commit_text
        self._cnc = cnc
        self._generation = _generation
        self._core = <apy_client_core_t *>aligned_alloc(64, sizeof(apy_client_core_t))
        if self._core == NULL:
            raise MemoryError
        cdef int rc = apy_client_core_init(self._core, &cnc._cnc, &params, apy_clock_system())
        if rc < 0:
            free(self._core)
            self._core = NULL
            check(rc)
        self.client_id = self._core.client_id
        self._core.ringer = &cnc._ringer
        self._counters = counters_reader(cnc, &cnc._cnc.counters)

    def __dealloc__(self):
        # A fork's child has no such thread to stop, and leaves the parent's memory alone.
        if self._core != NULL and self._generation == _generation:
            with nogil:
                apy_client_core_free(self._core)
            free(self._core)

    cdef int _check_open(self) except -1:
        check_generation(self._generation)
        if self._is_closed:
            raise _errors.StateError("the client is closed")
        return 0

    def start(self, IdleStrategy idle=None):
        """Start the core's thread; it idles as told, or else sleeps until its next look or until it is needed."""
        self._check_open()
        if idle is not None:
            idle._idle.control = apy_counter_address(&self._cnc._cnc.counters, CONDUCTOR_IDLE_CONTROL)
        check(apy_client_core_start(self._core, &idle._idle if idle is not None else NULL))

    def do_work(self):
        """Run one duty cycle on the caller's thread, where none was started."""
        self._check_open()
        return apy_client_core_do_work(self._core)

    def close(self):
        """Tell the driver and stop the thread. Twice is fine."""
        cdef int64_t body[2]
        if self._is_closed or self._generation != _generation:
            return
        self._is_closed = True
        self._counters._close()
        body[0] = self.client_id
        body[1] = -1
        with nogil:
            apy_client_core_stop(self._core)
            apy_mpsc_ring_write(&self._cnc._cnc.ring, 0x0B, body, sizeof(body))
            apy_client_core_wake(self._core)

    @property
    def is_closed(self):
        """Whether close was called."""
        return self._is_closed

    @property
    def is_forked(self):
        """Whether this is a forked child's copy, whose threads and locks are the parent's."""
        return self._generation != _generation

    @property
    def termination(self):
        """Why the core ended by itself, as a reason and a text; None while it goes on."""
        if not apy_load_acquire_i32(&self._core.is_terminated):
            return None
        return self._core.ended_reason, (<const char *>self._core.ended_text).decode("utf-8", "replace")

    @property
    def counters(self):
        """The driver's counters."""
        self._check_open()
        return self._counters

    @property
    def cnc(self):
        """The mapping that everything of this client points into."""
        return self._cnc

    def next_correlation_id(self):
        """An id that no other command of any client has."""
        self._check_open()
        return apy_mpsc_ring_next_correlation_id(&self._cnc._cnc.ring)

    def command(self, int32_t type, const uint8_t[::1] body not None):
        """Write a command to the driver; waits a little where its ring is full, then CapacityError."""
        cdef apy_clock_t clock = apy_clock_system()
        cdef int64_t started_ns = apy_nano_time(&clock)
        cdef int rc
        self._check_open()
        while True:
            rc = apy_client_core_command(self._core, type, &body[0], <int32_t>body.shape[0])
            if rc != -8 or apy_nano_time(&clock) - started_ns > 1_000_000_000:
                break
            _time.sleep(0.001)
            PyErr_CheckSignals()
        if rc == -8:
            raise _errors.CapacityError(f"the driver's command ring is full: command {type:#x} was not sent", rc)
        check(rc)

    def post(self, int32_t type, const uint8_t[::1] body not None):
        """Write a command and never fail, for finalizers; False where there was no room and it is to come again."""
        if self._is_closed or self._generation != _generation:
            return True
        return apy_client_core_command(self._core, type, &body[0], <int32_t>body.shape[0]) != -8

    def watch(self, int64_t id):
        """Keep events that name this id."""
        self._check_open()
        check(apy_client_core_watch(self._core, id))

    def unwatch(self, int64_t id):
        """Drop events that name this id."""
        if self._generation == _generation:
            apy_client_core_unwatch(self._core, id)

    def watch_counters(self, bint wanted):
        """Keep the events of all counters, or only of those that are watched."""
        self._check_open()
        apy_store_release_i32(&self._core.wants_counters, wanted)

    def awaiting(self, int32_t delta):
        """Count calls that wait for the driver: meanwhile the core looks for events more often."""
        if self._generation == _generation:
            apy_client_core_await(self._core, delta)

    def wait(self, timeout_s):
        """Sleep until there may be events, the core is closed, or timeout_s passed."""
        cdef int64_t timeout_ns = nanoseconds(timeout_s)
        with nogil:
            apy_client_core_wait(self._core, timeout_ns)

    def wake(self):
        """Make wait return."""
        if self._generation == _generation:
            apy_client_core_wake(self._core)

    def next_event(self):
        """The oldest event as (type, body), or None."""
        check_generation(self._generation)
        cdef apy_client_event_t *event = apy_client_core_next_event(self._core)
        if event == NULL:
            return None
        try:
            return event.type, PyBytes_FromStringAndSize(<const char *>event.body, event.length)
        finally:
            free(event)

    def open_log(self, str path not None, bint pre_touch=False):
        """Map a log that the driver made."""
        return ClientLog(path, pre_touch)
