# Wrappers of the archive room.
from aeronpy._core.c_archive cimport *


cdef int64_t *_aligned(uint8_t[::1] buffer, Py_ssize_t offset, Py_ssize_t size) except NULL:
    if offset < 0 or offset % size or offset + size > buffer.shape[0]:
        raise _errors.ArgumentError(f"offset {offset} is no place for {size} bytes in {buffer.shape[0]}")
    return <int64_t *>&buffer[offset]


def put_i32_ordered(uint8_t[::1] buffer not None, Py_ssize_t offset, int32_t value):
    """Store after all that was stored before, for readers in other processes. The offset is 4-aligned."""
    apy_store_release_i32(<int32_t *>_aligned(buffer, offset, 4), value)


def put_i64_ordered(uint8_t[::1] buffer not None, Py_ssize_t offset, int64_t value):
    """As put_i32_ordered, of 8 aligned bytes, which no reader sees half written."""
    apy_store_release_i64(_aligned(buffer, offset, 8), value)


def compare_and_set_i64(uint8_t[::1] buffer not None, Py_ssize_t offset, int64_t expected, int64_t value):
    """Store value if expected is there; whether it was."""
    return apy_cas_i64(_aligned(buffer, offset, 8), expected, value)


@cython.final
cdef class ErrorLogWriter:
    """Writes a distinct error log into a zeroed buffer, which it keeps alive until closed. Safe from any thread."""

    cdef apy_error_log_t _log
    cdef uint8_t[::1] _buffer

    def __cinit__(self, uint8_t[::1] buffer not None):
        check(apy_error_log_init(&self._log, &buffer[0], buffer.shape[0], apy_clock_system()))
        self._buffer = buffer

    def __dealloc__(self):
        if self._buffer is not None:
            apy_error_log_close(&self._log)

    def record(self, str text not None):
        """Count an error once more, or for the first time; CapacityError when the log has no room for it."""
        cdef bytes data = text.encode("utf-8")
        if self._buffer is None:
            raise _errors.StateError("the error log is closed")
        check(apy_error_log_record(&self._log, data, <int32_t>len(data)))

    def close(self):
        """Let go of the buffer. Safe twice."""
        if self._buffer is not None:
            apy_error_log_close(&self._log)
            self._buffer = None


@cython.final
cdef class Recorder:
    """Owns the thread that records images into segment files; it never needs the interpreter.

    ``mark`` is the mark file: its timestamp at ``activity_offset`` is refreshed every second. `wait` belongs to
    one thread; `add` and `abort` to one at a time.
    """

    cdef apy_recorder_t *_recorder
    cdef uint8_t[::1] _mark
    cdef dict _kept
    cdef int _pid

    def __cinit__(self, directory not None, uint8_t[::1] mark not None, Py_ssize_t activity_offset,
                  int32_t block_max=1 << 20, int32_t sync_level=0, idle_strategy="backoff", idle_arguments="",
                  int cpu=-1):
        cdef bytes path = _os.fsencode(directory)
        cdef bytes idle_name = idle_strategy.encode(), arguments = idle_arguments.encode()
        cdef apy_recorder_params_t params
        cdef apy_idle_t idle
        self._kept = {}
        self._pid = getpid()
        params.directory = path
        params.block_max = block_max
        params.sync_level = sync_level
        params.activity_ms = _aligned(mark, activity_offset, 8)
        params.clock = apy_clock_system()
        check(apy_idle_init(&idle, idle_name, arguments))
        check(apy_recorder_create(&params, &self._recorder))
        self._mark = mark
        check(apy_recorder_start(self._recorder, &idle, cpu))

    def __dealloc__(self):
        if self._recorder != NULL and self._pid == getpid():
            apy_recorder_free(self._recorder)

    cdef int _check_open(self) except -1:
        if self._recorder == NULL:
            raise _errors.StateError("the recorder is closed")
        if self._pid != getpid():
            raise _errors.StateError(f"the recorder belongs to process {self._pid}, this is its fork")
        return 0

    def add(self, int64_t recording_id, Image image not None, CounterBase counter not None, int64_t start_position,
            int32_t segment_length):
        """Record an image from its position on; the counter follows. StateError where a file is in the way."""
        cdef apy_recording_params_t params
        cdef ClientLog log = image._log
        cdef int rc
        self._check_open()
        if log is None:
            raise _errors.StateError(f"the image of session {image.session_id} has gone away")
        apy_recording_source_init(&params.source, &image._reader)
        params.recording_id = recording_id
        params.start_position = start_position
        params.recorded_position = counter._value
        params.segment_length = segment_length
        self._kept[recording_id] = (image, log, image._cnc, counter)
        with nogil:
            rc = apy_recorder_add(self._recorder, &params)
        if rc < 0:
            del self._kept[recording_id]
        check(rc)

    def abort(self, int64_t recording_id):
        """Let a recording end where it is; whether there was one. `wait` tells when it has ended."""
        cdef int rc
        self._check_open()
        with nogil:
            rc = apy_recorder_abort(self._recorder, recording_id)
        return check(rc) == 1

    def wait(self, double timeout_s):
        """Wait for a recording to end: ``(recording_id, stop_position, code, text)``; None when woken or late.

        A code that is not 0 is the C core's: the text then says why the recording failed.
        """
        cdef apy_recording_ended_t ended
        cdef int64_t timeout_ns = <int64_t>(timeout_s * 1e9)
        cdef int rc
        self._check_open()
        with nogil:
            rc = apy_recorder_wait(self._recorder, timeout_ns, &ended)
        if check(rc) == 0:
            return None
        self._kept.pop(ended.recording_id, None)
        return ended.recording_id, ended.stop_position, ended.code, ended.text.decode("utf-8", "replace")

    def wake(self):
        """Make `wait` return. Safe from any thread."""
        self._check_open()
        apy_recorder_wake(self._recorder)

    def close(self):
        """Stop the thread; what still records ends unreported. Safe twice, not while another thread waits."""
        cdef apy_recorder_t *recorder = self._recorder
        if recorder != NULL and self._pid == getpid():
            self._recorder = NULL
            with nogil:
                apy_recorder_free(recorder)
            self._mark = None
            self._kept.clear()
