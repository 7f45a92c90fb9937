#ifndef APY_SUBSCRIBERS_H
#define APY_SUBSCRIBERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * subscribers are the consumers of one log: those who hold back its producer, by their position counters.
 *
 * Threads: the conductor core.  Allocates: when it grows.  Blocks: never.
 */

typedef enum apy_subscriber_state {
    APY_SUBSCRIBER_ACTIVE,
    APY_SUBSCRIBER_LINGER, /* untethered and cut off, still counted */
    APY_SUBSCRIBER_RESTING /* not counted */
} apy_subscriber_state_t;

typedef struct apy_subscriber {
    int64_t registration_id; /* of the subscription */
    int64_t *position;       /* its sub-pos counter's value */
    int32_t counter_id;
    apy_subscriber_state_t state;
    bool tether, rejoin;
    int64_t time_of_last_update_ns;
} apy_subscriber_t;

typedef struct apy_subscribers {
    apy_subscriber_t *items;
    int32_t count, capacity;
} apy_subscribers_t;

void apy_subscribers_free(apy_subscribers_t *subscribers);
int apy_subscribers_add(apy_subscribers_t *subscribers, const apy_subscriber_t *subscriber);
/* 1 and *removed filled when it was there, else 0. */
int apy_subscribers_remove(apy_subscribers_t *subscribers, int64_t registration_id, apy_subscriber_t *removed);

/* How many are working (active or lingering), and the ends of their positions; untouched when none is. */
int32_t apy_subscribers_range(const apy_subscribers_t *subscribers, int64_t *min_position, int64_t *max_position);

#endif
