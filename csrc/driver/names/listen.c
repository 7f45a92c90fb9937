#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "apy/error.h"
#include "gossip_fields.h"

/* What other drivers say: every byte of it is checked before it is believed. */

#define DATAGRAMS_PER_CYCLE 64

static struct sockaddr_storage address_of(const apy_resolution_t *entry)
{
    struct sockaddr_storage address;
    memset(&address, 0, sizeof(address));
    address.ss_family = entry->type == APY_RESOLUTION_V6 ? AF_INET6 : AF_INET;
    if (entry->type == APY_RESOLUTION_V6) {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)&address;
        v6->sin6_port = htons(entry->port);
        memcpy(&v6->sin6_addr, entry->address, 16);
    } else {
        struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&address;
        v4->sin_port = htons(entry->port);
        memcpy(&v4->sin_addr, entry->address, 4);
    }
    return address;
}

static bool is_wildcard(const apy_resolution_t *entry)
{
    static const uint8_t zero[16];
    return memcmp(entry->address, zero, entry->type == APY_RESOLUTION_V6 ? 16 : 4) == 0;
}

/* A driver that listens everywhere does not know under which address it is seen; we do. */
static void take_source(apy_resolution_t *entry, const struct sockaddr_storage *source)
{
    memset(entry->address, 0, sizeof(entry->address));
    if (source->ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)source;
        entry->type = APY_RESOLUTION_V6;
        entry->port = ntohs(v6->sin6_port);
        memcpy(entry->address, &v6->sin6_addr, 16);
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)source;
        entry->type = APY_RESOLUTION_V4;
        entry->port = ntohs(v4->sin_port);
        memcpy(entry->address, &v4->sin_addr, 4);
    }
}

static uint16_t own_port(const apy_gossip_t *gossip)
{
    const struct sockaddr_storage *bound = &gossip->transport.bound;
    return ntohs(bound->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)(const void *)bound)->sin6_port
                                              : ((const struct sockaddr_in *)(const void *)bound)->sin_port);
}

static bool is_us(const apy_gossip_t *gossip, const apy_resolution_t *entry)
{
    return entry->port == own_port(gossip) && entry->name_length == gossip->own_name_length &&
           memcmp(entry->name, gossip->own_name, (size_t)entry->name_length) == 0;
}

/* Names end up in logs and in questions to the system: letters that can be seen. */
static bool is_readable(const apy_resolution_t *entry)
{
    for (int32_t i = 0; i < entry->name_length; i++) {
        if (entry->name[i] <= ' ' || entry->name[i] > '~') {
            return false;
        }
    }
    return true;
}

static void on_entry(apy_gossip_t *gossip, apy_resolution_t *entry, const struct sockaddr_storage *source,
                     int64_t now_ms)
{
    if (entry->is_self && is_wildcard(entry)) {
        take_source(entry, source);
    }
    const int64_t activity_ms = now_ms - entry->age_ms;
    if (is_us(gossip, entry) || is_wildcard(entry) || entry->port == 0 || !is_readable(entry) || entry->age_ms < 0 ||
        entry->age_ms >= gossip->params.neighbor_timeout_ms) {
        return;
    }
    const struct sockaddr_storage address = address_of(entry);
    apy_gossip_remember(gossip, entry, activity_ms);
    apy_gossip_meet(gossip, &address, activity_ms, entry->is_self, apy_address_equal(&address, source));
}

void apy_gossip_on_datagram(apy_gossip_t *gossip, const uint8_t *datagram, size_t length,
                            const struct sockaddr_storage *source, int64_t now_ms)
{
    apy_resolution_t entry;
    size_t offset = APY_RESOLUTION_HEADER;
    int rc = apy_resolution_is_frame(datagram, length) ? APY_OK : APY_E_CORRUPT;
    while (rc >= 0 && (rc = apy_resolution_next(datagram, length, &offset, &entry)) == 1) {
        on_entry(gossip, &entry, source, now_ms);
    }
    if (rc < 0) {
        apy_count(gossip->context, APY_SC_INVALID_PACKETS, 1);
    }
}

int apy_gossip_listen(apy_gossip_t *gossip, int64_t now_ms)
{
    int count = 0;
    while (count < DATAGRAMS_PER_CYCLE) {
        struct sockaddr_storage source;
        socklen_t source_length = sizeof(source);
        memset(&source, 0, sizeof(source));
        const ssize_t length = recvfrom(gossip->transport.fd, gossip->incoming, sizeof(gossip->incoming), MSG_TRUNC,
                                        (struct sockaddr *)&source, &source_length);
        if (length < 0) {
            if (errno == ECONNREFUSED || errno == EINTR) {
                count++;
                continue; /* the echo of what we sent to a closed port */
            }
            break;
        }
        count++;
        if ((size_t)length > sizeof(gossip->incoming)) {
            apy_count(gossip->context, APY_SC_INVALID_PACKETS, 1);
            continue;
        }
        if (gossip->transport.tap != NULL) {
            gossip->transport.tap->on_frame(gossip->transport.tap->context, false, &source, gossip->incoming,
                                            (size_t)length);
        }
        apy_gossip_on_datagram(gossip, gossip->incoming, (size_t)length, &source, now_ms);
    }
    return count;
}
