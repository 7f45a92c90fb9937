#include "apy/log_buffer.h"

#include "apy/atomic.h"
#include "apy/frame.h"
#include "padding.h"

typedef enum unblocked { UNBLOCKED_NOTHING, UNBLOCKED, UNBLOCKED_TO_END } unblocked_t;

static int32_t length_at(const uint8_t *term, int32_t offset)
{
    return apy_load_acquire_i32((const int32_t *)(const void *)(term + offset));
}

static bool is_empty_between(const uint8_t *term, int32_t from, int32_t to)
{
    for (int32_t at = to - APY_FRAME_ALIGN; at >= from; at -= APY_FRAME_ALIGN) {
        if (length_at(term, at) != 0) {
            return false;
        }
    }
    return true;
}

static unblocked_t unblock_term(const apy_log_t *log, uint8_t *term, int32_t term_id, int32_t offset,
                                int32_t tail_offset, bool is_abandoned)
{
    const uint8_t *header = log->meta->default_header;
    const int32_t length = length_at(term, offset);
    if (length > 0) {
        return UNBLOCKED_NOTHING;
    }
    if (length < 0) { /* its writer died after it wrote how long it will be; INT32_MIN was never written */
        const int64_t span = -(int64_t)length;
        if (span > log->term_length - offset) {
            return UNBLOCKED_NOTHING;
        }
        pad(term, header, term_id, offset, (int32_t)span);
        return UNBLOCKED;
    }

    int32_t at = offset + APY_FRAME_ALIGN;
    while (at < tail_offset) {
        if (length_at(term, at) != 0) {
            if (!is_empty_between(term, offset, at)) {
                return UNBLOCKED_NOTHING;
            }
            pad(term, header, term_id, offset, at - offset);
            return UNBLOCKED;
        }
        at += APY_FRAME_ALIGN;
    }
    if (at >= log->term_length && length_at(term, offset) == 0) {
        pad(term, header, term_id, offset, log->term_length - offset);
        return UNBLOCKED_TO_END;
    }
    /* Reserved last, and its writer died before its first word: as long as writers live, one may be about to come. */
    if (is_abandoned && tail_offset > offset && is_empty_between(term, offset, tail_offset)) {
        pad(term, header, term_id, offset, tail_offset - offset);
        return UNBLOCKED;
    }
    return UNBLOCKED_NOTHING;
}

bool apy_log_unblock(apy_log_t *log, int64_t blocked_position, bool is_abandoned)
{
    const int32_t blocked_count = (int32_t)(blocked_position >> log->shift);
    const int32_t offset = apy_position_offset(blocked_position, log->term_length);
    const int32_t active_count = apy_load_acquire_i32(&log->meta->active_term_count);

    if (active_count == blocked_count - 1 && offset == 0) { /* the term is full, and nobody rotated */
        const int64_t raw_tail = apy_load_acquire_i64(&log->meta->tails[apy_term_partition(active_count)]);
        apy_log_rotate(log, active_count, apy_tail_term_id(raw_tail));
        return true;
    }

    const int32_t partition = apy_term_partition(blocked_count);
    const int64_t raw_tail = apy_load_acquire_i64(&log->meta->tails[partition]);
    const int32_t term_id = apy_tail_term_id(raw_tail);
    if (apy_wrap_sub(term_id, log->initial_term_id) != blocked_count) {
        return false; /* the partition holds another term: nothing of ours is blocked there */
    }
    const unblocked_t outcome = unblock_term(log, log->terms[partition], term_id, offset,
                                             apy_tail_offset(raw_tail, log->term_length), is_abandoned);
    if (outcome == UNBLOCKED_TO_END) {
        apy_log_rotate(log, blocked_count, term_id);
    }
    return outcome != UNBLOCKED_NOTHING;
}
