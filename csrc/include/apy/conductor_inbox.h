#ifndef APY_CONDUCTOR_INBOX_H
#define APY_CONDUCTOR_INBOX_H

#include <stdint.h>
#include <sys/socket.h>

#include "apy/frame.h"

/*
 * conductor_inbox is what sender and receiver tell the conductor core, as records of its inbox ring.
 * When the ring is full the sender of a record counts APY_SC_CONDUCTOR_PROXY_FAILS and tries again later.
 */

struct apy_image;
struct apy_network_publication;
struct apy_receive_endpoint;
struct apy_send_endpoint;

enum {
    APY_INBOX_SETUP = 1,            /* apy_inbox_setup_t: a stream without an image */
    APY_INBOX_PUBLICATION_RELEASED, /* apy_inbox_released_t: the sender forgot a publication */
    APY_INBOX_SEND_ENDPOINT_RELEASED,
    APY_INBOX_RECEIVE_ENDPOINT_RELEASED,
    APY_INBOX_IMAGE_RELEASED,               /* the receiver forgot an image */
    APY_INBOX_PUBLICATION_ERROR,            /* apy_inbox_publication_error_t, text follows */
    APY_INBOX_RECEIVE_DESTINATION_RELEASED, /* the receiver forgot a destination of an endpoint */
    APY_INBOX_ADDRESS_SILENT,               /* apy_inbox_silent_t: resolve the name behind an address again */
    APY_INBOX_RESPONSE_SETUP,               /* apy_inbox_response_t: a responder tells its session */
    APY_INBOX_RESPONSE_CONNECTED            /* apy_inbox_response_t: a response publication has its receiver */
};

typedef struct apy_inbox_setup {
    struct apy_receive_endpoint *endpoint;
    int64_t endpoint_id, destination_id; /* as given at creation: the pointer is only used while it is known */
    apy_setup_t setup;
    struct sockaddr_storage source;  /* where the SETUP came from */
    struct sockaddr_storage control; /* where status messages go */
} apy_inbox_setup_t;

typedef struct apy_inbox_released {
    void *resource;
    int64_t id;
} apy_inbox_released_t;

/* Nothing was heard of whom an address names, for so long that its name may have moved. */
typedef struct apy_inbox_silent {
    int64_t endpoint_id;
    int64_t destination_id; /* -1: the endpoint's own address */
    int32_t is_receive;     /* of a receive endpoint's destination, else of a send endpoint */
    int32_t reserved;
} apy_inbox_silent_t;

typedef struct apy_inbox_response {
    int64_t registration_id; /* of the publication that heard it */
    int32_t session_id;      /* RESPONSE_SETUP: of the stream that will answer */
    int32_t reserved;
} apy_inbox_response_t;

typedef struct apy_inbox_publication_error {
    int64_t registration_id, receiver_id, group_tag;
    int64_t destination_id; /* of the manual destination that answered, -1: none */
    int32_t session_id, stream_id, error_code, text_length;
    struct sockaddr_storage source;
} apy_inbox_publication_error_t;

#endif
