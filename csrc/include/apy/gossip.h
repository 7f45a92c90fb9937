#ifndef APY_GOSSIP_H
#define APY_GOSSIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "apy/driver_context.h"
#include "apy/resolution.h"

/*
 * gossip is how drivers tell one another their names: a socket, a cache of what was heard, and the neighbours that
 * are told. It answers nobody: what it sends goes out by timers, to bootstrap addresses and neighbours.
 *
 * Whoever may be a mere claim is told little: a neighbour of hearsay gets our own name once each time it is named,
 * and the whole cache only after a datagram came from its very address. Cache and neighbours have bounds.
 *
 * Threads: do_work by one, everything else by any, at once with it.
 * Allocates: in open.  Blocks: others for a cycle of do_work; do_work never.
 */

#define APY_GOSSIP_BOOTSTRAPS_MAX 20
#define APY_GOSSIP_NAMES_MAX 1024
#define APY_GOSSIP_NEIGHBORS_MAX 1024
#define APY_GOSSIP_HEARSAY_MAX 512 /* of the neighbours, those that only others spoke of */

typedef struct apy_gossip_params {
    const char *name; /* ours; 1 to APY_RESOLUTION_NAME_MAX bytes */
    struct sockaddr_storage bind_to;
    int64_t neighbor_timeout_ms, self_interval_ms, neighbor_interval_ms;
    int64_t *neighbor_count, *cache_count; /* counters */
} apy_gossip_params_t;

typedef struct apy_gossip apy_gossip_t;

int apy_gossip_open(apy_driver_context_t *context, const apy_gossip_params_t *params, apy_gossip_t **gossip);
void apy_gossip_free(apy_gossip_t *gossip);

/* Does something every 10 ms at most, by the context's clock. */
int apy_gossip_do_work(void *gossip);

const struct sockaddr_storage *apy_gossip_bound_address(const apy_gossip_t *gossip);

/* One datagram that came from source; do_work hands over those of the socket. */
void apy_gossip_on_datagram(apy_gossip_t *gossip, const uint8_t *datagram, size_t length,
                            const struct sockaddr_storage *source, int64_t now_ms);

/* Whom to tell from the start. index: below APY_GOSSIP_BOOTSTRAPS_MAX. */
void apy_gossip_set_bootstrap(apy_gossip_t *gossip, int index, const struct sockaddr_storage *address);
bool apy_gossip_is_neighbor(apy_gossip_t *gossip, const struct sockaddr_storage *address);

/* The address of a name, IPv4 before IPv6: 1, or 0 when nobody spoke of it lately. Ports mean nothing here. */
int apy_gossip_find(apy_gossip_t *gossip, const char *name, struct sockaddr_storage *address);

#endif
