/*
 * ours gives the loops our client: the same calls that the Cython wrappers make, with the real client's signatures.
 *
 * Threads: one per end.  Allocates: never.  Blocks: never.
 */

#include "ours.h"

#include <string.h>

#include "apy/publication.h"
#include "loops_inline.h"

/* Few enough to stay in the nearest caches, many enough that the call itself costs nothing. */
#define BATCH_MESSAGES 64
#define BATCH_MESSAGE_MAX 2048

int64_t ours_offer(void *publication, const uint8_t *buffer, size_t length, void *supplier, void *context)
{
    (void)supplier;
    (void)context;
    const struct iovec part = {(void *)(uintptr_t)buffer, length};
    return apy_publication_offer(publication, &part, 1, NULL, NULL);
}

int ours_poll(void *subscription, loop_handler_fn handler, void *context, size_t fragment_limit)
{
    ours_subscription_t *ours = subscription;
    return apy_images_poll(ours->readers, ours->count, &ours->next, (apy_fragment_fn)handler, context,
                           (int)fragment_limit);
}

int64_t ours_publish_batch(void *publication, size_t size, int64_t count)
{
    static _Thread_local uint8_t batch[BATCH_MESSAGES * BATCH_MESSAGE_MAX];
    if (size < sizeof(int64_t) || size > BATCH_MESSAGE_MAX) {
        return WRONG_MESSAGE;
    }
    memset(batch, 'x', sizeof batch);
    const int64_t start_ns = now_ns();
    uint32_t spins = 0;
    for (int64_t sent = 0; sent < count;) {
        const int64_t left = count - sent;
        const int64_t wanted = left < BATCH_MESSAGES ? left : BATCH_MESSAGES;
        for (int64_t index = 0; index < wanted; index++) {
            const int64_t number = sent + index;
            memcpy(batch + (size_t)index * size, &number, sizeof number);
        }
        int64_t result = 0;
        const int64_t accepted =
            apy_publication_offer_strided(publication, batch, (int64_t)size, (int32_t)size, wanted, &result);
        if (accepted == 0 && result <= PUBLICATION_CLOSED) {
            return result;
        }
        sent += accepted;
        if (accepted == 0 && idle(&spins, start_ns + DEADLINE_NS)) {
            return TIMED_OUT;
        }
    }
    return now_ns() - start_ns;
}
