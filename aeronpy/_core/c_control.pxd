from libc.stdint cimport int32_t, int64_t, uint8_t

from aeronpy._core.c_base cimport apy_mapping_t


cdef extern from "apy/atomic.h" nogil:
    int64_t apy_load_acquire_i64(const int64_t *at)


cdef extern from "apy/doorbell.h" nogil:
    ctypedef struct apy_doorbell_t:
        pass


cdef extern from "apy/mpsc_ring.h" nogil:
    ctypedef struct apy_mpsc_ring_t:
        uint8_t *buffer
        int64_t capacity
        int64_t *heartbeat_ms
        apy_doorbell_t *bell
    int64_t apy_mpsc_ring_size(const apy_mpsc_ring_t *ring)
    int64_t apy_mpsc_ring_producer_position(const apy_mpsc_ring_t *ring)
    int64_t apy_mpsc_ring_consumer_position(const apy_mpsc_ring_t *ring)


cdef extern from "apy/counters.h" nogil:
    enum:
        APY_COUNTER_UNUSED
        APY_COUNTER_ALLOCATED
        APY_COUNTER_RECLAIMED
        APY_COUNTER_KEY_MAX
    ctypedef struct apy_counters_reader_t:
        int32_t count_max
    ctypedef struct apy_counter_info_t:
        int32_t state
        int32_t type_id
        int32_t label_length
        int32_t broken_label_length
        int64_t value
        int64_t registration_id
        int64_t owner_id
        int64_t reference_id
        int64_t free_deadline_ms
        uint8_t *key
        char *label
    int apy_counters_get(const apy_counters_reader_t *reader, int32_t counter_id, apy_counter_info_t *info)
    int32_t apy_counters_find_by_registration(const apy_counters_reader_t *reader, int32_t type_id,
                                              int64_t registration_id)
    int32_t apy_counters_find_by_key_i64(const apy_counters_reader_t *reader, int32_t type_id, int64_t key)
    int32_t apy_counter_state(const apy_counters_reader_t *reader, int32_t counter_id)
    int64_t apy_counter_free_deadline_ms(const apy_counters_reader_t *reader, int32_t counter_id)
    int64_t *apy_counter_address(const apy_counters_reader_t *reader, int32_t counter_id)


cdef extern from "apy/error_log.h" nogil:
    ctypedef struct apy_error_record_t:
        int32_t observations
        int32_t text_length
        int64_t first_ms
        int64_t last_ms
        const char *text
    int apy_error_log_next(const uint8_t *buffer, int64_t capacity, int64_t *offset, apy_error_record_t *record)


cdef extern from "apy/loss_report.h" nogil:
    ctypedef struct apy_loss_entry_t:
        int64_t observations
        int64_t bytes_lost
        int64_t first_ms
        int64_t last_ms
        int32_t session_id
        int32_t stream_id
        int32_t channel_length
        int32_t source_length
        const char *channel
        const char *source
    int apy_loss_report_next(const uint8_t *buffer, int64_t capacity, int64_t *offset, apy_loss_entry_t *entry)


cdef extern from "apy/cnc.h" nogil:
    ctypedef struct apy_cnc_header_t:
        int32_t version
        int32_t to_driver_length
        int32_t to_clients_length
        int32_t counters_metadata_length
        int32_t counters_values_length
        int32_t error_log_length
        int64_t client_liveness_timeout_ns
        int64_t start_ms
        int64_t pid
        int32_t file_page_size
    ctypedef struct apy_cnc_t:
        apy_mapping_t mapping
        apy_cnc_header_t *header
        uint8_t *error_log
        apy_mpsc_ring_t ring
        apy_counters_reader_t counters
    int apy_cnc_map(apy_cnc_t *cnc, const char *directory, bint writable)
    void apy_cnc_close(apy_cnc_t *cnc)
