#ifndef BENCH_PAIRS_H
#define BENCH_PAIRS_H

#include "../compare/loops.h"

/*
 * pairs offers a message and polls it, again and again, between the marks that callgrind counts within: the same loop
 * for the real C client and for ours.
 *
 * Threads: one.  Allocates: never.  Blocks: while an offer is refused.
 */

#define PAIRS_COUNT 1000

/* Count each of offer, poll and the two together, as figures "<name> offer" and so on. 0, or the wrong message's -1. */
LOOP_EXPORT int pairs_count(const loop_end_t *end, size_t size, const char *name);

#endif
