#ifndef APY_LOSS_DETECTOR_H
#define APY_LOSS_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/log_buffer.h"

/*
 * loss_detector finds the first gap of a stream and says when it is time to ask for it: at first after one delay,
 * then again and again after another. A gap that changed is a new one.
 *
 * Threads: the conductor core.  Allocates: never.  Blocks: never.
 */

typedef struct apy_nak_delay {
    int64_t first_ns, retry_ns;
    /* is_random: each is drawn anew, so that few of a group speak first */
    bool is_random;
    double backoff_ns, lambda;
    uint64_t state;
} apy_nak_delay_t;

void apy_nak_delay_fixed(apy_nak_delay_t *delay, int64_t first_ns, int64_t retry_ns);
void apy_nak_delay_random(apy_nak_delay_t *delay, int64_t max_backoff_ns, int64_t group_size, uint64_t seed);
int64_t apy_nak_delay_draw(apy_nak_delay_t *delay); /* of a random one: 0 to the maximum */

typedef struct apy_lost_range {
    int32_t term_id, term_offset, length;
} apy_lost_range_t;

typedef struct apy_loss_detector {
    apy_nak_delay_t delay;
    apy_lost_range_t active; /* length 0: none */
    int64_t expiry_ns;
} apy_loss_detector_t;

void apy_loss_detector_init(apy_loss_detector_t *detector, const apy_nak_delay_t *delay);

/*
 * Look on from rebuild_position, which is below hwm_position. Returns the position up to which nothing is missing,
 * at most the end of the term; *is_found when there is a gap that was not there before, *is_due when *lost is to be
 * asked for now.
 */
int64_t apy_loss_detector_scan(apy_loss_detector_t *detector, const apy_log_t *log, int64_t rebuild_position,
                               int64_t hwm_position, int64_t now_ns, bool *is_found, bool *is_due,
                               apy_lost_range_t *lost);

#endif
