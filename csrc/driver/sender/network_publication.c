#include "apy/network_publication.h"

#include <stdlib.h>
#include <string.h>

#include "apy/conductor_inbox.h"
#include "apy/error.h"
#include "apy/send_dispatch.h"
#include "apy/term_scan.h"
#include "apy/udp_train.h"
#include "publication_fields.h"

#define SETUP_INTERVAL_NS 100000000
#define HEARTBEAT_INTERVAL_NS 100000000
#define DATAGRAMS_MAX 256 /* of one publication in one turn */

/* --- sending --- */

/* A response publication has nobody to send to until somebody asked. */
static bool has_address(const apy_network_publication_t *publication)
{
    return !publication->is_response || publication->sender.response_address.ss_family != 0;
}

/* NULL: where the channel goes. */
static const struct sockaddr_storage *destination(const apy_network_publication_t *publication)
{
    return publication->is_response ? &publication->sender.response_address : NULL;
}

int apy_network_publication_transmit(apy_network_publication_t *publication, const struct iovec *datagrams, int count,
                                     int64_t now_ns, int64_t *bytes)
{
    if (!has_address(publication)) {
        return 0;
    }
    const int sent =
        apy_send_endpoint_send(publication->endpoint, destination(publication), datagrams, count, now_ns, bytes);
    if (sent < count) { /* the rest goes in the next turn */
        apy_count(publication->context, APY_SC_SHORT_SENDS, 1);
    }
    return sent;
}

static void send_frame(apy_network_publication_t *publication, const void *frame, size_t length, int64_t now_ns)
{
    const struct iovec datagram = {(void *)(uintptr_t)frame, length};
    int64_t bytes = 0;
    apy_network_publication_transmit(publication, &datagram, 1, now_ns, &bytes);
}

static void check_setup(apy_network_publication_t *publication, int64_t now_ns)
{
    const apy_log_t *log = &publication->log;
    const int64_t position = publication->sender.position;
    if (now_ns <= publication->sender.time_of_last_setup_ns + SETUP_INTERVAL_NS || !has_address(publication)) {
        return;
    }
    const apy_setup_t setup = {
        .length = sizeof(setup),
        .flags = publication->setup_flags,
        .type = APY_FRAME_SETUP,
        .term_offset = apy_position_offset(position, log->term_length),
        .session_id = publication->params.session_id,
        .stream_id = publication->params.stream_id,
        .initial_term_id = log->initial_term_id,
        .active_term_id = apy_position_term_id(position, log->shift, log->initial_term_id),
        .term_length = log->term_length,
        .mtu = log->mtu,
        .ttl = publication->params.ttl,
    };
    if (publication->sender.is_setup_elicited) {
        apy_flow_control_on_setup(&publication->sender.flow_control, publication->sender.limit, now_ns);
    }
    send_frame(publication, &setup, sizeof(setup), now_ns);
    publication->sender.time_of_last_setup_ns = now_ns;
    if (publication->sender.receivers.count > 0) {
        publication->sender.is_setup_elicited = false;
    }
}

static void check_heartbeat(apy_network_publication_t *publication, int64_t now_ns)
{
    const apy_log_t *log = &publication->log;
    const int64_t position = publication->sender.position;
    if (!publication->sender.has_initial_connection ||
        now_ns <= publication->sender.time_of_last_send_ns + HEARTBEAT_INTERVAL_NS) {
        return;
    }
    uint8_t flags = APY_FLAG_UNFRAGMENTED;
    if (apy_load_acquire_i32(&publication->from_core.is_revoked)) {
        flags |= APY_FLAG_EOS | APY_FLAG_REVOKED;
    } else if (publication->params.signal_eos && apy_load_acquire_i32(&publication->from_core.is_end_of_stream)) {
        flags |= APY_FLAG_EOS;
    }
    const apy_frame_t heartbeat = {
        .flags = flags,
        .type = APY_FRAME_DATA,
        .term_offset = apy_position_offset(position, log->term_length),
        .session_id = publication->params.session_id,
        .stream_id = publication->params.stream_id,
        .term_id = apy_position_term_id(position, log->shift, log->initial_term_id),
    };
    send_frame(publication, &heartbeat, sizeof(heartbeat), now_ns);
    apy_count(publication->context, APY_SC_HEARTBEATS_SENT, 1);
    publication->sender.time_of_last_send_ns = now_ns;
}

/* Flow control stopped it: once, until something goes out again. */
static void count_limit(apy_network_publication_t *publication)
{
    if (publication->sender.tracks_limits) {
        publication->sender.tracks_limits = false;
        apy_counter_add_ordered(publication->params.snd_bpe, 1);
        apy_count(publication->context, APY_SC_SENDER_FLOW_CONTROL_LIMITS, 1);
    }
}

static void move_to(apy_network_publication_t *publication, int64_t position)
{
    publication->sender.position = position;
    apy_store_release_i64(publication->params.snd_pos, position);
}

/* A full datagram is seldom alone: what the publisher's processor wrote is asked for before it is looked at. */
static void fetch_ahead(const uint8_t *term, int32_t offset, int32_t term_length, int32_t length)
{
    const int32_t end = offset + length < term_length ? offset + length : term_length;
    for (int32_t at = offset; at < end; at += APY_CACHE_LINE) {
        __builtin_prefetch(term + at, 0, 2);
    }
}

/* Fill datagrams from the log, as many as the window and messages_per_send, of trains or of datagrams, take. */
static int gather(apy_network_publication_t *publication, struct iovec *datagrams, int32_t *spans)
{
    const apy_log_t *log = &publication->log;
    const int64_t position = publication->sender.position;
    const bool couples = apy_send_endpoint_couples(publication->endpoint, destination(publication));
    const uint8_t *term = log->terms[apy_position_partition(position, log->shift)];
    int32_t offset = apy_position_offset(position, log->term_length);
    int64_t window = publication->sender.limit - position;
    int32_t messages_left = publication->context->config.messages_per_send;
    apy_udp_train_t train = {0};
    int count = 0;

    while (count < DATAGRAMS_MAX && window > 0 && offset < log->term_length) {
        apy_scan_t found;
        const int32_t bytes_max = window < log->mtu ? (int32_t)window : log->mtu;
        const int32_t scanned = apy_term_scan(term, log->term_length, offset, bytes_max, &found);
        if (scanned <= 0) {
            if (scanned < 0) {
                count_limit(publication);
            }
            break;
        }
        if (!couples || train.count == 0 || !apy_udp_train_couple(&train, (size_t)found.bytes)) {
            if (messages_left-- == 0) {
                break;
            }
            train = (apy_udp_train_t){0};
            apy_udp_train_couple(&train, (size_t)found.bytes);
        }
        datagrams[count] = (struct iovec){(void *)(uintptr_t)(term + offset), (size_t)found.bytes};
        spans[count] = found.bytes + found.padding;
        offset += spans[count];
        window -= spans[count];
        count++;
        fetch_ahead(term, offset + 2 * found.bytes, log->term_length, found.bytes);
    }
    return count;
}

static int64_t send_data(apy_network_publication_t *publication, int64_t now_ns)
{
    struct iovec datagrams[DATAGRAMS_MAX];
    int32_t spans[DATAGRAMS_MAX];
    const int count = gather(publication, datagrams, spans);
    if (count == 0) {
        if (publication->sender.limit <= publication->sender.position) {
            count_limit(publication);
        }
        return 0;
    }

    int64_t bytes = 0;
    const int sent = apy_network_publication_transmit(publication, datagrams, count, now_ns, &bytes);
    if (sent > 0) {
        int64_t position = publication->sender.position;
        for (int i = 0; i < sent; i++) {
            position += spans[i];
        }
        move_to(publication, position);
        publication->sender.time_of_last_send_ns = now_ns;
        publication->sender.tracks_limits = true;
    }
    return bytes;
}

/* --- who listens --- */

static void tell_connected(apy_network_publication_t *publication)
{
    const apy_inbox_response_t response = {publication->params.registration_id, publication->params.session_id, 0};
    publication->sender.owes_connected =
        apy_mpsc_ring_write(publication->context->conductor_inbox, APY_INBOX_RESPONSE_CONNECTED, &response,
                            sizeof(response)) != APY_OK;
    if (publication->sender.owes_connected) {
        apy_count(publication->context, APY_SC_CONDUCTOR_PROXY_FAILS, 1);
    }
}

static void tell_receivers(apy_network_publication_t *publication)
{
    const int32_t has_receivers = publication->sender.receivers.count > 0;
    if (has_receivers == apy_load_relaxed_i32(&publication->from_sender.has_receivers)) {
        return;
    }
    apy_store_release_i32(&publication->from_sender.has_receivers, has_receivers);
    if (has_receivers && publication->is_response) {
        tell_connected(publication);
    }
}

/* --- one turn --- */

static void idle(apy_network_publication_t *publication, int64_t now_ns)
{
    int64_t limit = publication->sender.limit;

    check_heartbeat(publication, now_ns);
    if (publication->params.spies_simulate_connection && publication->sender.receivers.count == 0 &&
        apy_load_acquire_i32(&publication->from_core.has_spies)) {
        const int64_t furthest = apy_load_acquire_i64(&publication->from_core.max_spy_position);
        if (furthest > publication->sender.position) {
            move_to(publication, furthest);
        }
        limit = publication->sender.position;
    }
    limit = apy_flow_control_on_idle(&publication->sender.flow_control, limit, now_ns);
    if (limit != publication->sender.limit) {
        publication->sender.limit = limit;
        apy_store_release_i64(publication->params.snd_lmt, limit);
    }
    apy_live_receivers_expire(&publication->sender.receivers,
                              now_ns - publication->context->config.publication_connection_timeout_ns);
    tell_receivers(publication);
    if (publication->sender.owes_connected) {
        tell_connected(publication);
    }
}

int64_t apy_network_publication_send(apy_network_publication_t *publication, int64_t now_ns)
{
    if (!publication->sender.has_initial_connection || publication->sender.is_setup_elicited) {
        check_setup(publication, now_ns);
    }
    const int64_t bytes = send_data(publication, now_ns);
    if (bytes == 0) {
        idle(publication, now_ns);
    }
    apy_retransmit_check_timers(&publication->sender.retransmit, now_ns);
    return bytes;
}

bool apy_network_publication_lie_down(apy_network_publication_t *publication, int64_t id, bool *is_new)
{
    apy_seat_t *seat = &publication->sender.seat;
    if (seat->waiters == NULL &&
        !apy_seat_take(seat, &publication->log.meta->readers, &publication->context->ringer, id)) {
        return false;
    }
    if (!apy_seat_is_announced(seat)) {
        apy_seat_lie_down(seat, publication->sender.position);
        *is_new = true;
    }
    return apy_seat_is_trusting(seat);
}

/* --- what receivers say --- */

bool apy_network_publication_is_near(const apy_network_publication_t *publication, int64_t position)
{
    const int64_t distance = position - publication->sender.position;
    const int32_t reach = publication->log.term_length / 2;
    return distance >= -reach && distance <= reach;
}

void apy_network_publication_on_setup_wanted(apy_network_publication_t *publication, const apy_allowance_t *allowance,
                                             const struct sockaddr_storage *source)
{
    if (apy_load_acquire_i32(&publication->from_core.is_end_of_stream)) {
        return;
    }
    publication->sender.is_setup_elicited = true;
    apy_flow_control_on_setup_wanted(&publication->sender.flow_control, allowance);
    if (publication->is_response) {
        publication->sender.response_address = *source;
    }
}

void apy_network_publication_on_sm(apy_network_publication_t *publication, const apy_allowance_t *allowance,
                                   int64_t now_ns)
{
    apy_live_receivers_t *receivers = &publication->sender.receivers;
    if (allowance->is_end) {
        apy_live_receivers_forget(receivers, allowance->receiver_id);
        if (publication->is_unicast) {
            apy_store_release_i32(&publication->from_sender.has_unicast_eos, 1);
        }
    } else if (!apy_live_receivers_heard(receivers, allowance->receiver_id, now_ns)) {
        apy_count(publication->context, APY_SC_SMS_REJECTED, 1);
        return;
    }
    publication->sender.has_initial_connection = true;

    const int64_t limit =
        apy_flow_control_on_sm(&publication->sender.flow_control, allowance, publication->sender.limit, now_ns);
    publication->sender.limit = limit;
    apy_store_release_i64(publication->params.snd_lmt, limit);
    tell_receivers(publication);
    if (!apy_load_acquire_i32(&publication->from_core.is_end_of_stream)) {
        apy_publication_set_connected(publication, apy_publication_has_subscribers(publication));
    }
}

void apy_network_publication_on_nak(apy_network_publication_t *publication, const apy_nak_t *nak, int64_t now_ns)
{
    apy_count(publication->context, APY_SC_NAKS_RECEIVED, 1);
    apy_counter_add_ordered(publication->params.naks_received, 1);
    const int32_t length = apy_flow_control_retransmit_length(
        &publication->sender.flow_control, publication->log.term_length, nak->term_offset, nak->range_length);
    if (length > 0 && apy_retransmit_on_nak(&publication->sender.retransmit, nak->term_id, nak->term_offset, length,
                                            now_ns) == APY_NAK_OVERFLOW) {
        apy_count(publication->context, APY_SC_RETRANSMIT_OVERFLOW, 1);
    }
}

void apy_network_publication_on_rttm(apy_network_publication_t *publication, const apy_rttm_t *rttm, int64_t now_ns)
{
    if (rttm->flags & APY_FLAG_RTTM_REPLY) {
        apy_rttm_t reply = *rttm;
        reply.length = sizeof(reply);
        reply.flags = 0;
        reply.reception_delta = 0;
        send_frame(publication, &reply, sizeof(reply), now_ns);
    }
}

void apy_network_publication_on_rsp_setup(apy_network_publication_t *publication, int32_t response_session_id)
{
    const apy_inbox_response_t response = {publication->params.registration_id, response_session_id, 0};
    if (publication->params.send_response_setup &&
        apy_mpsc_ring_write(publication->context->conductor_inbox, APY_INBOX_RESPONSE_SETUP, &response,
                            sizeof(response)) != APY_OK) {
        apy_count(publication->context, APY_SC_CONDUCTOR_PROXY_FAILS, 1); /* the responder says it again */
    }
}

void apy_network_publication_on_err(apy_network_publication_t *publication, const apy_err_t *err, const char *text,
                                    const struct sockaddr_storage *source, int64_t destination_id)
{
    apy_flow_control_on_error(&publication->sender.flow_control, err->receiver_id);
    if (!apy_live_receivers_has(&publication->sender.receivers, err->receiver_id)) {
        return; /* told already */
    }
    apy_inbox_publication_error_t error;
    memset(&error, 0, sizeof(error));
    error.registration_id = publication->params.registration_id;
    error.receiver_id = err->receiver_id;
    error.group_tag = err->flags & APY_FLAG_ERR_HAS_GROUP_TAG ? err->group_tag : -1;
    error.destination_id = destination_id;
    error.session_id = err->session_id;
    error.stream_id = err->stream_id;
    error.error_code = err->error_code;
    error.text_length = err->error_length;
    error.source = *source;
    if (apy_mpsc_ring_write_two(publication->context->conductor_inbox, APY_INBOX_PUBLICATION_ERROR, &error,
                                sizeof(error), text, err->error_length) != APY_OK) {
        /* The receiver says it again soon. */
        apy_count(publication->context, APY_SC_CONDUCTOR_PROXY_FAILS, 1);
        return;
    }
    apy_live_receivers_forget(&publication->sender.receivers, err->receiver_id);
    tell_receivers(publication);
}

/* --- life --- */

static void trace_receiver(void *context, bool is_added, int64_t receiver_id, int32_t count)
{
    const apy_network_publication_t *publication = context;
    const int event = is_added ? APY_TRACE_RECEIVER_ADDED : APY_TRACE_RECEIVER_REMOVED;
    if (apy_traces(publication->context->trace, event)) {
        const apy_traced_receiver_t traced = {apy_send_endpoint_id(publication->endpoint), receiver_id,
                                              publication->params.session_id, publication->params.stream_id, count};
        apy_event_trace_write(publication->context->trace, event, NULL, 0, &traced, APY_TRACED_RECEIVER_LENGTH);
    }
}

static int init(apy_network_publication_t *made, apy_driver_context_t *context, apy_send_endpoint_t *endpoint,
                const apy_network_publication_params_t *params)
{
    const int64_t now_ns = apy_nano_time(&context->clock);
    const bool is_group = apy_send_endpoint_is_group(endpoint);
    const int32_t resends = params->max_resend > 0 ? params->max_resend : 16;
    made->context = context;
    made->endpoint = endpoint;
    made->params = *params;
    made->is_unicast = !is_group;
    made->is_response = apy_send_endpoint_is_response(endpoint);
    made->setup_flags = (uint8_t)((params->send_response_setup ? APY_FLAG_SETUP_SEND_RESPONSE : 0) |
                                  (is_group ? APY_FLAG_SETUP_GROUP : 0));
    made->sender.position = params->start_position;
    made->sender.limit = params->start_position;
    /* In the past, so that both go out at once. */
    made->sender.time_of_last_setup_ns = now_ns - SETUP_INTERVAL_NS - 1;
    made->sender.time_of_last_send_ns = now_ns - HEARTBEAT_INTERVAL_NS - 1;
    apy_flow_control_params_t flow_control = params->flow_control;
    if (apy_traces(context->trace, APY_TRACE_RECEIVER_ADDED) ||
        apy_traces(context->trace, APY_TRACE_RECEIVER_REMOVED)) {
        flow_control.on_change = trace_receiver;
        flow_control.change_context = made;
    }
    apy_flow_control_init(&made->sender.flow_control, &flow_control);
    made->from_core.max_spy_position = params->start_position;
    made->core.state = APY_PUBLICATION_ACTIVE;
    made->core.untethered = (apy_untethered_t){params->untethered_window_limit_ns, params->untethered_linger_ns,
                                               params->untethered_resting_ns};
    made->core.clean_position = params->start_position;
    made->core.paced_position = params->start_position;
    made->core.sender_position_seen = params->start_position;
    made->core.time_of_last_progress_ns = now_ns;
    return apy_retransmit_init(&made->sender.retransmit, is_group ? resends : 1, is_group,
                               context->config.retransmit_delay_ns, context->config.retransmit_linger_ns,
                               apy_network_publication_resend, made);
}

int apy_network_publication_create(apy_driver_context_t *context, apy_send_endpoint_t *endpoint, apy_log_t *log,
                                   const apy_network_publication_params_t *params,
                                   apy_network_publication_t **publication)
{
    apy_network_publication_t *made = aligned_alloc(_Alignof(apy_network_publication_t), sizeof(*made));
    if (made == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for a network publication");
    }
    memset(made, 0, sizeof(*made));
    const int rc = init(made, context, endpoint, params);
    if (rc != APY_OK) {
        free(made);
        return rc;
    }
    made->log = *log;
    apy_waiters_promise(&made->log.meta->writers, &context->ringer);
    *publication = made;
    return APY_OK;
}

void apy_network_publication_free(apy_network_publication_t *publication)
{
    if (publication != NULL) {
        apy_retransmit_free(&publication->sender.retransmit);
        apy_subscribers_free(&publication->core.spies);
        apy_log_close(&publication->log);
        apy_live_receivers_free(&publication->sender.receivers);
        apy_flow_control_free(&publication->sender.flow_control);
        free(publication);
    }
}
