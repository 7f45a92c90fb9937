#include "apy/untethered.h"

#include "apy/atomic.h"

static void check_one(apy_subscriber_t *subscriber, const apy_untethered_t *timeouts, int64_t limit,
                      int64_t join_position, int64_t now_ns)
{
    const int64_t waited_ns = now_ns - subscriber->time_of_last_update_ns;

    switch (subscriber->state) {
    case APY_SUBSCRIBER_ACTIVE:
        if (apy_load_acquire_i64(subscriber->position) > limit) {
            subscriber->time_of_last_update_ns = now_ns;
        } else if (waited_ns > timeouts->window_limit_ns) {
            subscriber->state = APY_SUBSCRIBER_LINGER;
            subscriber->time_of_last_update_ns = now_ns;
        }
        break;

    case APY_SUBSCRIBER_LINGER:
        if (waited_ns > timeouts->linger_ns) {
            subscriber->state = APY_SUBSCRIBER_RESTING;
            subscriber->time_of_last_update_ns = now_ns;
        }
        break;

    case APY_SUBSCRIBER_RESTING:
        if (subscriber->rejoin && waited_ns > timeouts->resting_ns) {
            apy_store_release_i64(subscriber->position, join_position);
            subscriber->state = APY_SUBSCRIBER_ACTIVE;
            subscriber->time_of_last_update_ns = now_ns;
        }
        break;
    }
}

void apy_untethered_check(apy_subscribers_t *subscribers, const apy_untethered_t *timeouts, int64_t limit,
                          int64_t join_position, int64_t now_ns)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        if (!subscribers->items[i].tether) {
            check_one(&subscribers->items[i], timeouts, limit, join_position, now_ns);
        }
    }
}
