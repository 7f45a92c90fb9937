/* Time stamps that the sender writes into frames as they go out. */

#include "sender_rig.h"

static sender_rig_t *open_stamping(int32_t offset)
{
    sender_rig_t *s = sender_rig_start();
    apy_udp_channel_t channel = sender_rig_channel(s);
    channel.channel_snd_timestamp_offset = offset;
    sender_rig_open_endpoint(s, &channel);
    const apy_network_publication_params_t params = sender_rig_params(s);
    sender_rig_open_with(&params, s);
    sender_rig_connect(s, 32768);
    return s;
}

static bool is_recent(const uint8_t *at, int64_t since_ns)
{
    int64_t stamp;
    memcpy(&stamp, at, sizeof(stamp));
    return stamp >= since_ns && stamp <= apy_epoch_ns();
}

static void the_first_frame_of_each_datagram_says_when_it_was_sent(void)
{
    const int64_t start_ns = apy_epoch_ns();
    sender_rig_t *s = open_stamping(APY_TIMESTAMP_RESERVED);
    for (int i = 0; i < 3; i++) {
        CHECK(sender_rig_offer(s, "abcdef", 6) > 0);
    }
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_take_data(s), 192);
    CHECK(is_recent(s->datagram + 24, start_ns));
    for (int i = 1; i < 3; i++) {
        CHECK_EQ(((const apy_frame_t *)(const void *)(s->datagram + i * 64))->reserved_value, 0);
    }
    CHECK_EQ(memcmp(s->log.terms[0] + 24, s->datagram + 24, 8), 0); /* the log has it too */

    const int64_t resend_ns = apy_epoch_ns();
    sender_rig_nak(s, TERM, 0, 64);
    CHECK_EQ(sender_rig_take_data(s), 64);
    CHECK(is_recent(s->datagram + 24, resend_ns));
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(sender_rig_take(s), 32); /* heartbeats carry none */
    CHECK_EQ(((const apy_frame_t *)(const void *)s->datagram)->reserved_value, 0);
    sender_rig_close(s);
}

static void a_time_stamp_goes_into_the_payload_only_where_it_fits(void)
{
    const int64_t start_ns = apy_epoch_ns();
    sender_rig_t *s = open_stamping(4);
    CHECK(sender_rig_offer(s, "............", 12) > 0);
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_take_data(s), 64);
    CHECK(is_recent(s->datagram + 36, start_ns));
    CHECK_EQ(memcmp(s->datagram + 32, "....", 4), 0);
    CHECK(sender_rig_offer(s, "...........", 11) > 0);
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_take_data(s), 64);
    CHECK_EQ(memcmp(s->datagram + 32, "...........", 11), 0);
    sender_rig_close(s);
}

int main(void)
{
    RUN(the_first_frame_of_each_datagram_says_when_it_was_sent);
    RUN(a_time_stamp_goes_into_the_payload_only_where_it_fits);
    return 0;
}
