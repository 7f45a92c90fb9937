#include "apy/subscribers.h"

#include <stdlib.h>

#include "apy/atomic.h"
#include "apy/error.h"

void apy_subscribers_free(apy_subscribers_t *subscribers)
{
    free(subscribers->items);
    *subscribers = (apy_subscribers_t){NULL, 0, 0};
}

int apy_subscribers_add(apy_subscribers_t *subscribers, const apy_subscriber_t *subscriber)
{
    if (subscribers->count == subscribers->capacity) {
        const int32_t capacity = subscribers->capacity == 0 ? 4 : 2 * subscribers->capacity;
        apy_subscriber_t *grown = realloc(subscribers->items, (size_t)capacity * sizeof(*grown));
        if (grown == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory for %d subscribers", capacity);
        }
        subscribers->items = grown;
        subscribers->capacity = capacity;
    }
    subscribers->items[subscribers->count++] = *subscriber;
    return APY_OK;
}

int apy_subscribers_remove(apy_subscribers_t *subscribers, int64_t registration_id, apy_subscriber_t *removed)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        if (subscribers->items[i].registration_id == registration_id) {
            *removed = subscribers->items[i];
            subscribers->items[i] = subscribers->items[--subscribers->count];
            return 1;
        }
    }
    return 0;
}

int32_t apy_subscribers_range(const apy_subscribers_t *subscribers, int64_t *min_position, int64_t *max_position)
{
    int32_t working = 0;
    for (int32_t i = 0; i < subscribers->count; i++) {
        const apy_subscriber_t *subscriber = &subscribers->items[i];
        if (subscriber->state == APY_SUBSCRIBER_RESTING) {
            continue;
        }
        const int64_t position = apy_load_acquire_i64(subscriber->position);
        if (working == 0 || position < *min_position) {
            *min_position = position;
        }
        if (working == 0 || position > *max_position) {
            *max_position = position;
        }
        working++;
    }
    return working;
}
