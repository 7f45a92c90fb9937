#include "apy/append.h"

#include "apy/error.h"
#include "frame_run.h"
#include "frame_writer.h"

void apy_append_init(apy_append_t *append, const apy_log_t *log, const int64_t *limit)
{
    apy_frame_t header;
    memcpy(&header, log->meta->default_header, sizeof(header));
    memcpy(append->terms, log->terms, sizeof(append->terms));
    append->meta = log->meta;
    append->limit = limit;
    append->position_max = apy_position_max(log->term_length);
    append->term_length = log->term_length;
    append->shift = log->shift;
    append->initial_term_id = log->initial_term_id;
    append->session_id = header.session_id;
    append->stream_id = header.stream_id;
    append->payload_max = log->mtu - APY_FRAME_HEADER;
    append->message_max = apy_message_length_max(log->term_length);
    append->small_max = append->payload_max < SMALL_MAX ? append->payload_max : SMALL_MAX;
    append->limit_bell = NULL;
    append->ringer = NULL;
}

/* --- shared with the exclusive kind --- */

static void ring_once(apy_limit_bell_t *bell, const apy_ringer_t *ringer, int64_t limit)
{
    if (apy_load_relaxed_i64(&bell->rung_limit) != limit) {
        apy_store_relaxed_i64(&bell->rung_limit, limit);
        apy_doorbell_ring(bell->bell, ringer);
    }
}

COLD void apy_append_ring_sleepers(const apy_append_t *append)
{
    apy_waiters_ring(&append->meta->readers, append->ringer);
}

COLD int64_t apy_at_limit(const apy_append_t *append, int64_t position, int64_t length)
{
    const int64_t sane = is_longer(length, INT32_MAX) ? INT32_MAX : length;
    const int64_t framed = (sane + APY_FRAME_HEADER + APY_FRAME_ALIGN - 1) & ~(int64_t)(APY_FRAME_ALIGN - 1);
    if (position + framed >= append->position_max) {
        return APY_MAX_POSITION_EXCEEDED;
    }
    if (apy_load_acquire_i32(&append->meta->is_connected) != 1) {
        return APY_NOT_CONNECTED;
    }
    if (append->limit_bell != NULL) {
        ring_once(append->limit_bell, append->ringer, apy_load_relaxed_i64(append->limit));
    }
    return APY_BACK_PRESSURED;
}

COLD int64_t apy_fail_too_long(const apy_append_t *append, int64_t length, int64_t length_max)
{
    (void)apy_fail(length < 0 ? APY_E_ARGUMENT : APY_E_TOO_LONG, "%lld bytes: here 0 to %lld (MTU %d, term length %d)",
                   (long long)length, (long long)length_max, append->payload_max + APY_FRAME_HEADER,
                   append->term_length);
    return APY_OFFER_ERROR;
}

COLD int64_t apy_ring_readers(const apy_append_t *append, int64_t result)
{
    apy_waiters_ring(&append->meta->readers, append->ringer);
    return result;
}

void apy_write_fragments(const apy_append_t *append, spot_t spot, const struct iovec *parts, int64_t length,
                         apy_reserved_value_fn supplier, void *context)
{
    gather_t gather = {parts, 0};
    spot_t here = spot;
    int32_t left = (int32_t)length;
    uint32_t flags = APY_FLAG_BEGIN;
    while (left > 0) {
        const int32_t payload = left < append->payload_max ? left : append->payload_max;
        const int32_t frame_length = payload + APY_FRAME_HEADER;
        left -= payload;
        frame_begin(append, here, frame_length, left == 0 ? flags | APY_FLAG_END : flags, APY_FRAME_DATA);
        gather_copy(&gather, here.at + APY_FRAME_HEADER, (size_t)payload);
        frame_supply(here.at, frame_length, supplier, context);
        frame_commit(here.at, frame_length);
        here.at += apy_frame_span(frame_length);
        here.offset += apy_frame_span(frame_length);
        flags = 0;
    }
    apy_append_ring(append);
}

/* --- the concurrent kind --- */

/* The append tripped the end of its term: pad what is left of it, once, and move on. */
COLD static int64_t end_term(const apy_append_t *append, int32_t partition, int64_t raw_tail, int32_t required)
{
    const int32_t offset = apy_tail_offset(raw_tail, append->term_length);
    const spot_t spot = {append->terms[partition] + offset, apy_tail_term_id(raw_tail), offset};
    if (offset < append->term_length) { /* only the first to trip sees room */
        write_padding(append, spot, append->term_length - offset);
    }
    const int64_t position = apy_position_of(spot.term_id, offset + required, append->shift, append->initial_term_id);
    if (position >= append->position_max) {
        /* Nobody rotates any more: undo the overshoot, so that no number of offers carries into the term id. */
        int64_t *tail = &append->meta->tails[partition];
        (void)apy_cas_i64(tail, apy_load_acquire_i64(tail), apy_tail_pack(spot.term_id, append->term_length));
        return APY_MAX_POSITION_EXCEEDED;
    }
    apy_log_meta_rotate(append->meta, apy_wrap_sub(spot.term_id, append->initial_term_id), spot.term_id);
    return APY_ADMIN_ACTION;
}

/* The tail looks as if it were at the limit; 0 when it only overshot the end of its term. */
COLD static int64_t hold_back(const apy_append_t *append, int64_t limit, int32_t term_count, int64_t raw_tail,
                              int64_t length)
{
    const int64_t position = ((int64_t)term_count << append->shift) + apy_tail_offset(raw_tail, append->term_length);
    return position >= limit ? apy_at_limit(append, position, length) : 0;
}

/* As may_append, for those who ask it why not. */
static inline bool is_open(const apy_append_t *append, int32_t *partition)
{
    const int64_t limit = apy_load_acquire_i64(append->limit);
    const int32_t term_count = apy_load_acquire_i32(&append->meta->active_term_count);
    *partition = apy_term_partition(term_count);
    const int64_t raw_tail = apy_load_acquire_i64(&append->meta->tails[*partition]);
    return term_count == apy_wrap_sub(apy_tail_term_id(raw_tail), append->initial_term_id) &&
           ((int64_t)term_count << append->shift) + (uint32_t)raw_tail < limit;
}

/* 0 and *partition, or why nothing can be appended now. */
static inline int64_t may_append(const apy_append_t *append, int64_t length, int32_t *partition)
{
    const int64_t limit = apy_load_acquire_i64(append->limit);
    const int32_t term_count = apy_load_acquire_i32(&append->meta->active_term_count);
    const int32_t index = apy_term_partition(term_count);
    const int64_t raw_tail = apy_load_acquire_i64(&append->meta->tails[index]);

    *partition = index;
    if (UNLIKELY(term_count != apy_wrap_sub(apy_tail_term_id(raw_tail), append->initial_term_id))) {
        return APY_ADMIN_ACTION; /* another is half-way through the rotation */
    }
    if (UNLIKELY(((int64_t)term_count << append->shift) + (uint32_t)raw_tail >= limit)) {
        return hold_back(append, limit, term_count, raw_tail, length);
    }
    return 0;
}

/* Take required bytes. True: *spot is where, *result the new position; false: *result is why not. */
static inline bool reserve(const apy_append_t *append, int32_t partition, int32_t required, spot_t *spot,
                           int64_t *result)
{
    /* The partition may have moved on three terms since it was looked at: only the value taken counts. */
    const int64_t raw_tail = apy_fetch_add_i64(&append->meta->tails[partition], required);
    const int64_t offset = (uint32_t)raw_tail;
    if (UNLIKELY(offset + required > append->term_length)) {
        *result = end_term(append, partition, raw_tail, required);
        return false;
    }
    spot->at = append->terms[partition] + offset;
    spot->term_id = apy_tail_term_id(raw_tail);
    spot->offset = (int32_t)offset;
    *result = apy_position_of(spot->term_id, (int32_t)offset + required, append->shift, append->initial_term_id);
    return true;
}

COLD static int64_t offer_fragments(const apy_append_t *append, int32_t partition, const struct iovec *parts,
                                    int64_t length, apy_reserved_value_fn supplier, void *context)
{
    if (is_longer(length, append->message_max)) {
        return apy_fail_too_long(append, length, append->message_max);
    }
    spot_t spot;
    int64_t result = 0;
    const int32_t required = (int32_t)apy_framed_length(length, append->payload_max);
    if (reserve(append, partition, required, &spot, &result)) {
        apy_write_fragments(append, spot, parts, length, supplier, context);
    }
    return result;
}

/* Apart from the small ones, so that those save no registers for calls that they do not make. */
static __attribute__((noinline)) int64_t offer_any(const apy_append_t *append, const struct iovec *parts, int count,
                                                   apy_reserved_value_fn supplier, void *context)
{
    const int64_t length = message_length(parts, count);
    int32_t partition = 0;
    const int64_t refused = may_append(append, length, &partition);
    if (UNLIKELY(refused != 0)) {
        return refused;
    }
    if (UNLIKELY(is_longer(length, append->payload_max))) {
        return offer_fragments(append, partition, parts, length, supplier, context);
    }
    spot_t spot;
    int64_t result = 0;
    const int32_t required = apy_frame_span((int32_t)length + APY_FRAME_HEADER);
    if (LIKELY(reserve(append, partition, required, &spot, &result))) {
        write_unfragmented(append, spot, parts, count, (int32_t)length, supplier, context);
    }
    return result;
}

int64_t apy_append_offer(const apy_append_t *append, const struct iovec *parts, int count,
                         apy_reserved_value_fn supplier, void *context)
{
    int32_t partition = 0;
    if (is_small(append, parts, count, supplier) && LIKELY(is_open(append, &partition))) {
        const int32_t length = (int32_t)parts->iov_len;
        const int32_t required = apy_frame_span(length + APY_FRAME_HEADER);
        const int64_t raw_tail = apy_fetch_add_i64(&append->meta->tails[partition], required);
        const uint64_t end = (uint64_t)(uint32_t)raw_tail + (uint32_t)required;
        if (UNLIKELY(end > (uint64_t)append->term_length)) {
            return end_term(append, partition, raw_tail, required);
        }
        const spot_t spot = {append->terms[partition] + (uint32_t)raw_tail, apy_tail_term_id(raw_tail),
                             (int32_t)raw_tail};
        write_small(append, spot, parts->iov_base, length);
        return ring_behind(append, apy_position_of(spot.term_id, (int32_t)end, append->shift, append->initial_term_id));
    }
    return offer_any(append, parts, count, supplier, context);
}

int64_t apy_append_offer_run(const apy_append_t *append, apy_messages_t *messages, int64_t *position)
{
    int32_t partition = 0;
    if (!is_open(append, &partition)) {
        return 0;
    }
    const int64_t before = apy_load_acquire_i64(&append->meta->tails[partition]);
    const int32_t offset = apy_tail_offset(before, append->term_length);
    const int64_t start = apy_position_of(apy_tail_term_id(before), offset, append->shift, append->initial_term_id);
    run_t run;
    if (!run_size(&run, append, messages, apy_load_acquire_i64(append->limit) - start, append->term_length - offset)) {
        return 0;
    }
    spot_t spot;
    if (!reserve(append, partition, run.bytes, &spot, position)) {
        return 0; /* others took the end of the term: padded and rotated, as for a message */
    }
    const int64_t begin = *position - run.bytes;
    const int32_t count = run_write(&run, append, messages, spot, true);
    *position = begin + run.bytes;
    return count;
}

int64_t apy_append_claim(const apy_append_t *append, int32_t length, uint8_t **frame)
{
    if (UNLIKELY((uint32_t)length > (uint32_t)append->payload_max)) {
        return apy_fail_too_long(append, length, append->payload_max);
    }
    int32_t partition = 0;
    const int64_t refused = may_append(append, length, &partition);
    if (UNLIKELY(refused != 0)) {
        return refused;
    }
    spot_t spot;
    int64_t result = 0;
    const int32_t required = apy_frame_span(length + APY_FRAME_HEADER);
    if (LIKELY(reserve(append, partition, required, &spot, &result))) {
        frame_begin(append, spot, length + APY_FRAME_HEADER, APY_FLAG_UNFRAGMENTED, APY_FRAME_DATA);
        *frame = spot.at;
    }
    return result;
}

/* A claim that the driver unblocked meanwhile is padding already, and stays so. */
void apy_claim_commit(uint8_t *frame)
{
    const int32_t length = apy_load_relaxed_i32((const int32_t *)(const void *)frame);
    if (length < 0) {
        frame_commit(frame, -length);
    }
}

void apy_claim_abort(uint8_t *frame)
{
    const int32_t length = apy_load_relaxed_i32((const int32_t *)(const void *)frame);
    if (length < 0) {
        ((apy_frame_t *)(void *)frame)->type = APY_FRAME_PAD;
        frame_commit(frame, -length);
    }
}

int64_t apy_append_position(const apy_append_t *append)
{
    const int32_t term_count = apy_load_acquire_i32(&append->meta->active_term_count);
    const int64_t raw_tail = apy_load_acquire_i64(&append->meta->tails[apy_term_partition(term_count)]);
    return apy_position_of(apy_tail_term_id(raw_tail), apy_tail_offset(raw_tail, append->term_length), append->shift,
                           append->initial_term_id);
}
