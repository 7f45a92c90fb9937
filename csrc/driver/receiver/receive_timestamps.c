#include "apy/receive_timestamps.h"

#include <string.h>

#include "apy/clock.h"
#include "apy/frame.h"
#include "apy/udp_channel.h"

static void stamp(uint8_t *frame, int32_t frame_length, int32_t offset, int64_t time_ns)
{
    if (offset == APY_TIMESTAMP_RESERVED) {
        memcpy(frame + offsetof(apy_frame_t, reserved_value), &time_ns, sizeof(time_ns));
    } else if (offset >= 0 && offset <= frame_length - APY_FRAME_HEADER - (int32_t)sizeof(time_ns)) {
        memcpy(frame + APY_FRAME_HEADER + offset, &time_ns, sizeof(time_ns));
    }
}

void apy_stamp_received(uint8_t *datagram, size_t length, int32_t channel_offset, int32_t media_offset,
                        int64_t media_ns)
{
    const int64_t channel_ns = channel_offset == APY_TIMESTAMP_NONE ? 0 : apy_epoch_ns();
    size_t at = 0;
    while (at + APY_FRAME_HEADER <= length) {
        apy_frame_t frame;
        memcpy(&frame, datagram + at, sizeof(frame));
        if (frame.type == APY_FRAME_DATA && (frame.flags & APY_FLAG_BEGIN) && (size_t)frame.length <= length - at) {
            stamp(datagram + at, frame.length, channel_offset, channel_ns);
            if (media_ns != 0) {
                stamp(datagram + at, frame.length, media_offset, media_ns);
            }
        }
        at += (size_t)apy_frame_span(frame.length);
    }
}
