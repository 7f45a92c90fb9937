/*
 * ours gives the loops our client: the same calls that the Cython wrappers make, with the real client's signatures.
 *
 * Threads: one per end.  Allocates: never.  Blocks: never.
 */

#include "ours.h"

#include "apy/publication.h"

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
