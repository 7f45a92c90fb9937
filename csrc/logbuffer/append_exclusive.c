#include "apy/append.h"

#include "apy/error.h"
#include "frame_run.h"
#include "frame_writer.h"

static void enter_partition(apy_exclusive_t *exclusive, int32_t partition)
{
    exclusive->partition = partition;
    exclusive->term = exclusive->base.terms[partition];
    exclusive->tail = &exclusive->base.meta->tails[partition];
}

void apy_exclusive_init(apy_exclusive_t *exclusive, const apy_log_t *log, const int64_t *limit)
{
    apy_append_init(&exclusive->base, log, limit);
    const int32_t term_count = apy_load_acquire_i32(&log->meta->active_term_count);
    enter_partition(exclusive, apy_term_partition(term_count));
    const int64_t raw_tail = apy_load_acquire_i64(exclusive->tail);
    exclusive->term_id = apy_tail_term_id(raw_tail);
    exclusive->term_offset = apy_tail_offset(raw_tail, log->term_length);
    exclusive->term_begin_position = apy_position_of(exclusive->term_id, 0, log->shift, log->initial_term_id);
}

static inline void publish_tail(const apy_exclusive_t *exclusive, int32_t offset)
{
    apy_store_release_i64(exclusive->tail, apy_tail_pack(exclusive->term_id, offset));
}

/* Go on to the next term, or say that there is none. */
static int64_t rotate(apy_exclusive_t *exclusive)
{
    apy_log_meta_t *meta = exclusive->base.meta;
    const int32_t term_length = exclusive->base.term_length;
    if (exclusive->term_begin_position + term_length >= exclusive->base.position_max) {
        exclusive->term_offset = term_length; /* what was padded is not padded again */
        return APY_MAX_POSITION_EXCEEDED;
    }
    exclusive->term_id = apy_wrap_add(exclusive->term_id, 1);
    enter_partition(exclusive, exclusive->partition == APY_PARTITIONS - 1 ? 0 : exclusive->partition + 1);
    exclusive->term_begin_position += term_length;
    exclusive->term_offset = 0;
    apy_store_relaxed_i64(exclusive->tail, apy_tail_pack(exclusive->term_id, 0));
    apy_store_release_i32(&meta->active_term_count, apy_wrap_sub(exclusive->term_id, exclusive->base.initial_term_id));
    return APY_ADMIN_ACTION;
}

static inline spot_t current_spot(const apy_exclusive_t *exclusive)
{
    return (spot_t){exclusive->term + exclusive->term_offset, exclusive->term_id, exclusive->term_offset};
}

COLD static int64_t end_term(apy_exclusive_t *exclusive)
{
    if (exclusive->term_offset < exclusive->base.term_length) {
        const spot_t spot = current_spot(exclusive);
        write_padding(&exclusive->base, spot, exclusive->base.term_length - exclusive->term_offset);
    }
    return rotate(exclusive);
}

/* 0, or why nothing can be appended now. */
static inline int64_t may_append(const apy_exclusive_t *exclusive, int64_t length)
{
    const int64_t limit = apy_load_acquire_i64(exclusive->base.limit);
    const int64_t position = apy_exclusive_position(exclusive);
    return LIKELY(position < limit) ? 0 : apy_at_limit(&exclusive->base, position, length);
}

/* As of the concurrent kind. The tail is published before the frame. */
static inline bool reserve(apy_exclusive_t *exclusive, int32_t required, spot_t *spot, int64_t *result)
{
    const int32_t end = exclusive->term_offset + required;
    publish_tail(exclusive, end);
    if (UNLIKELY(end > exclusive->base.term_length)) {
        *result = end_term(exclusive);
        return false;
    }
    *spot = current_spot(exclusive);
    exclusive->term_offset = end;
    *result = exclusive->term_begin_position + end;
    return true;
}

COLD static int64_t offer_fragments(apy_exclusive_t *exclusive, const struct iovec *parts, int64_t length,
                                    apy_reserved_value_fn supplier, void *context)
{
    const apy_append_t *base = &exclusive->base;
    if (is_longer(length, base->message_max)) {
        return apy_fail_too_long(base, length, base->message_max);
    }
    spot_t spot;
    int64_t result = 0;
    if (reserve(exclusive, (int32_t)apy_framed_length(length, base->payload_max), &spot, &result)) {
        apy_write_fragments(base, spot, parts, length, supplier, context);
    }
    return result;
}

/* Apart from the small ones, so that those save no registers for calls that they do not make. */
static __attribute__((noinline)) int64_t offer_any(apy_exclusive_t *exclusive, const struct iovec *parts, int count,
                                                   apy_reserved_value_fn supplier, void *context)
{
    const int64_t length = message_length(parts, count);
    const int64_t refused = may_append(exclusive, length);
    if (UNLIKELY(refused != 0)) {
        return refused;
    }
    if (UNLIKELY(is_longer(length, exclusive->base.payload_max))) {
        return offer_fragments(exclusive, parts, length, supplier, context);
    }
    spot_t spot;
    int64_t result = 0;
    if (LIKELY(reserve(exclusive, apy_frame_span((int32_t)length + APY_FRAME_HEADER), &spot, &result))) {
        write_unfragmented(&exclusive->base, spot, parts, count, (int32_t)length, supplier, context);
    }
    return result;
}

int64_t apy_exclusive_offer(apy_exclusive_t *exclusive, const struct iovec *parts, int count,
                            apy_reserved_value_fn supplier, void *context)
{
    if (is_small(&exclusive->base, parts, count, supplier)) {
        const int32_t length = (int32_t)parts->iov_len;
        const int64_t limit = apy_load_acquire_i64(exclusive->base.limit);
        const spot_t spot = current_spot(exclusive);
        const int32_t end = spot.offset + apy_frame_span(length + APY_FRAME_HEADER);
        if (LIKELY(exclusive->term_begin_position + spot.offset < limit && end <= exclusive->base.term_length)) {
            publish_tail(exclusive, end);
            exclusive->term_offset = end;
            write_small(&exclusive->base, spot, parts->iov_base, length);
            return ring_behind(&exclusive->base, exclusive->term_begin_position + end);
        }
    }
    return offer_any(exclusive, parts, count, supplier, context);
}

int64_t apy_exclusive_offer_run(apy_exclusive_t *exclusive, apy_messages_t *messages, int64_t *position)
{
    const apy_append_t *base = &exclusive->base;
    const int64_t window = apy_load_acquire_i64(base->limit) - apy_exclusive_position(exclusive);
    run_t run;
    if (!run_size(&run, base, messages, window, base->term_length - exclusive->term_offset)) {
        return 0;
    }
    const spot_t spot = current_spot(exclusive);
    exclusive->term_offset += run.bytes;
    publish_tail(exclusive, exclusive->term_offset);
    *position = apy_exclusive_position(exclusive);
    return run_write(&run, base, messages, spot, false);
}

int64_t apy_exclusive_claim(apy_exclusive_t *exclusive, int32_t length, uint8_t **frame)
{
    if (UNLIKELY((uint32_t)length > (uint32_t)exclusive->base.payload_max)) {
        return apy_fail_too_long(&exclusive->base, length, exclusive->base.payload_max);
    }
    const int64_t refused = may_append(exclusive, length);
    if (UNLIKELY(refused != 0)) {
        return refused;
    }
    spot_t spot;
    int64_t result = 0;
    if (LIKELY(reserve(exclusive, apy_frame_span(length + APY_FRAME_HEADER), &spot, &result))) {
        frame_begin(&exclusive->base, spot, length + APY_FRAME_HEADER, APY_FLAG_UNFRAGMENTED, APY_FRAME_DATA);
        *frame = spot.at;
    }
    return result;
}

int64_t apy_exclusive_append_padding(apy_exclusive_t *exclusive, int32_t length)
{
    const apy_append_t *base = &exclusive->base;
    const int64_t length_max = apy_framed_length(base->message_max, base->payload_max);
    if (length < 0 || length > length_max) {
        return apy_fail_too_long(base, length, length_max);
    }
    const int64_t refused = may_append(exclusive, length);
    if (refused != 0) {
        return refused;
    }
    spot_t spot;
    int64_t result = 0;
    if (reserve(exclusive, apy_frame_span(length + APY_FRAME_HEADER), &spot, &result)) {
        write_padding(base, spot, length + APY_FRAME_HEADER);
    }
    return result;
}

/* Does the block continue the stream just here? */
static bool fits_here(const apy_exclusive_t *exclusive, const apy_frame_t *first, int32_t length)
{
    return first->length >= APY_FRAME_HEADER && first->length <= length && first->type == APY_FRAME_DATA &&
           first->term_offset == exclusive->term_offset && first->term_id == exclusive->term_id &&
           first->session_id == exclusive->base.session_id && first->stream_id == exclusive->base.stream_id;
}

/* Its frames follow each other to its end, or readers would find garbage where they look for the next one. */
static bool is_run_of_frames(const uint8_t *block, int32_t length, int32_t term_offset)
{
    int32_t at = 0;
    while (at < length) {
        apy_frame_t frame;
        memcpy(&frame, block + at, sizeof(frame));
        if (frame.length < APY_FRAME_HEADER || frame.length > length - at || frame.term_offset != term_offset + at) {
            return false;
        }
        at += apy_frame_span(frame.length);
    }
    return true;
}

int64_t apy_exclusive_offer_block(apy_exclusive_t *exclusive, const uint8_t *block, int32_t length)
{
    if (exclusive->term_offset >= exclusive->base.term_length && rotate(exclusive) == APY_MAX_POSITION_EXCEEDED) {
        return APY_MAX_POSITION_EXCEEDED;
    }
    const int64_t refused = may_append(exclusive, length);
    if (refused != 0) {
        return refused;
    }
    const int32_t left = exclusive->base.term_length - exclusive->term_offset;
    if (length < APY_FRAME_HEADER || length % APY_FRAME_ALIGN != 0 || length > left) {
        (void)apy_fail(APY_E_ARGUMENT, "a block of %d bytes is not a run of frames that fits the %d left in the term",
                       length, left);
        return APY_OFFER_ERROR;
    }
    apy_frame_t first;
    memcpy(&first, block, sizeof(first));
    if (!fits_here(exclusive, &first, length)) {
        (void)apy_fail(APY_E_ARGUMENT,
                       "the block starts with a frame of %d bytes, type %d, session %d, stream %d, term %d at %d: "
                       "here is session %d, stream %d, term %d at %d",
                       first.length, first.type, first.session_id, first.stream_id, first.term_id, first.term_offset,
                       exclusive->base.session_id, exclusive->base.stream_id, exclusive->term_id,
                       exclusive->term_offset);
        return APY_OFFER_ERROR;
    }
    if (!is_run_of_frames(block, length, exclusive->term_offset)) {
        (void)apy_fail(APY_E_ARGUMENT, "the block of %d bytes is no run of whole frames from term offset %d on", length,
                       exclusive->term_offset);
        return APY_OFFER_ERROR;
    }

    spot_t spot = {NULL, 0, 0};
    int64_t result = 0;
    const bool has_room = reserve(exclusive, length, &spot, &result);
    assert(has_room);
    (void)has_room;
    memcpy(spot.at + APY_FRAME_HEADER, block + APY_FRAME_HEADER, (size_t)length - APY_FRAME_HEADER);
    memcpy(spot.at + sizeof(int64_t), block + sizeof(int64_t), APY_FRAME_HEADER - sizeof(int64_t));
    int64_t start = 0;
    memcpy(&start, block, sizeof(start));
    apy_store_release_i64((int64_t *)(void *)spot.at, start);
    apy_append_ring(&exclusive->base);
    return result;
}
