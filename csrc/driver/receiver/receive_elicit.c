#include <stdlib.h>

#include "apy/error.h"
#include "receiver_fields.h"

#define PENDING_SETUP_TIMEOUT_NS INT64_C(1000000000)
#define ELICITATION_INTERVAL_NS INT64_C(1000000000)
#define SILENCE_NS INT64_C(5000000000) /* after which a name is resolved again */

static void send_setup_request(apy_receiver_t *receiver, apy_receive_destination_t *destination, int32_t stream_id,
                               int32_t session_id, const struct sockaddr_storage *to)
{
    apy_tagged_sm_t frame;
    apy_receive_endpoint_begin_sm(destination->endpoint, &frame);
    frame.sm.flags = APY_FLAG_SM_SEND_SETUP;
    frame.sm.session_id = session_id;
    frame.sm.stream_id = stream_id;
    if (apy_receive_destination_send(destination, to, &frame, (size_t)frame.sm.length)) {
        apy_count(receiver->context, APY_SC_SMS_SENT, 1);
    }
}

/* --- once, for a stream that was heard --- */

static void drop_pending(apy_receiver_t *receiver, int32_t at)
{
    receiver->pending[at] = receiver->pending[--receiver->pending_count];
}

static void give_up(apy_receiver_t *receiver, int32_t at)
{
    const apy_pending_setup_t *pending = &receiver->pending[at];
    apy_dispatcher_clear(&pending->destination->endpoint->dispatcher, pending->stream_id, pending->session_id,
                         APY_SESSION_PENDING_SETUP);
    drop_pending(receiver, at);
}

void apy_receiver_elicit(apy_receiver_t *receiver, apy_receive_destination_t *destination, int32_t stream_id,
                         int32_t session_id, const struct sockaddr_storage *source)
{
    if (receiver->pending_count == APY_PENDING_SETUPS_MAX ||
        apy_dispatcher_mark(&destination->endpoint->dispatcher, stream_id, session_id, APY_SESSION_PENDING_SETUP) !=
            APY_OK) {
        return; /* the next datagram may find room */
    }
    receiver->pending[receiver->pending_count++] =
        (apy_pending_setup_t){destination, stream_id, session_id, receiver->now_ns};
    send_setup_request(receiver, destination, stream_id, session_id,
                       apy_receive_destination_control(destination, source));
}

void apy_receiver_forget_setup(apy_receiver_t *receiver, const apy_receive_endpoint_t *endpoint, int32_t stream_id,
                               int32_t session_id)
{
    for (int32_t i = 0; i < receiver->pending_count; i++) {
        const apy_pending_setup_t *pending = &receiver->pending[i];
        if (pending->destination->endpoint == endpoint && pending->stream_id == stream_id &&
            pending->session_id == session_id) {
            drop_pending(receiver, i);
            return;
        }
    }
}

/* --- again and again, where the publisher is known --- */

static bool knows_publisher(const apy_receive_destination_t *destination)
{
    return destination->channel.has_explicit_control && !destination->channel.is_multicast;
}

static void announce(apy_receiver_t *receiver, apy_receive_destination_t *destination)
{
    destination->time_of_last_elicitation_ns = receiver->now_ns;
    send_setup_request(receiver, destination, 0, 0, &destination->control);
}

int apy_receiver_start_eliciting(apy_receiver_t *receiver, apy_receive_destination_t *destination)
{
    if (!knows_publisher(destination)) {
        return APY_OK;
    }
    if (receiver->eliciting_count == receiver->eliciting_capacity) {
        const int32_t capacity = receiver->eliciting_capacity == 0 ? 8 : 2 * receiver->eliciting_capacity;
        apy_receive_destination_t **grown = realloc(receiver->eliciting, (size_t)capacity * sizeof(*grown));
        if (grown == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory to receive from %d publishers", capacity);
        }
        receiver->eliciting = grown;
        receiver->eliciting_capacity = capacity;
    }
    receiver->eliciting[receiver->eliciting_count++] = destination;
    announce(receiver, destination);
    return APY_OK;
}

void apy_receiver_stop_eliciting(apy_receiver_t *receiver, const apy_receive_destination_t *destination)
{
    for (int32_t i = 0; i < receiver->eliciting_count; i++) {
        if (receiver->eliciting[i] == destination) {
            receiver->eliciting[i] = receiver->eliciting[--receiver->eliciting_count];
            break;
        }
    }
    for (int32_t i = receiver->pending_count - 1; i >= 0; i--) {
        if (receiver->pending[i].destination == destination) {
            give_up(receiver, i);
        }
    }
}

void apy_receiver_elicit_session(apy_receiver_t *receiver, const apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                 int32_t session_id)
{
    for (int32_t i = 0; i < endpoint->slot_count; i++) {
        apy_receive_destination_t *destination = endpoint->destinations[i];
        if (destination != NULL && knows_publisher(destination)) {
            send_setup_request(receiver, destination, stream_id, session_id, &destination->control);
        }
    }
}

/* Nothing was heard for so long that the publisher may have another address by now. */
static void tell_silent(apy_receiver_t *receiver, apy_receive_destination_t *destination)
{
    const apy_inbox_silent_t silent = {destination->endpoint->id, destination->id, 1, 0};
    if (apy_mpsc_ring_write(receiver->context->conductor_inbox, APY_INBOX_ADDRESS_SILENT, &silent, sizeof(silent)) ==
        APY_OK) {
        destination->time_of_last_activity_ns = receiver->now_ns;
    } else {
        apy_count(receiver->context, APY_SC_CONDUCTOR_PROXY_FAILS, 1);
    }
}

static void check_silent(apy_receiver_t *receiver)
{
    const int64_t interval_ns = receiver->context->config.reresolution_check_interval_ns;
    if (interval_ns <= 0 || receiver->now_ns - receiver->re_resolution_deadline_ns < 0) {
        return;
    }
    receiver->re_resolution_deadline_ns = apy_time_after(receiver->now_ns, interval_ns);
    for (int32_t i = 0; i < receiver->eliciting_count; i++) {
        if (receiver->now_ns > receiver->eliciting[i]->time_of_last_activity_ns + SILENCE_NS) {
            tell_silent(receiver, receiver->eliciting[i]);
        }
    }
}

void apy_receiver_check_pending(apy_receiver_t *receiver)
{
    for (int32_t i = receiver->pending_count - 1; i >= 0; i--) {
        if (receiver->now_ns > receiver->pending[i].time_ns + PENDING_SETUP_TIMEOUT_NS) {
            give_up(receiver, i);
        }
    }
    for (int32_t i = 0; i < receiver->eliciting_count; i++) {
        apy_receive_destination_t *destination = receiver->eliciting[i];
        if (receiver->now_ns > destination->time_of_last_elicitation_ns + ELICITATION_INTERVAL_NS &&
            destination->endpoint->dispatcher.streams.count > 0) {
            announce(receiver, destination);
        }
    }
    check_silent(receiver);
}
