#include "apy/waiters.h"

#include <assert.h>

static_assert(sizeof(apy_waiters_t) == 64 + 8 * APY_WAITERS_MAX, "waiters of a log");

static int32_t bit_of(int32_t place)
{
    return (int32_t)(UINT32_C(1) << place);
}

static bool take_free(apy_seat_t *seat, apy_waiters_t *waiters, int64_t id)
{
    for (int32_t place = 0; place < APY_WAITERS_MAX; place++) {
        if (apy_load_relaxed_i64(&waiters->ids[place]) == 0 && apy_cas_i64(&waiters->ids[place], 0, id)) {
            *seat = (apy_seat_t){.waiters = waiters, .id = id, .place = place};
            return true;
        }
    }
    return false;
}

/* Let go of those that died: who rings one of them hears that there is none. */
static void clear_dead(apy_waiters_t *waiters, const apy_ringer_t *ringer)
{
    for (int32_t place = 0; place < APY_WAITERS_MAX; place++) {
        const int64_t id = apy_load_relaxed_i64(&waiters->ids[place]);
        if (id != 0 && !apy_ringer_ring(ringer, id)) {
            (void)apy_cas_i64(&waiters->ids[place], id, 0);
        }
    }
}

bool apy_seat_take(apy_seat_t *seat, apy_waiters_t *waiters, const apy_ringer_t *ringer, int64_t id)
{
    if (take_free(seat, waiters, id)) {
        return true;
    }
    clear_dead(waiters, ringer);
    return take_free(seat, waiters, id);
}

void apy_seat_leave(apy_seat_t *seat)
{
    if (seat->waiters != NULL) {
        apy_seat_get_up(seat);
        (void)apy_cas_i64(&seat->waiters->ids[seat->place], seat->id, 0);
        seat->waiters = NULL;
    }
}

void apy_seat_lie_down(apy_seat_t *seat, int64_t position)
{
    seat->position = position;
    seat->is_down = true;
    (void)atomic_fetch_or_explicit((_Atomic int32_t *)&seat->waiters->armed, bit_of(seat->place), memory_order_seq_cst);
}

bool apy_seat_is_announced(const apy_seat_t *seat)
{
    return (apy_load_acquire_i32(&seat->waiters->armed) & bit_of(seat->place)) != 0;
}

void apy_seat_get_up(apy_seat_t *seat)
{
    seat->is_down = false;
    if (apy_seat_is_announced(seat)) {
        (void)atomic_fetch_and_explicit((_Atomic int32_t *)&seat->waiters->armed, ~bit_of(seat->place),
                                        memory_order_seq_cst);
    }
}

void apy_seat_judge(apy_seat_t *seat, bool has_changed, bool was_rung)
{
    if (seat->is_down && has_changed) {
        seat->is_silent = apy_seat_is_announced(seat) || !was_rung;
    }
    seat->is_down = false;
}

bool apy_seat_is_trusting(const apy_seat_t *seat)
{
    return seat->waiters != NULL && !seat->is_silent && apy_load_acquire_i32(&seat->waiters->promised) != 0;
}

void apy_waiters_promise(apy_waiters_t *waiters, const apy_ringer_t *ringer)
{
    if (ringer->can_promise && apy_load_relaxed_i32(&waiters->promised) == 0) {
        apy_store_release_i32(&waiters->promised, 1);
    }
}

__attribute__((noinline, cold)) void apy_waiters_ring(apy_waiters_t *waiters, const apy_ringer_t *ringer)
{
    if (ringer == NULL) {
        return;
    }
    uint32_t taken = (uint32_t)atomic_exchange_explicit((_Atomic int32_t *)&waiters->armed, 0, memory_order_seq_cst);
    for (; taken != 0; taken &= taken - 1) {
        const int place = __builtin_ctz(taken);
        const int64_t id = apy_load_acquire_i64(&waiters->ids[place]);
        if (id != 0 && !apy_ringer_ring(ringer, id)) {
            (void)apy_cas_i64(&waiters->ids[place], id, 0);
        }
    }
}
