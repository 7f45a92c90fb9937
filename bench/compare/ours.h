#ifndef BENCH_OURS_H
#define BENCH_OURS_H

#include "apy/image_reader.h"
#include "loops.h"

/*
 * ours gives the loops our client, with the real client's signatures.
 *
 * Threads: one per end.  Allocates: never.  Blocks: never.
 */

typedef struct ours_subscription {
    apy_image_reader_t *const *readers;
    int32_t count;
    int32_t next;
} ours_subscription_t;

LOOP_EXPORT int64_t ours_offer(void *publication, const uint8_t *buffer, size_t length, void *supplier, void *context);
LOOP_EXPORT int ours_poll(void *subscription, loop_handler_fn handler, void *context, size_t fragment_limit);

/* Offer count messages, many at once. */
LOOP_EXPORT int64_t ours_publish_batch(void *publication, size_t size, int64_t count);

#endif
