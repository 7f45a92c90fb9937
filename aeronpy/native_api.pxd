# The C API for Cython: `from aeronpy cimport native_api`, with aeronpy.get_include() among the include directories.
# Call aeronpy_import() once, and hold the table that it gives; see include/aeronpy.h for what each function does.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t


cdef extern from "aeronpy.h" nogil:
    enum:
        AERONPY_ABI_MAJOR
        AERONPY_ABI_MINOR
        AERONPY_NOT_CONNECTED
        AERONPY_BACK_PRESSURED
        AERONPY_ADMIN_ACTION
        AERONPY_CLOSED
        AERONPY_MAX_POSITION_EXCEEDED
        AERONPY_ERROR
        AERONPY_BUSY
        AERONPY_ABORT
        AERONPY_BREAK
        AERONPY_COMMIT
        AERONPY_CONTINUE
    const char *AERONPY_CAPSULE_NAME

    ctypedef struct aeronpy_publication_t:
        pass
    ctypedef struct aeronpy_subscription_t:
        pass
    ctypedef struct aeronpy_frame_t:
        int32_t frame_length
        uint8_t version
        uint8_t flags
        uint16_t type
        int32_t term_offset
        int32_t session_id
        int32_t stream_id
        int32_t term_id
        int64_t reserved_value
    ctypedef struct aeronpy_header_t:
        const aeronpy_frame_t *frame
        int64_t position
        const void *image
    ctypedef struct aeronpy_part_t:
        const void *data
        size_t length
    ctypedef struct aeronpy_claim_t:
        uint8_t *data
        size_t length
        int64_t position
        void *frame

    ctypedef void (*aeronpy_fragment_fn)(void *context, const uint8_t *buffer, size_t length,
                                         const aeronpy_header_t *header) noexcept nogil
    ctypedef int (*aeronpy_controlled_fn)(void *context, const uint8_t *buffer, size_t length,
                                          const aeronpy_header_t *header) noexcept nogil

    ctypedef struct aeronpy_api_t:
        uint32_t size
        uint16_t abi_major
        uint16_t abi_minor
        const char *(*error_text)() noexcept nogil
        int (*poll)(aeronpy_subscription_t *subscription, aeronpy_fragment_fn handler, void *context,
                    int limit) noexcept nogil
        int (*poll_assembled)(aeronpy_subscription_t *subscription, aeronpy_fragment_fn handler, void *context,
                              int limit) noexcept nogil
        int (*controlled_poll)(aeronpy_subscription_t *subscription, aeronpy_controlled_fn handler, void *context,
                               int limit) noexcept nogil
        int (*image_count)(const aeronpy_subscription_t *subscription) noexcept nogil
        int (*subscription_is_connected)(const aeronpy_subscription_t *subscription) noexcept nogil
        int (*subscription_is_closed)(const aeronpy_subscription_t *subscription) noexcept nogil
        int64_t (*offer)(aeronpy_publication_t *publication, const void *data, size_t length) noexcept nogil
        int64_t (*offer_vectored)(aeronpy_publication_t *publication, const aeronpy_part_t *parts,
                                  int count) noexcept nogil
        int64_t (*try_claim)(aeronpy_publication_t *publication, size_t length,
                             aeronpy_claim_t *claim) noexcept nogil
        int (*commit)(aeronpy_publication_t *publication, aeronpy_claim_t *claim) noexcept nogil
        int (*abort)(aeronpy_publication_t *publication, aeronpy_claim_t *claim) noexcept nogil
        int64_t (*position)(const aeronpy_publication_t *publication) noexcept nogil
        int64_t (*position_limit)(const aeronpy_publication_t *publication) noexcept nogil
        int32_t (*max_payload_length)(const aeronpy_publication_t *publication) noexcept nogil
        int32_t (*max_message_length)(const aeronpy_publication_t *publication) noexcept nogil
        int (*publication_is_connected)(const aeronpy_publication_t *publication) noexcept nogil
        int (*publication_is_closed)(const aeronpy_publication_t *publication) noexcept nogil

    bint aeronpy_api_fits(const aeronpy_api_t *api)


cdef extern from "aeronpy.h":
    const aeronpy_api_t *aeronpy_import() except NULL


# Keep the handle itself, too: the address is good for as long as it lives.
cdef inline aeronpy_publication_t *publication_of(object handle) except NULL:
    return <aeronpy_publication_t *><size_t>handle.address


cdef inline aeronpy_subscription_t *subscription_of(object handle) except NULL:
    return <aeronpy_subscription_t *><size_t>handle.address
