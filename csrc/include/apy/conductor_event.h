#ifndef APY_CONDUCTOR_EVENT_H
#define APY_CONDUCTOR_EVENT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/*
 * conductor_event is what the conductor core asks Python to decide, as records of its event ring. The
 * layouts are read by aeronpy/driver/events.py.
 */

enum {
    APY_EVENT_COMMAND = 1,              /* apy_event_command_t, then the client's bytes */
    APY_EVENT_CLIENT_EXPIRED,           /* apy_event_resource_t: no heartbeat within the liveness time-out */
    APY_EVENT_IPC_UNAVAILABLE,          /* apy_event_resource_t, and so on: each subscriber loses its image */
    APY_EVENT_IPC_GONE,                 /* the core let go of it */
    APY_EVENT_IPC_COOLED_DOWN,          /* subscribers may join again after a rejection */
    APY_EVENT_SPIES_DRAINED,            /* each spy of the network publication loses its image */
    APY_EVENT_PUBLICATION_GONE,         /* sender and core let go of it */
    APY_EVENT_IMAGE_UNAVAILABLE,        /* each subscriber loses the image */
    APY_EVENT_IMAGE_GONE,               /* receiver and core let go of it */
    APY_EVENT_SEND_ENDPOINT_GONE,       /* the sender let go of it */
    APY_EVENT_RECEIVE_ENDPOINT_GONE,    /* the receiver let go of it */
    APY_EVENT_SUBSCRIBER_UNAVAILABLE,   /* apy_event_subscriber_t: an untethered one lags and is cut off */
    APY_EVENT_SUBSCRIBER_AVAILABLE,     /* it is let in again */
    APY_EVENT_SUBSCRIBER_CLOSED,        /* it is cut off for good */
    APY_EVENT_SETUP,                    /* apy_event_setup_t: a stream without an image */
    APY_EVENT_PUBLICATION_ERROR,        /* apy_event_publication_error_t, then the text */
    APY_EVENT_RECEIVE_DESTINATION_GONE, /* apy_event_resource_t: the receiver let go of it */
    APY_EVENT_ADDRESS_SILENT,           /* apy_event_silent_t: resolve the name behind an address again */
    APY_EVENT_RESPONSE_SETUP,           /* apy_event_response_t: a responder tells its session */
    APY_EVENT_RESPONSE_CONNECTED,       /* apy_event_response_t: a response publication has its receiver */
    APY_EVENT_SUBSCRIBER_RESTING        /* apy_event_subscriber_t: it holds back nobody any more, and may come again */
};

typedef struct apy_event_command {
    int64_t taken_ns; /* when the core took it from the clients' ring */
    int32_t type;
    int32_t reserved;
} apy_event_command_t;

typedef struct apy_event_resource {
    int64_t id; /* client id, registration id or correlation id */
} apy_event_resource_t;

typedef struct apy_event_subscriber {
    int64_t resource_id; /* of the publication or image */
    int64_t subscription_id;
} apy_event_subscriber_t;

typedef struct apy_event_silent {
    int64_t endpoint_id;
    int64_t destination_id; /* -1: the endpoint's own address */
    int32_t is_receive;
    int32_t reserved;
} apy_event_silent_t;

typedef struct apy_event_response {
    int64_t registration_id; /* of the publication that heard it */
    int32_t session_id;
    int32_t reserved;
} apy_event_response_t;

typedef struct apy_event_setup {
    int64_t endpoint_id, destination_id;
    int32_t session_id, stream_id;
    int32_t initial_term_id, active_term_id, term_offset, term_length;
    int32_t mtu, ttl;
    int32_t flags;
    int32_t reserved;
    uint8_t source[128], control[128]; /* sockaddr_storage */
} apy_event_setup_t;

typedef struct apy_event_publication_error {
    int64_t registration_id, receiver_id, group_tag, destination_id;
    int32_t session_id, stream_id, error_code, text_length;
    uint8_t source[128]; /* sockaddr_storage */
} apy_event_publication_error_t;

static_assert(sizeof(apy_event_command_t) == 16, "command event");
static_assert(offsetof(apy_event_setup_t, source) == 56, "setup event");
static_assert(sizeof(apy_event_setup_t) == 312, "setup event");
static_assert(offsetof(apy_event_publication_error_t, source) == 48, "publication error event");

#endif
