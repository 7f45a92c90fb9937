#include <string.h>

#include "apy/term_rebuild.h"
#include "image_fields.h"

#define IMAGE_REJECTED 13
#define NO_COUNTER (-1)

static int send_one(const apy_image_t *image, const apy_image_connection_t *connection, const void *frame,
                    size_t length, int counter)
{
    if (!apy_receive_destination_send(connection->destination, &connection->control, frame, length)) {
        return 0;
    }
    if (counter != NO_COUNTER) {
        apy_count(image->context, counter, 1);
    }
    return 1;
}

/* To every connection that something came in on lately; returns how many. */
static int send_to_alive(const apy_image_t *image, const void *frame, size_t length, int counter, int64_t now_ns)
{
    int sent = 0;
    for (int32_t i = 0; i < image->receiver.connection_count; i++) {
        const apy_image_connection_t *connection = &image->receiver.connections[i];
        if (apy_image_connection_is_alive(connection, now_ns)) {
            sent += send_one(image, connection, frame, length, counter);
        }
    }
    return sent;
}

/* --- status messages --- */

static int send_sm(apy_image_t *image, int64_t position, int32_t window, int64_t now_ns)
{
    apy_tagged_sm_t frame;
    const apy_log_t *log = &image->log;
    apy_receive_endpoint_begin_sm(image->endpoint, &frame);
    frame.sm.flags = apy_load_acquire_i32(&image->from_core.is_sending_eos) ? APY_FLAG_SM_EOS : 0;
    frame.sm.session_id = image->params.session_id;
    frame.sm.stream_id = image->params.stream_id;
    frame.sm.consumption_term_id = apy_position_term_id(position, log->shift, log->initial_term_id);
    frame.sm.consumption_term_offset = apy_position_offset(position, log->term_length);
    frame.sm.receiver_window = window;
    return send_to_alive(image, &frame, (size_t)frame.sm.length, APY_SC_SMS_SENT, now_ns);
}

/* Tells a requester which session answers it, until that session has its receiver. */
static int send_response_setup(apy_image_t *image, int64_t now_ns)
{
    const int64_t session = apy_load_acquire_i64(&image->from_core.response_session);
    if (session == APY_NO_RESPONSE) {
        return 0;
    }
    const apy_rsp_setup_t frame = {
        .length = sizeof(frame),
        .type = APY_FRAME_RSP_SETUP,
        .session_id = image->params.session_id,
        .stream_id = image->params.stream_id,
        .response_session_id = (int32_t)session,
    };
    return send_to_alive(image, &frame, sizeof(frame), NO_COUNTER, now_ns);
}

static void update_transports(apy_image_t *image, int64_t now_ns)
{
    int32_t count = 0;
    for (int32_t i = 0; i < image->receiver.connection_count; i++) {
        const apy_image_connection_t *connection = &image->receiver.connections[i];
        count += connection->destination != NULL &&
                 now_ns < apy_time_after(connection->time_of_last_frame_ns,
                                         image->context->config.image_liveness_timeout_ns);
    }
    if (count != image->receiver.active_transport_count) {
        image->receiver.active_transport_count = count;
        apy_store_release_i32(&image->log.meta->active_transport_count, count);
    }
}

static int answer_with_sm(apy_image_t *image, bool is_timed_out, int64_t now_ns)
{
    const int64_t change = apy_load_acquire_i64(&image->from_core.sm_end);
    const int64_t position = apy_load_relaxed_i64(&image->from_core.sm_position);
    const int32_t window = apy_load_relaxed_i32(&image->from_core.sm_window);
    apy_fence_acquire();
    if (apy_load_acquire_i64(&image->from_core.sm_begin) != change ||
        (change == image->receiver.sm_change_seen && !is_timed_out)) {
        return 0; /* it is changing just now, or nothing is due */
    }
    int sent = is_timed_out ? send_response_setup(image, now_ns) : 0;
    sent += send_sm(image, position, window, now_ns);
    image->receiver.sm_change_seen = change;
    image->receiver.last_sm_position = position;
    image->receiver.overrun_threshold = position + image->log.term_length / 2;
    image->receiver.sm_deadline_ns = apy_time_after(now_ns, image->context->config.status_message_timeout_ns);
    update_transports(image, now_ns);
    return sent;
}

/* --- rejection --- */

static int send_error(apy_image_t *image)
{
    struct {
        apy_err_t err;
        char text[APY_REASON_MAX];
    } frame;
    const int32_t text_length = image->from_core.reason_length;
    const apy_udp_channel_t *channel = &image->endpoint->channel;
    const bool has_tag = channel->has_group_tag;
    frame.err = (apy_err_t){
        .length = (int32_t)sizeof(frame.err) + text_length,
        .flags = has_tag ? APY_FLAG_ERR_HAS_GROUP_TAG : 0,
        .type = APY_FRAME_ERR,
        .session_id = image->params.session_id,
        .stream_id = image->params.stream_id,
        .receiver_id = image->receiver_id,
        .group_tag = has_tag ? channel->group_tag : -1,
        .error_code = IMAGE_REJECTED,
        .error_length = text_length,
    };
    memcpy(frame.text, image->from_core.reason, (size_t)text_length);
    int sent = 0;
    for (int32_t i = 0; i < image->receiver.connection_count; i++) {
        const apy_image_connection_t *connection = &image->receiver.connections[i];
        if (connection->destination != NULL && connection->control.ss_family != 0) {
            sent += send_one(image, connection, &frame, (size_t)frame.err.length, APY_SC_ERROR_FRAMES_SENT);
        }
    }
    return sent;
}

static int answer_with_error(apy_image_t *image, bool is_timed_out, int64_t now_ns)
{
    if (!is_timed_out) {
        return 0;
    }
    image->receiver.sm_deadline_ns = apy_time_after(now_ns, image->context->config.status_message_timeout_ns);
    return send_error(image);
}

/* --- loss --- */

static void trace_nak(const apy_image_t *image, const apy_lost_range_t *lost, int64_t now_ns)
{
    apy_event_trace_t *trace = image->context->trace;
    if (!apy_traces(trace, APY_TRACE_NAK_SENT)) {
        return;
    }
    const apy_traced_range_t traced = {image->endpoint->id, image->params.session_id, image->params.stream_id,
                                       lost->term_id,       lost->term_offset,        lost->length};
    for (int32_t i = 0; i < image->receiver.connection_count; i++) {
        const apy_image_connection_t *connection = &image->receiver.connections[i];
        if (apy_image_connection_is_alive(connection, now_ns)) {
            apy_event_trace_write(trace, APY_TRACE_NAK_SENT, &connection->control, 0, &traced, APY_TRACED_RANGE_LENGTH);
        }
    }
}

static int send_nak(apy_image_t *image, const apy_lost_range_t *lost, int64_t now_ns)
{
    const apy_nak_t nak = {
        .length = sizeof(nak),
        .type = APY_FRAME_NAK,
        .session_id = image->params.session_id,
        .stream_id = image->params.stream_id,
        .term_id = lost->term_id,
        .term_offset = lost->term_offset,
        .range_length = lost->length,
    };
    const int sent = send_to_alive(image, &nak, sizeof(nak), APY_SC_NAKS_SENT, now_ns);
    if (sent > 0) {
        trace_nak(image, lost, now_ns);
        apy_counter_add_ordered(image->params.naks_sent, sent);
    }
    return sent;
}

static int fill_gap(apy_image_t *image, const apy_lost_range_t *lost)
{
    const apy_log_t *log = &image->log;
    const int32_t term_count = apy_wrap_sub(lost->term_id, log->initial_term_id);
    const bool is_filled = apy_gap_fill(log->terms[apy_term_partition(term_count)], log->meta->default_header,
                                        lost->term_id, lost->term_offset, lost->length);
    if (is_filled) {
        apy_count(image->context, APY_SC_LOSS_GAP_FILLS, 1);
        apy_waiters_ring_if_armed(&image->log.meta->readers, &image->context->ringer);
    }
    return is_filled;
}

static int answer_loss(apy_image_t *image, int64_t now_ns)
{
    const int64_t change = apy_load_acquire_i64(&image->from_core.loss_end);
    if (change == image->receiver.loss_change_seen) {
        return 0;
    }
    const apy_lost_range_t lost = {apy_load_relaxed_i32(&image->from_core.loss_term_id),
                                   apy_load_relaxed_i32(&image->from_core.loss_term_offset),
                                   apy_load_relaxed_i32(&image->from_core.loss_length)};
    apy_fence_acquire();
    if (apy_load_acquire_i64(&image->from_core.loss_begin) != change) {
        return 0;
    }
    image->receiver.loss_change_seen = change;
    if (image->from_receiver.is_revoked) {
        return 0;
    }
    return image->params.reliable ? send_nak(image, &lost, now_ns) : fill_gap(image, &lost);
}

/* --- round trips --- */

static int send_rttm(apy_image_t *image, int64_t now_ns)
{
    const apy_rttm_t rttm = {
        .length = sizeof(rttm),
        .flags = APY_FLAG_RTTM_REPLY,
        .type = APY_FRAME_RTTM,
        .session_id = image->params.session_id,
        .stream_id = image->params.stream_id,
        .echo_timestamp = now_ns,
        .receiver_id = image->receiver_id,
    };
    apy_rtt_meter_asked(&image->receiver.rtt, now_ns);
    return send_to_alive(image, &rttm, sizeof(rttm), NO_COUNTER, now_ns);
}

void apy_image_on_rttm(apy_image_t *image, apy_receive_destination_t *destination, const apy_rttm_t *rttm,
                       const struct sockaddr_storage *source, int64_t now_ns)
{
    if (rttm->flags & APY_FLAG_RTTM_REPLY) {
        apy_rttm_t reply = *rttm;
        reply.length = sizeof(reply);
        reply.flags = 0;
        reply.reception_delta = 0;
        reply.receiver_id = image->receiver_id;
        (void)apy_receive_destination_send(destination, apy_receive_destination_control(destination, source), &reply,
                                           sizeof(reply));
        return;
    }
    /* Anybody can write these fields: their difference must not overflow. */
    const uint64_t rtt = (uint64_t)now_ns - (uint64_t)rttm->echo_timestamp - (uint64_t)rttm->reception_delta;
    apy_rtt_meter_answered(&image->receiver.rtt, now_ns, (int64_t)rtt);
}

/* --- one turn --- */

int apy_image_answer(apy_image_t *image, int64_t now_ns)
{
    const int64_t reset = apy_load_acquire_i64(&image->from_core.deadline_reset);
    if (reset != image->receiver.deadline_reset_seen) {
        image->receiver.deadline_reset_seen = reset;
        image->receiver.sm_deadline_ns = now_ns - 1;
    }
    const bool is_timed_out = image->receiver.sm_deadline_ns < now_ns;
    const bool is_rejected = apy_load_acquire_i32(&image->from_core.is_rejected) != 0;
    int sent = 0;
    if (image->receiver.is_sm_enabled) {
        sent =
            is_rejected ? answer_with_error(image, is_timed_out, now_ns) : answer_with_sm(image, is_timed_out, now_ns);
    }
    if (!is_rejected) {
        sent += answer_loss(image, now_ns);
        if (apy_rtt_meter_is_due(&image->receiver.rtt, now_ns)) {
            sent += send_rttm(image, now_ns);
        }
    }
    return sent;
}
