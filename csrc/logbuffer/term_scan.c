#include "apy/term_scan.h"

#include "apy/atomic.h"
#include "apy/frame.h"

static const apy_frame_t *frame_at(const uint8_t *term, int32_t offset)
{
    return (const apy_frame_t *)(const void *)(term + offset);
}

/* Of padding only the header travels. What does not fit leaves the scan as it was: 0, or -span for a first frame. */
static __attribute__((noinline, cold)) int32_t scan_last(const apy_frame_t *frame, int32_t span, int32_t left,
                                                         int32_t room, apy_scan_t *scan)
{
    int32_t step = span;
    int32_t padding = 0;
    if (frame->type == APY_FRAME_PAD && step <= left) {
        padding = step - APY_FRAME_HEADER;
        step = APY_FRAME_HEADER;
    }
    if (step > room) {
        return scan->bytes == 0 ? -step : 0; /* whole frames only: the rest waits for the next turn */
    }
    scan->bytes += step;
    scan->padding = padding;
    return 0;
}

int32_t apy_term_scan(const uint8_t *term, int32_t term_length, int32_t offset, int32_t bytes_max, apy_scan_t *found)
{
    const int32_t left = term_length - offset;
    const uint8_t *start = term + offset;
    const uint8_t *limit = start + (bytes_max < left ? bytes_max : left);
    const uint8_t *at = start;
    apy_scan_t scan = {0, 0};
    int32_t refused = 0;

    while (at < limit) {
        const apy_frame_t *frame = (const apy_frame_t *)(const void *)at;
        const int32_t length = apy_load_acquire_i32(&frame->length);
        if (length <= 0) {
            break; /* reserved by a writer, not yet published */
        }
        const int64_t span = ((uint32_t)length + APY_FRAME_ALIGN - 1) & ~(uint32_t)(APY_FRAME_ALIGN - 1);
        const uint8_t *next = at + span;
        if (__builtin_expect(frame->type == APY_FRAME_PAD, 0) || __builtin_expect(next > limit, 0)) {
            scan.bytes = (int32_t)(at - start);
            refused = scan_last(frame, length <= left ? (int32_t)span : term_length, left - scan.bytes,
                                (int32_t)(limit - at), &scan);
            break;
        }
        at = next;
    }
    if (scan.bytes == 0) {
        scan.bytes = (int32_t)(at - start);
    }
    if (scan.bytes == 0) {
        return refused;
    }
    *found = scan;
    return 1;
}

int32_t apy_block_scan(const uint8_t *term, int32_t offset, int32_t limit)
{
    int32_t at = offset;
    while (at < limit) {
        const apy_frame_t *frame = frame_at(term, at);
        const int32_t length = apy_load_acquire_i32(&frame->length);
        if (length <= 0) {
            break;
        }
        if (frame->type == APY_FRAME_PAD) {
            return at == offset ? apy_frame_span(length) : at - offset;
        }
        if (length > limit - at || apy_frame_span(length) > limit - at) {
            break;
        }
        at += apy_frame_span(length);
    }
    return at - offset;
}

int32_t apy_gap_scan(const uint8_t *term, int32_t rebuild_offset, int32_t limit, apy_gap_t *gap)
{
    int32_t at = rebuild_offset;
    while (at < limit) {
        const int32_t length = apy_load_acquire_i32(&frame_at(term, at)->length);
        if (length <= 0) {
            break;
        }
        at += apy_frame_span(length);
    }

    int32_t end = at;
    while (end < limit && apy_load_acquire_i32(&frame_at(term, end)->length) == 0) {
        end += APY_FRAME_ALIGN;
    }
    *gap = (apy_gap_t){at, end - at};
    return at;
}
