#ifndef APY_TEST_TERM_FIXTURE_H
#define APY_TEST_TERM_FIXTURE_H

/* term_fixture puts frames of chosen lengths into a term, to look at how they are read. */

#include "apy/frame.h"
#include "check.h"

#define TERM 65536

static _Alignas(64) uint8_t term[TERM];

static inline int32_t put(int32_t offset, int32_t length, uint16_t type)
{
    const apy_frame_t frame = {.length = length, .flags = 0xC0, .type = type, .term_offset = offset};
    memcpy(term + offset, &frame, sizeof(frame));
    return offset + apy_frame_span(length);
}

#endif
