#include "apy/send_endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "apy/channel_status.h"
#include "apy/conductor_inbox.h"
#include "apy/error.h"
#include "apy/key_map.h"
#include "apy/send_dispatch.h"
#include "publication_fields.h"
#include "send_destinations.h"

#define ERR_TEXT_MAX 1023
#define SILENCE_NS INT64_C(5000000000) /* after which the name of who should answer is looked up again */

struct apy_send_endpoint {
    apy_driver_context_t *context;
    apy_udp_channel_t channel;
    int64_t id;
    int64_t *status;
    apy_udp_transport_t transport;      /* sends, and hears control frames */
    apy_udp_transport_t group_listener; /* hears them where they go to a multicast group */
    apy_key_map_t publications;         /* by stream and session */
    bool has_destination;               /* an address with a port */
    bool is_mdc;
    apy_send_destinations_t destinations; /* with is_mdc */
    int64_t time_of_last_sm_ns;
};

/* --- life --- */

static bool has_port(const struct sockaddr_storage *address)
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
    return address->ss_family == AF_INET6 ? v6->sin6_port != 0 : v4->sin_port != 0;
}

bool apy_send_endpoint_is_group(const apy_send_endpoint_t *endpoint)
{
    return endpoint->channel.is_multicast || endpoint->is_mdc;
}

bool apy_send_endpoint_is_response(const apy_send_endpoint_t *endpoint)
{
    return endpoint->channel.control_mode == APY_CONTROL_RESPONSE;
}

static void any_address(struct sockaddr_storage *any, const struct sockaddr_storage *with_port_of)
{
    memset(any, 0, sizeof(*any));
    any->ss_family = with_port_of->ss_family;
    if (any->ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)(void *)any)->sin6_port =
            ((const struct sockaddr_in6 *)(const void *)with_port_of)->sin6_port;
    } else {
        ((struct sockaddr_in *)(void *)any)->sin_port =
            ((const struct sockaddr_in *)(const void *)with_port_of)->sin_port;
    }
}

static int open_transports(apy_send_endpoint_t *endpoint)
{
    const apy_udp_channel_t *channel = &endpoint->channel;
    const bool connects = endpoint->context->config.connect_send_sockets && channel->has_explicit_endpoint &&
                          channel->control_mode == APY_CONTROL_NONE;
    struct sockaddr_storage group_port;

    if (!channel->is_multicast) {
        return apy_udp_transport_open(&endpoint->transport, channel, &channel->local_data,
                                      connects ? &channel->remote_data : NULL, NULL);
    }
    any_address(&group_port, &channel->remote_control);
    if (!connects) {
        return apy_udp_transport_open(&endpoint->transport, channel, &group_port, NULL, &channel->remote_control);
    }
    int rc = apy_udp_transport_open(&endpoint->transport, channel, &channel->local_data, &channel->remote_data, NULL);
    if (rc == APY_OK) {
        rc = apy_udp_transport_open(&endpoint->group_listener, channel, &group_port, NULL, &channel->remote_control);
        if (rc != APY_OK) {
            apy_udp_transport_close(&endpoint->transport);
        }
    }
    return rc;
}

int apy_send_endpoint_open(apy_driver_context_t *context, const apy_udp_channel_t *channel, int64_t id, int64_t *status,
                           int64_t *destination_count, apy_send_endpoint_t **endpoint)
{
    apy_send_endpoint_t *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for a send endpoint");
    }
    opened->context = context;
    opened->channel = *channel;
    opened->id = id;
    opened->status = status;
    opened->transport.fd = -1;
    opened->group_listener.fd = -1;
    opened->has_destination = has_port(&channel->remote_data);
    opened->is_mdc = channel->control_mode == APY_CONTROL_DYNAMIC || channel->control_mode == APY_CONTROL_MANUAL;
    opened->time_of_last_sm_ns = apy_nano_time(&context->clock);
    apy_send_destinations_init(&opened->destinations, channel->control_mode == APY_CONTROL_MANUAL, destination_count);
    const int rc = open_transports(opened);
    if (rc != APY_OK) {
        apy_send_endpoint_set_status(opened, APY_CHANNEL_ERRORED);
        free(opened);
        return rc;
    }
    opened->transport.tap = opened->group_listener.tap = apy_event_trace_tap(context->trace);
    apy_send_endpoint_set_status(opened, APY_CHANNEL_ACTIVE);
    *endpoint = opened;
    return APY_OK;
}

void apy_send_endpoint_free(apy_send_endpoint_t *endpoint)
{
    if (endpoint != NULL) {
        apy_udp_transport_close(&endpoint->transport);
        apy_udp_transport_close(&endpoint->group_listener);
        apy_key_map_free(&endpoint->publications);
        apy_send_destinations_free(&endpoint->destinations);
        free(endpoint);
    }
}

const struct sockaddr_storage *apy_send_endpoint_bound_address(const apy_send_endpoint_t *endpoint)
{
    return &endpoint->transport.bound;
}

int64_t apy_send_endpoint_id(const apy_send_endpoint_t *endpoint)
{
    return endpoint->id;
}

void apy_send_endpoint_set_status(apy_send_endpoint_t *endpoint, int64_t status)
{
    apy_store_release_i64(endpoint->status, status);
}

/* --- what the sender knows --- */

int apy_send_endpoint_register(apy_send_endpoint_t *endpoint, apy_transport_poller_t *poller)
{
    const bool has_listener = endpoint->group_listener.fd >= 0;
    const int rc = apy_transport_poller_add(poller, &endpoint->transport, endpoint);
    return rc == APY_OK && has_listener ? apy_transport_poller_add(poller, &endpoint->group_listener, endpoint) : rc;
}

void apy_send_endpoint_unregister(apy_send_endpoint_t *endpoint, apy_transport_poller_t *poller)
{
    apy_transport_poller_remove(poller, &endpoint->transport);
    apy_transport_poller_remove(poller, &endpoint->group_listener);
}

int apy_send_endpoint_add_publication(apy_send_endpoint_t *endpoint, apy_network_publication_t *publication)
{
    const int64_t key = apy_stream_key(publication->params.stream_id, publication->params.session_id);
    return apy_key_map_put(&endpoint->publications, key, publication);
}

void apy_send_endpoint_remove_publication(apy_send_endpoint_t *endpoint, const apy_network_publication_t *publication)
{
    const int64_t key = apy_stream_key(publication->params.stream_id, publication->params.session_id);
    if (apy_key_map_get(&endpoint->publications, key) == publication) {
        apy_key_map_remove(&endpoint->publications, key);
    }
}

/* Into the log itself, so that it goes out with the frame: the first of each datagram, where it has the room. */
static void stamp(const struct iovec *datagrams, int count, int32_t at)
{
    const int64_t now_ns = apy_epoch_ns();
    for (int i = 0; i < count; i++) {
        apy_frame_t *frame = datagrams[i].iov_base;
        const int64_t length = frame->length;
        if (frame->type != APY_FRAME_DATA || length <= 0 || length > (int64_t)datagrams[i].iov_len) {
            continue;
        }
        if (at == APY_TIMESTAMP_RESERVED) {
            frame->reserved_value = now_ns;
        } else if (at <= length - APY_FRAME_HEADER - (int64_t)sizeof(now_ns)) {
            memcpy((uint8_t *)frame + APY_FRAME_HEADER + at, &now_ns, sizeof(now_ns));
        }
    }
}

bool apy_send_endpoint_couples(const apy_send_endpoint_t *endpoint, const struct sockaddr_storage *to)
{
    return endpoint->is_mdc
               ? endpoint->transport.sends_trains
               : apy_udp_transport_couples(&endpoint->transport, to != NULL ? to : &endpoint->channel.remote_data);
}

int apy_send_endpoint_send(apy_send_endpoint_t *endpoint, const struct sockaddr_storage *to,
                           const struct iovec *datagrams, int count, int64_t now_ns, int64_t *bytes)
{
    const int32_t timestamp_offset = endpoint->channel.channel_snd_timestamp_offset;
    int sent;
    if (timestamp_offset != APY_TIMESTAMP_NONE) {
        stamp(datagrams, count, timestamp_offset);
    }
    if (endpoint->is_mdc) {
        sent =
            apy_send_destinations_send(&endpoint->destinations, &endpoint->transport, datagrams, count, now_ns, bytes);
    } else if (to != NULL || endpoint->has_destination) {
        sent = apy_udp_transport_send(&endpoint->transport, to != NULL ? to : &endpoint->channel.remote_data, datagrams,
                                      count, bytes);
    } else {
        return 0;
    }
    if (sent < 0) {
        apy_driver_report_error(endpoint->context, sent);
        *bytes = 0;
        return 0;
    }
    return sent;
}

/* --- addresses that change --- */

static void tell_silent(const apy_send_endpoint_t *endpoint, int64_t destination_id)
{
    const apy_inbox_silent_t silent = {endpoint->id, destination_id, 0, 0};
    if (apy_mpsc_ring_write(endpoint->context->conductor_inbox, APY_INBOX_ADDRESS_SILENT, &silent, sizeof(silent)) !=
        APY_OK) {
        apy_count(endpoint->context, APY_SC_CONDUCTOR_PROXY_FAILS, 1); /* the next check says it again */
    }
}

void apy_send_endpoint_check_silence(apy_send_endpoint_t *endpoint, int64_t now_ns)
{
    const apy_udp_channel_t *channel = &endpoint->channel;
    if (channel->control_mode == APY_CONTROL_MANUAL) {
        for (int32_t i = 0; i < endpoint->destinations.count; i++) {
            apy_send_destination_t *destination = &endpoint->destinations.items[i];
            if (now_ns > destination->time_of_last_sm_ns + SILENCE_NS) {
                destination->time_of_last_sm_ns = now_ns;
                tell_silent(endpoint, destination->id);
            }
        }
    } else if (channel->control_mode == APY_CONTROL_NONE && channel->has_explicit_endpoint && !channel->is_multicast &&
               now_ns > endpoint->time_of_last_sm_ns + SILENCE_NS) {
        tell_silent(endpoint, APY_NO_DESTINATION);
    }
}

int apy_send_endpoint_add_destination(apy_send_endpoint_t *endpoint, int64_t id, const struct sockaddr_storage *address,
                                      int64_t now_ns)
{
    return apy_send_destinations_add(&endpoint->destinations, id, address, now_ns);
}

void apy_send_endpoint_remove_destination(apy_send_endpoint_t *endpoint, int64_t id)
{
    apy_send_destinations_remove(&endpoint->destinations, id);
}

int apy_send_endpoint_move(apy_send_endpoint_t *endpoint, int64_t destination_id,
                           const struct sockaddr_storage *address)
{
    if (destination_id != APY_NO_DESTINATION) {
        apy_send_destinations_move(&endpoint->destinations, destination_id, address);
        return APY_OK;
    }
    endpoint->channel.remote_data = endpoint->channel.remote_control = *address;
    return endpoint->transport.connected.ss_family == 0 ? APY_OK
                                                        : apy_udp_transport_connect(&endpoint->transport, address);
}

/* --- what came in: each frame is copied out of the buffer, which need not be aligned --- */

static apy_network_publication_t *find(const apy_send_endpoint_t *endpoint, int32_t stream_id, int32_t session_id)
{
    return apy_key_map_get(&endpoint->publications, apy_stream_key(stream_id, session_id));
}

static void refuse(apy_send_endpoint_t *endpoint)
{
    apy_count(endpoint->context, APY_SC_INVALID_PACKETS, 1);
}

/* A group tag of eight bytes may follow; of any other length it counts as none. */
static apy_allowance_t allowance_of(const apy_sm_t *sm, const uint8_t *datagram,
                                    const apy_network_publication_t *publication)
{
    apy_allowance_t allowance = {.receiver_id = sm->receiver_id,
                                 .window = sm->receiver_window,
                                 .is_end = (sm->flags & APY_FLAG_SM_EOS) != 0,
                                 .has_tag = sm->length == (int32_t)(sizeof(*sm) + sizeof(int64_t))};
    allowance.position = apy_position_of(sm->consumption_term_id, sm->consumption_term_offset, publication->log.shift,
                                         publication->log.initial_term_id);
    if (allowance.has_tag) { /* the gate saw to it that the frame's length is within the datagram */
        memcpy(&allowance.tag, datagram + sizeof(*sm), sizeof(allowance.tag));
    }
    return allowance;
}

static void on_sm(apy_send_endpoint_t *endpoint, const uint8_t *datagram, const struct sockaddr_storage *source,
                  int64_t now_ns)
{
    apy_sm_t sm;
    apy_allowance_t allowance = {0};
    memcpy(&sm, datagram, sizeof(sm));
    apy_network_publication_t *publication = find(endpoint, sm.stream_id, sm.session_id);
    const int32_t term_length = publication != NULL ? publication->log.term_length : APY_TERM_LENGTH_MAX;
    const bool wants_setup = (sm.flags & APY_FLAG_SM_SEND_SETUP) != 0;

    if (sm.consumption_term_offset < 0 || sm.consumption_term_offset >= term_length ||
        sm.consumption_term_offset % APY_FRAME_ALIGN != 0 || sm.receiver_window < 0 ||
        sm.receiver_window > term_length / 2) {
        refuse(endpoint);
        return;
    }
    apy_count(endpoint->context, APY_SC_SMS_RECEIVED, 1);
    if (publication != NULL) {
        allowance = allowance_of(&sm, datagram, publication);
        if (!wants_setup && !apy_network_publication_is_near(publication, allowance.position)) {
            apy_count(endpoint->context, APY_SC_SMS_REJECTED, 1);
            return;
        }
    }
    if (endpoint->is_mdc) {
        const int rc = apy_send_destinations_on_sm(&endpoint->destinations, sm.receiver_id, source, now_ns);
        if (rc < 0) {
            apy_driver_report_error(endpoint->context, rc);
        }
    }
    if (publication == NULL) {
        return;
    }
    endpoint->time_of_last_sm_ns = now_ns;
    if (wants_setup) {
        apy_network_publication_on_setup_wanted(publication, &allowance, source);
    } else {
        apy_network_publication_on_sm(publication, &allowance, now_ns);
    }
}

static void on_nak(apy_send_endpoint_t *endpoint, const uint8_t *datagram, const struct sockaddr_storage *source,
                   int64_t now_ns)
{
    apy_nak_t nak;
    memcpy(&nak, datagram, sizeof(nak));
    apy_network_publication_t *publication = find(endpoint, nak.stream_id, nak.session_id);
    if (publication == NULL) {
        return;
    }
    const int32_t term_length = publication->log.term_length;
    if (nak.term_offset < 0 || nak.term_offset >= term_length || nak.term_offset % APY_FRAME_ALIGN != 0 ||
        nak.range_length < 0 || nak.range_length > term_length - nak.term_offset) {
        refuse(endpoint);
        return;
    }
    if (apy_traces(endpoint->context->trace, APY_TRACE_NAK_RECEIVED)) {
        const apy_traced_range_t traced = {endpoint->id, nak.session_id,  nak.stream_id,
                                           nak.term_id,  nak.term_offset, nak.range_length};
        apy_event_trace_write(endpoint->context->trace, APY_TRACE_NAK_RECEIVED, source, 0, &traced,
                              APY_TRACED_RANGE_LENGTH);
    }
    apy_network_publication_on_nak(publication, &nak, now_ns);
}

static void on_rttm(apy_send_endpoint_t *endpoint, const uint8_t *datagram, int64_t now_ns)
{
    apy_rttm_t rttm;
    memcpy(&rttm, datagram, sizeof(rttm));
    apy_network_publication_t *publication = find(endpoint, rttm.stream_id, rttm.session_id);
    if (publication != NULL) {
        apy_network_publication_on_rttm(publication, &rttm, now_ns);
    }
}

static void on_err(apy_send_endpoint_t *endpoint, const uint8_t *datagram, const struct sockaddr_storage *source)
{
    apy_err_t err;
    memcpy(&err, datagram, sizeof(err));
    /* The gate saw to it that the frame's length is within the datagram. */
    if (err.error_length < 0 || err.error_length > ERR_TEXT_MAX ||
        err.error_length > err.length - (int32_t)sizeof(err)) {
        refuse(endpoint);
        return;
    }
    apy_count(endpoint->context, APY_SC_ERROR_FRAMES_RECEIVED, 1);
    apy_network_publication_t *publication = find(endpoint, err.stream_id, err.session_id);
    if (publication != NULL) {
        const int64_t destination_id = apy_send_destinations_find(&endpoint->destinations, err.receiver_id, source);
        apy_network_publication_on_err(publication, &err, (const char *)datagram + sizeof(err), source, destination_id);
    }
}

static void on_rsp_setup(apy_send_endpoint_t *endpoint, const uint8_t *datagram)
{
    apy_rsp_setup_t rsp_setup;
    memcpy(&rsp_setup, datagram, sizeof(rsp_setup));
    apy_network_publication_t *publication = find(endpoint, rsp_setup.stream_id, rsp_setup.session_id);
    if (publication != NULL) {
        apy_network_publication_on_rsp_setup(publication, rsp_setup.response_session_id);
    }
}

void apy_send_endpoint_on_datagram(apy_send_endpoint_t *endpoint, const uint8_t *datagram, size_t length,
                                   const struct sockaddr_storage *source, int64_t now_ns)
{
    uint16_t type = 0;
    if (!apy_datagram_is_valid(datagram, length)) {
        refuse(endpoint);
        return;
    }
    memcpy(&type, datagram + offsetof(apy_frame_t, type), sizeof(type));
    switch (type) {
    case APY_FRAME_SM:
        on_sm(endpoint, datagram, source, now_ns);
        break;
    case APY_FRAME_NAK:
        on_nak(endpoint, datagram, source, now_ns);
        break;
    case APY_FRAME_RTTM:
        on_rttm(endpoint, datagram, now_ns);
        break;
    case APY_FRAME_ERR:
        on_err(endpoint, datagram, source);
        break;
    case APY_FRAME_RSP_SETUP:
        on_rsp_setup(endpoint, datagram);
        break;
    default: /* well-formed, but not for senders */
        break;
    }
}
