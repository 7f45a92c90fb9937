#ifndef APY_UNTETHERED_H
#define APY_UNTETHERED_H

#include <stdint.h>

#include "apy/subscribers.h"

/*
 * untethered cuts off subscribers that asked not to hold the stream back, and lets them in again later.
 *
 * A subscriber that may not rejoin stays resting for ever; its owner removes it.
 *
 * Threads: the conductor core.  Allocates: never.  Blocks: never.
 */

typedef struct apy_untethered {
    int64_t window_limit_ns, linger_ns, resting_ns;
} apy_untethered_t;

/*
 * Every timer interval. A subscriber at or below limit lags; who comes back starts at join_position. The caller
 * sees what changed by comparing states.
 */
void apy_untethered_check(apy_subscribers_t *subscribers, const apy_untethered_t *timeouts, int64_t limit,
                          int64_t join_position, int64_t now_ns);

#endif
