#ifndef APY_WAKE_H
#define APY_WAKE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * wake lets one thread sleep until another has something for it, without losing a signal and without a
 * system call when nobody sleeps. A futex on Linux.
 *
 * Threads: any signal, one waits.  Allocates: never.  Blocks: wait, until signalled or timed out.
 */

typedef struct apy_wake {
    int32_t state;
} apy_wake_t;

void apy_wake_init(apy_wake_t *wake);
void apy_wake_signal(apy_wake_t *wake);

/* True when signalled since the last wait (which consumes it), false when timeout_ns passed first. */
bool apy_wake_wait(apy_wake_t *wake, int64_t timeout_ns);

#endif
