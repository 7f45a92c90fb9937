#ifndef APY_CLOCK_H
#define APY_CLOCK_H

#include <stdint.h>

/*
 * clock is where time comes from, so that tests can drive it by hand.
 *
 * Threads: any.  Allocates: never.  Blocks: never.
 */

typedef struct apy_clock {
    int64_t (*nano_time)(const void *source); /* monotonic, ns */
    int64_t (*epoch_ms)(const void *source);  /* wall clock, ms since 1970 */
    const void *source;
} apy_clock_t;

/* Times that only move when told to. */
typedef struct apy_hand_clock {
    int64_t nano_time;
    int64_t epoch_ms;
} apy_hand_clock_t;

apy_clock_t apy_clock_system(void);
apy_clock_t apy_clock_by_hand(const apy_hand_clock_t *hand);
void apy_hand_clock_advance_ns(apy_hand_clock_t *hand, int64_t delta_ns);

int64_t apy_epoch_ns(void); /* CLOCK_REALTIME, for timestamps in frames */

static inline int64_t apy_nano_time(const apy_clock_t *clock)
{
    return clock->nano_time(clock->source);
}
static inline int64_t apy_epoch_ms(const apy_clock_t *clock)
{
    return clock->epoch_ms(clock->source);
}

/* Settings may be as long as numbers go: what would pass the end of time stays there. */
static inline int64_t apy_time_after(int64_t start_ns, int64_t duration_ns)
{
    int64_t at_ns;
    return __builtin_add_overflow(start_ns, duration_ns, &at_ns) ? INT64_MAX : at_ns;
}
static inline int64_t apy_time_times(int64_t duration_ns, int64_t times)
{
    int64_t longer_ns;
    return __builtin_mul_overflow(duration_ns, times, &longer_ns) ? INT64_MAX : longer_ns;
}

#endif
