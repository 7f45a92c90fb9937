#ifndef APY_PACE_H
#define APY_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/clock.h"

/*
 * pace answers one question for the driver's threads: how long may they sleep before some stream has used up its
 * window? Whoever sleeps longer makes a publisher or a sender wait.
 *
 * Streams are looked at once per epoch: what each moved, against its window, says when the window would be used
 * up. A thread may sleep for an eighth of that. The bound loosens slowly, so that a stream that comes in bursts is
 * served in the next one; when nothing moves it is gone, and idle drivers sleep as their strategy says.
 *
 * Threads: the conductor core's.  Allocates: never.  Blocks: never.
 */

#define APY_PACE_EPOCH_NS INT64_C(200000)
#define APY_PACE_PARK_MIN_NS INT64_C(20000) /* shorter sleeps cost more than they give */
#define APY_PACE_NO_BOUND INT64_MAX

typedef struct apy_pace {
    int64_t epoch_start_ns, epoch_ns;
    int64_t need_ns; /* of the fastest stream in this epoch */
    int64_t park_max_ns;
} apy_pace_t;

void apy_pace_init(apy_pace_t *pace, int64_t now_ns);
/* Is an epoch over? Then tell what each stream moved in it, and end it. */
bool apy_pace_is_due(apy_pace_t *pace, int64_t now_ns);
void apy_pace_moved(apy_pace_t *pace, int64_t bytes, int64_t window);
/* How long a thread may sleep in the next one. */
int64_t apy_pace_end(apy_pace_t *pace);
/* A writer is at its limit after a silence: how long a thread may sleep from now on, until the bound loosens again. */
int64_t apy_pace_hurry(apy_pace_t *pace);

#endif
