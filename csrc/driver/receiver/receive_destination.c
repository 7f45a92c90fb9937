#include "apy/receive_destination.h"

#include <stdlib.h>
#include <string.h>

#include "apy/error.h"
#include "endpoint_fields.h"

static int open_transport(apy_receive_destination_t *destination)
{
    const apy_udp_channel_t *channel = &destination->channel;
    struct sockaddr_storage bind_to = channel->remote_data;
    if (!channel->is_multicast) {
        return apy_udp_transport_open(&destination->transport, channel, &bind_to, NULL, NULL);
    }
    if (bind_to.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)(void *)&bind_to)->sin6_addr = in6addr_any;
    } else {
        ((struct sockaddr_in *)(void *)&bind_to)->sin_addr.s_addr = INADDR_ANY;
    }
    return apy_udp_transport_open(&destination->transport, channel, &bind_to, NULL, &channel->remote_data);
}

static int32_t first_offset(int32_t own, int32_t endpoints)
{
    return own != APY_TIMESTAMP_NONE ? own : endpoints;
}

int apy_receive_destination_open(apy_receive_endpoint_t *endpoint, const apy_udp_channel_t *channel, int64_t id,
                                 apy_receive_destination_t **destination)
{
    apy_receive_destination_t *opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for a receive destination");
    }
    opened->endpoint = endpoint;
    opened->channel = *channel;
    opened->id = id;
    opened->index = -1;
    opened->channel_timestamp_offset =
        first_offset(channel->channel_rcv_timestamp_offset, endpoint->channel.channel_rcv_timestamp_offset);
    opened->media_timestamp_offset =
        first_offset(channel->media_rcv_timestamp_offset, endpoint->channel.media_rcv_timestamp_offset);
    opened->has_timestamps =
        opened->channel_timestamp_offset != APY_TIMESTAMP_NONE || opened->media_timestamp_offset != APY_TIMESTAMP_NONE;
    if (channel->is_multicast) {
        opened->control = channel->remote_control;
    } else if (channel->has_explicit_control) {
        opened->control = channel->local_control;
    }
    int rc = open_transport(opened);
    if (rc == APY_OK && opened->media_timestamp_offset == APY_TIMESTAMP_NONE) {
        apy_udp_transport_ask_trains(&opened->transport);
    } else if (rc == APY_OK) { /* each datagram has a time of its own */
        rc = apy_udp_transport_ask_times(&opened->transport);
        if (rc != APY_OK) {
            apy_udp_transport_close(&opened->transport);
        }
    }
    if (rc != APY_OK) {
        free(opened);
        return rc;
    }
    opened->transport.tap = apy_event_trace_tap(endpoint->context->trace);
    *destination = opened;
    return APY_OK;
}

const struct sockaddr_storage *apy_receive_destination_bound_address(const apy_receive_destination_t *destination)
{
    return &destination->transport.bound;
}

int64_t apy_receive_destination_id(const apy_receive_destination_t *destination)
{
    return destination->id;
}

void apy_receive_destination_free(apy_receive_destination_t *destination)
{
    if (destination != NULL) {
        apy_udp_transport_close(&destination->transport);
        free(destination);
    }
}

const struct sockaddr_storage *apy_receive_destination_control(const apy_receive_destination_t *destination,
                                                               const struct sockaddr_storage *source)
{
    return destination->control.ss_family != 0 ? &destination->control : source;
}

bool apy_receive_destination_send(apy_receive_destination_t *destination, const struct sockaddr_storage *to,
                                  const void *frame, size_t length)
{
    const struct iovec datagram = {(void *)(uintptr_t)frame, length};
    int64_t bytes = 0;
    const int sent = apy_udp_transport_send(&destination->transport, to, &datagram, 1, &bytes);
    if (sent < 0) {
        apy_driver_report_error(destination->endpoint->context, sent);
    } else if (sent == 0) {
        apy_count(destination->endpoint->context, APY_SC_SHORT_SENDS, 1);
    }
    return sent == 1;
}
