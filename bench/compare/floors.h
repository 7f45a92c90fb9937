#ifndef BENCH_FLOORS_H
#define BENCH_FLOORS_H

#include <stddef.h>
#include <stdint.h>

#include "loops.h"

/*
 * floors are what the machine itself takes: nothing that moves messages can be below them.
 *
 * Threads: each call makes a second one and ends it.  Allocates: its buffers.  Blocks: until the count is reached.
 */

/* Round trips of one cache line between two processors: nanoseconds of each on average; negative where it failed. */
LOOP_EXPORT int64_t floor_cache_line(int first_cpu, int second_cpu, int64_t trips);

/* Copy count messages of size bytes into a ring as large as a log: nanoseconds. */
LOOP_EXPORT int64_t floor_copy(size_t size, int64_t count);

/* Send count datagrams of size bytes to a socket that another thread empties, 16 a call: nanoseconds. */
LOOP_EXPORT int64_t floor_datagrams(size_t size, int64_t count);

#endif
