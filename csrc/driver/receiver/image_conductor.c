#include "apy/error.h"
#include "image_fields.h"

#include <string.h>

#define EOS_SMS 5 /* status messages that say the end, before the image lets go */

/* --- proposals to the receiver --- */

static void propose_sm(apy_image_t *image, int64_t position, int32_t window)
{
    const int64_t change = image->from_core.sm_begin + 1;
    apy_store_release_i64(&image->from_core.sm_begin, change);
    apy_fence_release();
    apy_store_relaxed_i64(&image->from_core.sm_position, position);
    apy_store_relaxed_i32(&image->from_core.sm_window, window);
    apy_store_release_i64(&image->from_core.sm_end, change);
}

static void propose_loss(apy_image_t *image, const apy_lost_range_t *lost)
{
    const int64_t change = image->from_core.loss_begin + 1;
    apy_store_release_i64(&image->from_core.loss_begin, change);
    apy_fence_release();
    apy_store_relaxed_i32(&image->from_core.loss_term_id, lost->term_id);
    apy_store_relaxed_i32(&image->from_core.loss_term_offset, lost->term_offset);
    apy_store_relaxed_i32(&image->from_core.loss_length, lost->length);
    apy_store_release_i64(&image->from_core.loss_end, change);
}

static void answer_at_once(apy_image_t *image)
{
    apy_store_release_i64(&image->from_core.deadline_reset, image->from_core.deadline_reset + 1);
}

/* --- the loss report --- */

/* Bytes that were not counted before: a retry of the same gap adds none. */
static int32_t newly_lost(const apy_lost_range_t *reported, const apy_lost_range_t *lost)
{
    const int32_t reported_end = reported->term_offset + reported->length;
    const int32_t end = lost->term_offset + lost->length;
    if (reported->length == 0 || lost->term_id != reported->term_id || lost->term_offset >= reported_end) {
        return lost->length;
    }
    return end > reported_end ? end - reported_end : 0;
}

static void report_loss(apy_image_t *image, const apy_lost_range_t *lost)
{
    apy_loss_report_t *report = image->context->loss_report;
    const int32_t bytes = newly_lost(&image->core.reported, lost);
    if (bytes == 0 || image->core.loss_entry < -1) {
        return;
    }
    const int64_t now_ms = apy_epoch_ms(&image->context->clock);
    image->core.reported = *lost;
    if (image->core.loss_entry >= 0) {
        apy_loss_report_update(report, image->core.loss_entry, bytes, now_ms);
        return;
    }
    const int64_t entry =
        apy_loss_report_create(report, bytes, now_ms, image->params.session_id, image->params.stream_id,
                               image->params.channel, image->params.source_identity);
    image->core.loss_entry = entry >= 0 ? entry : -2;
}

/* --- rebuilding --- */

static int detect_loss(apy_image_t *image, int64_t rebuild_position, int64_t hwm_position, int64_t now_ns,
                       bool *is_loss_found)
{
    bool is_due = false;
    apy_lost_range_t lost;
    const int64_t rebuilt = apy_loss_detector_scan(&image->core.loss_detector, &image->log, rebuild_position,
                                                   hwm_position, now_ns, is_loss_found, &is_due, &lost);
    if (is_due) {
        propose_loss(image, &lost);
        report_loss(image, &lost);
    }
    const bool has_moved = rebuilt > apy_load_relaxed_i64(image->params.rcv_pos);
    apy_propose_max_i64(image->params.rcv_pos, rebuilt);
    return is_due || has_moved;
}

int apy_image_track_rebuild(apy_image_t *image, int64_t now_ns)
{
    int64_t min_position = 0, max_position = 0;
    if (image->from_core.state > APY_IMAGE_DRAINING || apy_load_acquire_i32(&image->from_receiver.is_revoked) ||
        apy_subscribers_range(&image->core.subscribers, &min_position, &max_position) == 0) {
        return 0;
    }
    const int64_t received = apy_load_relaxed_i64(image->params.rcv_pos);
    const int64_t rebuild_position = max_position > received ? max_position : received;
    const int64_t hwm_position = apy_load_acquire_i64(image->params.rcv_hwm);
    bool is_loss_found = false, must_tell = false;
    int work = 0;
    if (rebuild_position < hwm_position) {
        work = detect_loss(image, rebuild_position, hwm_position, now_ns, &is_loss_found);
    } else {
        apy_propose_max_i64(image->params.rcv_pos, rebuild_position);
    }

    const bool has_advanced = min_position > image->core.next_sm_position;
    const int32_t window =
        apy_congestion_control_on_rebuild(&image->core.congestion, now_ns, apy_rtt_meter_rtt(&image->receiver.rtt),
                                          is_loss_found, has_advanced, &must_tell);
    if (must_tell || min_position > image->core.next_sm_position + window / 4 || window != image->core.next_sm_window) {
        apy_log_clean(&image->log, &image->core.clean_position, min_position - image->log.term_length);
        image->core.next_sm_position = min_position;
        image->core.next_sm_window = window;
        propose_sm(image, min_position, window);
        work++;
    }
    return work;
}

int64_t apy_image_moved(apy_image_t *image, int64_t *window)
{
    const int64_t before = image->core.paced_position;
    image->core.paced_position = apy_load_acquire_i64(image->params.rcv_hwm);
    *window = image->params.window_length;
    return image->core.paced_position - before;
}

/* --- the states --- */

static void enter(apy_image_t *image, apy_image_state_t state, int64_t now_ns)
{
    apy_store_release_i32(&image->from_core.state, (int32_t)state);
    image->core.time_of_state_ns = now_ns;
}

/* From now on status messages say that this receiver is done; the first goes at once. */
static void drain(apy_image_t *image, int64_t now_ns)
{
    apy_store_release_i32(&image->from_core.is_sending_eos, 1);
    answer_at_once(image);
    enter(image, APY_IMAGE_DRAINING, now_ns);
}

static bool is_drained(const apy_image_t *image)
{
    int64_t min_position = 0, max_position = 0;
    return apy_subscribers_range(&image->core.subscribers, &min_position, &max_position) == 0 ||
           min_position >= apy_load_acquire_i64(image->params.rcv_pos);
}

static bool is_abandoned(const apy_image_t *image, int64_t now_ns)
{
    int64_t min_position = 0, max_position = 0;
    const apy_driver_config_t *config = &image->context->config;
    if (apy_subscribers_range(&image->core.subscribers, &min_position, &max_position) > 0) {
        return false;
    }
    /* The first subscribers join a moment after it was made. */
    return image->core.had_subscribers ||
           now_ns > apy_time_after(image->core.time_of_state_ns, config->timer_interval_ns);
}

static void check_untethered(apy_image_t *image, int64_t now_ns)
{
    int64_t min_position = 0, max_position = 0;
    const int64_t window = image->core.next_sm_window;
    if (apy_subscribers_range(&image->core.subscribers, &min_position, &max_position) == 0) {
        max_position = apy_load_relaxed_i64(image->params.rcv_pos);
    }
    apy_untethered_check(&image->core.subscribers, &image->core.untethered, max_position - window + window / 4,
                         apy_image_join_position(image), now_ns);
}

static void tick_active(apy_image_t *image, int64_t now_ns)
{
    const int64_t last_packet_ns = apy_load_acquire_i64(&image->from_receiver.time_of_last_packet_ns);
    if (apy_load_acquire_i32(&image->from_receiver.is_revoked)) {
        drain(image, now_ns);
        return;
    }
    check_untethered(image, now_ns);
    /* The end first: what it says about the high-water mark holds when the mark is read after it. */
    const bool is_ended = apy_image_is_end_of_stream(image) &&
                          apy_load_acquire_i64(image->params.rcv_pos) >= apy_load_acquire_i64(image->params.rcv_hwm);
    if (is_ended || is_abandoned(image, now_ns) ||
        now_ns > apy_time_after(last_packet_ns, image->context->config.image_liveness_timeout_ns)) {
        drain(image, now_ns);
    }
}

static int tick_draining(apy_image_t *image, int64_t now_ns)
{
    const int64_t eos_ns = apy_time_times(image->context->config.status_message_timeout_ns, EOS_SMS);
    if (!apy_load_acquire_i32(&image->from_receiver.is_revoked) &&
        !(is_drained(image) && apy_time_after(image->core.time_of_state_ns, eos_ns) < now_ns)) {
        return APY_IMAGE_TICK_NOTHING;
    }
    enter(image, APY_IMAGE_LINGER, now_ns);
    return APY_IMAGE_TICK_UNAVAILABLE;
}

int apy_image_on_timer(apy_image_t *image, int64_t now_ns)
{
    switch (apy_image_state(image)) {
    case APY_IMAGE_ACTIVE:
        tick_active(image, now_ns);
        return APY_IMAGE_TICK_NOTHING;
    case APY_IMAGE_DRAINING:
        return tick_draining(image, now_ns);
    case APY_IMAGE_LINGER:
        if (image->core.subscribers.count > 0 &&
            now_ns <= apy_time_after(image->core.time_of_state_ns, image->context->config.image_liveness_timeout_ns)) {
            return APY_IMAGE_TICK_NOTHING;
        }
        enter(image, APY_IMAGE_DONE, now_ns);
        return APY_IMAGE_TICK_RELEASE;
    case APY_IMAGE_DONE:
        break;
    }
    return APY_IMAGE_TICK_NOTHING;
}

/* --- what others ask --- */

apy_image_state_t apy_image_state(const apy_image_t *image)
{
    return (apy_image_state_t)image->from_core.state;
}

int64_t apy_image_id(const apy_image_t *image)
{
    return image->params.correlation_id;
}

bool apy_image_is_accepting(const apy_image_t *image)
{
    int64_t min_position = 0, max_position = 0;
    const bool has_working = apy_subscribers_range(&image->core.subscribers, &min_position, &max_position) > 0;
    switch (apy_image_state(image)) {
    case APY_IMAGE_ACTIVE:
        return has_working || !image->core.had_subscribers;
    case APY_IMAGE_DRAINING:
        return has_working && !is_drained(image);
    default:
        return false;
    }
}

int64_t apy_image_join_position(const apy_image_t *image)
{
    int64_t position = apy_load_relaxed_i64(image->params.rcv_pos);
    int64_t min_position = 0, max_position = 0;
    if (apy_subscribers_range(&image->core.subscribers, &min_position, &max_position) > 0 && min_position < position) {
        position = min_position;
    }
    return position;
}

int apy_image_add_subscriber(apy_image_t *image, const apy_subscriber_t *subscriber)
{
    const int rc = apy_subscribers_add(&image->core.subscribers, subscriber);
    if (rc == APY_OK) {
        image->core.had_subscribers = true;
    }
    return rc;
}

int apy_image_remove_subscriber(apy_image_t *image, int64_t registration_id, apy_subscriber_t *removed)
{
    return apy_subscribers_remove(&image->core.subscribers, registration_id, removed);
}

const apy_subscribers_t *apy_image_subscribers(const apy_image_t *image)
{
    return &image->core.subscribers;
}

void apy_image_set_response(apy_image_t *image, const int32_t *session_id)
{
    apy_store_release_i64(&image->from_core.response_session, session_id == NULL ? APY_NO_RESPONSE : *session_id);
    if (session_id != NULL) {
        answer_at_once(image);
    }
}

void apy_image_reject(apy_image_t *image, const char *reason, int32_t length)
{
    if (image->from_core.is_rejected) {
        return; /* the first reason stands */
    }
    const int32_t kept = length < 0 ? 0 : length > APY_REASON_MAX ? APY_REASON_MAX : length;
    memcpy(image->from_core.reason, reason, (size_t)kept);
    image->from_core.reason_length = kept;
    apy_store_release_i32(&image->from_core.is_rejected, 1);
    apy_count(image->context, APY_SC_IMAGES_REJECTED, 1);
}
