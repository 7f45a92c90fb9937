#ifndef APY_NATIVE_API_H
#define APY_NATIVE_API_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/fragment_assembler.h"
#include "apy/image_reader.h"

#include "aeronpy.h"

/*
 * native_api is the table of aeronpy.h, and a subscription as its callers see it: images that one thread polls without
 * the interpreter while another changes which there are.
 *
 * A set of images that was replaced may be read by the poll that runs, which counts its turns; from the next turn on
 * nobody reads it. So polls pay one exchange for being alone, and the one who replaces never waits.
 *
 * Threads: set, close and is_past by one at a time; polls by one at a time, others are refused.
 * Allocates: never, but what it assembles.  Blocks: never.
 */

typedef struct apy_image_set {
    apy_image_reader_t **readers;
    int count;
} apy_image_set_t;

typedef struct apy_native_subscription {
    const apy_image_set_t *images; /* as of now; never NULL */
    int32_t *is_busy;              /* held by whoever polls, natively or not */
    const int32_t *image_polls;    /* how many of its images are being polled by themselves */
    apy_fragment_assembler_t *assembler;
    int64_t turns; /* of native polls that ended */
    int32_t is_closed;
    int32_t image_count; /* for questions, which may come while the images change */
    int32_t next;
    int32_t error; /* why the last poll answered AERONPY_ERROR, as one of error.h */
} apy_native_subscription_t;

void apy_native_subscription_init(apy_native_subscription_t *subscription, const apy_image_set_t *images,
                                  int32_t *is_busy, const int32_t *image_polls, apy_fragment_assembler_t *assembler);

/* Poll these from now on. Returns the turn in which the ones before may be read still, for is_past. */
int64_t apy_native_subscription_set(apy_native_subscription_t *subscription, const apy_image_set_t *images);
bool apy_native_subscription_is_past(const apy_native_subscription_t *subscription, int64_t turn);

/* Every call answers AERONPY_CLOSED from now on; the images stay to be set. */
void apy_native_subscription_close(apy_native_subscription_t *subscription);

const aeronpy_api_t *apy_native_api(void);

#endif
