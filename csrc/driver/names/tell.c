#include <arpa/inet.h>
#include <string.h>

#include "apy/error.h"
#include "gossip_fields.h"

/* What we say, by timers alone. */

static void send_to(apy_gossip_t *gossip, const struct sockaddr_storage *to, size_t length)
{
    const struct iovec datagram = {gossip->outgoing, length};
    int64_t sent = 0;
    if (to->ss_family != gossip->transport.bound.ss_family) {
        return; /* another family than our socket's: nobody there can be reached */
    }
    const int rc = apy_udp_transport_send(&gossip->transport, to, &datagram, 1, &sent);
    if (rc < 0) {
        apy_driver_report_error(gossip->context, rc);
    }
}

static apy_resolution_t self_of(const apy_gossip_t *gossip)
{
    const struct sockaddr_storage *bound = &gossip->transport.bound;
    apy_resolution_t self = {.is_self = true, .name = gossip->own_name, .name_length = gossip->own_name_length};
    if (bound->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)bound;
        self.type = APY_RESOLUTION_V6;
        self.port = ntohs(v6->sin6_port);
        memcpy(self.address, &v6->sin6_addr, 16);
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)bound;
        self.type = APY_RESOLUTION_V4;
        self.port = ntohs(v4->sin_port);
        memcpy(self.address, &v4->sin_addr, 4);
    }
    return self;
}

static bool is_bootstrap(const apy_gossip_t *gossip, const struct sockaddr_storage *address)
{
    for (int i = 0; i < APY_GOSSIP_BOOTSTRAPS_MAX; i++) {
        if (gossip->bootstraps[i].ss_family != 0 && apy_address_equal(&gossip->bootstraps[i], address)) {
            return true;
        }
    }
    return false;
}

void apy_gossip_tell_self(apy_gossip_t *gossip)
{
    const apy_resolution_t self = self_of(gossip);
    const size_t capacity = sizeof(gossip->outgoing);
    const size_t length =
        apy_resolution_append(gossip->outgoing, capacity, apy_resolution_begin(gossip->outgoing, capacity), &self);
    for (int i = 0; i < APY_GOSSIP_BOOTSTRAPS_MAX; i++) {
        if (gossip->bootstraps[i].ss_family != 0) {
            send_to(gossip, &gossip->bootstraps[i], length);
        }
    }
    for (int32_t i = 0; i < gossip->neighbor_count; i++) {
        apy_neighbor_t *neighbor = &gossip->neighbors[i];
        if (!is_bootstrap(gossip, &neighbor->address) && (neighbor->is_confirmed || neighbor->credit > 0)) {
            neighbor->credit = 0;
            send_to(gossip, &neighbor->address, length);
        }
    }
}

static void send_to_confirmed(apy_gossip_t *gossip, size_t length)
{
    for (int32_t i = 0; i < gossip->neighbor_count; i++) {
        if (gossip->neighbors[i].is_confirmed) {
            send_to(gossip, &gossip->neighbors[i].address, length);
        }
    }
}

void apy_gossip_tell_names(apy_gossip_t *gossip, int64_t now_ms)
{
    const size_t capacity = (size_t)gossip->context->config.mtu_length;
    size_t length = apy_resolution_begin(gossip->outgoing, capacity);
    for (int32_t i = 0; i < gossip->name_count; i++) {
        const apy_cached_name_t *name = &gossip->names[i];
        apy_resolution_t entry = {.type = name->type,
                                  .port = name->port,
                                  .age_ms = (int32_t)(now_ms - name->activity_ms),
                                  .name = name->name,
                                  .name_length = name->name_length};
        memcpy(entry.address, name->address, sizeof(entry.address));
        size_t longer = apy_resolution_append(gossip->outgoing, capacity, length, &entry);
        if (longer == length && length > APY_RESOLUTION_HEADER) {
            send_to_confirmed(gossip, length);
            length = apy_resolution_begin(gossip->outgoing, capacity);
            longer = apy_resolution_append(gossip->outgoing, capacity, length, &entry);
        }
        length = longer; /* an entry that no datagram holds is left out */
    }
    if (length > APY_RESOLUTION_HEADER) {
        send_to_confirmed(gossip, length);
    }
}
