/* The handshake that makes an image, and every frame that is refused on the way: a raw publisher sends bytes. */

#include "receiver_rig.h"

static const char *const captured_setup = "28 00 00 00  00  00  05 00 | 00 00 00 00 | 34 12 00 00 | e9 03 00 00"
                                          "07 00 00 00 | 07 00 00 00 | 00 00 01 00 | 80 05 00 00 | 00 00 00 00";
static const char *const captured_sm = "24 00 00 00 00 00 03 00 | 34 12 00 00 | e9 03 00 00 | 07 00 00 00 | 00 00 00 00"
                                       "00 80 00 00 | 78 3e ed ab da 33 2f bb";

static void a_setup_asks_the_conductor_for_an_image_once(void)
{
    receiver_rig_t *r = receiver_rig_open();
    uint8_t setup[64];
    const size_t length = rig_hex(captured_setup, setup);
    receiver_rig_give(r, setup, length);
    receiver_rig_give(r, setup, length);
    const rig_record_t record = rig_inbox(r->rig);
    apy_inbox_setup_t asked;
    CHECK_EQ(record.type, APY_INBOX_SETUP);
    memcpy(&asked, record.bytes, sizeof(asked));
    CHECK(asked.endpoint == r->endpoint);
    CHECK_EQ(asked.endpoint_id, 6);
    CHECK_EQ(asked.setup.initial_term_id, 7);
    CHECK_EQ(asked.setup.term_length, 65536);
    CHECK_EQ(asked.setup.mtu, 1408);
    CHECK(apy_address_equal(&asked.source, &r->publisher_address));
    CHECK(apy_address_equal(&asked.control, &r->publisher_address));
    CHECK_EQ(rig_inbox(r->rig).type, 0);
    CHECK_EQ(receiver_rig_take(r), -1);

    /* Refused, so the next one asks again. */
    CHECK_EQ(apy_receiver_refuse_image(r->receiver, r->endpoint, STREAM, SESSION), APY_OK);
    receiver_rig_cycle(r);
    receiver_rig_give(r, setup, length);
    CHECK_EQ(rig_inbox(r->rig).type, APY_INBOX_SETUP);
    receiver_rig_close(r);
}

static void the_first_status_message_of_an_image_is_the_captured_one(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_image(r);
    rig_expect(r->datagram, receiver_rig_take(r), captured_sm);
    CHECK_EQ(receiver_rig_take(r), -1);
    CHECK_EQ(r->log.meta->active_transport_count, 1);
    receiver_rig_step(r, 200 * RIG_MS);
    CHECK_EQ(receiver_rig_take(r), -1);
    receiver_rig_step(r, 1);
    rig_expect(r->datagram, receiver_rig_take(r), captured_sm);
    CHECK_EQ(receiver_rig_count(r, APY_SC_SMS_SENT), 2);
    receiver_rig_close(r);
}

static void a_group_tag_makes_it_44_bytes(void)
{
    receiver_rig_t *r = receiver_rig_prepare();
    r->channel.has_group_tag = true;
    r->channel.group_tag = 99;
    receiver_rig_start(r);
    receiver_rig_image(r);
    rig_expect(r->datagram, receiver_rig_take(r),
               "2c 00 00 00 00 00 03 00 | 34 12 00 00 | e9 03 00 00 | 07 00 00 00 | 00 00 00 00"
               "00 80 00 00 | 78 3e ed ab da 33 2f bb | 63 00 00 00 00 00 00 00");
    receiver_rig_close(r);
}

static void data_of_an_unknown_session_elicits_a_setup_at_most_once_a_second(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_data(r, 0, 12);
    receiver_rig_data(r, 64, 12);
    rig_expect(r->datagram, receiver_rig_take(r),
               "24 00 00 00 00 80 03 00 | 34 12 00 00 | e9 03 00 00 | 00 00 00 00 | 00 00 00 00"
               "00 00 00 00 | 78 3e ed ab da 33 2f bb");
    CHECK_EQ(receiver_rig_take(r), -1);
    receiver_rig_step(r, RIG_SECOND);
    receiver_rig_data(r, 128, 12);
    CHECK_EQ(receiver_rig_take(r), -1);
    receiver_rig_step(r, 1);
    receiver_rig_data(r, 192, 12);
    CHECK_EQ(receiver_rig_take(r), 36);

    /* The end of a stream elicits none. */
    receiver_rig_step(r, 2 * RIG_SECOND);
    receiver_rig_heartbeat(r, 0xE0, 256);
    CHECK_EQ(receiver_rig_take(r), -1);
    receiver_rig_close(r);
}

static void sessions_that_are_not_wanted_are_never_answered(void)
{
    receiver_rig_t *r = receiver_rig_open();
    apy_setup_t setup = receiver_rig_setup();
    CHECK_EQ(apy_receiver_remove_stream(r->receiver, r->endpoint, STREAM), APY_OK);
    CHECK_EQ(apy_receiver_add_session(r->receiver, r->endpoint, STREAM, 42), APY_OK);
    receiver_rig_data(r, 0, 12);
    receiver_rig_give(r, &setup, sizeof(setup));
    CHECK_EQ(receiver_rig_take(r), -1);
    CHECK_EQ(rig_inbox(r->rig).type, 0);
    setup.session_id = 42;
    receiver_rig_give(r, &setup, sizeof(setup));
    CHECK_EQ(rig_inbox(r->rig).type, APY_INBOX_SETUP);
    receiver_rig_close(r);
}

static void setups_with_impossible_values_are_counted_and_ignored(void)
{
    receiver_rig_t *r = receiver_rig_open();
    const apy_setup_t good = receiver_rig_setup();
    apy_setup_t bad[10];
    for (int i = 0; i < 10; i++) {
        bad[i] = good;
    }
    bad[0].term_offset = 16;
    bad[1].term_offset = -32;
    bad[2].term_offset = TERM_LENGTH;
    bad[3].term_length = 65537;
    bad[4].term_length = 32768;
    bad[5].term_length = INT32_MIN;
    bad[6].mtu = 0;
    bad[7].mtu = 65536;
    bad[8].mtu = 1400;
    bad[9].active_term_id = TERM - 1;
    for (int i = 0; i < 10; i++) {
        receiver_rig_give(r, &bad[i], sizeof(bad[i]));
        CHECK_EQ(receiver_rig_count(r, APY_SC_INVALID_PACKETS), i + 1);
    }
    CHECK_EQ(rig_inbox(r->rig).type, 0);
    receiver_rig_give(r, &good, sizeof(good));
    CHECK_EQ(rig_inbox(r->rig).type, APY_INBOX_SETUP);
    receiver_rig_close(r);
}

static void malformed_datagrams_are_counted_and_frames_for_senders_are_not(void)
{
    receiver_rig_t *r = receiver_rig_open();
    uint8_t bytes[64] = {0};
    apy_frame_t frame = receiver_rig_frame(32, 0xC0, APY_FRAME_DATA, 0);
    memcpy(bytes, &frame, sizeof(frame));
    receiver_rig_give(r, bytes, 7);
    receiver_rig_give(r, bytes, 31);
    receiver_rig_give(r, bytes, 33); /* not a multiple of 32 */
    frame.version = 1;
    receiver_rig_give(r, &frame, sizeof(frame));
    frame.version = 0;
    frame.length = -32;
    receiver_rig_give(r, &frame, sizeof(frame));
    frame.length = 32;
    frame.type = 0x0C;
    receiver_rig_give(r, &frame, sizeof(frame));
    CHECK_EQ(receiver_rig_count(r, APY_SC_INVALID_PACKETS), 6);

    const apy_nak_t nak = {sizeof(nak), 0, 0, APY_FRAME_NAK, SESSION, STREAM, TERM, 0, 32};
    receiver_rig_give(r, &nak, sizeof(nak));
    CHECK_EQ(receiver_rig_count(r, APY_SC_INVALID_PACKETS), 6);
    CHECK_EQ(receiver_rig_take(r), -1);
    receiver_rig_close(r);
}

static void a_full_inbox_lets_the_next_setup_try_again(void)
{
    receiver_rig_t *r = receiver_rig_open();
    const apy_setup_t setup = receiver_rig_setup();
    uint8_t filler[1000] = {0};
    while (apy_mpsc_ring_write(&r->rig->inbox, 99, filler, sizeof(filler)) == APY_OK) {
    }
    receiver_rig_give(r, &setup, sizeof(setup));
    CHECK_EQ(receiver_rig_count(r, APY_SC_CONDUCTOR_PROXY_FAILS), 1);
    while (rig_inbox(r->rig).type == 99) {
    }
    receiver_rig_give(r, &setup, sizeof(setup));
    CHECK_EQ(rig_inbox(r->rig).type, APY_INBOX_SETUP);
    receiver_rig_close(r);
}

static void a_stream_at_its_session_limit_logs_an_error_and_takes_no_more(void)
{
    receiver_rig_t *r = receiver_rig_open();
    apy_setup_t setup = receiver_rig_setup();
    r->rig->context.config.stream_session_limit = 1;
    receiver_rig_image(r);
    setup.session_id++;
    receiver_rig_give(r, &setup, sizeof(setup));
    CHECK_EQ(rig_inbox(r->rig).type, 0);
    CHECK_EQ(receiver_rig_count(r, APY_SC_ERRORS), 1);
    int64_t offset = 0;
    apy_error_record_t record;
    CHECK_EQ(apy_error_log_next(r->rig->error_memory, sizeof(r->rig->error_memory), &offset, &record), 1);
    CHECK(memmem(record.text, (size_t)record.text_length, "exceeded session limit, stream-id=1001", 38) != NULL);

    /* The publisher that is kept out asks on: that is news every five seconds. The image's own SETUPs are none. */
    const apy_setup_t known = receiver_rig_setup();
    for (int i = 0; i < 49; i++) {
        receiver_rig_step(r, 100 * RIG_MS);
        receiver_rig_give(r, &setup, sizeof(setup));
        receiver_rig_give(r, &known, sizeof(known));
    }
    CHECK_EQ(receiver_rig_count(r, APY_SC_ERRORS), 1);
    receiver_rig_step(r, 100 * RIG_MS);
    receiver_rig_give(r, &setup, sizeof(setup));
    CHECK_EQ(receiver_rig_count(r, APY_SC_ERRORS), 2);
    receiver_rig_close(r);
}

static void unknown_sessions_cannot_make_it_ask_without_end(void)
{
    receiver_rig_t *r = receiver_rig_open();
    uint8_t heartbeat[32];
    apy_frame_t frame = receiver_rig_frame(0, 0xC0, APY_FRAME_DATA, 0);
    receiver_rig_cycle(r);
    for (int i = 0; i < 2000; i++) {
        frame.session_id = i;
        memcpy(heartbeat, &frame, sizeof(frame));
        const apy_datagram_t datagram = {heartbeat, sizeof(heartbeat), &r->publisher_address, 0};
        apy_receiver_on_datagram(r->receiver, r->destination, &datagram);
    }
    CHECK_EQ(receiver_rig_count(r, APY_SC_SMS_SENT), 256);
    receiver_rig_close(r);
}

static void round_trips_are_answered_for_our_own_id_only(void)
{
    receiver_rig_t *r = receiver_rig_open();
    apy_rttm_t request = {sizeof(request), 0, APY_FLAG_RTTM_REPLY, APY_FRAME_RTTM, SESSION, STREAM, 123456789, 7, 0};
    receiver_rig_give(r, &request, sizeof(request));
    CHECK_EQ(receiver_rig_take(r), -1); /* no image */
    receiver_rig_image(r);
    rig_drain(r->publisher);
    receiver_rig_give(r, &request, sizeof(request));
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_RTTM), 40);
    apy_rttm_t reply;
    memcpy(&reply, r->datagram, sizeof(reply));
    CHECK_EQ(reply.flags, 0);
    CHECK_EQ(reply.echo_timestamp, 123456789);
    CHECK_EQ(reply.reception_delta, 0);
    CHECK_EQ(reply.receiver_id, (int64_t)UINT64_C(0xbb2f33daabed3e78));
    request.receiver_id = 5;
    receiver_rig_give(r, &request, sizeof(request));
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_RTTM), -1);
    receiver_rig_close(r);
}

static void what_is_removed_is_answered(void)
{
    receiver_rig_t *r = receiver_rig_open();
    apy_inbox_released_t released;
    receiver_rig_image(r);
    CHECK_EQ(apy_receiver_remove_image(r->receiver, r->endpoint, r->image), APY_OK);
    CHECK_EQ(apy_receiver_remove_endpoint(r->receiver, r->endpoint), APY_OK);
    CHECK_EQ(r->status, 2);
    receiver_rig_cycle(r);
    rig_record_t record = rig_inbox(r->rig);
    CHECK_EQ(record.type, APY_INBOX_IMAGE_RELEASED);
    memcpy(&released, record.bytes, sizeof(released));
    CHECK(released.resource == r->image);
    CHECK_EQ(released.id, 88);
    record = rig_inbox(r->rig);
    CHECK_EQ(record.type, APY_INBOX_RECEIVE_ENDPOINT_RELEASED);
    memcpy(&released, record.bytes, sizeof(released));
    CHECK_EQ(released.id, 6);
    rig_drain(r->publisher);
    receiver_rig_data(r, 0, 12);
    receiver_rig_step(r, RIG_SECOND);
    CHECK_EQ(receiver_rig_take(r), -1);
    receiver_rig_close(r);
}

int main(void)
{
    RUN(a_setup_asks_the_conductor_for_an_image_once);
    RUN(the_first_status_message_of_an_image_is_the_captured_one);
    RUN(a_group_tag_makes_it_44_bytes);
    RUN(data_of_an_unknown_session_elicits_a_setup_at_most_once_a_second);
    RUN(sessions_that_are_not_wanted_are_never_answered);
    RUN(setups_with_impossible_values_are_counted_and_ignored);
    RUN(malformed_datagrams_are_counted_and_frames_for_senders_are_not);
    RUN(a_full_inbox_lets_the_next_setup_try_again);
    RUN(a_stream_at_its_session_limit_logs_an_error_and_takes_no_more);
    RUN(unknown_sessions_cannot_make_it_ask_without_end);
    RUN(round_trips_are_answered_for_our_own_id_only);
    RUN(what_is_removed_is_answered);
    return 0;
}
