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
    APY_INBOX_IMAGE_RELEASED,   /* the receiver forgot an image */
    APY_INBOX_PUBLICATION_ERROR /* apy_inbox_publication_error_t, text follows */
};

typedef struct apy_inbox_setup {
    struct apy_receive_endpoint *endpoint;
    int64_t endpoint_id; /* as given at creation: the pointer is only used while it is known */
    apy_setup_t setup;
    struct sockaddr_storage source;  /* where the SETUP came from */
    struct sockaddr_storage control; /* where status messages go */
} apy_inbox_setup_t;

typedef struct apy_inbox_released {
    void *resource;
    int64_t id;
} apy_inbox_released_t;

typedef struct apy_inbox_publication_error {
    int64_t registration_id, receiver_id, group_tag;
    int32_t session_id, stream_id, error_code, text_length;
    struct sockaddr_storage source;
} apy_inbox_publication_error_t;

#endif
