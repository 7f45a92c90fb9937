#ifndef APY_LIVE_RECEIVERS_H
#define APY_LIVE_RECEIVERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * live_receivers is who sent a status message to a publication lately.
 *
 * Threads: the sender.  Allocates: when more of them than ever are alive.  Blocks: never.
 */

#define APY_RECEIVERS_MAX 1024 /* that one publication keeps alive; ids come from the network */

typedef struct apy_live_receiver {
    int64_t receiver_id;
    int64_t time_of_last_sm_ns;
} apy_live_receiver_t;

typedef struct apy_live_receivers {
    apy_live_receiver_t *items;
    int32_t count, capacity;
} apy_live_receivers_t;

void apy_live_receivers_free(apy_live_receivers_t *receivers);
/* False when there are too many. */
bool apy_live_receivers_heard(apy_live_receivers_t *receivers, int64_t receiver_id, int64_t now_ns);
/* True when it was alive. */
bool apy_live_receivers_forget(apy_live_receivers_t *receivers, int64_t receiver_id);
bool apy_live_receivers_has(const apy_live_receivers_t *receivers, int64_t receiver_id);
void apy_live_receivers_expire(apy_live_receivers_t *receivers, int64_t oldest_ns);

#endif
