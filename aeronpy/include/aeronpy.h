#ifndef AERONPY_H
#define AERONPY_H

/*
 * aeronpy.h lets native code read and write streams that Python opened: a table of functions over handles.
 *
 * The table is reached from Python: aeronpy.native.api_address() is its address, and a C extension calls
 * aeronpy_import(), which this header defines where Python.h was included before it. The handles come from
 * publication.native_handle and subscription.native_handle. A handle's address may be used for as long as the Python
 * object that gave it is alive: after a close every call answers AERONPY_CLOSED, and the memory stays mapped.
 *
 * Nothing here needs the interpreter, so release the GIL round calls, and round polls above all.
 *
 * Threads: a subscription and an exclusive publication take one thread at a time, a shared publication any number;
 * the questions any. A second poll at the same time is refused with AERONPY_BUSY.
 * Allocates: poll_assembled, a buffer per session that sends fragments; else nothing.  Blocks: never.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The major number changes when a program must be compiled again, the minor one when the table grew at its end. */
#define AERONPY_ABI_MAJOR 1
#define AERONPY_ABI_MINOR 0

#define AERONPY_CAPSULE_NAME "aeronpy._core.native._C_API"

/* What is between the next two lines is plain C for parsers as cffi's: aeronpy.native.declarations() returns it. */
/* --- declarations begin --- */

/* What calls answer below 0; the first five are Aeron's. */
enum {
    AERONPY_NOT_CONNECTED = -1,
    AERONPY_BACK_PRESSURED = -2,
    AERONPY_ADMIN_ACTION = -3, /* the term was turned over just now: try again at once */
    AERONPY_CLOSED = -4,
    AERONPY_MAX_POSITION_EXCEEDED = -5,
    AERONPY_ERROR = -6, /* error_text says what was wrong */
    AERONPY_BUSY = -7   /* another poll of this subscription, or of an image of it, runs */
};

/* What a controlled handler answers. */
enum {
    AERONPY_ABORT = 1,  /* stop before this fragment, and give it again */
    AERONPY_BREAK = 2,  /* stop behind it */
    AERONPY_COMMIT = 3, /* move the position behind it now, and go on */
    AERONPY_CONTINUE = 4
};

typedef struct aeronpy_publication aeronpy_publication_t;
typedef struct aeronpy_subscription aeronpy_subscription_t;

/* A frame's header as it lies in the log, little endian; read only. */
typedef struct aeronpy_frame {
    int32_t frame_length; /* with this header; of an assembled message with one header */
    uint8_t version;
    uint8_t flags; /* 0x80: begins a message, 0x40: ends it */
    uint16_t type;
    int32_t term_offset;
    int32_t session_id;
    int32_t stream_id;
    int32_t term_id;
    int64_t reserved_value;
} aeronpy_frame_t;

/* What a handler may ask of a fragment; valid as long as its call. */
typedef struct aeronpy_header {
    const aeronpy_frame_t *frame;
    int64_t position; /* of the stream behind this fragment */
    const void *image;
} aeronpy_header_t;

/* One of several pieces of memory that are one message. */
typedef struct aeronpy_part {
    const void *data;
    size_t length;
} aeronpy_part_t;

/* Space in a log for one message, to be filled in and then committed or aborted, soon: readers wait for it. */
typedef struct aeronpy_claim {
    uint8_t *data;
    size_t length;
    int64_t position; /* of the stream behind the message */
    void *frame;      /* NULL once committed or aborted */
} aeronpy_claim_t;

/* The buffer is valid as long as the call. */
typedef void (*aeronpy_fragment_fn)(void *context, const uint8_t *buffer, size_t length,
                                    const aeronpy_header_t *header);
typedef int (*aeronpy_controlled_fn)(void *context, const uint8_t *buffer, size_t length,
                                     const aeronpy_header_t *header);

typedef struct aeronpy_api {
    uint32_t size; /* bytes of this table */
    uint16_t abi_major, abi_minor;

    /* Why the last call of this thread answered AERONPY_ERROR; never NULL. */
    const char *(*error_text)(void);

    /*
     * Give the handler up to limit fragments of all images in turn; returns how many, AERONPY_CLOSED, AERONPY_BUSY, or
     * AERONPY_ERROR where the first frame left breaks its format. poll_assembled gives whole messages and counts
     * fragments; a message that could not be put together is dropped, with AERONPY_ERROR.
     */
    int (*poll)(aeronpy_subscription_t *subscription, aeronpy_fragment_fn handler, void *context, int limit);
    int (*poll_assembled)(aeronpy_subscription_t *subscription, aeronpy_fragment_fn handler, void *context, int limit);
    int (*controlled_poll)(aeronpy_subscription_t *subscription, aeronpy_controlled_fn handler, void *context,
                           int limit);
    int (*image_count)(const aeronpy_subscription_t *subscription); /* or AERONPY_CLOSED */
    int (*subscription_is_connected)(const aeronpy_subscription_t *subscription);
    int (*subscription_is_closed)(const aeronpy_subscription_t *subscription);

    /* Append a message of one piece or of several; returns the stream's new position, or a code of above. */
    int64_t (*offer)(aeronpy_publication_t *publication, const void *data, size_t length);
    int64_t (*offer_vectored)(aeronpy_publication_t *publication, const aeronpy_part_t *parts, int count);

    /*
     * Claim space for a message of length bytes, at most max_payload_length; returns its position with *claim filled,
     * or a code of above with it untouched. commit and abort return 0, or AERONPY_ERROR where the claim was ended.
     */
    int64_t (*try_claim)(aeronpy_publication_t *publication, size_t length, aeronpy_claim_t *claim);
    int (*commit)(aeronpy_publication_t *publication, aeronpy_claim_t *claim);
    int (*abort)(aeronpy_publication_t *publication, aeronpy_claim_t *claim);

    int64_t (*position)(const aeronpy_publication_t *publication);       /* or AERONPY_CLOSED */
    int64_t (*position_limit)(const aeronpy_publication_t *publication); /* or AERONPY_CLOSED */
    int32_t (*max_payload_length)(const aeronpy_publication_t *publication);
    int32_t (*max_message_length)(const aeronpy_publication_t *publication);
    int (*publication_is_connected)(const aeronpy_publication_t *publication);
    int (*publication_is_closed)(const aeronpy_publication_t *publication);
} aeronpy_api_t;

/* --- declarations end --- */

/* Whether a table can serve a program that was compiled with this header. */
static inline int aeronpy_api_fits(const aeronpy_api_t *api)
{
    return api->abi_major == AERONPY_ABI_MAJOR && api->size >= sizeof(aeronpy_api_t);
}

#ifdef Py_PYTHON_H
/* The table, or NULL with an ImportError set. Call it with the GIL held, once, when your module is made. */
static inline const aeronpy_api_t *aeronpy_import(void)
{
    const aeronpy_api_t *api = NULL;
    PyObject *module = PyImport_ImportModule("aeronpy._core.native");
    PyObject *capsule = module == NULL ? NULL : PyObject_GetAttrString(module, "_C_API");
    if (capsule != NULL) {
        api = (const aeronpy_api_t *)PyCapsule_GetPointer(capsule, AERONPY_CAPSULE_NAME);
    }
    Py_XDECREF(capsule);
    Py_XDECREF(module);
    if (api != NULL && !aeronpy_api_fits(api)) {
        PyErr_Format(PyExc_ImportError,
                     "this module was compiled for the C API %d.%d of aeronpy (%d bytes), the installed aeronpy has "
                     "%d.%d (%d bytes): compile it again with aeronpy.get_include()",
                     AERONPY_ABI_MAJOR, AERONPY_ABI_MINOR, (int)sizeof(aeronpy_api_t), (int)api->abi_major,
                     (int)api->abi_minor, (int)api->size);
        return NULL;
    }
    return api;
}
#endif

#ifdef __cplusplus
}
#endif

#endif
