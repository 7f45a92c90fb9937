#include "apy/doorbell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "apy/atomic.h"

enum { QUIET = 0, RUNG = 1, ASLEEP = -1 };

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

void apy_doorbell_ring(apy_doorbell_t *bell)
{
    if (apy_load_relaxed_i32(&bell->state) == ASLEEP && exchange(bell, RUNG) == ASLEEP) {
        (void)syscall(SYS_futex, &bell->state, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

void apy_doorbell_wake(apy_doorbell_t *bell)
{
    if (apy_cas_i32(&bell->state, ASLEEP, QUIET)) {
        (void)syscall(SYS_futex, &bell->state, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}
