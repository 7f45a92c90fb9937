# Wrappers of the recording room: the scanner of segment files.
cimport cython
from libc.stdint cimport int16_t

from aeronpy._core.c_recording cimport *


@cython.final
cdef class SegmentColumns:
    """Arrays that a SegmentScan appends rows to; those that are None are not wanted. Keeps them alive."""

    cdef apy_segment_columns_t _columns
    cdef list _owners

    def __cinit__(self, int64_t rows_max, int64_t bytes_max, int64_t[::1] position=None,
                  int64_t[::1] end_position=None, int32_t[::1] term_id=None, int32_t[::1] term_offset=None,
                  int16_t[::1] flags=None, int16_t[::1] type=None, int32_t[::1] session_id=None,
                  int64_t[::1] reserved_value=None, int32_t[::1] fragments=None, int32_t[::1] length=None,
                  uint8_t[::1] incomplete=None, int32_t[::1] payload_offsets=None, uint8_t[::1] payload=None):
        if not 1 <= rows_max <= 1 << 30 or not 0 <= bytes_max <= 2**31 - 1:
            raise _errors.ArgumentError(f"columns have 1 to 2^30 rows and up to 2^31-1 bytes, "
                                        f"not {rows_max} and {bytes_max}")
        if (payload is None) != (payload_offsets is None):
            raise _errors.ArgumentError("payload and payload_offsets go together")
        for name, array, needed in (
                ("position", position, rows_max), ("end_position", end_position, rows_max),
                ("term_id", term_id, rows_max), ("term_offset", term_offset, rows_max), ("flags", flags, rows_max),
                ("type", type, rows_max), ("session_id", session_id, rows_max),
                ("reserved_value", reserved_value, rows_max), ("fragments", fragments, rows_max),
                ("length", length, rows_max), ("incomplete", incomplete, rows_max),
                ("payload_offsets", payload_offsets, rows_max + 1), ("payload", payload, bytes_max)):
            if array is not None and len(array) < needed:
                raise _errors.ArgumentError(f"column {name} has {len(array)} items, {needed} are needed")
        self._columns.rows_max = rows_max
        self._columns.bytes_max = bytes_max
        self._owners = [position, end_position, term_id, term_offset, flags, type, session_id, reserved_value,
                        fragments, length, incomplete, payload_offsets, payload]
        self._columns.position = NULL if position is None else &position[0]
        self._columns.end_position = NULL if end_position is None else &end_position[0]
        self._columns.term_id = NULL if term_id is None else &term_id[0]
        self._columns.term_offset = NULL if term_offset is None else &term_offset[0]
        self._columns.flags = NULL if flags is None else &flags[0]
        self._columns.type = NULL if type is None else &type[0]
        self._columns.session_id = NULL if session_id is None else &session_id[0]
        self._columns.reserved_value = NULL if reserved_value is None else &reserved_value[0]
        self._columns.fragments = NULL if fragments is None else &fragments[0]
        self._columns.length = NULL if length is None else &length[0]
        self._columns.incomplete = NULL if incomplete is None else &incomplete[0]
        self._columns.payload_offsets = NULL if payload_offsets is None else &payload_offsets[0]
        # An empty array has no first item; a pointer that is never followed tells it from an absent one.
        self._columns.payload = NULL if payload is None else (
            &payload[0] if payload.shape[0] > 0 else <uint8_t *>self._columns.payload_offsets)

    @property
    def row_count(self):
        """Rows appended so far."""
        return self._columns.row_count

    @property
    def byte_count(self):
        """Bytes of payload appended so far."""
        return self._columns.byte_count


@cython.final
cdef class SegmentScan:
    """Walks the frames of a recording and appends what it finds to columns. For one thread."""

    cdef apy_segment_scan_t _scan

    def __cinit__(self, int32_t initial_term_id, int32_t term_length, int32_t stream_id, int64_t position,
                  int64_t limit, *, int64_t from_position, int64_t to_position, bint frames=False,
                  bint emit_incomplete=False, bint live=False):
        check(apy_segment_scan_init(&self._scan, initial_term_id, term_length, stream_id, position, limit))
        self._scan.origin = from_position
        self._scan.to = to_position
        self._scan.frames = frames
        self._scan.emit_incomplete = emit_incomplete
        self._scan.live = live

    def run(self, const uint8_t[::1] memory not None, SegmentColumns columns not None):
        """Scan ``memory``, which begins at ``position``. Returns 0 more, 1 full, 2 done, 3 fault."""
        cdef const uint8_t *first = &memory[0] if memory.shape[0] > 0 else NULL
        cdef int rc
        with nogil:
            rc = apy_segment_scan_run(&self._scan, first, memory.shape[0], &columns._columns)
        return check(rc)

    @property
    def position(self):
        """Where the next call's memory must begin."""
        return self._scan.position

    @position.setter
    def position(self, int64_t position):
        if position % 32 != 0 or position < self._scan.position:
            raise _errors.ArgumentError(f"position {position} is not a frame's start at or after {self._scan.position}")
        self._scan.position = position

    @property
    def frame_count(self):
        """Frames taken so far, padding included."""
        return self._scan.frame_count

    @property
    def incomplete_count(self):
        """Messages so far, of those asked for, that lack a fragment."""
        return self._scan.incomplete_count

    @property
    def incomplete_position(self):
        """Position of the first such message, or -1."""
        return self._scan.incomplete_position

    @property
    def fault(self):
        """``(kind, position, header)`` after run returned 3, else None."""
        cdef apy_segment_fault_t *fault = &self._scan.fault
        if fault.kind == APY_SEGMENT_OK:
            return None
        return fault.kind, fault.position, (<const uint8_t *>fault.header)[:32]
