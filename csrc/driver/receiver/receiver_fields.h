#ifndef APY_RECEIVER_FIELDS_H
#define APY_RECEIVER_FIELDS_H

#include "apy/conductor_inbox.h"
#include "apy/receiver.h"
#include "apy/spsc_queue.h"
#include "apy/transport_poller.h"
#include "image_fields.h"

/*
 * receiver_fields is the receiver's state: its cycle and commands are in receiver.c, what it does with datagrams
 * in receive_dispatch.c.
 */

#define APY_PENDING_SETUPS_MAX 256

/* A SETUP that was asked for. */
typedef struct apy_pending_setup {
    apy_receive_endpoint_t *endpoint;
    int32_t stream_id, session_id;
    int64_t time_ns;
} apy_pending_setup_t;

struct apy_receiver {
    apy_driver_context_t *context;
    apy_spsc_queue_t commands;
    apy_transport_poller_t poller;
    apy_image_t **images;
    int32_t image_count, image_capacity;
    apy_pending_setup_t pending[APY_PENDING_SETUPS_MAX];
    int32_t pending_count;
    int64_t now_ns; /* of the cycle */
    /* an answer that the inbox had no room for; commands wait behind it */
    int32_t answer_type; /* 0: none */
    apy_inbox_released_t answer;
};

void apy_receiver_check_pending(apy_receiver_t *receiver);
void apy_receiver_forget_pending(apy_receiver_t *receiver, const apy_receive_endpoint_t *endpoint);

#endif
