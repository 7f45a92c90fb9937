#ifndef APY_DOZE_H
#define APY_DOZE_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/ringer.h"
#include "apy/waiter.h"

/*
 * doze is how a thread of agents sleeps long and is woken on need: by datagrams on sockets that it watches, by rings
 * of other processes (ringer.h), by threads of its own. It announces its sleep, does one more cycle, and only then
 * sleeps, so whoever made work before is seen, and whoever makes it later sees the announcement.
 *
 * Threads: one dozes; wake by any.  Allocates: descriptors in open.  Blocks: sleep, as told.
 */

typedef struct apy_doze {
    apy_waiter_t waiter;
    const apy_ringer_t *ringer;
    int64_t park_max_ns;
    int32_t is_announced;
    struct apy_doze *others[3]; /* who may have to do with what this one did */
    int32_t other_count;        /* release */
} apy_doze_t;

/* So long at a time where somebody would have to ring who does not know how. */
#define APY_DOZE_UNRUNG_NS INT64_C(10000000)

/* Threads of a driver that doze are rung by these. */
enum { APY_DOZE_CONDUCTOR = -1, APY_DOZE_SENDER = -2, APY_DOZE_RECEIVER = -3 };

/* APY_E_OS without descriptors. Where it cannot be rung, it sleeps for a millisecond at a time. */
int apy_doze_open(apy_doze_t *doze, const apy_ringer_t *ringer, const char *aeron_directory, int64_t id,
                  int64_t park_max_ns);
void apy_doze_close(apy_doze_t *doze);
/* Wake when this descriptor is readable: one with datagrams to take, or an epoll of such. */
int apy_doze_watch(apy_doze_t *doze, int fd);

/* What one did may be work for the other. May be told while it dozes. */
void apy_doze_add_other(apy_doze_t *doze, apy_doze_t *other);

void apy_doze_announce(apy_doze_t *doze);
/* True when woken, false when its time was over. */
bool apy_doze_sleep(apy_doze_t *doze, int64_t timeout_ns);
void apy_doze_get_up(apy_doze_t *doze);

/* There is something for it; costs a fence and a load where it is up. */
void apy_doze_wake(apy_doze_t *doze);
void apy_doze_wake_others(const apy_doze_t *doze);

#endif
