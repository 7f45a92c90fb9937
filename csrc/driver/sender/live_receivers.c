#include "live_receivers.h"

#include <stdlib.h>

void apy_live_receivers_free(apy_live_receivers_t *receivers)
{
    free(receivers->items);
    *receivers = (apy_live_receivers_t){NULL, 0, 0};
}

static int32_t find(const apy_live_receivers_t *receivers, int64_t receiver_id)
{
    for (int32_t i = 0; i < receivers->count; i++) {
        if (receivers->items[i].receiver_id == receiver_id) {
            return i;
        }
    }
    return -1;
}

bool apy_live_receivers_heard(apy_live_receivers_t *receivers, int64_t receiver_id, int64_t now_ns)
{
    const int32_t at = find(receivers, receiver_id);
    if (at >= 0) {
        receivers->items[at].time_of_last_sm_ns = now_ns;
        return true;
    }
    if (receivers->count == receivers->capacity) {
        const int32_t capacity = receivers->capacity == 0 ? 4 : 2 * receivers->capacity;
        apy_live_receiver_t *grown =
            capacity > APY_RECEIVERS_MAX ? NULL : realloc(receivers->items, (size_t)capacity * sizeof(*grown));
        if (grown == NULL) {
            return false;
        }
        receivers->items = grown;
        receivers->capacity = capacity;
    }
    receivers->items[receivers->count++] = (apy_live_receiver_t){receiver_id, now_ns};
    return true;
}

bool apy_live_receivers_forget(apy_live_receivers_t *receivers, int64_t receiver_id)
{
    const int32_t at = find(receivers, receiver_id);
    if (at >= 0) {
        receivers->items[at] = receivers->items[--receivers->count];
    }
    return at >= 0;
}

bool apy_live_receivers_has(const apy_live_receivers_t *receivers, int64_t receiver_id)
{
    return find(receivers, receiver_id) >= 0;
}

void apy_live_receivers_expire(apy_live_receivers_t *receivers, int64_t oldest_ns)
{
    for (int32_t i = receivers->count - 1; i >= 0; i--) {
        if (receivers->items[i].time_of_last_sm_ns <= oldest_ns) {
            receivers->items[i] = receivers->items[--receivers->count];
        }
    }
}
