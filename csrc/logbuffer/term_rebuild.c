#include "apy/term_rebuild.h"

#include "apy/atomic.h"
#include "apy/error.h"
#include "apy/frame.h"
#include "padding.h"

int32_t apy_packet_span(const uint8_t *packet, int32_t length, int32_t term_length)
{
    apy_frame_t frame; /* packets may lie anywhere in a receive buffer */
    if (length < APY_FRAME_HEADER) {
        return APY_E_CORRUPT;
    }
    memcpy(&frame, packet, sizeof(frame));
    if (frame.term_offset < 0 || frame.term_offset >= term_length || frame.term_offset % APY_FRAME_ALIGN != 0) {
        return APY_E_CORRUPT;
    }
    if (apy_datagram_is_heartbeat(&frame, (size_t)length)) {
        return 0;
    }

    int32_t expected = frame.term_offset;
    int32_t at = 0;
    for (;;) {
        /* A frame of less than its header is no frame: no writer makes one, and readers subtract the header. */
        if (frame.length < APY_FRAME_HEADER || frame.length > term_length - expected ||
            (frame.type != APY_FRAME_DATA && frame.type != APY_FRAME_PAD) || frame.term_offset != expected) {
            return APY_E_CORRUPT;
        }
        const int32_t span = apy_frame_span(frame.length);
        expected += span;
        at += span;
        if (at > length - APY_FRAME_HEADER) {
            break;
        }
        memcpy(&frame, packet + at, sizeof(frame));
    }
    const bool is_whole = at == length || (at > length && frame.type == APY_FRAME_PAD);
    return is_whole ? at : APY_E_CORRUPT;
}

void apy_term_insert(uint8_t *term, int32_t term_offset, const uint8_t *packet, int32_t length)
{
    uint8_t *to = term + term_offset;
    if (apy_load_acquire_i32((const int32_t *)(const void *)to) != 0) {
        return;
    }
    /* The search for gaps may look at these bytes meanwhile; it is only led by what is published below. */
    apy_copy_racing(to + APY_FRAME_HEADER, packet + APY_FRAME_HEADER, (size_t)length - APY_FRAME_HEADER);
    memcpy(to + sizeof(int64_t), packet + sizeof(int64_t), APY_FRAME_HEADER - sizeof(int64_t));
    int64_t first = 0;
    memcpy(&first, packet, sizeof(first));
    apy_store_release_i64((int64_t *)(void *)to, first);
}

bool apy_gap_fill(uint8_t *term, const uint8_t *default_header, int32_t term_id, int32_t offset, int32_t length)
{
    for (int32_t at = offset + length - APY_FRAME_ALIGN; at >= offset; at -= APY_FRAME_ALIGN) {
        if (apy_load_acquire_i32((const int32_t *)(const void *)(term + at)) != 0) {
            return false;
        }
    }
    pad(term, default_header, term_id, offset, length);
    return true;
}
