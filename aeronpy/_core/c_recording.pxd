from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t


cdef extern from "apy/segment_scan.h" nogil:
    enum:
        APY_SEGMENT_OK
    ctypedef struct apy_segment_fault_t:
        int kind
        int64_t position
        int64_t offset
        uint8_t *header
    ctypedef struct apy_segment_columns_t:
        int64_t *position
        int64_t *end_position
        int32_t *term_id
        int32_t *term_offset
        int16_t *flags
        int16_t *type
        int32_t *session_id
        int64_t *reserved_value
        int32_t *fragments
        int32_t *length
        uint8_t *incomplete
        int32_t *payload_offsets
        uint8_t *payload
        int64_t rows_max
        int64_t bytes_max
        int64_t row_count
        int64_t byte_count
    ctypedef struct apy_segment_scan_t:
        int32_t initial_term_id
        int32_t term_length
        int32_t stream_id
        bint frames
        bint emit_incomplete
        bint live
        int64_t origin "from"
        int64_t to
        int64_t limit
        int64_t position
        int64_t frame_count
        int64_t incomplete_count
        int64_t incomplete_position
        apy_segment_fault_t fault
    int apy_segment_scan_init(apy_segment_scan_t *scan, int32_t initial_term_id, int32_t term_length,
                              int32_t stream_id, int64_t position, int64_t limit)
    int apy_segment_scan_run(apy_segment_scan_t *scan, const uint8_t *memory, int64_t length,
                             apy_segment_columns_t *columns)
