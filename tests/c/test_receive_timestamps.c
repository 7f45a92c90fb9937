/* When messages came: written where the channel says, by the wall clock and by the kernel. */

#include "apy/receive_timestamps.h"
#include "receiver_rig.h"

#define LOW INT64_C(1600000000000000000) /* after which all clocks are */

static int64_t at(const uint8_t *bytes, int32_t offset)
{
    int64_t value = 0;
    memcpy(&value, bytes + offset, sizeof(value));
    return value;
}

static void each_message_of_a_datagram_is_stamped_where_it_has_room(void)
{
    uint8_t datagram[256] = {0};
    /* A message of 24 bytes, the middle of one, one of 8 bytes, and the header of a padding. */
    const apy_frame_t frames[] = {
        receiver_rig_frame(56, 0xC0, APY_FRAME_DATA, 0), receiver_rig_frame(64, 0x00, APY_FRAME_DATA, 64),
        receiver_rig_frame(40, 0x80, APY_FRAME_DATA, 128), receiver_rig_frame(64, 0xC0, APY_FRAME_PAD, 192)};
    for (int i = 0; i < 4; i++) {
        memcpy(datagram + (size_t)i * 64, &frames[i], sizeof(frames[i]));
    }
    apy_stamp_received(datagram, 224, APY_TIMESTAMP_RESERVED, 8, 12345);
    CHECK(at(datagram, 24) > LOW);
    CHECK_EQ(at(datagram, 32 + 8), 12345);
    CHECK_EQ(at(datagram, 32), 0);
    CHECK_EQ(at(datagram, 32 + 16), 0);
    CHECK_EQ(at(datagram, 64 + 24), 0); /* no beginning of a message */
    CHECK_EQ(at(datagram, 64 + 32 + 8), 0);
    CHECK(at(datagram, 128 + 24) > LOW);
    CHECK_EQ(at(datagram, 128 + 32), 0); /* the payload ends before byte 16 */
    CHECK_EQ(at(datagram, 128 + 32 + 8), 0);
    CHECK_EQ(at(datagram, 192 + 24), 0);

    /* At the very end of the payload there is just room. */
    apy_stamp_received(datagram, 224, 16, APY_TIMESTAMP_NONE, 0);
    CHECK(at(datagram, 32 + 16) > LOW);
    CHECK_EQ(at(datagram, 32 + 8), 12345);
}

static void both_clocks_reach_the_log(void)
{
    receiver_rig_t *r = receiver_rig_prepare();
    r->channel.channel_rcv_timestamp_offset = 0;
    r->channel.media_rcv_timestamp_offset = APY_TIMESTAMP_RESERVED;
    receiver_rig_start(r);
    receiver_rig_image(r);
    const int64_t before_ns = apy_epoch_ns();
    receiver_rig_data(r, 0, 64);
    const int64_t after_ns = apy_epoch_ns();
    const uint8_t *frame = (const uint8_t *)receiver_rig_at(r, 0);
    CHECK(before_ns <= at(frame, 24) && at(frame, 24) <= at(frame, 32) && at(frame, 32) <= after_ns);
    receiver_rig_close(r);
}

static void without_asking_nothing_is_touched(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_image(r);
    receiver_rig_data(r, 32, 64);
    const uint8_t *frame = (const uint8_t *)receiver_rig_at(r, 32);
    CHECK_EQ(at(frame, 24), 0);
    CHECK_EQ(at(frame, 32), INT64_C(0x0101010101010101));
    receiver_rig_close(r);
}

int main(void)
{
    RUN(each_message_of_a_datagram_is_stamped_where_it_has_room);
    RUN(both_clocks_reach_the_log);
    RUN(without_asking_nothing_is_touched);
    return 0;
}
