#include "apy/loss_interceptor.h"

#include <string.h>

#include "apy/frame.h"
#include "apy/position.h"

void apy_loss_interceptor_init(apy_loss_interceptor_t *loss, const apy_loss_plan_t *plan)
{
    *loss = (apy_loss_interceptor_t){.plan = *plan, .state = plan->seed};
}

/* Uniform in [0, 1): a Weyl sequence, mixed. */
static double next_uniform(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = *state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    mixed ^= mixed >> 31;
    return (double)(mixed >> 11) * 0x1.0p-53;
}

static bool drops_by_chance(apy_loss_interceptor_t *loss, uint16_t type)
{
    if (loss->plan.rate <= 0 || type >= 32 || (loss->plan.mask & (UINT32_C(1) << type)) == 0) {
        return false;
    }
    return next_uniform(&loss->state) <= loss->plan.rate;
}

static apy_gap_stream_t *find_stream(apy_loss_interceptor_t *loss, const apy_frame_t *frame)
{
    for (int i = 0; i < loss->stream_count; i++) {
        if (loss->streams[i].session_id == frame->session_id && loss->streams[i].stream_id == frame->stream_id) {
            return &loss->streams[i];
        }
    }
    if (loss->stream_count == APY_GAP_STREAMS_MAX) {
        return NULL;
    }
    apy_gap_stream_t *stream = &loss->streams[loss->stream_count++];
    *stream = (apy_gap_stream_t){.session_id = frame->session_id, .stream_id = frame->stream_id};
    return stream;
}

static bool touches_gap(const apy_gap_plan_t *plan, int64_t offset, int64_t end)
{
    if (offset < plan->end) {
        return true;
    }
    if (plan->radix == 0) {
        return false;
    }
    /* the last gap that begins before the datagram's end */
    const int64_t last = (end - 1) / plan->radix;
    const int64_t number = last < plan->count ? last : plan->count;
    return number >= 1 && offset < number * plan->radix + plan->length;
}

static bool drops_once(const apy_gap_plan_t *plan, int32_t *lost_offset, const apy_frame_t *frame, size_t length)
{
    const int64_t offset = frame->term_offset, end = offset + (int64_t)length;
    if (frame->term_id != plan->term_id || offset < *lost_offset || !touches_gap(plan, offset, end)) {
        return false;
    }
    *lost_offset = (int32_t)end;
    return true;
}

static bool drops_gap(apy_loss_interceptor_t *loss, const uint8_t *datagram, size_t length)
{
    apy_frame_t frame;
    const bool has_gaps = loss->plan.fixed.end > 0 || loss->plan.gaps.radix > 0;
    if (!has_gaps || length < sizeof(frame) || length > APY_UDP_PAYLOAD_MAX) {
        return false;
    }
    memcpy(&frame, datagram, sizeof(frame));
    const bool is_data = frame.type == APY_FRAME_DATA && frame.length > 0;
    if (!is_data || frame.term_offset < 0 || frame.term_offset > APY_TERM_LENGTH_MAX) {
        return false;
    }
    apy_gap_stream_t *stream = find_stream(loss, &frame);
    return stream != NULL && (drops_once(&loss->plan.fixed, &stream->fixed_offset, &frame, length) ||
                              drops_once(&loss->plan.gaps, &stream->gaps_offset, &frame, length));
}

bool apy_loss_interceptor_drops(apy_loss_interceptor_t *loss, const uint8_t *datagram, size_t length)
{
    uint16_t type = 0;
    if (length < offsetof(apy_frame_t, type) + sizeof(type)) {
        return false;
    }
    memcpy(&type, datagram + offsetof(apy_frame_t, type), sizeof(type));
    return drops_by_chance(loss, type) || drops_gap(loss, datagram, length);
}
