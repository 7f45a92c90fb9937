#ifndef APY_WAIT_H
#define APY_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/image_reader.h"
#include "apy/publication.h"
#include "apy/ringer.h"
#include "apy/waiter.h"

/*
 * wait is how a client sleeps until a subscription has something to poll, or a publication takes messages again,
 * without spinning: it lies down in the logs (waiters.h), and one descriptor tells (waiter.h). Where somebody changes
 * a log who does not ring, it looks by itself, less and less often while nothing comes.
 *
 * Threads: one at a time.  Allocates: descriptors in open.  Blocks: never.
 */

typedef struct apy_wait {
    apy_waiter_t waiter;
    const apy_ringer_t *ringer; /* clears places of the dead */
    int64_t back_off_ns;
} apy_wait_t;

#define APY_WAIT_BACK_OFF_MIN_NS INT64_C(100000)
#define APY_WAIT_BACK_OFF_MAX_NS INT64_C(16000000)

int apy_wait_open(apy_wait_t *wait, const apy_ringer_t *ringer, const char *aeron_directory, int64_t id);
void apy_wait_close(apy_wait_t *wait); /* seats are left before, by those who hold them */

/* True: the descriptor becomes readable when there may be something. False: there is something now. */
bool apy_wait_for_images(apy_wait_t *wait, apy_image_reader_t *const *readers, int count);
/* The same, for the next offer not to be refused for want of a subscriber or of window. */
bool apy_wait_for_window(apy_wait_t *wait, apy_publication_t *publication);

#endif
