#include "apy/receive_endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "apy/channel_status.h"
#include "apy/error.h"
#include "apy/receive_dispatch.h"

struct apy_receive_endpoint {
    apy_driver_context_t *context;
    apy_udp_channel_t channel;
    int64_t id;
    int64_t *status;
    int64_t receiver_id;
    apy_udp_transport_t transport;
    apy_dispatcher_t dispatcher;
};

static int open_transport(apy_receive_endpoint_t *endpoint)
{
    const apy_udp_channel_t *channel = &endpoint->channel;
    struct sockaddr_storage bind_to = channel->remote_data;
    if (!channel->is_multicast) {
        return apy_udp_transport_open(&endpoint->transport, channel, &bind_to, NULL, NULL);
    }
    if (bind_to.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)(void *)&bind_to)->sin6_addr = in6addr_any;
    } else {
        ((struct sockaddr_in *)(void *)&bind_to)->sin_addr.s_addr = INADDR_ANY;
    }
    return apy_udp_transport_open(&endpoint->transport, channel, &bind_to, NULL, &channel->remote_data);
}

int apy_receive_endpoint_open(apy_driver_context_t *context, const apy_udp_channel_t *channel, int64_t id,
                              int64_t *status, apy_receive_endpoint_t **endpoint)
{
    apy_receive_endpoint_t *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for a receive endpoint");
    }
    opened->context = context;
    opened->channel = *channel;
    opened->id = id;
    opened->status = status;
    opened->receiver_id = apy_fetch_add_i64(&context->next_receiver_id, 1);
    const int rc = open_transport(opened);
    if (rc != APY_OK) {
        apy_receive_endpoint_set_status(opened, APY_CHANNEL_ERRORED);
        free(opened);
        return rc;
    }
    apy_receive_endpoint_set_status(opened, APY_CHANNEL_ACTIVE);
    *endpoint = opened;
    return APY_OK;
}

void apy_receive_endpoint_free(apy_receive_endpoint_t *endpoint)
{
    if (endpoint != NULL) {
        apy_udp_transport_close(&endpoint->transport);
        apy_dispatcher_free(&endpoint->dispatcher);
        free(endpoint);
    }
}

const struct sockaddr_storage *apy_receive_endpoint_bound_address(const apy_receive_endpoint_t *endpoint)
{
    return &endpoint->transport.bound;
}

int64_t apy_receive_endpoint_id(const apy_receive_endpoint_t *endpoint)
{
    return endpoint->id;
}

int64_t apy_receive_endpoint_receiver_id(const apy_receive_endpoint_t *endpoint)
{
    return endpoint->receiver_id;
}

const apy_udp_channel_t *apy_receive_endpoint_channel(const apy_receive_endpoint_t *endpoint)
{
    return &endpoint->channel;
}

apy_dispatcher_t *apy_receive_endpoint_dispatcher(apy_receive_endpoint_t *endpoint)
{
    return &endpoint->dispatcher;
}

void apy_receive_endpoint_set_status(apy_receive_endpoint_t *endpoint, int64_t status)
{
    apy_store_release_i64(endpoint->status, status);
}

int apy_receive_endpoint_register(apy_receive_endpoint_t *endpoint, apy_transport_poller_t *poller)
{
    return apy_transport_poller_add(poller, &endpoint->transport, endpoint);
}

void apy_receive_endpoint_unregister(apy_receive_endpoint_t *endpoint, apy_transport_poller_t *poller)
{
    apy_transport_poller_remove(poller, &endpoint->transport);
}

const struct sockaddr_storage *apy_receive_endpoint_control(const apy_receive_endpoint_t *endpoint,
                                                            const struct sockaddr_storage *source)
{
    const apy_udp_channel_t *channel = &endpoint->channel;
    if (channel->is_multicast) {
        return &channel->remote_control;
    }
    return channel->has_explicit_control ? &channel->local_control : source;
}

bool apy_receive_endpoint_send(apy_receive_endpoint_t *endpoint, const struct sockaddr_storage *to, const void *frame,
                               size_t length)
{
    const struct iovec datagram = {(void *)(uintptr_t)frame, length};
    int64_t bytes = 0;
    const int sent = apy_udp_transport_send(&endpoint->transport, to, &datagram, 1, &bytes);
    if (sent < 0) {
        apy_driver_report_error(endpoint->context, sent);
    } else if (sent == 0) {
        apy_count(endpoint->context, APY_SC_SHORT_SENDS, 1);
    }
    return sent == 1;
}
