from libc.stdint cimport int32_t, int64_t, uint8_t

from aeronpy._core.c_base cimport apy_clock_t, apy_idle_t
from aeronpy._core.c_control cimport apy_cnc_t, apy_doorbell_t, apy_mpsc_ring_t
from aeronpy._core.c_logbuffer cimport (
    apy_append_t, apy_exclusive_t, apy_log_meta_t, apy_log_t, apy_reserved_value_fn, iovec,
)


cdef extern from "apy/atomic.h" nogil:
    int64_t apy_load_relaxed_i64(const int64_t *at)
    void apy_store_release_i64(int64_t *at, int64_t value)
    int32_t apy_fetch_add_i32(int32_t *at, int32_t delta)
    int64_t apy_fetch_add_i64(int64_t *at, int64_t delta)
    bint apy_cas_i32(int32_t *at, int32_t expected, int32_t desired)
    bint apy_cas_i64(int64_t *at, int64_t expected, int64_t desired)
    void apy_propose_max_i64(int64_t *at, int64_t value)


cdef extern from "apy/wake.h" nogil:
    ctypedef struct apy_wake_t:
        pass
    void apy_wake_init(apy_wake_t *wake)
    void apy_wake_signal(apy_wake_t *wake)
    bint apy_wake_wait(apy_wake_t *wake, int64_t timeout_ns)


cdef extern from "apy/mpsc_ring.h" nogil:
    int apy_mpsc_ring_write(apy_mpsc_ring_t *ring, int32_t type, const void *message, int32_t length)
    int64_t apy_mpsc_ring_next_correlation_id(apy_mpsc_ring_t *ring)


cdef extern from "apy/cnc.h" nogil:
    int apy_cnc_open_for(apy_cnc_t *cnc, const char *directory, int64_t timeout_ms, int64_t wait_ms)
    int apy_cnc_driver_is_active(const char *directory, int64_t timeout_ms, int64_t *heartbeat_age_ms)


cdef extern from "apy/frame.h" nogil:
    enum:
        APY_FRAME_HEADER
        APY_FLAG_UNFRAGMENTED
    ctypedef struct apy_frame_t:
        int32_t length
        uint8_t version
        uint8_t flags
        unsigned short type
        int32_t term_offset
        int32_t session_id
        int32_t stream_id
        int32_t term_id
        int64_t reserved_value
    int32_t apy_frame_span(int32_t length)


cdef extern from "apy/ringer.h" nogil:
    ctypedef struct apy_ringer_t:
        int fd
    void apy_ringer_open(apy_ringer_t *ringer, const char *aeron_directory)
    void apy_ringer_close(apy_ringer_t *ringer)


cdef extern from "apy/waiter.h" nogil:
    ctypedef struct apy_waiter_t:
        int fd
    void apy_waiter_drain(apy_waiter_t *waiter)
    void apy_waiter_wake(apy_waiter_t *waiter)
    bint apy_waiter_wait(const apy_waiter_t *waiter, int64_t timeout_ns)
    void apy_waiter_forget(apy_waiter_t *waiter)


cdef extern from "apy/waiters.h" nogil:
    ctypedef struct apy_seat_t:
        pass
    void apy_seat_leave(apy_seat_t *seat)


cdef extern from "apy/wait.h" nogil:
    ctypedef struct apy_wait_t:
        apy_waiter_t waiter
    int apy_wait_open(apy_wait_t *wait, const apy_ringer_t *ringer, const char *aeron_directory, int64_t id)
    void apy_wait_close(apy_wait_t *wait)
    bint apy_wait_for_images(apy_wait_t *wait, apy_image_reader_t **readers, int count)
    bint apy_wait_for_window(apy_wait_t *wait, apy_publication_t *publication)


cdef extern from "apy/publication.h" nogil:
    ctypedef struct apy_publication_t:
        apy_exclusive_t exclusive
        apy_seat_t seat
        int32_t is_exclusive
        int32_t is_closed
    void apy_publication_set_ringer(apy_publication_t *publication, const apy_ringer_t *ringer)
    void apy_publication_commit(const apy_publication_t *publication, uint8_t *frame)
    void apy_publication_abort(const apy_publication_t *publication, uint8_t *frame)
    void apy_publication_set_bell(apy_publication_t *publication, apy_doorbell_t *bell)
    void apy_publication_init(apy_publication_t *publication, const apy_log_t *log, const int64_t *limit,
                              bint is_exclusive)
    void apy_publication_close(apy_publication_t *publication)
    bint apy_publication_is_closed(const apy_publication_t *publication)
    int64_t apy_publication_offer(apy_publication_t *publication, const iovec *parts, int count,
                                  apy_reserved_value_fn supplier, void *context)
    int64_t apy_publication_claim(apy_publication_t *publication, int32_t length, uint8_t **frame)
    int64_t apy_publication_send(apy_publication_t *publication, const iovec *parts, int count,
                                 apy_reserved_value_fn supplier, void *context, apy_idle_t *idle, int64_t timeout_ns)
    int64_t apy_publication_offer_strided(apy_publication_t *publication, const uint8_t *messages, int64_t stride,
                                          int32_t length, int64_t count, int64_t *result)
    int64_t apy_publication_offer_packed(apy_publication_t *publication, const uint8_t *messages, int64_t bytes,
                                         const int32_t *lengths, int64_t count, int64_t *result)
    int64_t apy_publication_position(const apy_publication_t *publication)
    int64_t apy_publication_position_limit(const apy_publication_t *publication)
    bint apy_publication_is_connected(const apy_publication_t *publication)


cdef extern from "apy/image_reader.h" nogil:
    ctypedef struct apy_image_reader_t:
        const uint8_t *terms[3]
        const apy_log_meta_t *meta
        int64_t *position
        int32_t term_length
        int32_t shift
        int32_t initial_term_id
        int32_t session_id
        int32_t is_closed
        int64_t join_position
        void *owner
        apy_seat_t seat
    ctypedef struct apy_header_t:
        const apy_frame_t *frame
        int64_t position
        const apy_image_reader_t *image


cdef extern from "apy/image_reader.h":
    ctypedef enum apy_action_t:
        APY_ACTION_ABORT
        APY_ACTION_BREAK
        APY_ACTION_COMMIT
        APY_ACTION_CONTINUE
    int64_t APY_NO_LIMIT_POSITION
    ctypedef void (*apy_fragment_fn)(void *context, const uint8_t *buffer, size_t length,
                                     const apy_header_t *header) noexcept
    ctypedef apy_action_t (*apy_controlled_fn)(void *context, const uint8_t *buffer, size_t length,
                                               const apy_header_t *header) noexcept


cdef extern from "apy/image_reader.h" nogil:
    void apy_image_reader_init(apy_image_reader_t *reader, const apy_log_t *log, int32_t session_id,
                               int64_t *position)
    void apy_image_reader_close(apy_image_reader_t *reader)
    int apy_image_reader_poll(apy_image_reader_t *reader, apy_fragment_fn handler, void *context, int limit,
                              int64_t limit_position)
    int apy_image_reader_controlled_poll(apy_image_reader_t *reader, apy_controlled_fn handler, void *context,
                                         int limit, int64_t limit_position)
    int apy_image_reader_block_poll(apy_image_reader_t *reader, apy_fragment_fn handler, void *context,
                                    int32_t bytes_max)
    int64_t apy_image_reader_controlled_peek(apy_image_reader_t *reader, int64_t initial_position,
                                             apy_controlled_fn handler, void *context, int64_t limit_position)
    int apy_image_reader_set_position(apy_image_reader_t *reader, int64_t new_position)
    int64_t apy_image_reader_file_offset(const apy_image_reader_t *reader, const uint8_t *block)
    int64_t apy_image_reader_position(const apy_image_reader_t *reader)
    int64_t apy_image_reader_end_of_stream_position(const apy_image_reader_t *reader)
    bint apy_image_reader_is_end_of_stream(const apy_image_reader_t *reader)
    bint apy_image_reader_is_revoked(const apy_image_reader_t *reader)
    int32_t apy_image_reader_transport_count(const apy_image_reader_t *reader)
    int apy_round_robin(int32_t *next, int count)
    int apy_images_poll(apy_image_reader_t **readers, int count, int32_t *next, apy_fragment_fn handler,
                        void *context, int limit)
    bint apy_images_are_ready(apy_image_reader_t **readers, int count)


cdef extern from "apy/fragment_assembler.h" nogil:
    ctypedef struct apy_builder_t:
        pass
    ctypedef struct apy_fragment_assembler_t:
        int32_t initial_length
        int32_t unassembled_max
        bint is_of_one_image
        int64_t refused_count
    ctypedef struct apy_message_t:
        const uint8_t *buffer
        size_t length
        const apy_header_t *header
        apy_builder_t *builder
    ctypedef struct apy_assembling_t:
        apy_fragment_assembler_t *assembler
        apy_fragment_fn handler
        void *context
        int error
    void apy_fragment_assembler_init(apy_fragment_assembler_t *assembler)
    void apy_fragment_assembler_free(apy_fragment_assembler_t *assembler)
    int apy_fragment_assembler_add(apy_fragment_assembler_t *assembler, const uint8_t *buffer, size_t length,
                                   const apy_header_t *header, apy_message_t *message)
    void apy_fragment_assembler_undo(const apy_message_t *message)
    uint8_t *apy_fragment_assembler_take(const apy_message_t *message)
    bint apy_fragment_assembler_free_session(apy_fragment_assembler_t *assembler, int32_t session_id)
    void apy_fragment_assembler_clear(apy_fragment_assembler_t *assembler)
    void apy_assembling_handler(void *context, const uint8_t *buffer, size_t length,
                                const apy_header_t *header) noexcept


cdef extern from "apy/message_batch.h" nogil:
    ctypedef struct apy_batch_t:
        int32_t capacity
        int32_t count
        const uint8_t **payloads
        int64_t *positions
        int32_t *lengths
        int32_t part_count
        int32_t refused_count
    int apy_batch_init(apy_batch_t *batch, int32_t capacity)
    void apy_batch_free(apy_batch_t *batch)
    int apy_batch_fill(apy_batch_t *batch, apy_image_reader_t **readers, int count, int32_t *next,
                       apy_fragment_assembler_t *assembler, int32_t messages_max)
    void apy_batch_commit(apy_batch_t *batch)
    const int32_t *apy_batch_session_ids(apy_batch_t *batch)
    uint8_t *apy_batch_take(apy_batch_t *batch, int32_t index)
    int64_t apy_batch_stride(const apy_batch_t *batch)
    int64_t apy_batch_bytes(const apy_batch_t *batch)
    void apy_batch_gather(const apy_batch_t *batch, uint8_t *target)


cdef extern from "apy/client_core.h" nogil:
    enum:
        APY_CLIENT_TERMINATED
    ctypedef struct apy_client_event_t:
        int32_t type
        int32_t length
        uint8_t *body
    ctypedef struct apy_client_params_t:
        int64_t driver_timeout_ms
        int64_t keepalive_interval_ns
        int64_t inter_service_timeout_ns
        int64_t idle_sleep_ns
        int64_t woken_sleep_ns
        const char *directory
        const char *client_name
        const char *version
        const char *commit
    ctypedef struct apy_client_core_t:
        int64_t client_id
        const apy_ringer_t *ringer
        int32_t wants_counters
        int32_t is_terminated
        int32_t ended_reason
        char *ended_text
    int apy_client_core_init(apy_client_core_t *core, apy_cnc_t *cnc, const apy_client_params_t *params,
                             apy_clock_t clock)
    void apy_client_core_free(apy_client_core_t *core)
    int apy_client_core_start(apy_client_core_t *core, const apy_idle_t *idle)
    void apy_client_core_stop(apy_client_core_t *core)
    int apy_client_core_do_work(void *core)
    int apy_client_core_watch(apy_client_core_t *core, int64_t id)
    void apy_client_core_unwatch(apy_client_core_t *core, int64_t id)
    int apy_client_core_command(apy_client_core_t *core, int32_t type, const void *body, int32_t length)
    void apy_client_core_await(apy_client_core_t *core, int32_t delta)
    apy_client_event_t *apy_client_core_next_event(apy_client_core_t *core)
    void apy_client_core_wait(apy_client_core_t *core, int64_t timeout_ns)
    void apy_client_core_wake(apy_client_core_t *core)
