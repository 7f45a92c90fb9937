#ifndef BENCH_LOOPS_H
#define BENCH_LOOPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * loops are the hot loops of the comparison, over a table of functions that either client fills.
 *
 * The signatures are those of the real C client, so that its functions go in as they are; results are
 * nanoseconds or zero, or a negative code.
 *
 * Threads: one per end.  Allocates: never.  Blocks: until the count is reached or a minute has passed.
 */

#define LOOP_EXPORT __attribute__((visibility("default")))

typedef int64_t (*loop_offer_fn)(void *publication, const uint8_t *buffer, size_t length, void *supplier,
                                 void *context);
typedef void (*loop_handler_fn)(void *context, const uint8_t *buffer, size_t length, const void *header);
typedef int (*loop_poll_fn)(void *subscription, loop_handler_fn handler, void *context, size_t fragment_limit);

typedef struct loop_end {
    loop_offer_fn offer;
    void *publication;
    loop_poll_fn poll;
    void *subscription;
} loop_end_t;

/* Offer count messages of size bytes, one at a time. */
LOOP_EXPORT int64_t loop_publish(const loop_end_t *end, size_t size, int64_t count);

/* Take count messages: nanoseconds from the first to the last. */
LOOP_EXPORT int64_t loop_receive(const loop_end_t *end, size_t size, int64_t count);

/* Send count messages back as they come. */
LOOP_EXPORT int64_t loop_echo(const loop_end_t *end, size_t size, int64_t count);

/* One message there and back at a time; nanoseconds of each into times_ns. */
LOOP_EXPORT int64_t loop_ping(const loop_end_t *end, size_t size, int64_t count, int64_t *times_ns);

/*
 * One message is due every interval_ns, whether or not those before it are back; into times_ns the nanoseconds from
 * when each was due until it was back, so that a stall counts for all that it delays.
 */
LOOP_EXPORT int64_t loop_paced(const loop_end_t *end, size_t size, int64_t count, int64_t interval_ns,
                               int64_t *times_ns);

/* Both ends of many streams share this: how much was offered, and how much was taken. */
typedef struct loop_progress {
    int64_t sent;
    _Alignas(128) _Atomic int64_t taken;
} loop_progress_t;

/* Offer count messages, by turns on so many streams; one that does not accept now is passed over. */
LOOP_EXPORT int64_t loop_publish_streams(const loop_end_t *ends, int64_t streams, size_t size, int64_t count,
                                         loop_progress_t *progress);

/* Take count messages, by turns from so many streams: nanoseconds from the first to the last. */
LOOP_EXPORT int64_t loop_receive_streams(const loop_end_t *ends, int64_t streams, int64_t count,
                                         loop_progress_t *progress);

#endif
