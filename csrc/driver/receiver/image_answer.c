#include <string.h>

#include "apy/receive_dispatch.h"
#include "apy/term_rebuild.h"
#include "image_fields.h"

#define CONNECTION_TIMEOUT_NS INT64_C(5000000000)
#define IMAGE_REJECTED 13

static bool is_alive(const apy_image_connection_t *connection, int64_t now_ns)
{
    return now_ns < connection->time_of_last_activity_ns + CONNECTION_TIMEOUT_NS;
}

static int send_frame(apy_image_t *image, const void *frame, size_t length, int counter)
{
    if (!apy_receive_endpoint_send(image->endpoint, &image->receiver.connection.control, frame, length)) {
        return 0;
    }
    apy_count(image->context, counter, 1);
    return 1;
}

/* --- status messages --- */

static int send_sm(apy_image_t *image, int64_t position, int32_t window, int64_t now_ns)
{
    struct {
        apy_sm_t sm;
        uint8_t group_tag[sizeof(int64_t)];
    } frame;
    const apy_log_t *log = &image->log;
    const bool has_tag = image->params.has_group_tag;
    const int32_t length = (int32_t)sizeof(frame.sm) + (has_tag ? (int32_t)sizeof(frame.group_tag) : 0);
    if (!is_alive(&image->receiver.connection, now_ns)) {
        return 0;
    }
    frame.sm = (apy_sm_t){
        .length = length,
        .flags = apy_load_acquire_i32(&image->from_core.is_sending_eos) ? APY_FLAG_SM_EOS : 0,
        .type = APY_FRAME_SM,
        .session_id = image->params.session_id,
        .stream_id = image->params.stream_id,
        .consumption_term_id = apy_position_term_id(position, log->shift, log->initial_term_id),
        .consumption_term_offset = apy_position_offset(position, log->term_length),
        .receiver_window = window,
        .receiver_id = image->receiver_id,
    };
    memcpy(frame.group_tag, &image->params.group_tag, sizeof(frame.group_tag));
    return send_frame(image, &frame, (size_t)length, APY_SC_SMS_SENT);
}

static void update_transports(apy_image_t *image, int64_t now_ns)
{
    const int64_t last_ns = image->receiver.connection.time_of_last_frame_ns;
    const int32_t count = now_ns < last_ns + image->context->config.image_liveness_timeout_ns;
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
    const int sent = send_sm(image, position, window, now_ns);
    image->receiver.sm_change_seen = change;
    image->receiver.last_sm_position = position;
    image->receiver.overrun_threshold = position + image->log.term_length / 2;
    image->receiver.sm_deadline_ns = now_ns + image->context->config.status_message_timeout_ns;
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
    const bool has_tag = image->params.has_group_tag;
    frame.err = (apy_err_t){
        .length = (int32_t)sizeof(frame.err) + text_length,
        .flags = has_tag ? APY_FLAG_ERR_HAS_GROUP_TAG : 0,
        .type = APY_FRAME_ERR,
        .session_id = image->params.session_id,
        .stream_id = image->params.stream_id,
        .receiver_id = image->receiver_id,
        .group_tag = has_tag ? image->params.group_tag : -1,
        .error_code = IMAGE_REJECTED,
        .error_length = text_length,
    };
    memcpy(frame.text, image->from_core.reason, (size_t)text_length);
    return send_frame(image, &frame, (size_t)frame.err.length, APY_SC_ERROR_FRAMES_SENT);
}

static int answer_with_error(apy_image_t *image, bool is_timed_out, int64_t now_ns)
{
    if (!is_timed_out) {
        return 0;
    }
    image->receiver.sm_deadline_ns = now_ns + image->context->config.status_message_timeout_ns;
    return send_error(image);
}

/* --- loss --- */

static int send_nak(apy_image_t *image, const apy_lost_range_t *lost, int64_t now_ns)
{
    if (!is_alive(&image->receiver.connection, now_ns)) {
        return 0;
    }
    const apy_nak_t nak = {
        .length = sizeof(nak),
        .type = APY_FRAME_NAK,
        .session_id = image->params.session_id,
        .stream_id = image->params.stream_id,
        .term_id = lost->term_id,
        .term_offset = lost->term_offset,
        .range_length = lost->length,
    };
    const int sent = send_frame(image, &nak, sizeof(nak), APY_SC_NAKS_SENT);
    apy_counter_add_ordered(image->params.naks_sent, sent);
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
    return sent + (is_rejected ? 0 : answer_loss(image, now_ns));
}

void apy_image_on_rttm(apy_image_t *image, const apy_rttm_t *rttm)
{
    if (rttm->flags & APY_FLAG_RTTM_REPLY) {
        apy_rttm_t reply = *rttm;
        reply.length = sizeof(reply);
        reply.flags = 0;
        reply.reception_delta = 0;
        reply.receiver_id = image->receiver_id;
        (void)apy_receive_endpoint_send(image->endpoint, &image->receiver.connection.control, &reply, sizeof(reply));
    }
}
