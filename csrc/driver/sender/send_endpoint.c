#include "apy/send_endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "apy/channel_status.h"
#include "apy/error.h"
#include "apy/key_map.h"
#include "apy/send_dispatch.h"
#include "publication_fields.h"

#define ERR_TEXT_MAX 1023

struct apy_send_endpoint {
    apy_driver_context_t *context;
    apy_udp_channel_t channel;
    int64_t id;
    int64_t *status;
    apy_udp_transport_t transport;      /* sends, and hears control frames */
    apy_udp_transport_t group_listener; /* hears them where they go to a multicast group */
    apy_key_map_t publications;         /* by stream and session */
    bool has_destination;               /* an address with a port */
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
    return endpoint->channel.is_multicast || endpoint->channel.control_mode == APY_CONTROL_DYNAMIC ||
           endpoint->channel.control_mode == APY_CONTROL_MANUAL;
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
                           apy_send_endpoint_t **endpoint)
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
    const int rc = open_transports(opened);
    if (rc != APY_OK) {
        apy_send_endpoint_set_status(opened, APY_CHANNEL_ERRORED);
        free(opened);
        return rc;
    }
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

int apy_send_endpoint_send(apy_send_endpoint_t *endpoint, const struct iovec *datagrams, int count, int64_t *bytes)
{
    if (!endpoint->has_destination) {
        return 0;
    }
    const int sent =
        apy_udp_transport_send(&endpoint->transport, &endpoint->channel.remote_data, datagrams, count, bytes);
    if (sent < 0) {
        apy_driver_report_error(endpoint->context, sent);
        return 0;
    }
    return sent;
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

static void on_sm(apy_send_endpoint_t *endpoint, const uint8_t *datagram, int64_t now_ns)
{
    apy_sm_t sm;
    memcpy(&sm, datagram, sizeof(sm));
    apy_network_publication_t *publication = find(endpoint, sm.stream_id, sm.session_id);
    const int32_t term_length = publication != NULL ? publication->log.term_length : APY_TERM_LENGTH_MAX;

    if (sm.consumption_term_offset < 0 || sm.consumption_term_offset >= term_length ||
        sm.consumption_term_offset % APY_FRAME_ALIGN != 0 || sm.receiver_window < 0 ||
        sm.receiver_window > term_length / 2) {
        refuse(endpoint);
        return;
    }
    apy_count(endpoint->context, APY_SC_SMS_RECEIVED, 1);
    if (publication != NULL) {
        apy_network_publication_on_sm(publication, &sm, now_ns);
    }
}

static void on_nak(apy_send_endpoint_t *endpoint, const uint8_t *datagram, int64_t now_ns)
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
    apy_network_publication_on_nak(publication, &nak, now_ns);
}

static void on_rttm(apy_send_endpoint_t *endpoint, const uint8_t *datagram)
{
    apy_rttm_t rttm;
    memcpy(&rttm, datagram, sizeof(rttm));
    apy_network_publication_t *publication = find(endpoint, rttm.stream_id, rttm.session_id);
    if (publication != NULL) {
        apy_network_publication_on_rttm(publication, &rttm);
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
        apy_network_publication_on_err(publication, &err, (const char *)datagram + sizeof(err), source);
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
        on_sm(endpoint, datagram, now_ns);
        break;
    case APY_FRAME_NAK:
        on_nak(endpoint, datagram, now_ns);
        break;
    case APY_FRAME_RTTM:
        on_rttm(endpoint, datagram);
        break;
    case APY_FRAME_ERR:
        on_err(endpoint, datagram, source);
        break;
    default: /* well-formed, but not for senders */
        break;
    }
}
