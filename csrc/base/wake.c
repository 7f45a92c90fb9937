#include "apy/wake.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "apy/atomic.h"

enum { QUIET = 0, SIGNALLED = 1, WAITING = -1 };

void apy_wake_init(apy_wake_t *wake)
{
    apy_store_release_i32(&wake->state, QUIET);
}

void apy_wake_signal(apy_wake_t *wake)
{
    const int32_t before = atomic_exchange_explicit((_Atomic int32_t *)&wake->state, SIGNALLED, memory_order_seq_cst);
    if (before == WAITING) {
        syscall(SYS_futex, &wake->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

/* The monotonic instant at which a wait ends; far ones end at the last second that the kernel takes. */
static struct timespec deadline_after(int64_t timeout_ns)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += timeout_ns / 1000000000;
    deadline.tv_nsec += timeout_ns % 1000000000;
    if (deadline.tv_nsec >= 1000000000) {
        deadline.tv_nsec -= 1000000000;
        deadline.tv_sec += 1;
    }
    return deadline;
}

bool apy_wake_wait(apy_wake_t *wake, int64_t timeout_ns)
{
    if (apy_cas_i32(&wake->state, SIGNALLED, QUIET)) {
        return true;
    }
    if (timeout_ns <= 0) {
        return false;
    }
    const struct timespec deadline = deadline_after(timeout_ns);
    if (apy_cas_i32(&wake->state, QUIET, WAITING)) {
        long rc = 0;
        do {
            rc = syscall(SYS_futex, &wake->state, FUTEX_WAIT_BITSET_PRIVATE, WAITING, &deadline, NULL,
                         FUTEX_BITSET_MATCH_ANY);
        } while (apy_load_acquire_i32(&wake->state) == WAITING && (rc == 0 || errno == EINTR || errno == EAGAIN));
        if (apy_cas_i32(&wake->state, WAITING, QUIET)) {
            return false;
        }
    }
    /* It was signalled: consume that, and see all that any signaller wrote before. */
    atomic_exchange_explicit((_Atomic int32_t *)&wake->state, QUIET, memory_order_seq_cst);
    return true;
}
