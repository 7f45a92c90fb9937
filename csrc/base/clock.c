#include "apy/clock.h"

#include <time.h>

#include "apy/atomic.h"

#define NS_PER_MS INT64_C(1000000)

static int64_t system_nano_time(const void *source)
{
    (void)source;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t system_epoch_ms(const void *source)
{
    (void)source;
    return apy_epoch_ns() / NS_PER_MS;
}

static int64_t hand_nano_time(const void *source)
{
    return apy_load_acquire_i64(&((const apy_hand_clock_t *)source)->nano_time);
}

static int64_t hand_epoch_ms(const void *source)
{
    return apy_load_acquire_i64(&((const apy_hand_clock_t *)source)->epoch_ms);
}

apy_clock_t apy_clock_system(void)
{
    return (apy_clock_t){system_nano_time, system_epoch_ms, NULL};
}

apy_clock_t apy_clock_by_hand(const apy_hand_clock_t *hand)
{
    return (apy_clock_t){hand_nano_time, hand_epoch_ms, hand};
}

void apy_hand_clock_advance_ns(apy_hand_clock_t *hand, int64_t delta_ns)
{
    const int64_t before = apy_load_relaxed_i64(&hand->nano_time);
    const int64_t after = before + delta_ns;
    /* Whole milliseconds that were passed, so that many small steps lose nothing. */
    const int64_t passed_ms = after / NS_PER_MS - before / NS_PER_MS;
    apy_store_release_i64(&hand->epoch_ms, apy_load_relaxed_i64(&hand->epoch_ms) + passed_ms);
    apy_store_release_i64(&hand->nano_time, after);
}

int64_t apy_epoch_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
