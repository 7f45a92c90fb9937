#include <string.h>

#include "gossip_fields.h"

/* Whom we tell: those that we heard from, and those that others spoke of. */

static apy_neighbor_t *find(const apy_gossip_t *gossip, const struct sockaddr_storage *address)
{
    for (int32_t i = 0; i < gossip->neighbor_count; i++) {
        if (apy_address_equal(&gossip->neighbors[i].address, address)) {
            return &gossip->neighbors[i];
        }
    }
    return NULL;
}

const apy_neighbor_t *apy_gossip_neighbor(const apy_gossip_t *gossip, const struct sockaddr_storage *address)
{
    return find(gossip, address);
}

static void trace(const apy_gossip_t *gossip, int event, const struct sockaddr_storage *address)
{
    if (apy_traces(gossip->context->trace, event)) {
        apy_event_trace_write(gossip->context->trace, event, address, 0, NULL, 0);
    }
}

static void confirm(apy_gossip_t *gossip, apy_neighbor_t *neighbor)
{
    if (!neighbor->is_confirmed) {
        neighbor->is_confirmed = true;
        gossip->hearsay_count--;
    }
}

void apy_gossip_meet(apy_gossip_t *gossip, const struct sockaddr_storage *address, int64_t activity_ms, bool is_self,
                     bool is_source)
{
    apy_neighbor_t *neighbor = find(gossip, address);
    if (neighbor == NULL) {
        if (gossip->neighbor_count == APY_GOSSIP_NEIGHBORS_MAX ||
            (!is_source && gossip->hearsay_count == APY_GOSSIP_HEARSAY_MAX)) {
            return;
        }
        neighbor = &gossip->neighbors[gossip->neighbor_count++];
        memset(neighbor, 0, sizeof(*neighbor));
        neighbor->address = *address;
        neighbor->activity_ms = activity_ms;
        gossip->hearsay_count++;
        trace(gossip, APY_TRACE_NEIGHBOR_ADDED, address);
    } else if (is_self) {
        neighbor->activity_ms = activity_ms;
    }
    neighbor->credit = 1;
    if (is_source) {
        confirm(gossip, neighbor);
    }
}

void apy_gossip_forget_neighbors(apy_gossip_t *gossip, int64_t now_ms)
{
    for (int32_t i = gossip->neighbor_count - 1; i >= 0; i--) {
        const apy_neighbor_t *neighbor = &gossip->neighbors[i];
        if (neighbor->activity_ms + gossip->params.neighbor_timeout_ms <= now_ms) {
            gossip->hearsay_count -= neighbor->is_confirmed ? 0 : 1;
            trace(gossip, APY_TRACE_NEIGHBOR_REMOVED, &neighbor->address);
            gossip->neighbors[i] = gossip->neighbors[--gossip->neighbor_count];
        }
    }
}
