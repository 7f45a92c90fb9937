#ifndef APY_RECEIVER_FIELDS_H
#define APY_RECEIVER_FIELDS_H

#include "apy/agent_answer.h"
#include "apy/receiver.h"
#include "apy/spsc_queue.h"
#include "apy/transport_poller.h"
#include "image_fields.h"

/*
 * receiver_fields is the receiver's state: its cycle is in receiver.c, its commands in receiver_commands.c, what it
 * does with datagrams in receive_dispatch.c, and how it asks for streams in receive_elicit.c.
 */

#define APY_PENDING_SETUPS_MAX 256

/* A SETUP that was asked for. */
typedef struct apy_pending_setup {
    apy_receive_destination_t *destination;
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
    apy_receive_destination_t **eliciting; /* destinations that know where their publisher is */
    int32_t eliciting_count, eliciting_capacity;
    int64_t re_resolution_deadline_ns;
    int64_t now_ns; /* of the cycle */
    apy_answer_t answer;
};

/* --- receiver_commands.c --- */

int apy_receiver_init_commands(apy_receiver_t *receiver);
int apy_receiver_drain_commands(apy_receiver_t *receiver);

/* --- receive_elicit.c --- */

/* Ask the source of a datagram for the SETUP of its stream, and wait a while for it. */
void apy_receiver_elicit(apy_receiver_t *receiver, apy_receive_destination_t *destination, int32_t stream_id,
                         int32_t session_id, const struct sockaddr_storage *source);
/* Ask for a session at every destination that knows where its publisher is. */
void apy_receiver_elicit_session(apy_receiver_t *receiver, const apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                 int32_t session_id);
void apy_receiver_forget_setup(apy_receiver_t *receiver, const apy_receive_endpoint_t *endpoint, int32_t stream_id,
                               int32_t session_id);
/* A destination comes or goes: one that knows its publisher announces itself now and then. */
int apy_receiver_start_eliciting(apy_receiver_t *receiver, apy_receive_destination_t *destination);
void apy_receiver_stop_eliciting(apy_receiver_t *receiver, const apy_receive_destination_t *destination);
void apy_receiver_check_pending(apy_receiver_t *receiver);

#endif
