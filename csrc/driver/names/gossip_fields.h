#ifndef APY_GOSSIP_FIELDS_H
#define APY_GOSSIP_FIELDS_H

#include <pthread.h>

#include "apy/frame.h"
#include "apy/gossip.h"
#include "apy/udp_transport.h"

/* gossip_fields is what the files of this room know of one another. Names and neighbours are kept in plain arrays. */

typedef struct apy_cached_name {
    int type;
    int32_t name_length;
    char name[APY_RESOLUTION_NAME_MAX];
    uint8_t address[16];
    uint16_t port;
    int64_t activity_ms; /* when its owner was last heard of, by anybody */
} apy_cached_name_t;

typedef struct apy_neighbor {
    struct sockaddr_storage address;
    int64_t activity_ms;
    bool is_confirmed; /* a datagram came from there */
    int32_t credit;    /* how often an unconfirmed one may be told our name */
} apy_neighbor_t;

struct apy_gossip {
    apy_driver_context_t *context;
    apy_gossip_params_t params;
    char own_name[APY_RESOLUTION_NAME_MAX + 1];
    int32_t own_name_length;
    apy_udp_transport_t transport;
    pthread_mutex_t lock; /* all below */
    apy_cached_name_t *names;
    int32_t name_count;
    apy_neighbor_t *neighbors;
    int32_t neighbor_count, hearsay_count;
    struct sockaddr_storage bootstraps[APY_GOSSIP_BOOTSTRAPS_MAX]; /* ss_family 0: none */
    int64_t work_deadline_ms, self_deadline_ms, neighbor_deadline_ms;
    uint8_t incoming[APY_UDP_PAYLOAD_MAX];
    uint8_t outgoing[APY_UDP_PAYLOAD_MAX];
};

/* --- names.c --- */

void apy_gossip_remember(apy_gossip_t *gossip, const apy_resolution_t *entry, int64_t activity_ms);
void apy_gossip_forget_names(apy_gossip_t *gossip, int64_t now_ms);
const apy_cached_name_t *apy_gossip_cached(const apy_gossip_t *gossip, int type, const char *name, int32_t length);

/* --- neighbors.c --- */

void apy_gossip_meet(apy_gossip_t *gossip, const struct sockaddr_storage *address, int64_t activity_ms, bool is_self,
                     bool is_source);
void apy_gossip_forget_neighbors(apy_gossip_t *gossip, int64_t now_ms);
const apy_neighbor_t *apy_gossip_neighbor(const apy_gossip_t *gossip, const struct sockaddr_storage *address);

/* --- listen.c, tell.c --- */

int apy_gossip_listen(apy_gossip_t *gossip, int64_t now_ms);
void apy_gossip_tell_self(apy_gossip_t *gossip);
void apy_gossip_tell_names(apy_gossip_t *gossip, int64_t now_ms);

#endif
