#include "apy/term_rebuild.h"

#include "apy/atomic.h"
#include "apy/error.h"
#include "apy/frame.h"
#include "padding.h"

static int32_t int32_at(const uint8_t *at)
{
    int32_t value; /* packets may lie anywhere in a receive buffer */
    memcpy(&value, at, sizeof(value));
    return value;
}

static uint32_t type_at(const uint8_t *frame)
{
    uint16_t type;
    memcpy(&type, frame + offsetof(apy_frame_t, type), sizeof(type));
    return type;
}

static_assert(APY_FRAME_PAD == 0 && APY_FRAME_DATA == 1, "one comparison tells both from others");

int32_t apy_packet_span(const uint8_t *packet, int32_t length, int32_t term_length)
{
    if (length < APY_FRAME_HEADER) {
        return APY_E_CORRUPT;
    }
    const int32_t term_offset = int32_at(packet + offsetof(apy_frame_t, term_offset));
    if (term_offset < 0 || term_offset >= term_length || term_offset % APY_FRAME_ALIGN != 0) {
        return APY_E_CORRUPT;
    }
    if (length == APY_FRAME_HEADER && int32_at(packet) == 0) {
        return 0; /* a heartbeat */
    }

    /* In 64 bits, which hold the sums of what has not been checked yet. */
    const int64_t room = term_length - term_offset;
    const int64_t last = length - APY_FRAME_HEADER;
    const uint8_t *frame;
    int64_t at = 0;
    do {
        frame = packet + at;
        const int64_t frame_length = int32_at(frame);
        /* A frame of less than its header is no frame: no writer makes one, and readers subtract the header. */
        if (frame_length < APY_FRAME_HEADER || at + frame_length > room || type_at(frame) > APY_FRAME_DATA ||
            int32_at(frame + offsetof(apy_frame_t, term_offset)) != term_offset + (int32_t)at) {
            return APY_E_CORRUPT;
        }
        at += (frame_length + APY_FRAME_ALIGN - 1) & ~(int64_t)(APY_FRAME_ALIGN - 1);
    } while (at <= last);
    const bool is_whole = at == length || (at > length && type_at(frame) == APY_FRAME_PAD);
    return is_whole ? (int32_t)at : APY_E_CORRUPT;
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
