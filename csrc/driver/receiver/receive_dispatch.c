#include "apy/receive_dispatch.h"

#include <string.h>

#include "apy/error.h"
#include "receiver_fields.h"

#define PENDING_SETUP_TIMEOUT_NS 1000000000

/* Every frame is copied out of the buffer, which need not be aligned. */

static void refuse(apy_receiver_t *receiver)
{
    apy_count(receiver->context, APY_SC_INVALID_PACKETS, 1);
}

/* --- pending setups --- */

static void drop_pending(apy_receiver_t *receiver, int32_t at)
{
    receiver->pending[at] = receiver->pending[--receiver->pending_count];
}

void apy_receiver_check_pending(apy_receiver_t *receiver)
{
    for (int32_t i = receiver->pending_count - 1; i >= 0; i--) {
        const apy_pending_setup_t *pending = &receiver->pending[i];
        if (receiver->now_ns > pending->time_ns + PENDING_SETUP_TIMEOUT_NS) {
            apy_dispatcher_clear(apy_receive_endpoint_dispatcher(pending->endpoint), pending->stream_id,
                                 pending->session_id, APY_SESSION_PENDING_SETUP);
            drop_pending(receiver, i);
        }
    }
}

void apy_receiver_forget_pending(apy_receiver_t *receiver, const apy_receive_endpoint_t *endpoint)
{
    for (int32_t i = receiver->pending_count - 1; i >= 0; i--) {
        if (receiver->pending[i].endpoint == endpoint) {
            drop_pending(receiver, i);
        }
    }
}

static void forget_one(apy_receiver_t *receiver, const apy_receive_endpoint_t *endpoint, int32_t stream_id,
                       int32_t session_id)
{
    for (int32_t i = 0; i < receiver->pending_count; i++) {
        const apy_pending_setup_t *pending = &receiver->pending[i];
        if (pending->endpoint == endpoint && pending->stream_id == stream_id && pending->session_id == session_id) {
            drop_pending(receiver, i);
            return;
        }
    }
}

static void elicit(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id, int32_t session_id,
                   const struct sockaddr_storage *source)
{
    if (receiver->pending_count == APY_PENDING_SETUPS_MAX ||
        apy_dispatcher_mark(apy_receive_endpoint_dispatcher(endpoint), stream_id, session_id,
                            APY_SESSION_PENDING_SETUP) != APY_OK) {
        return; /* the next datagram may find room */
    }
    receiver->pending[receiver->pending_count++] =
        (apy_pending_setup_t){endpoint, stream_id, session_id, receiver->now_ns};
    const apy_sm_t sm = {
        .length = sizeof(sm),
        .flags = APY_FLAG_SM_SEND_SETUP,
        .type = APY_FRAME_SM,
        .session_id = session_id,
        .stream_id = stream_id,
        .receiver_id = apy_receive_endpoint_receiver_id(endpoint),
    };
    if (apy_receive_endpoint_send(endpoint, apy_receive_endpoint_control(endpoint, source), &sm, sizeof(sm))) {
        apy_count(receiver->context, APY_SC_SMS_SENT, 1);
    }
}

/* --- data --- */

static void on_data(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, const uint8_t *datagram, size_t length,
                    const struct sockaddr_storage *source)
{
    apy_frame_t first;
    apy_image_t *image = NULL;
    memcpy(&first, datagram, sizeof(first));
    switch (apy_dispatcher_on_data(apy_receive_endpoint_dispatcher(endpoint), first.stream_id, first.session_id,
                                   first.flags, &image)) {
    case APY_VERDICT_IMAGE:
        apy_image_on_packet(image, datagram, length, receiver->now_ns);
        break;
    case APY_VERDICT_ELICIT:
        elicit(receiver, endpoint, first.stream_id, first.session_id, source);
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

static void create_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, const apy_setup_t *setup,
                         const struct sockaddr_storage *source)
{
    apy_dispatcher_t *dispatcher = apy_receive_endpoint_dispatcher(endpoint);
    const apy_udp_channel_t *channel = apy_receive_endpoint_channel(endpoint);
    const bool was_pending =
        apy_dispatcher_state(dispatcher, setup->stream_id, setup->session_id) == APY_SESSION_PENDING_SETUP;
    if (apy_dispatcher_mark(dispatcher, setup->stream_id, setup->session_id, APY_SESSION_INIT) != APY_OK) {
        return; /* the next SETUP may find room */
    }
    if (was_pending) {
        forget_one(receiver, endpoint, setup->stream_id, setup->session_id);
        if (channel->is_multicast && channel->ttl < setup->ttl) {
            apy_count(receiver->context, APY_SC_POSSIBLE_TTL_ASYMMETRY, 1);
        }
    }
    apy_inbox_setup_t record;
    memset(&record, 0, sizeof(record));
    record.endpoint = endpoint;
    record.endpoint_id = apy_receive_endpoint_id(endpoint);
    record.destination_id = record.endpoint_id;
    record.setup = *setup;
    record.source = *source;
    record.control = *apy_receive_endpoint_control(endpoint, source);
    if (apy_mpsc_ring_write(receiver->context->conductor_inbox, APY_INBOX_SETUP, &record, sizeof(record)) != APY_OK) {
        apy_count(receiver->context, APY_SC_CONDUCTOR_PROXY_FAILS, 1);
        apy_dispatcher_clear(dispatcher, setup->stream_id, setup->session_id, APY_SESSION_INIT);
    }
}

static void on_setup(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, const uint8_t *datagram,
                     const struct sockaddr_storage *source)
{
    apy_setup_t setup;
    apy_image_t *image = NULL;
    memcpy(&setup, datagram, sizeof(setup));
    if (!is_setup_valid(&setup)) {
        refuse(receiver);
        return;
    }
    switch (apy_dispatcher_on_setup(apy_receive_endpoint_dispatcher(endpoint), setup.stream_id, setup.session_id,
                                    receiver->context->config.stream_session_limit, &image)) {
    case APY_VERDICT_IMAGE:
        apy_image_on_setup(image, receiver->now_ns);
        break;
    case APY_VERDICT_CREATE:
        create_image(receiver, endpoint, &setup, source);
        break;
    case APY_VERDICT_SESSION_LIMIT:
        apy_driver_report_error(receiver->context,
                                apy_fail(APY_E_FULL, "exceeded session limit, stream-id=%d", setup.stream_id));
        break;
    default:
        break;
    }
}

/* --- round trips --- */

static void on_rttm(apy_receive_endpoint_t *endpoint, const uint8_t *datagram)
{
    apy_rttm_t rttm;
    apy_image_t *image = NULL;
    memcpy(&rttm, datagram, sizeof(rttm));
    const bool is_ours = rttm.receiver_id == 0 || rttm.receiver_id == apy_receive_endpoint_receiver_id(endpoint);
    /* The flag keeps it from asking for a SETUP: only an image answers. */
    if (is_ours && apy_dispatcher_on_data(apy_receive_endpoint_dispatcher(endpoint), rttm.stream_id, rttm.session_id,
                                          APY_FLAG_EOS, &image) == APY_VERDICT_IMAGE) {
        apy_image_on_rttm(image, &rttm);
    }
}

void apy_receiver_on_datagram(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, const uint8_t *datagram,
                              size_t length, const struct sockaddr_storage *source)
{
    uint16_t type = 0;
    if (!apy_datagram_is_valid(datagram, length)) {
        refuse(receiver);
        return;
    }
    memcpy(&type, datagram + offsetof(apy_frame_t, type), sizeof(type));
    switch (type) {
    case APY_FRAME_DATA:
    case APY_FRAME_PAD:
        on_data(receiver, endpoint, datagram, length, source);
        break;
    case APY_FRAME_SETUP:
        on_setup(receiver, endpoint, datagram, source);
        break;
    case APY_FRAME_RTTM:
        on_rttm(endpoint, datagram);
        break;
    default: /* well-formed, but not for receivers */
        break;
    }
}
