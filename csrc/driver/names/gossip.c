#include "apy/gossip.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "apy/atomic.h"
#include "apy/error.h"
#include "gossip_fields.h"

#define WORK_INTERVAL_MS 10
#define NS_PER_MS 1000000

/* Ages are differences: a monotonic clock spares them the steps of the wall clock. */
static int64_t time_ms(const apy_gossip_t *gossip)
{
    return apy_nano_time(&gossip->context->clock) / NS_PER_MS;
}

int apy_gossip_open(apy_driver_context_t *context, const apy_gossip_params_t *params, apy_gossip_t **gossip)
{
    const size_t name_length = strlen(params->name);
    if (name_length < 1 || name_length > APY_RESOLUTION_NAME_MAX) {
        return apy_fail(APY_E_ARGUMENT, "a resolver name of %zu characters: 1 to %d are allowed", name_length,
                        APY_RESOLUTION_NAME_MAX);
    }
    apy_gossip_t *made = calloc(1, sizeof(*made));
    apy_cached_name_t *names = calloc(APY_GOSSIP_NAMES_MAX, sizeof(*names));
    apy_neighbor_t *neighbors = calloc(APY_GOSSIP_NEIGHBORS_MAX, sizeof(*neighbors));
    int rc = made == NULL || names == NULL || neighbors == NULL
                 ? apy_fail(APY_E_MEMORY, "no memory for %d names and %d neighbours", APY_GOSSIP_NAMES_MAX,
                            APY_GOSSIP_NEIGHBORS_MAX)
                 : APY_OK;
    const apy_udp_channel_t channel = {.interface_index = 0, APY_NO_TIMESTAMPS};
    if (rc == APY_OK) {
        rc = apy_udp_transport_open(&made->transport, &channel, &params->bind_to, NULL, NULL);
    }
    if (rc != APY_OK) {
        free(neighbors);
        free(names);
        free(made);
        return rc;
    }
    made->context = context;
    made->transport.tap = apy_event_trace_tap(context->trace);
    made->params = *params;
    memcpy(made->own_name, params->name, name_length);
    made->params.name = made->own_name;
    made->own_name_length = (int32_t)name_length;
    made->names = names;
    made->neighbors = neighbors;
    pthread_mutex_init(&made->lock, NULL);
    made->work_deadline_ms = made->self_deadline_ms = time_ms(made);
    made->neighbor_deadline_ms = made->self_deadline_ms + params->neighbor_interval_ms;
    *gossip = made;
    return APY_OK;
}

void apy_gossip_free(apy_gossip_t *gossip)
{
    if (gossip != NULL) {
        apy_udp_transport_close(&gossip->transport);
        pthread_mutex_destroy(&gossip->lock);
        free(gossip->names);
        free(gossip->neighbors);
        free(gossip);
    }
}

static int work(apy_gossip_t *gossip, int64_t now_ms)
{
    int done = apy_gossip_listen(gossip, now_ms);
    apy_gossip_forget_neighbors(gossip, now_ms);
    apy_gossip_forget_names(gossip, now_ms);
    if (now_ms >= gossip->self_deadline_ms) {
        gossip->self_deadline_ms = now_ms + gossip->params.self_interval_ms;
        apy_gossip_tell_self(gossip);
        done++;
    }
    if (now_ms >= gossip->neighbor_deadline_ms) {
        gossip->neighbor_deadline_ms = now_ms + gossip->params.neighbor_interval_ms;
        apy_gossip_tell_names(gossip, now_ms);
        done++;
    }
    apy_store_release_i64(gossip->params.neighbor_count, gossip->neighbor_count);
    apy_store_release_i64(gossip->params.cache_count, gossip->name_count);
    return done;
}

int apy_gossip_do_work(void *state)
{
    apy_gossip_t *gossip = state;
    const int64_t now_ms = time_ms(gossip);
    if (now_ms < gossip->work_deadline_ms) {
        return 0;
    }
    gossip->work_deadline_ms = now_ms + WORK_INTERVAL_MS;
    pthread_mutex_lock(&gossip->lock);
    const int done = work(gossip, now_ms);
    pthread_mutex_unlock(&gossip->lock);
    return done;
}

const struct sockaddr_storage *apy_gossip_bound_address(const apy_gossip_t *gossip)
{
    return &gossip->transport.bound;
}

void apy_gossip_set_bootstrap(apy_gossip_t *gossip, int index, const struct sockaddr_storage *address)
{
    pthread_mutex_lock(&gossip->lock);
    gossip->bootstraps[index] = *address;
    pthread_mutex_unlock(&gossip->lock);
}

bool apy_gossip_is_neighbor(apy_gossip_t *gossip, const struct sockaddr_storage *address)
{
    pthread_mutex_lock(&gossip->lock);
    const bool found = apy_gossip_neighbor(gossip, address) != NULL;
    pthread_mutex_unlock(&gossip->lock);
    return found;
}

static void fill(struct sockaddr_storage *address, const apy_cached_name_t *name)
{
    memset(address, 0, sizeof(*address));
    address->ss_family = name->type == APY_RESOLUTION_V6 ? AF_INET6 : AF_INET;
    if (name->type == APY_RESOLUTION_V6) {
        memcpy(&((struct sockaddr_in6 *)(void *)address)->sin6_addr, name->address, 16);
    } else {
        memcpy(&((struct sockaddr_in *)(void *)address)->sin_addr, name->address, 4);
    }
}

int apy_gossip_find(apy_gossip_t *gossip, const char *name, struct sockaddr_storage *address)
{
    const size_t length = strlen(name);
    if (length < 1 || length > APY_RESOLUTION_NAME_MAX) {
        return 0;
    }
    pthread_mutex_lock(&gossip->lock);
    const apy_cached_name_t *found = apy_gossip_cached(gossip, APY_RESOLUTION_V4, name, (int32_t)length);
    if (found == NULL) {
        found = apy_gossip_cached(gossip, APY_RESOLUTION_V6, name, (int32_t)length);
    }
    if (found != NULL) {
        fill(address, found);
    }
    pthread_mutex_unlock(&gossip->lock);
    return found != NULL;
}
