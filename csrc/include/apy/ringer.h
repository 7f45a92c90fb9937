#ifndef APY_RINGER_H
#define APY_RINGER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * ringer wakes waiters of any process, by one datagram to the socket that each has in the driver's directory. Nothing
 * that a waiter does, or fails to do, holds up who rings: a full socket is one that will be heard, and one whose owner
 * died is removed.
 *
 * Threads: open and close by the owner; ring by any.  Allocates: a descriptor.  Blocks: never.
 */

#define APY_WAITERS_DIRECTORY "waiters"
#define APY_RINGER_PATH_MAX 108 /* what an address of a socket holds */

typedef struct apy_ringer {
    int fd;           /* -1: there is none, and nobody is heard */
    bool can_promise; /* waiters may rely on it: their barrier reaches this process */
    char directory[APY_RINGER_PATH_MAX];
} apy_ringer_t;

/*
 * For one driver's directory. Never fails: without a descriptor, or with a name too long for a socket's address, it
 * promises nothing, and waiters look for themselves.
 */
void apy_ringer_open(apy_ringer_t *ringer, const char *aeron_directory);
void apy_ringer_close(apy_ringer_t *ringer);

/* False where nobody is there any more. */
bool apy_ringer_ring(const apy_ringer_t *ringer, int64_t id);

#endif
