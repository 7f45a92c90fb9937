#include "apy/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "apy/atomic.h"
#include "apy/doze.h"

enum { QUIET = 0, RUNG = 1, ASLEEP = -1, DOZING = -2 };

static int32_t exchange(apy_doorbell_t *bell, int32_t state)
{
    return atomic_exchange_explicit((_Atomic int32_t *)&bell->state, state, memory_order_acq_rel);
}

void apy_doorbell_wait(apy_doorbell_t *bell, int64_t timeout_ns)
{
    const struct timespec span = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    (void)exchange(bell, ASLEEP);
    (void)syscall(SYS_futex, &bell->state, FUTEX_WAIT, ASLEEP, &span, NULL, 0); /* shared: between processes */
    (void)apy_cas_i32(&bell->state, ASLEEP, QUIET);
}

bool apy_doorbell_take(apy_doorbell_t *bell)
{
    return apy_load_relaxed_i32(&bell->state) == RUNG && exchange(bell, QUIET) == RUNG;
}

/* Leave a state behind for the sleeper, if there is one, and wake it. */
static void rouse(apy_doorbell_t *bell, const apy_ringer_t *ringer, int32_t left)
{
    const int32_t found = apy_load_relaxed_i32(&bell->state);
    if (found == ASLEEP && exchange(bell, left) == ASLEEP) {
        (void)syscall(SYS_futex, &bell->state, FUTEX_WAKE, 1, NULL, NULL, 0);
    } else if (found == DOZING && ringer != NULL && apy_cas_i32(&bell->state, DOZING, left)) {
        (void)apy_ringer_ring(ringer, APY_DOZE_CONDUCTOR);
    }
}

void apy_doorbell_ring(apy_doorbell_t *bell, const apy_ringer_t *ringer)
{
    rouse(bell, ringer, RUNG);
}

void apy_doorbell_wake(apy_doorbell_t *bell, const apy_ringer_t *ringer)
{
    atomic_thread_fence(memory_order_seq_cst);
    rouse(bell, ringer, QUIET);
}

void apy_doorbell_doze(apy_doorbell_t *bell)
{
    (void)atomic_exchange_explicit((_Atomic int32_t *)&bell->state, DOZING, memory_order_seq_cst);
}

bool apy_doorbell_get_up(apy_doorbell_t *bell)
{
    return !apy_cas_i32(&bell->state, DOZING, QUIET);
}
