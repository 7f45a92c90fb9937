/* What a publication puts on the wire, and how it takes what a raw receiver answers: bytes against the captures. */

#include "sender_rig.h"

static const char *const setup_bytes = "28 00 00 00  00  00  05 00 | 00 00 00 00 | 34 12 00 00 | e9 03 00 00"
                                       "07 00 00 00 | 07 00 00 00 | 00 00 01 00 | 80 05 00 00 | 00 00 00 00";
static const char *const heartbeat_at_0 =
    "00 00 00 00 00 c0 01 00 | 00 00 00 00 | 34 12 00 00 | e9 03 00 00 | 07 00 00 00 | 00 00 00 00 00 00 00 00";

static const apy_frame_t *frame_of(const sender_rig_t *s, int offset)
{
    return (const apy_frame_t *)(const void *)(s->datagram + offset);
}

/* --- alone --- */

static void setups_go_out_at_once_and_every_100_ms_and_nothing_else(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_cycle(s);
    rig_expect(s->datagram, sender_rig_take(s), setup_bytes);
    sender_rig_step(s, 100 * RIG_MS); /* not before more than 100 ms */
    CHECK_EQ(sender_rig_take(s), -1);
    for (int i = 0; i < 20; i++) {
        sender_rig_step(s, 1);
        sender_rig_step(s, 0);
        rig_expect(s->datagram, sender_rig_take(s), setup_bytes);
        CHECK_EQ(sender_rig_take(s), -1);
        rig_advance(s->rig, 100 * RIG_MS);
    }
    CHECK_EQ(sender_rig_count(s, APY_SC_HEARTBEATS_SENT), 0);
    CHECK_EQ(s->log.meta->is_connected, 0);
    CHECK_EQ(s->pub_lmt, 0);
    sender_rig_close(s);
}

/* --- connected --- */

static void the_captured_status_message_connects_and_stops_the_setups(void)
{
    sender_rig_t *s = sender_rig_open();
    uint8_t sm[64];
    const size_t length = rig_hex("24 00 00 00 00 00 03 00 | 34 12 00 00 | e9 03 00 00 | 07 00 00 00 | 00 00 00 00"
                                  "00 80 00 00 | 78 3e ed ab da 33 2f bb",
                                  sm);
    sender_rig_cycle(s);
    rig_give(s->receiver, &s->sender_address, sm, length);
    sender_rig_cycle(s);
    CHECK_EQ(s->log.meta->is_connected, 1);
    CHECK_EQ(s->snd_lmt, 32768);
    CHECK_EQ(s->pub_lmt, TERM_LENGTH / 2);
    CHECK_EQ(sender_rig_count(s, APY_SC_SMS_RECEIVED), 1);
    rig_drain(s->receiver);
    sender_rig_step(s, 101 * RIG_MS);
    rig_expect(s->datagram, sender_rig_take(s), heartbeat_at_0);
    CHECK_EQ(sender_rig_take(s), -1);
    CHECK_EQ(sender_rig_count(s, APY_SC_HEARTBEATS_SENT), 1);
    sender_rig_close(s);
}

static void a_message_is_one_datagram_padded_to_32(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    CHECK_EQ(sender_rig_offer(s, "Hello Aeron!", 12), 64);
    sender_rig_cycle(s);
    rig_expect(s->datagram, sender_rig_take(s),
               "2c 00 00 00 00 c0 01 00 | 00 00 00 00 | 34 12 00 00 | e9 03 00 00 | 07 00 00 00"
               "00 00 00 00 00 00 00 00 | 48 65 6c 6c 6f 20 41 65 72 6f 6e 21"
               "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00");
    CHECK_EQ(sender_rig_take(s), -1);
    CHECK_EQ(s->snd_pos, 64);
    CHECK_EQ(sender_rig_count(s, APY_SC_BYTES_SENT), 64);
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(sender_rig_take(s), 32);
    CHECK_EQ(frame_of(s, 0)->length, 0);
    CHECK_EQ(frame_of(s, 0)->term_offset, 64);
    CHECK_EQ(frame_of(s, 0)->reserved_value, 0);
    sender_rig_close(s);
}

static void small_messages_share_a_datagram(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    for (int i = 0; i < 3; i++) {
        CHECK(sender_rig_offer(s, "sixsix", 6) > 0);
    }
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_take(s), 192);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(frame_of(s, 64 * i)->length, 38);
        CHECK_EQ(frame_of(s, 64 * i)->term_offset, 64 * i);
    }
    CHECK_EQ(sender_rig_take(s), -1);
    sender_rig_close(s);
}

static void a_long_message_goes_in_fragments_of_the_mtu(void)
{
    sender_rig_t *s = sender_rig_open();
    static uint8_t message[3000];
    sender_rig_connect(s, 32768);
    CHECK(sender_rig_offer(s, message, sizeof(message)) > 0);
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_take(s), 1408);
    CHECK_EQ(frame_of(s, 0)->flags, 0x80);
    CHECK_EQ(sender_rig_take(s), 1408);
    CHECK_EQ(frame_of(s, 0)->flags, 0x00);
    CHECK_EQ(sender_rig_take(s), 288);
    CHECK_EQ(frame_of(s, 0)->flags, 0x40);
    CHECK_EQ(frame_of(s, 0)->length, 280);
    CHECK_EQ(sender_rig_take(s), -1);
    sender_rig_close(s);
}

static void at_the_terms_end_only_the_paddings_header_travels(void)
{
    sender_rig_t *s = sender_rig_open();
    static uint8_t message[1024];
    int64_t position = 0;
    sender_rig_connect(s, 32768);
    /* 62 frames of 1056 bytes leave 64 bytes of the term. */
    for (int i = 0; i < 62; i++) {
        position = sender_rig_offer(s, message, sizeof(message));
        CHECK_EQ(position, 1056 * (i + 1));
        sender_rig_cycle(s);
        sender_rig_sm(s, 0, TERM, (int32_t)position, 32768);
        rig_drain(s->receiver);
    }
    CHECK_EQ(position, 65472);
    CHECK_EQ(sender_rig_offer(s, message, sizeof(message)), APY_ADMIN_ACTION);
    CHECK_EQ(sender_rig_offer(s, message, sizeof(message)), TERM_LENGTH + 1056);
    sender_rig_cycle(s);
    rig_expect(s->datagram, sender_rig_take(s),
               "40 00 00 00 00 c0 00 00 | c0 ff 00 00 | 34 12 00 00 | e9 03 00 00 | 07 00 00 00 |"
               "00 00 00 00 00 00 00 00");
    CHECK_EQ(s->snd_pos, TERM_LENGTH);
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_take(s), 1056);
    CHECK_EQ(frame_of(s, 0)->term_offset, 0);
    CHECK_EQ(frame_of(s, 0)->term_id, TERM + 1);
    sender_rig_close(s);
}

static void a_datagram_may_end_with_padding(void)
{
    sender_rig_t *s = sender_rig_open();
    static uint8_t message[1024];
    sender_rig_connect(s, 32768);
    for (int i = 0; i < 61; i++) {
        CHECK(sender_rig_offer(s, message, sizeof(message)) > 0);
        sender_rig_cycle(s);
        sender_rig_sm(s, 0, TERM, 1056 * (i + 1), 32768);
        rig_drain(s->receiver);
    }
    CHECK_EQ(sender_rig_offer(s, message, sizeof(message)), 65472);
    CHECK_EQ(sender_rig_offer(s, message, sizeof(message)), APY_ADMIN_ACTION);
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_take(s), 1088);
    CHECK_EQ(frame_of(s, 1056)->type, APY_FRAME_PAD);
    CHECK_EQ(frame_of(s, 1056)->length, 64);
    CHECK_EQ(s->snd_pos, TERM_LENGTH);
    sender_rig_close(s);
}

/* --- flow control --- */

static void whole_frames_go_out_as_far_as_the_window_reaches(void)
{
    sender_rig_t *s = sender_rig_open();
    static uint8_t message[1024];
    int count = 0;
    sender_rig_connect(s, 4096);
    for (int i = 0; i < 8; i++) {
        CHECK(sender_rig_offer(s, message, sizeof(message)) > 0);
    }
    for (int i = 0; i < 10; i++) {
        sender_rig_cycle(s);
    }
    while (sender_rig_take(s) >= 0) {
        CHECK_EQ(frame_of(s, 0)->length, 1056);
        count++;
    }
    CHECK_EQ(count, 3);
    CHECK_EQ(s->snd_pos, 3168);
    CHECK_EQ(s->snd_bpe, 1);
    CHECK_EQ(sender_rig_count(s, APY_SC_SENDER_FLOW_CONTROL_LIMITS), 1);
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(sender_rig_take(s), 32);
    CHECK_EQ(frame_of(s, 0)->term_offset, 3168);
    sender_rig_close(s);
}

static void no_window_lets_only_heartbeats_out(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 0);
    CHECK_EQ(s->log.meta->is_connected, 1);
    CHECK(sender_rig_offer(s, "waits", 5) > 0);
    sender_rig_step(s, 101 * RIG_MS);
    rig_expect(s->datagram, sender_rig_take(s), heartbeat_at_0);
    CHECK_EQ(sender_rig_take(s), -1);
    CHECK_EQ(s->snd_pos, 0);
    sender_rig_close(s);
}

static void positions_far_from_the_senders_are_rejected(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 1024);
    const int64_t limit = s->snd_lmt;
    sender_rig_sm(s, 0, TERM, 32800, 32768); /* more than half a term ahead */
    CHECK_EQ(sender_rig_count(s, APY_SC_SMS_REJECTED), 1);
    sender_rig_sm(s, 0, TERM - 1, 32736, 32768); /* more than half a term behind */
    CHECK_EQ(sender_rig_count(s, APY_SC_SMS_REJECTED), 2);
    CHECK_EQ(s->snd_lmt, limit);
    sender_rig_sm(s, 0, TERM, 32768, 0);
    sender_rig_sm(s, 0, TERM - 1, 32768, 0);
    CHECK_EQ(sender_rig_count(s, APY_SC_SMS_REJECTED), 2);
    CHECK_EQ(s->snd_lmt, 32768);
    sender_rig_close(s);
}

static void malformed_control_frames_are_counted_and_without_effect(void)
{
    sender_rig_t *s = sender_rig_open();
    const apy_sm_t good = {sizeof(good), 0, 0, APY_FRAME_SM, SESSION, STREAM, TERM, 0, 32768, 9};
    apy_sm_t bad[7] = {good, good, good, good, good, good, good};
    bad[0].receiver_window = 32769;
    bad[1].receiver_window = -1;
    bad[2].consumption_term_offset = 16;
    bad[3].consumption_term_offset = TERM_LENGTH;
    bad[4].version = 1;
    bad[5].type = 12;
    bad[6].length = -1;
    sender_rig_cycle(s);
    for (int i = 0; i < 7; i++) {
        rig_give(s->receiver, &s->sender_address, &bad[i], sizeof(bad[i]));
        sender_rig_cycle(s);
        CHECK_EQ(sender_rig_count(s, APY_SC_INVALID_PACKETS), i + 1);
    }
    rig_give(s->receiver, &s->sender_address, &good, 7); /* not even a header */
    rig_give(s->receiver, &s->sender_address, &good, 35);
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_count(s, APY_SC_INVALID_PACKETS), 9);
    CHECK_EQ(s->snd_lmt, 0);
    CHECK_EQ(s->log.meta->is_connected, 0);

    uint8_t longer[48] = {0};
    apy_sm_t tagged = good;
    tagged.length = 44;
    memcpy(longer, &tagged, sizeof(tagged));
    rig_give(s->receiver, &s->sender_address, longer, 44);
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_lmt, 32768);
    sender_rig_close(s);
}

static void an_odd_optional_length_counts_as_untagged(void)
{
    sender_rig_t *s = sender_rig_open();
    uint8_t bytes[40] = {0};
    const apy_sm_t sm = {40, 0, 0, APY_FRAME_SM, SESSION, STREAM, TERM, 0, 32768, 9};
    sender_rig_cycle(s);
    memcpy(bytes, &sm, sizeof(sm));
    rig_give(s->receiver, &s->sender_address, bytes, sizeof(bytes));
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_lmt, 32768);
    sender_rig_close(s);
}

static void other_streams_sessions_and_senders_are_not_heard(void)
{
    sender_rig_t *s = sender_rig_open();
    struct sockaddr_storage other_address;
    const int other = rig_socket(&other_address);
    apy_sm_t sm = {sizeof(sm), 0, 0, APY_FRAME_SM, SESSION, STREAM, TERM, 0, 32768, 9};
    sender_rig_cycle(s);
    rig_give(other, &s->sender_address, &sm, sizeof(sm)); /* the socket is connected */
    sm.session_id++;
    rig_give(s->receiver, &s->sender_address, &sm, sizeof(sm));
    sm.session_id--;
    sm.stream_id++;
    rig_give(s->receiver, &s->sender_address, &sm, sizeof(sm));
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_count(s, APY_SC_SMS_RECEIVED), 2); /* well-formed both */
    CHECK_EQ(s->snd_lmt, 0);
    close(other);
    sender_rig_close(s);
}

/* --- SETUPs on request --- */

static void a_setup_is_sent_on_request(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    CHECK(sender_rig_offer(s, "moved", 5) > 0);
    sender_rig_step(s, 200 * RIG_MS);
    rig_drain(s->receiver);
    sender_rig_sm(s, APY_FLAG_SM_SEND_SETUP, 0, 0, 0);
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_take(s), 40);
    const apy_setup_t *setup = (const apy_setup_t *)(const void *)s->datagram;
    CHECK_EQ(setup->term_offset, 64);
    CHECK_EQ(setup->active_term_id, TERM);
    sender_rig_step(s, 300 * RIG_MS);
    while (sender_rig_take(s) >= 0) {
        CHECK(frame_of(s, 0)->type != APY_FRAME_SETUP); /* a receiver is there: once is enough */
    }
    sender_rig_close(s);
}

/* --- NAKs --- */

static void send_frames(sender_rig_t *s, int count)
{
    static uint8_t message[1024];
    for (int i = 0; i < count; i++) {
        const int64_t position = sender_rig_offer(s, message, sizeof(message));
        CHECK(position > 0);
        sender_rig_cycle(s);
        sender_rig_sm(s, 0, TERM + (int32_t)(position / TERM_LENGTH), (int32_t)(position % TERM_LENGTH), 32768);
    }
    rig_drain(s->receiver);
}

static void a_lost_range_is_resent_exactly_and_once_in_10_ms(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    send_frames(s, 10);
    sender_rig_nak(s, TERM, 1056, 2112);
    for (int i = 1; i <= 2; i++) {
        CHECK_EQ(sender_rig_take_data(s), 1056);
        CHECK_EQ(frame_of(s, 0)->term_offset, 1056 * i);
    }
    CHECK_EQ(sender_rig_take_data(s), -1);
    CHECK_EQ(sender_rig_count(s, APY_SC_RETRANSMITS_SENT), 1);
    CHECK_EQ(sender_rig_count(s, APY_SC_RETRANSMITTED_BYTES), 2112);
    CHECK_EQ(s->naks_received, 1);

    rig_advance(s->rig, 9 * RIG_MS);
    sender_rig_nak(s, TERM, 1056, 2112);
    CHECK_EQ(sender_rig_take_data(s), -1);
    CHECK_EQ(s->naks_received, 2);
    sender_rig_step(s, 2 * RIG_MS);
    sender_rig_nak(s, TERM, 1056, 2112);
    CHECK_EQ(sender_rig_take_data(s), 1056);
    CHECK_EQ(sender_rig_count(s, APY_SC_RETRANSMITS_SENT), 2);
    sender_rig_close(s);
}

static void a_long_range_is_resent_whole_and_in_order(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    send_frames(s, 30);
    sender_rig_nak(s, TERM, 1056, 28 * 1056);
    for (int i = 1; i <= 28; i++) {
        CHECK_EQ(sender_rig_take_data(s), 1056);
        CHECK_EQ(frame_of(s, 0)->term_offset, 1056 * i);
    }
    CHECK_EQ(sender_rig_take_data(s), -1);
    CHECK_EQ(sender_rig_count(s, APY_SC_RETRANSMITTED_BYTES), 28 * 1056);
    sender_rig_close(s);
}

static void what_is_too_old_or_not_sent_yet_is_not_resent(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    send_frames(s, 50); /* 52800: the floor is 52800 - 32768 - 8192 = 11840 */
    sender_rig_nak(s, TERM, 11616, 1056);
    CHECK_EQ(sender_rig_take_data(s), -1);
    sender_rig_nak(s, TERM, 12672, 1056);
    CHECK_EQ(sender_rig_take_data(s), 1056);
    sender_rig_nak(s, TERM, 52800, 1056);
    CHECK_EQ(sender_rig_take_data(s), -1);
    sender_rig_nak(s, TERM - 1, 0, 1056);
    sender_rig_nak(s, TERM + 1, 0, 1056);
    CHECK_EQ(sender_rig_take_data(s), -1);
    sender_rig_nak(s, TERM, 51744, 8192); /* crosses what was sent: the one whole frame below it */
    CHECK_EQ(sender_rig_take_data(s), 1056);
    CHECK_EQ(sender_rig_take_data(s), -1);
    CHECK_EQ(sender_rig_count(s, APY_SC_RETRANSMITS_SENT), 2);
    sender_rig_close(s);
}

static void a_range_that_is_none_is_refused(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    send_frames(s, 3);
    sender_rig_nak(s, TERM, -32, 64);
    sender_rig_nak(s, TERM, 16, 64);
    sender_rig_nak(s, TERM, TERM_LENGTH, 0);
    sender_rig_nak(s, TERM, 1056, -1);
    sender_rig_nak(s, TERM, 1056, TERM_LENGTH);
    sender_rig_nak(s, TERM, 1056, INT32_MAX);
    CHECK_EQ(sender_rig_count(s, APY_SC_INVALID_PACKETS), 6);
    CHECK_EQ(s->naks_received, 0);
    sender_rig_nak(s, TERM, 1056, 0);
    sender_rig_nak(s, TERM, 1088, 1056); /* no frame starts there */
    CHECK_EQ(sender_rig_take_data(s), -1);
    sender_rig_close(s);
}

/* --- round trips --- */

static void a_round_trip_request_is_echoed(void)
{
    sender_rig_t *s = sender_rig_open();
    apy_rttm_t request = {sizeof(request), 0, APY_FLAG_RTTM_REPLY, APY_FRAME_RTTM, SESSION, STREAM, 0xf7c33a7d0e, 5, 9};
    sender_rig_connect(s, 32768);
    rig_give(s->receiver, &s->sender_address, &request, sizeof(request));
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_take(s), 40);
    apy_rttm_t reply;
    memcpy(&reply, s->datagram, sizeof(reply));
    CHECK_EQ(reply.flags, 0);
    CHECK_EQ(reply.echo_timestamp, 0xf7c33a7d0e);
    CHECK_EQ(reply.reception_delta, 0);
    CHECK_EQ(reply.receiver_id, 9);
    request.flags = 0;
    rig_give(s->receiver, &s->sender_address, &request, sizeof(request));
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_take(s), -1);
    sender_rig_close(s);
}

int main(void)
{
    RUN(setups_go_out_at_once_and_every_100_ms_and_nothing_else);
    RUN(the_captured_status_message_connects_and_stops_the_setups);
    RUN(a_message_is_one_datagram_padded_to_32);
    RUN(small_messages_share_a_datagram);
    RUN(a_long_message_goes_in_fragments_of_the_mtu);
    RUN(at_the_terms_end_only_the_paddings_header_travels);
    RUN(a_datagram_may_end_with_padding);
    RUN(whole_frames_go_out_as_far_as_the_window_reaches);
    RUN(no_window_lets_only_heartbeats_out);
    RUN(positions_far_from_the_senders_are_rejected);
    RUN(malformed_control_frames_are_counted_and_without_effect);
    RUN(an_odd_optional_length_counts_as_untagged);
    RUN(other_streams_sessions_and_senders_are_not_heard);
    RUN(a_setup_is_sent_on_request);
    RUN(a_lost_range_is_resent_exactly_and_once_in_10_ms);
    RUN(a_long_range_is_resent_whole_and_in_order);
    RUN(what_is_too_old_or_not_sent_yet_is_not_resent);
    RUN(a_range_that_is_none_is_refused);
    RUN(a_round_trip_request_is_echoed);
    return 0;
}
