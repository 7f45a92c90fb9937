#include "apy/frame.h"

#include <string.h>

#define COMMON_HEADER 8
#define RES_MIN 22

/* The shortest datagram of each type; 0: no such type. */
static size_t length_min(uint16_t type)
{
    switch (type) {
    case APY_FRAME_PAD:
    case APY_FRAME_DATA:
        return APY_FRAME_HEADER;
    case APY_FRAME_NAK:
        return sizeof(apy_nak_t);
    case APY_FRAME_SM:
        return sizeof(apy_sm_t);
    case APY_FRAME_ERR:
        return sizeof(apy_err_t);
    case APY_FRAME_SETUP:
        return sizeof(apy_setup_t);
    case APY_FRAME_RTTM:
        return sizeof(apy_rttm_t);
    case APY_FRAME_RES:
        return RES_MIN;
    case APY_FRAME_RSP_SETUP:
        return sizeof(apy_rsp_setup_t);
    default:
        return 0;
    }
}

bool apy_datagram_is_valid(const uint8_t *datagram, size_t length)
{
    int32_t frame_length = 0;
    uint16_t type = 0;
    if (length < COMMON_HEADER) {
        return false;
    }
    memcpy(&frame_length, datagram + offsetof(apy_frame_t, length), sizeof(frame_length));
    memcpy(&type, datagram + offsetof(apy_frame_t, type), sizeof(type));

    const size_t least = length_min(type);
    if (frame_length < 0 || datagram[offsetof(apy_frame_t, version)] != 0 || least == 0 || length < least) {
        return false;
    }
    if (type == APY_FRAME_PAD || type == APY_FRAME_DATA) {
        /* Its frames are walked later; of a padding frame only the header travels. */
        return length % APY_FRAME_ALIGN == 0;
    }
    return (size_t)frame_length <= length;
}
