#include "apy/pace.h"

#define SHARE 8                          /* sleeps per window */
#define LOOSEN 32                        /* the bound grows by one in so many, each epoch */
#define EPOCH_MAX_NS INT64_C(1000000000) /* a longer one was a stall, and would overflow below */
#define BOUND_MAX_NS INT64_C(1000000000) /* no strategy sleeps longer for long: no bound */

void apy_pace_init(apy_pace_t *pace, int64_t now_ns)
{
    *pace = (apy_pace_t){.epoch_start_ns = now_ns, .need_ns = APY_PACE_NO_BOUND, .park_max_ns = APY_PACE_NO_BOUND};
}

bool apy_pace_is_due(apy_pace_t *pace, int64_t now_ns)
{
    const int64_t elapsed_ns = now_ns - pace->epoch_start_ns;
    if (elapsed_ns < APY_PACE_EPOCH_NS) {
        return false;
    }
    pace->epoch_start_ns = now_ns;
    pace->epoch_ns = elapsed_ns < EPOCH_MAX_NS ? elapsed_ns : EPOCH_MAX_NS;
    pace->need_ns = APY_PACE_NO_BOUND;
    return true;
}

void apy_pace_moved(apy_pace_t *pace, int64_t bytes, int64_t window)
{
    if (bytes > 0) {
        const int64_t need_ns = pace->epoch_ns * window / bytes;
        pace->need_ns = need_ns < pace->need_ns ? need_ns : pace->need_ns;
    }
}

static int64_t wanted(const apy_pace_t *pace)
{
    if (pace->need_ns == APY_PACE_NO_BOUND) {
        return APY_PACE_NO_BOUND;
    }
    const int64_t share_ns = pace->need_ns / SHARE;
    return share_ns > APY_PACE_PARK_MIN_NS ? share_ns : APY_PACE_PARK_MIN_NS;
}

int64_t apy_pace_end(apy_pace_t *pace)
{
    int64_t held_ns = pace->park_max_ns;
    if (held_ns != APY_PACE_NO_BOUND) {
        held_ns += held_ns / LOOSEN;
        held_ns = held_ns < BOUND_MAX_NS ? held_ns : APY_PACE_NO_BOUND;
    }
    const int64_t wanted_ns = wanted(pace);
    pace->park_max_ns = wanted_ns < held_ns ? wanted_ns : held_ns;
    return pace->park_max_ns;
}

int64_t apy_pace_hurry(apy_pace_t *pace)
{
    pace->park_max_ns = APY_PACE_PARK_MIN_NS;
    return pace->park_max_ns;
}
