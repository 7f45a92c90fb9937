#include "apy/doze.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "apy/atomic.h"
#include "apy/error.h"

#define DEAF_PARK_NS INT64_C(1000000)
#define EVENTS_MAX 4

int apy_doze_open(apy_doze_t *doze, const apy_ringer_t *ringer, const char *aeron_directory, int64_t id,
                  int64_t park_max_ns)
{
    *doze = (apy_doze_t){.ringer = ringer, .park_max_ns = park_max_ns};
    const int rc = apy_waiter_open(&doze->waiter, aeron_directory, id);
    if (rc == APY_OK && !apy_waiter_has_socket(&doze->waiter) && park_max_ns > DEAF_PARK_NS) {
        doze->park_max_ns = DEAF_PARK_NS;
    }
    return rc;
}

void apy_doze_close(apy_doze_t *doze)
{
    apy_waiter_close(&doze->waiter);
}

int apy_doze_watch(apy_doze_t *doze, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(doze->waiter.fd, EPOLL_CTL_ADD, fd, &event) == 0 ? APY_OK
                                                                      : apy_fail_os("cannot watch descriptor %d", fd);
}

void apy_doze_add_other(apy_doze_t *doze, apy_doze_t *other)
{
    doze->others[doze->other_count] = other;
    apy_store_release_i32(&doze->other_count, doze->other_count + 1);
}

void apy_doze_announce(apy_doze_t *doze)
{
    atomic_store_explicit((_Atomic int32_t *)&doze->is_announced, 1, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst);
}

void apy_doze_get_up(apy_doze_t *doze)
{
    apy_store_release_i32(&doze->is_announced, 0);
}

/* By nanoseconds where the system can, else by milliseconds, rounded up. */
static int wait(int fd, struct epoll_event *events, int64_t timeout_ns)
{
#ifdef SYS_epoll_pwait2
    const struct timespec span = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    const long count = syscall(SYS_epoll_pwait2, fd, events, EVENTS_MAX, &span, NULL, 0);
    if (count >= 0 || errno != ENOSYS) {
        return (int)count;
    }
#endif
    return epoll_wait(fd, events, EVENTS_MAX, (int)((timeout_ns + 999999) / 1000000));
}

bool apy_doze_sleep(apy_doze_t *doze, int64_t timeout_ns)
{
    struct epoll_event events[EVENTS_MAX];
    const int64_t bound_ns = timeout_ns < doze->park_max_ns ? timeout_ns : doze->park_max_ns;
    const int count = wait(doze->waiter.fd, events, bound_ns);
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == doze->waiter.socket) {
            apy_waiter_drain(&doze->waiter);
        }
    }
    return count > 0;
}

void apy_doze_wake(apy_doze_t *doze)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (apy_load_relaxed_i32(&doze->is_announced) != 0 && apy_cas_i32(&doze->is_announced, 1, 0)) {
        (void)apy_ringer_ring(doze->ringer, doze->waiter.id);
    }
}

void apy_doze_wake_others(const apy_doze_t *doze)
{
    const int32_t count = apy_load_acquire_i32(&doze->other_count);
    for (int32_t i = 0; i < count; i++) {
        apy_doze_wake(doze->others[i]);
    }
}
