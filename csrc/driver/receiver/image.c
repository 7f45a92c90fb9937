#include "apy/image.h"

#include <stdlib.h>
#include <string.h>

#include "apy/error.h"
#include "apy/receive_timestamps.h"
#include "apy/term_rebuild.h"
#include "image_fields.h"

/* --- packets --- */

static void refuse(apy_image_t *image, int counter)
{
    apy_count(image->context, counter, 1);
}

/* Where a datagram came in. */
typedef struct arrival {
    apy_receive_destination_t *destination;
    const struct sockaddr_storage *source;
    int64_t now_ns;
} arrival_t;

static apy_image_connection_t *connection_of(apy_image_t *image, const arrival_t *arrival)
{
    apy_image_connection_t *connection = &image->receiver.connections[arrival->destination->index];
    if (connection->destination == NULL || connection->control.ss_family == 0) {
        apy_image_connect(image, arrival->destination, arrival->source, arrival->now_ns);
    }
    return connection;
}

static apy_image_connection_t *refresh(apy_image_t *image, const arrival_t *arrival)
{
    apy_image_connection_t *connection = connection_of(image, arrival);
    connection->time_of_last_activity_ns = arrival->now_ns;
    connection->time_of_last_frame_ns = arrival->now_ns;
    return connection;
}

static apy_image_connection_t *touch(apy_image_t *image, const arrival_t *arrival)
{
    apy_store_release_i64(&image->from_receiver.time_of_last_packet_ns, arrival->now_ns);
    return refresh(image, arrival);
}

static void raise_hwm(apy_image_t *image, int64_t position)
{
    if (position > image->receiver.hwm_position) {
        image->receiver.hwm_position = position;
        apy_store_release_i64(image->params.rcv_hwm, position);
    }
}

static void trace_revoke(const apy_image_t *image, int64_t position)
{
    apy_event_trace_t *trace = image->context->trace;
    if (apy_traces(trace, APY_TRACE_IMAGE_REVOKED)) {
        const apy_traced_revoke_t traced = {image->endpoint->id, position, image->params.session_id,
                                            image->params.stream_id};
        apy_event_trace_write(trace, APY_TRACE_IMAGE_REVOKED, NULL, 0, &traced, (int32_t)sizeof(traced));
    }
}

/* It ends when it ended on every connection, at the furthest of their ends. */
static void end_stream(apy_image_t *image, apy_image_connection_t *ended, int64_t position, uint8_t flags)
{
    if (apy_image_is_end_of_stream(image)) {
        return;
    }
    ended->is_end_of_stream = true;
    ended->end_of_stream_position = position;
    int64_t last = position;
    for (int32_t i = 0; i < image->receiver.connection_count; i++) {
        const apy_image_connection_t *connection = &image->receiver.connections[i];
        if (connection->destination == NULL) {
            continue;
        }
        if (!connection->is_end_of_stream) {
            return;
        }
        last = connection->end_of_stream_position > last ? connection->end_of_stream_position : last;
    }
    apy_store_release_i64(&image->log.meta->end_of_stream_position, last);
    if (flags & APY_FLAG_REVOKED) {
        atomic_store_explicit((_Atomic uint8_t *)&image->log.meta->is_publication_revoked, 1, memory_order_release);
        apy_store_release_i32(&image->from_receiver.is_revoked, 1);
        apy_count(image->context, APY_SC_IMAGES_REVOKED, 1);
        trace_revoke(image, last);
    }
    apy_store_release_i32(&image->from_receiver.is_end_of_stream, 1);
}

static void on_heartbeat(apy_image_t *image, const apy_frame_t *heartbeat, int64_t position, const arrival_t *arrival)
{
    const int64_t oldest = image->receiver.last_sm_position - image->log.term_length;
    if (position < (oldest > 0 ? oldest : 0)) {
        refuse(image, APY_SC_FLOW_CONTROL_UNDER_RUNS);
        return;
    }
    apy_image_connection_t *connection = touch(image, arrival);
    /* First, so that who sees the end of the stream knows all of it. */
    raise_hwm(image, position);
    if (heartbeat->flags & APY_FLAG_EOS) {
        end_stream(image, connection, position, heartbeat->flags);
    }
    apy_count(image->context, APY_SC_HEARTBEATS_RECEIVED, 1);
}

static void on_data(apy_image_t *image, const apy_datagram_t *datagram, int64_t position, int64_t end,
                    const arrival_t *arrival)
{
    const apy_log_t *log = &image->log;
    if (position < image->receiver.last_sm_position) {
        refuse(image, APY_SC_FLOW_CONTROL_UNDER_RUNS);
        if (end >= image->receiver.last_sm_position - image->params.window_length) {
            refresh(image, arrival);
        }
        return;
    }
    touch(image, arrival);
    if (arrival->destination->has_timestamps) {
        apy_stamp_received(datagram->data, datagram->length, arrival->destination->channel_timestamp_offset,
                           arrival->destination->media_timestamp_offset, datagram->time_ns);
    }
    apy_term_insert(log->terms[apy_position_partition(position, log->shift)],
                    apy_position_offset(position, log->term_length), datagram->data, (int32_t)datagram->length);
    raise_hwm(image, end);
    apy_waiters_ring_if_armed(&log->meta->readers, &image->context->ringer);
}

/*
 * The padding at a term's end counts as its header against the sender's window, so the sender may stand further than any
 * data is taken, as far as the longest message that did not fit. Its heartbeats are all that is heard of what was lost
 * before: refused, the image would die beside a sender that lives.
 */
static bool is_behind_padding(const apy_image_t *image, const apy_frame_t *heartbeat, int64_t position)
{
    return heartbeat->term_offset == 0 && position - image->receiver.overrun_threshold <= image->log.term_length / 4;
}

void apy_image_on_packet(apy_image_t *image, apy_receive_destination_t *destination, const apy_datagram_t *datagram,
                         int64_t now_ns)
{
    const apy_log_t *log = &image->log;
    const arrival_t arrival = {destination, datagram->source, now_ns};
    apy_frame_t first;
    memcpy(&first, datagram->data, sizeof(first));
    if (apy_wrap_sub(first.term_id, log->initial_term_id) < 0 || apy_load_acquire_i32(&image->from_core.is_rejected)) {
        return;
    }
    const int32_t span = apy_packet_span(datagram->data, (int32_t)datagram->length, log->term_length);
    if (span < 0) {
        refuse(image, APY_SC_INVALID_PACKETS);
        return;
    }
    const int64_t position = apy_position_of(first.term_id, first.term_offset, log->shift, log->initial_term_id);
    const int64_t end = position + span;
    if (end > image->receiver.overrun_threshold && !(span == 0 && is_behind_padding(image, &first, position))) {
        refuse(image, APY_SC_FLOW_CONTROL_OVER_RUNS);
    } else if (span == 0) {
        on_heartbeat(image, &first, position, &arrival);
    } else {
        on_data(image, datagram, position, end, &arrival);
    }
}

void apy_image_on_setup(apy_image_t *image, apy_receive_destination_t *destination,
                        const struct sockaddr_storage *source, int64_t now_ns)
{
    const arrival_t arrival = {destination, source, now_ns};
    connection_of(image, &arrival)->time_of_last_activity_ns = now_ns;
}

void apy_image_stop_sms(apy_image_t *image)
{
    image->receiver.is_sm_enabled = false;
}

bool apy_image_is_end_of_stream(const apy_image_t *image)
{
    return apy_load_acquire_i32(&image->from_receiver.is_end_of_stream) != 0;
}

/* --- life --- */

static void init_delay(apy_nak_delay_t *delay, const apy_driver_config_t *config, const apy_image_params_t *params,
                       int64_t receiver_id, int64_t now_ns)
{
    const int64_t ratio = config->nak_unicast_retry_ratio;
    if (!params->reliable) {
        apy_nak_delay_fixed(delay, 0, 0);
    } else if (params->group) {
        const uint64_t seed = (uint64_t)receiver_id ^ ((uint64_t)now_ns * 31 + (uint64_t)params->correlation_id);
        apy_nak_delay_random(delay, config->nak_multicast_max_backoff_ns, config->nak_multicast_group_size, seed);
    } else if (params->nak_delay_ns >= 0) {
        apy_nak_delay_fixed(delay, params->nak_delay_ns, apy_time_times(params->nak_delay_ns, ratio));
    } else {
        const int64_t first = config->nak_unicast_delay_ns > 1000 ? config->nak_unicast_delay_ns : 1000;
        apy_nak_delay_fixed(delay, first, apy_time_times(first, ratio));
    }
}

static void init(apy_image_t *made, apy_driver_context_t *context, apy_receive_endpoint_t *endpoint,
                 const apy_log_t *log, const apy_image_params_t *params)
{
    const int64_t now_ns = apy_nano_time(&context->clock);
    const int64_t join_position =
        apy_position_of(params->active_term_id, params->term_offset, log->shift, params->initial_term_id);
    apy_nak_delay_t delay;
    init_delay(&delay, &context->config, params, endpoint->receiver_id, now_ns);

    made->context = context;
    made->endpoint = endpoint;
    made->log = *log;
    made->receiver_id = endpoint->receiver_id;
    made->receiver.hwm_position = join_position;
    made->receiver.last_sm_position = join_position;
    made->receiver.overrun_threshold = join_position + log->term_length / 2;
    made->receiver.is_sm_enabled = true;
    made->receiver.connections = &made->receiver.first;
    made->receiver.connection_count = 1;
    apy_rtt_meter_init(&made->receiver.rtt, &params->congestion);
    made->from_receiver.time_of_last_packet_ns = now_ns;
    made->from_core.sm_position = join_position;
    apy_congestion_control_init(&made->core.congestion, &params->congestion, params->window_length, params->mtu);
    made->from_core.sm_window = apy_congestion_control_window(&made->core.congestion);
    made->from_core.response_session = APY_NO_RESPONSE;
    made->from_core.state = APY_IMAGE_ACTIVE;
    made->core.untethered = (apy_untethered_t){params->untethered_window_limit_ns, params->untethered_linger_ns,
                                               params->untethered_resting_ns};
    apy_loss_detector_init(&made->core.loss_detector, &delay);
    made->core.next_sm_position = join_position;
    made->core.next_sm_window = made->from_core.sm_window;
    made->core.clean_position = join_position;
    made->core.paced_position = join_position;
    made->core.time_of_state_ns = now_ns;
    made->core.loss_entry = -1;
    apy_waiters_promise(&made->log.meta->readers, &context->ringer);
}

int apy_image_create(apy_driver_context_t *context, apy_receive_endpoint_t *endpoint, apy_log_t *log,
                     const apy_image_params_t *params, apy_image_t **image)
{
    apy_image_t *made = aligned_alloc(_Alignof(apy_image_t), sizeof(*made));
    if (made == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for an image");
    }
    memset(made, 0, sizeof(*made));
    made->params = *params;
    made->params.channel = strdup(params->channel);
    made->params.source_identity = strdup(params->source_identity);
    if (made->params.channel == NULL || made->params.source_identity == NULL) {
        free((char *)(uintptr_t)made->params.channel);
        free((char *)(uintptr_t)made->params.source_identity);
        free(made);
        return apy_fail(APY_E_MEMORY, "no memory for an image's names");
    }
    init(made, context, endpoint, log, params);
    *image = made;
    return APY_OK;
}

void apy_image_free(apy_image_t *image)
{
    if (image != NULL) {
        apy_log_close(&image->log);
        apy_subscribers_free(&image->core.subscribers);
        if (image->receiver.connections != &image->receiver.first) {
            free(image->receiver.connections);
        }
        free((char *)(uintptr_t)image->params.channel);
        free((char *)(uintptr_t)image->params.source_identity);
        free(image);
    }
}
