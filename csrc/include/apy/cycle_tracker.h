#ifndef APY_CYCLE_TRACKER_H
#define APY_CYCLE_TRACKER_H

#include "apy/driver_context.h"

/*
 * cycle_tracker shows how long an agent's longest duty cycle was, and how many were too long.
 *
 * Threads: the agent's.  Allocates: never.  Blocks: never.
 */

static inline void apy_cycle_track(apy_driver_context_t *context, int64_t *cycle_start_ns, int64_t now_ns,
                                   int64_t threshold_ns, int max_counter, int exceeded_counter)
{
    const int64_t cycle_ns = now_ns - *cycle_start_ns;
    *cycle_start_ns = now_ns;
    apy_propose_max_i64(context->system_counters[max_counter], cycle_ns);
    if (cycle_ns > threshold_ns) {
        apy_count(context, exceeded_counter, 1);
    }
}

#endif
