#include "apy/receive_dispatch.h"

#include <string.h>

#include "apy/error.h"
#include "receiver_fields.h"

#define LIMIT_TOLD_EVERY_NS INT64_C(5000000000)

/* Every frame is copied out of the buffer, which need not be aligned. */

static void refuse(apy_receiver_t *receiver)
{
    apy_count(receiver->context, APY_SC_INVALID_PACKETS, 1);
}

/* --- data --- */

static void on_data(apy_receiver_t *receiver, apy_receive_destination_t *destination, const apy_datagram_t *datagram)
{
    apy_frame_t first;
    apy_image_t *image = NULL;
    memcpy(&first, datagram->data, sizeof(first));
    destination->time_of_last_activity_ns = receiver->now_ns;
    switch (apy_dispatcher_on_data(&destination->endpoint->dispatcher, first.stream_id, first.session_id, first.flags,
                                   &image)) {
    case APY_VERDICT_IMAGE:
        apy_image_on_packet(image, destination, datagram, receiver->now_ns);
        break;
    case APY_VERDICT_ELICIT:
        apy_receiver_elicit(receiver, destination, first.stream_id, first.session_id, datagram->source);
        break;
    default:
        break;
    }
}

/* --- setups --- */

static bool is_setup_valid(const apy_setup_t *setup)
{
    const int32_t length = setup->term_length;
    return length >= APY_TERM_LENGTH_MIN && length <= APY_TERM_LENGTH_MAX && (length & (length - 1)) == 0 &&
           setup->term_offset >= 0 && setup->term_offset < length && setup->term_offset % APY_FRAME_ALIGN == 0 &&
           setup->mtu >= APY_FRAME_HEADER && setup->mtu <= APY_UDP_PAYLOAD_MAX && setup->mtu % APY_FRAME_ALIGN == 0 &&
           apy_wrap_sub(setup->active_term_id, setup->initial_term_id) >= 0;
}

static void create_image(apy_receiver_t *receiver, apy_receive_destination_t *destination, const apy_setup_t *setup,
                         const struct sockaddr_storage *source)
{
    apy_receive_endpoint_t *endpoint = destination->endpoint;
    apy_dispatcher_t *dispatcher = &endpoint->dispatcher;
    const bool was_pending =
        apy_dispatcher_state(dispatcher, setup->stream_id, setup->session_id) == APY_SESSION_PENDING_SETUP;
    if (apy_dispatcher_mark(dispatcher, setup->stream_id, setup->session_id, APY_SESSION_INIT) != APY_OK) {
        return; /* the next SETUP may find room */
    }
    if (was_pending) {
        apy_receiver_forget_setup(receiver, endpoint, setup->stream_id, setup->session_id);
        if (destination->channel.is_multicast && destination->channel.ttl < setup->ttl) {
            apy_count(receiver->context, APY_SC_POSSIBLE_TTL_ASYMMETRY, 1);
        }
    }
    apy_inbox_setup_t record;
    memset(&record, 0, sizeof(record));
    record.endpoint = endpoint;
    record.endpoint_id = endpoint->id;
    record.destination_id = destination->id;
    record.setup = *setup;
    record.source = *source;
    record.control = *apy_receive_destination_control(destination, source);
    if (apy_mpsc_ring_write(receiver->context->conductor_inbox, APY_INBOX_SETUP, &record, sizeof(record)) != APY_OK) {
        apy_count(receiver->context, APY_SC_CONDUCTOR_PROXY_FAILS, 1);
        apy_dispatcher_clear(dispatcher, setup->stream_id, setup->session_id, APY_SESSION_INIT);
    }
}

static void on_setup(apy_receiver_t *receiver, apy_receive_destination_t *destination, const apy_datagram_t *datagram)
{
    apy_setup_t setup;
    apy_image_t *image = NULL;
    apy_dispatcher_t *dispatcher = &destination->endpoint->dispatcher;
    memcpy(&setup, datagram->data, sizeof(setup));
    if (!is_setup_valid(&setup)) {
        refuse(receiver);
        return;
    }
    destination->time_of_last_activity_ns = receiver->now_ns;
    switch (apy_dispatcher_on_setup(dispatcher, setup.stream_id, setup.session_id,
                                    receiver->context->config.stream_session_limit, &image)) {
    case APY_VERDICT_IMAGE:
        apy_image_on_setup(image, destination, datagram->source, receiver->now_ns);
        break;
    case APY_VERDICT_CREATE:
        create_image(receiver, destination, &setup, datagram->source);
        break;
    case APY_VERDICT_SESSION_LIMIT: /* a publisher that is kept out asks ten times a second */
        if (apy_dispatcher_tells_limit(dispatcher, setup.stream_id, receiver->now_ns, LIMIT_TOLD_EVERY_NS)) {
            apy_driver_report_error(receiver->context,
                                    apy_fail(APY_E_FULL, "exceeded session limit, stream-id=%d", setup.stream_id));
        }
        break;
    default:
        break;
    }
}

/* --- round trips --- */

static void on_rttm(apy_receiver_t *receiver, apy_receive_destination_t *destination, const apy_datagram_t *datagram)
{
    apy_rttm_t rttm;
    memcpy(&rttm, datagram->data, sizeof(rttm));
    if (rttm.receiver_id != 0 && rttm.receiver_id != destination->endpoint->receiver_id) {
        return;
    }
    destination->time_of_last_activity_ns = receiver->now_ns;
    apy_image_t *image = apy_dispatcher_image(&destination->endpoint->dispatcher, rttm.stream_id, rttm.session_id);
    if (image != NULL) {
        apy_image_on_rttm(image, destination, &rttm, datagram->source, receiver->now_ns);
    }
}

void apy_receiver_on_datagram(apy_receiver_t *receiver, apy_receive_destination_t *destination,
                              const apy_datagram_t *datagram)
{
    uint16_t type = 0;
    if (!apy_datagram_is_valid(datagram->data, datagram->length)) {
        refuse(receiver);
        return;
    }
    memcpy(&type, datagram->data + offsetof(apy_frame_t, type), sizeof(type));
    switch (type) {
    case APY_FRAME_DATA:
    case APY_FRAME_PAD:
        on_data(receiver, destination, datagram);
        break;
    case APY_FRAME_SETUP:
        on_setup(receiver, destination, datagram);
        break;
    case APY_FRAME_RTTM:
        on_rttm(receiver, destination, datagram);
        break;
    default: /* well-formed, but not for receivers */
        break;
    }
}
