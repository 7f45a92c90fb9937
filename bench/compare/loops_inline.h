#ifndef BENCH_LOOPS_INLINE_H
#define BENCH_LOOPS_INLINE_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

#include "loops.h"

/*
 * loops_inline is what every loop needs: the clock, a way to wait that lets others run, and an offer that is
 * repeated until it is taken.
 *
 * Threads: any.  Allocates: never.  Blocks: until the deadline.
 */

#define MESSAGE_MAX 65536
#define POLL_LIMIT 256
#define IDLE_SPINS 64
#define DEADLINE_NS INT64_C(60000000000)
#define TIMED_OUT (-1000)
#define WRONG_MESSAGE (-1001)
#define PUBLICATION_CLOSED (-4)

static inline int64_t now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000000 + at.tv_nsec;
}

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spin a little, then let others run: there are more threads than cores. True when the deadline has passed. */
static inline int idle(uint32_t *spins, int64_t deadline_ns)
{
    if (++*spins < IDLE_SPINS) {
        relax();
        return 0;
    }
    *spins = 0;
    sched_yield();
    return now_ns() > deadline_ns;
}

static inline int64_t offer_one(const loop_end_t *end, const uint8_t *message, size_t size, int64_t deadline_ns)
{
    uint32_t spins = 0;
    int64_t position;
    while ((position = end->offer(end->publication, message, size, NULL, NULL)) < 0) {
        if (position <= PUBLICATION_CLOSED) {
            return position;
        }
        if (idle(&spins, deadline_ns)) {
            return TIMED_OUT;
        }
    }
    return position;
}

#endif
