#ifndef APY_IDLE_H
#define APY_IDLE_H

#include <stdint.h>

#include "apy/doorbell.h"

/*
 * idle is what an agent does when a duty cycle found no work: the field's strategies, by their names.
 *
 * "noop", "spin" (also "busy-spin"), "yield", "sleeping" and "sleep-ns" (argument: a duration such as
 * "1ms"), "sleep-ms" (1 ms unless told), "backoff" (argument "<spins>-<yields>-<min park>-<max park>", default
 * "10-20-1us-1ms"), "controllable" (what a number that others write says).
 *
 * Threads: one strategy belongs to one thread.  Allocates: never.  Blocks: as the strategy says.
 */

typedef enum apy_idle_kind {
    APY_IDLE_NOOP,
    APY_IDLE_SPIN,
    APY_IDLE_YIELD,
    APY_IDLE_SLEEP,
    APY_IDLE_BACKOFF,
    APY_IDLE_CONTROLLABLE
} apy_idle_kind_t;

typedef struct apy_idle {
    apy_idle_kind_t kind;
    int64_t spins_max, yields_max, park_min_ns, park_max_ns; /* sleep uses park_min_ns */
    int64_t spins, yields, park_ns;
    int state;
    const int64_t *control; /* of a controllable one: 1 noop, 2 spin, 3 yield, else park */
    apy_doorbell_t *bell;   /* ends a sleep; may be NULL */
} apy_idle_t;

/* arguments may be NULL or "" for the defaults. APY_E_ARGUMENT names what was wrong. */
int apy_idle_init(apy_idle_t *idle, const char *name, const char *arguments);

/* Call after every duty cycle; work > 0 resets. */
void apy_idle(apy_idle_t *idle, int work);
/* The same, but a sleep ends after park_max_ns at the latest. */
void apy_idle_within(apy_idle_t *idle, int work, int64_t park_max_ns);
void apy_idle_reset(apy_idle_t *idle);

/* "10ms", "1us", "5" (ns) and kin to nanoseconds; APY_E_ARGUMENT when it is none. */
int apy_parse_duration(const char *text, int64_t *duration_ns);

#endif
