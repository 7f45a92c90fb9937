#ifndef APY_LOGBUFFER_PADDING_H
#define APY_LOGBUFFER_PADDING_H

#include <string.h>

#include "apy/atomic.h"
#include "apy/frame.h"

/*
 * padding covers a stretch of a term that nobody will fill: by the unblocker and by the gap filler.
 *
 * Threads: one at a time for a place.  Allocates: never.  Blocks: never.
 */

static inline void pad(uint8_t *term, const uint8_t *default_header, int32_t term_id, int32_t offset, int32_t length)
{
    apy_frame_t header;
    memcpy(&header, default_header, sizeof(header));
    header.type = APY_FRAME_PAD;
    header.term_offset = offset;
    header.term_id = term_id;

    uint8_t *frame = term + offset;
    memcpy(frame + sizeof(int32_t), (const uint8_t *)&header + sizeof(int32_t), sizeof(header) - sizeof(int32_t));
    apy_store_release_i32((int32_t *)(void *)frame, length);
}

#endif
