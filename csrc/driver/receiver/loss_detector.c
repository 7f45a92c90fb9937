#include "apy/loss_detector.h"

#include <math.h>

#include "apy/clock.h"
#include "apy/term_scan.h"

void apy_nak_delay_fixed(apy_nak_delay_t *delay, int64_t first_ns, int64_t retry_ns)
{
    *delay = (apy_nak_delay_t){.first_ns = first_ns, .retry_ns = retry_ns};
}

/* Seeds that are alike, as those of receivers that start together, must not begin alike. */
static uint64_t mix(uint64_t seed)
{
    seed += UINT64_C(0x9E3779B97F4A7C15);
    seed = (seed ^ (seed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    seed = (seed ^ (seed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return seed ^ (seed >> 31);
}

void apy_nak_delay_random(apy_nak_delay_t *delay, int64_t max_backoff_ns, int64_t group_size, uint64_t seed)
{
    *delay = (apy_nak_delay_t){.is_random = true,
                               .backoff_ns = (double)max_backoff_ns,
                               .lambda = log((double)(group_size < 1 ? 1 : group_size)) + 1.0,
                               .state = mix(seed) | 1};
}

static double next_uniform(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (double)(*state >> 11) * 0x1.0p-53;
}

int64_t apy_nak_delay_draw(apy_nak_delay_t *delay)
{
    const double lambda = delay->lambda, backoff = delay->backoff_ns;
    const double spread = exp(lambda) - 1.0;
    if (backoff < 1.0) {
        return 0;
    }
    const double x = next_uniform(&delay->state) * lambda / backoff + lambda / (backoff * spread);
    const double drawn = backoff / lambda * log(x * spread * (backoff / lambda));
    return drawn < 0 ? 0 : drawn > backoff ? (int64_t)backoff : (int64_t)drawn;
}

void apy_loss_detector_init(apy_loss_detector_t *detector, const apy_nak_delay_t *delay)
{
    *detector = (apy_loss_detector_t){.delay = *delay};
}

static int64_t delay_of(apy_loss_detector_t *detector, int64_t fixed_ns)
{
    return detector->delay.is_random ? apy_nak_delay_draw(&detector->delay) : fixed_ns;
}

int64_t apy_loss_detector_scan(apy_loss_detector_t *detector, const apy_log_t *log, int64_t rebuild_position,
                               int64_t hwm_position, int64_t now_ns, bool *is_found, bool *is_due,
                               apy_lost_range_t *lost)
{
    const int32_t shift = log->shift;
    const int64_t term_begin = rebuild_position - apy_position_offset(rebuild_position, log->term_length);
    const int64_t hwm_from_begin = hwm_position - term_begin;
    const int32_t limit = hwm_from_begin < log->term_length ? (int32_t)hwm_from_begin : log->term_length;
    apy_gap_t gap;
    const int32_t rebuilt = apy_gap_scan(log->terms[apy_position_partition(rebuild_position, shift)],
                                         (int32_t)(rebuild_position - term_begin), limit, &gap);
    *is_found = *is_due = false;
    if (gap.length > 0) {
        const apy_lost_range_t found = {apy_position_term_id(term_begin, shift, log->initial_term_id), gap.offset,
                                        gap.length};
        apy_lost_range_t *active = &detector->active;
        if (active->length != found.length || active->term_offset != found.term_offset ||
            active->term_id != found.term_id) {
            *active = found;
            *is_found = true;
            detector->expiry_ns = apy_time_after(now_ns, delay_of(detector, detector->delay.first_ns));
        }
        if (now_ns >= detector->expiry_ns) {
            detector->expiry_ns = apy_time_after(now_ns, delay_of(detector, detector->delay.retry_ns));
            *is_due = true;
            *lost = *active;
        }
    }
    return term_begin + rebuilt;
}
