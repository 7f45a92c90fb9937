#ifndef APY_WAITER_H
#define APY_WAITER_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/ringer.h"

/*
 * waiter is one descriptor to sleep on: it becomes readable when somebody rings (ringer.h), when the waiter's own time
 * is over, or when its own process wakes it. What it waits for, and who is told of it, is another's business
 * (waiters.h); waking early is always allowed.
 *
 * Threads: one waits, arms and drains; wake by any while it is open.  Allocates: descriptors.  Blocks: wait, as told.
 */

typedef struct apy_waiter {
    int fd;       /* readable while there is a reason to look */
    int socket;   /* -1: nobody can ring; only the timer and wake work */
    int timer;    /* a timerfd */
    int64_t id;   /* what others ring */
    bool is_rung; /* since it was last asked */
    bool has_backstop;
    char path[APY_RINGER_PATH_MAX];
} apy_waiter_t;

/*
 * Make the descriptor and a socket in the driver's directory; id is one that nobody else there has. Without a socket
 * (a name too long, no permission) it goes on with the timer alone. APY_E_OS where descriptors are used up.
 */
int apy_waiter_open(apy_waiter_t *waiter, const char *aeron_directory, int64_t id);
void apy_waiter_close(apy_waiter_t *waiter);
void apy_waiter_forget(apy_waiter_t *waiter); /* in a forked child: the parent goes on with its own */

/* Can it be rung at all? */
static inline bool apy_waiter_has_socket(const apy_waiter_t *waiter)
{
    return waiter->socket >= 0;
}

/* Take what has come, so that the descriptor is quiet again. */
void apy_waiter_drain(apy_waiter_t *waiter);
/* Was it rung since this was last asked? As of the last drain. */
bool apy_waiter_take_rung(apy_waiter_t *waiter);

/* Wake once, after so long; or every APY_WAITER_BACKSTOP_NS, for what a killed process did not ring. */
void apy_waiter_sleep_at_most(apy_waiter_t *waiter, int64_t timeout_ns);
void apy_waiter_backstop(apy_waiter_t *waiter);
#define APY_WAITER_BACKSTOP_NS INT64_C(250000000)

/* From within its own process. */
void apy_waiter_wake(apy_waiter_t *waiter);

/* Sleep until the descriptor is readable (true), timeout_ns passed or a signal came (false). Drains nothing. */
bool apy_waiter_wait(const apy_waiter_t *waiter, int64_t timeout_ns);

/*
 * What was announced before is seen by every ringer that promises (ringer.h) before it looks again, and what those
 * published before is seen here afterwards. False where the system cannot do that.
 */
bool apy_waiter_order(void);

#endif
