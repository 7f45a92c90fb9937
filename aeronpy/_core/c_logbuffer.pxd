from libc.stdint cimport int32_t, int64_t, uint8_t

from aeronpy._core.c_base cimport apy_mapping_t


cdef extern from "<sys/uio.h>" nogil:
    cdef struct iovec:
        void *iov_base
        size_t iov_len


cdef extern from "apy/atomic.h" nogil:
    int32_t apy_load_acquire_i32(const int32_t *at)
    void apy_store_release_i32(int32_t *at, int32_t value)


cdef extern from "apy/log_buffer.h" nogil:
    enum:
        APY_PARTITIONS
        APY_LOG_META_LENGTH
        APY_LOG_CONCURRENT
    ctypedef struct apy_log_meta_t:
        int64_t tails[3]
        int32_t active_term_count
        int64_t end_of_stream_position
        int32_t is_connected
        int32_t active_transport_count
        int64_t correlation_id
        int32_t initial_term_id
        int32_t default_header_length
        int32_t mtu_length
        int32_t term_length
        int32_t page_size
        int32_t publication_window_length
        int32_t receiver_window_length
        int32_t socket_sndbuf_length
        int32_t os_default_sndbuf_length
        int32_t os_max_sndbuf_length
        int32_t socket_rcvbuf_length
        int32_t os_default_rcvbuf_length
        int32_t os_max_rcvbuf_length
        int32_t max_resend
        uint8_t default_header[128]
        int64_t entity_tag
        int64_t response_correlation_id
        int64_t linger_timeout_ns
        int64_t untethered_window_limit_timeout_ns
        int64_t untethered_resting_timeout_ns
        uint8_t group
        uint8_t is_response
        uint8_t rejoin
        uint8_t reliable
        uint8_t sparse
        uint8_t signal_eos
        uint8_t spies_simulate_connection
        uint8_t tether
        uint8_t is_publication_revoked
        uint8_t type
        int64_t untethered_linger_timeout_ns
    ctypedef struct apy_log_t:
        apy_mapping_t mapping
        uint8_t *terms[3]
        apy_log_meta_t *meta
        int32_t term_length
        int32_t shift
        int32_t initial_term_id
        int32_t mtu
    ctypedef struct apy_log_params_t:
        int64_t correlation_id
        int32_t session_id, stream_id
        int32_t initial_term_id, start_term_id, start_term_offset
        int32_t term_length, mtu, page_size
        int32_t publication_window_length, receiver_window_length
        int32_t socket_sndbuf_length, os_default_sndbuf_length, os_max_sndbuf_length
        int32_t socket_rcvbuf_length, os_default_rcvbuf_length, os_max_rcvbuf_length
        int32_t max_resend
        int64_t entity_tag, response_correlation_id
        int64_t linger_timeout_ns
        int64_t untethered_window_limit_timeout_ns, untethered_resting_timeout_ns, untethered_linger_timeout_ns
        uint8_t group, is_response, rejoin, reliable, sparse, signal_eos, spies_simulate_connection, tether
        uint8_t type
    int64_t apy_log_file_length(int32_t term_length, int32_t page_size)
    int apy_log_create(apy_log_t *log, const char *path, const apy_log_params_t *params)
    int apy_log_open(apy_log_t *log, const char *path)
    void apy_log_close(apy_log_t *log)
    int64_t apy_log_producer_position(const apy_log_t *log)
    void apy_log_clean(apy_log_t *log, int64_t *clean_position, int64_t target)
    bint apy_log_unblock(apy_log_t *log, int64_t blocked_position, bint is_abandoned)


# Called back, here also by code that holds the GIL.
cdef extern from "apy/append.h":
    ctypedef int64_t (*apy_reserved_value_fn)(void *context, uint8_t *frame, int32_t frame_length) noexcept


cdef extern from "apy/append.h" nogil:
    enum:
        APY_NOT_CONNECTED
        APY_BACK_PRESSURED
        APY_ADMIN_ACTION
        APY_CLOSED
        APY_MAX_POSITION_EXCEEDED
        APY_OFFER_ERROR
    ctypedef struct apy_append_t:
        int64_t position_max
        int32_t term_length
        int32_t shift
        int32_t initial_term_id
        int32_t payload_max
        int32_t message_max
    ctypedef struct apy_exclusive_t:
        apy_append_t base
    void apy_append_init(apy_append_t *append, const apy_log_t *log, const int64_t *limit)
    void apy_exclusive_init(apy_exclusive_t *exclusive, const apy_log_t *log, const int64_t *limit)
    int64_t apy_append_offer(const apy_append_t *append, const iovec *parts, int count,
                             apy_reserved_value_fn supplier, void *context)
    int64_t apy_exclusive_offer(apy_exclusive_t *exclusive, const iovec *parts, int count,
                                apy_reserved_value_fn supplier, void *context)
    int64_t apy_append_claim(const apy_append_t *append, int32_t length, uint8_t **frame)
    int64_t apy_exclusive_claim(apy_exclusive_t *exclusive, int32_t length, uint8_t **frame)
    void apy_claim_commit(uint8_t *frame)
    void apy_claim_abort(uint8_t *frame)
    int64_t apy_exclusive_append_padding(apy_exclusive_t *exclusive, int32_t length)
    int64_t apy_exclusive_offer_block(apy_exclusive_t *exclusive, const uint8_t *block, int32_t length)
    int64_t apy_append_position(const apy_append_t *append)
    int64_t apy_exclusive_position(const apy_exclusive_t *exclusive)


cdef extern from "apy/term_scan.h" nogil:
    ctypedef struct apy_scan_t:
        int32_t bytes
        int32_t padding
    int32_t apy_term_scan(const uint8_t *term, int32_t term_length, int32_t offset, int32_t bytes_max,
                          apy_scan_t *found)
    int32_t apy_block_scan(const uint8_t *term, int32_t offset, int32_t limit)
