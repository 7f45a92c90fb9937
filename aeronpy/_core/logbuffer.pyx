# Wrappers of the logbuffer room: log files as such, for tools and tests; clients and drivers have their own.
cimport cython
from cpython.buffer cimport PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer, PyBUF_SIMPLE
from libc.string cimport memset
from posix.unistd cimport getpid

from aeronpy._core.c_logbuffer cimport *

import os as _os

cdef enum:
    PARTS_MAX = 16


@cython.final
cdef class LogMapping:
    """The memory of a log. Who holds a view of it keeps it mapped."""

    cdef apy_log_t _log
    cdef int _pid

    def __dealloc__(self):
        apy_log_close(&self._log)

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self._log.mapping.address, <Py_ssize_t>self._log.mapping.length, 1, flags)


@cython.final
cdef class LogBuffer:
    """A log file: three terms and the metadata of one stream.

    Views taken from it stay readable after ``close()``; the file is unmapped when the last one is gone.
    A fork's copy refuses to work. Fields are read as they are at that moment.
    """

    cdef LogMapping _mapping

    @staticmethod
    def open(path not None):
        """Map an existing log read-write. Raises NotFoundError, or CorruptError where its lengths cannot be."""
        cdef LogBuffer made = LogBuffer.__new__(LogBuffer)
        cdef LogMapping mapping = LogMapping.__new__(LogMapping)
        cdef bytes encoded = _os.fsencode(path)
        check(apy_log_open(&mapping._log, encoded))
        mapping._pid = getpid()
        made._mapping = mapping
        return made

    @staticmethod
    def create(path not None, *, int32_t term_length, int32_t mtu_length=1408, int32_t page_size=4096,
               int32_t session_id=0, int32_t stream_id=0, int32_t initial_term_id=0, term_id=None,
               int32_t term_offset=0, int64_t correlation_id=0, uint8_t type=APY_LOG_CONCURRENT, bint sparse=True):
        """Create a log file whose producers start at ``term_id`` (else the initial one) and ``term_offset``.

        Lengths are in bytes. Raises ArgumentError, or StorageError with the numbers when it does not fit.
        """
        cdef apy_log_params_t params
        cdef LogBuffer made = LogBuffer.__new__(LogBuffer)
        cdef LogMapping mapping = LogMapping.__new__(LogMapping)
        cdef bytes encoded = _os.fsencode(path)
        memset(&params, 0, sizeof(params))
        params.term_length, params.mtu, params.page_size = term_length, mtu_length, page_size
        params.session_id, params.stream_id, params.correlation_id = session_id, stream_id, correlation_id
        params.initial_term_id, params.start_term_offset = initial_term_id, term_offset
        params.start_term_id = initial_term_id if term_id is None else term_id
        params.type, params.sparse = type, sparse
        params.entity_tag = params.response_correlation_id = -1
        check(apy_log_create(&mapping._log, encoded, &params))
        mapping._pid = getpid()
        made._mapping = mapping
        return made

    cdef apy_log_t *_log(self) except NULL:
        if self._mapping is None:
            raise _errors.StateError("the log is closed")
        if self._mapping._pid != getpid():
            raise _errors.StateError(
                f"the log belongs to process {self._mapping._pid}, this is its fork: open it again")
        return &self._mapping._log

    def close(self):
        """Let the file go. Safe twice; views taken before stay readable."""
        self._mapping = None

    def __enter__(self):
        self._log()
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def closed(self):
        """Whether ``close()`` was called."""
        return self._mapping is None

    def term(self, int partition):
        """Return a read-only view of one of the three terms."""
        cdef apy_log_t *log = self._log()
        if partition < 0 or partition >= APY_PARTITIONS:
            raise _errors.ArgumentError(f"partition {partition} is not 0, 1 or 2")
        return memoryview(self._mapping)[partition * log.term_length:(partition + 1) * log.term_length]

    def metadata(self):
        """Return a read-only view of the metadata: the last 4096 bytes of the file."""
        self._log()
        return memoryview(self._mapping)[-APY_LOG_META_LENGTH:]

    def fields(self):
        """Return all fields of the metadata by their names; ``default_header`` as its first 32 bytes."""
        cdef apy_log_meta_t meta = self._log().meta[0]
        found = dict(meta)
        found["tails"] = tuple(found["tails"])
        found["default_header"] = (<const uint8_t *>meta.default_header)[:32]
        return found

    @property
    def term_length(self):
        """Bytes of one term."""
        return self._log().term_length

    @property
    def mtu_length(self):
        """Bytes of the longest frame, header included."""
        return self._log().mtu

    @property
    def initial_term_id(self):
        """The id of the term that starts at position 0."""
        return self._log().initial_term_id

    @property
    def session_id(self):
        """The session, from the default header."""
        return (<const int32_t *>self._log().meta.default_header)[3]

    @property
    def stream_id(self):
        """The stream, from the default header."""
        return (<const int32_t *>self._log().meta.default_header)[4]

    @property
    def active_term_count(self):
        """Terms completed since the initial one."""
        return apy_load_acquire_i32(&self._log().meta.active_term_count)

    @property
    def is_connected(self):
        """Whether the driver knows of a consumer. Settable, for who plays the driver."""
        return apy_load_acquire_i32(&self._log().meta.is_connected) == 1

    @is_connected.setter
    def is_connected(self, bint value):
        apy_store_release_i32(&self._log().meta.is_connected, value)

    @property
    def producer_position(self):
        """The stream position up to which producers took space."""
        return apy_log_producer_position(self._log())

    def clean(self, int64_t clean_position, int64_t target):
        """Zero from ``clean_position`` towards ``target``, within one term; return the new clean position."""
        cdef apy_log_t *log = self._log()
        if clean_position < 0 or clean_position % 32 != 0 or target % 32 != 0:
            raise _errors.ArgumentError(f"positions {clean_position} and {target} are not multiples of 32 from 0")
        apy_log_clean(log, &clean_position, target)
        return clean_position

    def unblock(self, int64_t position, bint is_abandoned=False):
        """Free readers from what a dead publisher left half done at ``position``, ``is_abandoned`` when no publisher
        lives any more; whether there was anything."""
        return bool(apy_log_unblock(self._log(), self._frame_start(position), is_abandoned))

    def scan(self, int64_t position, int32_t bytes_max):
        """Return ``(bytes, padding)`` that one datagram may carry from ``position``; ``(0, 0)``: nothing.

        ``(-bytes, 0)`` when the first frame alone is longer than ``bytes_max``.
        """
        cdef apy_scan_t found
        cdef apy_log_t *log = self._log()
        cdef int32_t offset = <int32_t>(self._frame_start(position) & (log.term_length - 1))
        cdef int32_t rc = apy_term_scan(self._term_of(position), log.term_length, offset, bytes_max, &found)
        if rc <= 0:
            return rc, 0
        return found.bytes, found.padding

    def block_scan(self, int64_t position, int32_t bytes_max):
        """Return the length of the run of whole frames at ``position``; padding comes alone, and whole."""
        cdef apy_log_t *log = self._log()
        cdef int32_t offset = <int32_t>(self._frame_start(position) & (log.term_length - 1))
        cdef int32_t limit = offset + min(max(bytes_max, 0), log.term_length - offset)
        return apy_block_scan(self._term_of(position), offset, limit)

    cdef int64_t _frame_start(self, int64_t position) except -1:
        if position < 0 or position % 32 != 0:
            raise _errors.ArgumentError(f"position {position} is not a multiple of 32 from 0")
        return position

    cdef const uint8_t *_term_of(self, int64_t position) except NULL:
        cdef apy_log_t *log = self._log()
        return log.terms[(position >> log.shift) % APY_PARTITIONS]


@cython.final
cdef class LogClaim:
    """Space in a log, reserved and not yet readable: write into ``buffer``, then commit or abort, once."""

    cdef LogMapping _mapping
    cdef uint8_t *_frame
    cdef Py_ssize_t _length

    def __getbuffer__(self, Py_buffer *buffer, int flags):
        if self._frame == NULL:
            raise _errors.StateError("the claim was committed or aborted")
        PyBuffer_FillInfo(buffer, self, self._frame + 32, self._length, 0, flags)

    @property
    def buffer(self):
        """A writable view of the payload."""
        return memoryview(self)

    cdef uint8_t *_end(self) except NULL:
        cdef uint8_t *frame = self._frame
        if frame == NULL:
            raise _errors.StateError("the claim was committed or aborted")
        self._frame = NULL
        return frame

    def commit(self):
        """Make the message readable."""
        apy_claim_commit(self._end())

    def abort(self):
        """Turn the space into padding."""
        apy_claim_abort(self._end())


@cython.final
cdef class LogAppender:
    """Appends to a log as a publication does: results are positions, or Aeron's negative codes.

    ``limit`` is one int64 that holds appends back when their position reaches it (the pub-lmt counter). An
    exclusive appender must be the log's only one. Belongs to one thread.
    """

    cdef LogBuffer _buffer
    cdef LogMapping _mapping
    cdef const int64_t[::1] _limit
    cdef bint _is_exclusive
    cdef apy_exclusive_t _exclusive

    def __cinit__(self, LogBuffer log not None, const int64_t[::1] limit not None, *, bint exclusive=False):
        cdef apy_log_t *found = log._log()
        if limit.shape[0] < 1:
            raise _errors.ArgumentError("the limit has no element")
        self._buffer = log
        self._mapping = log._mapping
        self._limit = limit
        self._is_exclusive = exclusive
        apy_exclusive_init(&self._exclusive, found, &limit[0])

    cdef int _check(self) except -1:
        self._buffer._log()
        return 0

    @property
    def position(self):
        """The position up to which space is taken, as this publication sees it."""
        self._check()
        if self._is_exclusive:
            return apy_exclusive_position(&self._exclusive)
        return apy_append_position(&self._exclusive.base)

    def offer(self, *parts):
        """Append one message gathered from at most 16 parts. Raises TooLongError past the maximum."""
        cdef Py_buffer views[PARTS_MAX]
        cdef iovec vectors[PARTS_MAX]
        cdef int count = 0
        cdef int64_t result
        self._check()
        if len(parts) > PARTS_MAX:
            raise _errors.ArgumentError(f"a message of {len(parts)} parts: at most {PARTS_MAX}")
        try:
            for part in parts:
                PyObject_GetBuffer(part, &views[count], PyBUF_SIMPLE)
                vectors[count].iov_base = views[count].buf
                vectors[count].iov_len = <size_t>views[count].len
                count += 1
            if self._is_exclusive:
                result = apy_exclusive_offer(&self._exclusive, vectors, count, NULL, NULL)
            else:
                result = apy_append_offer(&self._exclusive.base, vectors, count, NULL, NULL)
        finally:
            for i in range(count):
                PyBuffer_Release(&views[i])
        return self._checked(result, _errors.TooLongError)

    def claim(self, int32_t length):
        """Reserve one frame of ``length`` payload bytes: ``(result, LogClaim)``, or ``(code, None)``."""
        cdef uint8_t *frame = NULL
        cdef int64_t result
        cdef LogClaim claim
        self._check()
        if self._is_exclusive:
            result = apy_exclusive_claim(&self._exclusive, length, &frame)
        else:
            result = apy_append_claim(&self._exclusive.base, length, &frame)
        self._checked(result, _errors.TooLongError)
        if result < 0:
            return result, None
        claim = LogClaim.__new__(LogClaim)
        claim._mapping = self._mapping
        claim._frame = frame
        claim._length = length
        return result, claim

    def append_padding(self, int32_t length):
        """Append one padding frame of ``length`` bytes and a header. Exclusive only."""
        self._check_exclusive()
        return self._checked(apy_exclusive_append_padding(&self._exclusive, length), _errors.TooLongError)

    def offer_block(self, const uint8_t[::1] block not None):
        """Append a run of whole frames that was made for just this place. Exclusive only."""
        self._check_exclusive()
        if block.shape[0] == 0 or block.shape[0] > 1 << 30:
            raise _errors.ArgumentError(f"a block of {block.shape[0]} bytes is no run of frames of one term")
        return self._checked(
            apy_exclusive_offer_block(&self._exclusive, &block[0], <int32_t>block.shape[0]), _errors.ArgumentError)

    cdef int _check_exclusive(self) except -1:
        self._check()
        if not self._is_exclusive:
            raise _errors.StateError("only an exclusive appender can do this")
        return 0

    cdef object _checked(self, int64_t result, object error):
        if result == APY_OFFER_ERROR:
            raise error(apy_error_text().decode("utf-8", "replace"), APY_OFFER_ERROR)
        return result
