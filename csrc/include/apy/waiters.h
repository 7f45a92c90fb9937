#ifndef APY_WAITERS_H
#define APY_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/atomic.h"
#include "apy/ringer.h"

/*
 * waiters is where those who sleep until a log changes announce themselves: in the padding at the end of the log's
 * metadata, which other implementations leave alone. Who changes the log looks at one word, and rings (ringer.h) those
 * whose bits it took out of it; nobody asleep costs a load and a branch.
 *
 * A waiter announces itself, orders that against the log (waiter.h), and looks at the log once more before it sleeps.
 * Only those who promised, in the word for it, are relied upon: for the sake of others a waiter looks by itself.
 *
 * Threads: any, of any process.  Allocates: never.  Blocks: never.
 */

#define APY_WAITERS_MAX 32

typedef struct apy_waiters {
    int32_t armed;    /* bit n: the waiter in place n is about to sleep */
    int32_t promised; /* who changes this log rings */
    uint8_t pad[56];
    int64_t ids[APY_WAITERS_MAX]; /* 0: the place is free */
} apy_waiters_t;

/* One waiter's place at one log; all zero: nowhere. */
typedef struct apy_seat {
    apy_waiters_t *waiters;
    int64_t id;
    int64_t position; /* where the waiter stood when it lay down */
    int32_t place;
    bool is_down;   /* it lay down and has not looked since */
    bool is_silent; /* something came, and nobody rang: promises do not count here */
} apy_seat_t;

/* Take a place; false where all are taken by waiters that live. */
bool apy_seat_take(apy_seat_t *seat, apy_waiters_t *waiters, const apy_ringer_t *ringer, int64_t id);
/* Give it back. Safe twice, and when there is none. */
void apy_seat_leave(apy_seat_t *seat);

/* Announce, and take it back; position is only remembered. */
void apy_seat_lie_down(apy_seat_t *seat, int64_t position);
void apy_seat_get_up(apy_seat_t *seat);

/* Is it announced still, and was it not taken by who rang? */
bool apy_seat_is_announced(const apy_seat_t *seat);

/* Learn who rings here: called when it looks again, and has_changed says whether there was anything. */
void apy_seat_judge(apy_seat_t *seat, bool has_changed, bool was_rung);
/* May it sleep until it is rung? */
bool apy_seat_is_trusting(const apy_seat_t *seat);

/* Say once that all changes made with this ringer will be rung. */
void apy_waiters_promise(apy_waiters_t *waiters, const apy_ringer_t *ringer);
/* Ring all that are down. */
void apy_waiters_ring(apy_waiters_t *waiters, const apy_ringer_t *ringer);

/* Behind each change; the waiter's barrier orders the change against this look. */
static inline void apy_waiters_ring_if_armed(apy_waiters_t *waiters, const apy_ringer_t *ringer)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(apy_load_relaxed_i32(&waiters->armed) != 0, 0)) {
        apy_waiters_ring(waiters, ringer);
    }
}

#endif
