#include "apy/term_scan.h"

#include "apy/atomic.h"
#include "apy/frame.h"

static const apy_frame_t *frame_at(const uint8_t *term, int32_t offset)
{
    return (const apy_frame_t *)(const void *)(term + offset);
}

int32_t apy_term_scan(const uint8_t *term, int32_t term_length, int32_t offset, int32_t bytes_max, apy_scan_t *found)
{
    const int32_t left = term_length - offset;
    const int32_t limit = bytes_max < left ? bytes_max : left;
    apy_scan_t scan = {0, 0};

    while (scan.padding == 0 && scan.bytes < limit) {
        const apy_frame_t *frame = frame_at(term, offset + scan.bytes);
        const int32_t length = apy_load_acquire_i32(&frame->length);
        if (length <= 0) {
            break; /* reserved by a writer, not yet published */
        }
        int32_t step = length <= left ? apy_frame_span(length) : term_length;
        int32_t padding = 0;
        if (frame->type == APY_FRAME_PAD && step <= left - scan.bytes) {
            padding = step - APY_FRAME_HEADER; /* of padding only the header travels */
            step = APY_FRAME_HEADER;
        }
        if (step > limit - scan.bytes) {
            if (scan.bytes == 0) {
                return -step;
            }
            break; /* whole frames only: the rest waits for the next turn */
        }
        scan.bytes += step;
        scan.padding = padding;
    }

    if (scan.bytes == 0) {
        return 0;
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
