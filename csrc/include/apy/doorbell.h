#ifndef APY_DOORBELL_H
#define APY_DOORBELL_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/ringer.h"

/*
 * doorbell lets a thread of one process sleep until its time is over or somebody, of any process that maps the same
 * word, rings. Who rings while nobody sleeps is not heard, and makes no system call: a doorbell shortens sleeps that
 * end by themselves, and nothing may depend on it.
 *
 * The word is 0 in fresh memory, and a sleeper that died leaves no more behind than one system call.
 *
 * Threads: any ring, one sleeps and takes.  Allocates: never.  Blocks: wait, until rung or timed out.
 */

typedef struct apy_doorbell {
    int32_t state;
} apy_doorbell_t;

void apy_doorbell_wait(apy_doorbell_t *bell, int64_t timeout_ns);
/* Was it rung since the last time this was asked? Costs a relaxed load if not. */
bool apy_doorbell_take(apy_doorbell_t *bell);

void apy_doorbell_ring(apy_doorbell_t *bell, const apy_ringer_t *ringer);
/* End a sleep without a mark of it: take will not tell. Behind a store that the sleeper is to see. */
void apy_doorbell_wake(apy_doorbell_t *bell, const apy_ringer_t *ringer);

/* A sleeper that dozes (doze.h) instead of waiting here says so; the ringer may be NULL where nobody ever does. */
void apy_doorbell_doze(apy_doorbell_t *bell);
bool apy_doorbell_get_up(apy_doorbell_t *bell); /* was it rung meanwhile? */

#endif
