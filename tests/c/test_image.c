/* What an image makes of packets, and what it answers: a raw publisher loses, repeats and ends its stream. */

#include "receiver_rig.h"

static receiver_rig_t *open_with_image(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_image(r);
    rig_drain(r->publisher);
    return r;
}

static void expect_nak(receiver_rig_t *r, int32_t term_id, int32_t offset, int32_t length)
{
    apy_nak_t nak;
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_NAK), 28);
    memcpy(&nak, r->datagram, sizeof(nak));
    CHECK_EQ(nak.length, 28);
    CHECK_EQ(nak.flags, 0);
    CHECK_EQ(nak.session_id, SESSION);
    CHECK_EQ(nak.stream_id, STREAM);
    CHECK_EQ(nak.term_id, term_id);
    CHECK_EQ(nak.term_offset, offset);
    CHECK_EQ(nak.range_length, length);
}

static void packets_are_rebuilt_byte_for_byte(void)
{
    receiver_rig_t *r = open_with_image();
    uint8_t hello[64];
    const size_t length = rig_hex("2c 00 00 00 00 c0 01 00 | 00 00 00 00 | 34 12 00 00 | e9 03 00 00 | 07 00 00 00"
                                  "00 00 00 00 00 00 00 00 | 48 65 6c 6c 6f 20 41 65 72 6f 6e 21"
                                  "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
                                  hello);
    receiver_rig_give(r, hello, length);
    CHECK(memcmp(r->log.terms[0], hello, length) == 0);
    CHECK_EQ(r->rcv_hwm, 64);
    CHECK_EQ(r->rcv_pos, 64);
    receiver_rig_give(r, hello, length); /* again: harmless */
    CHECK_EQ(r->rcv_pos, 64);
    CHECK_EQ(receiver_rig_count(r, APY_SC_BYTES_RECEIVED), 128);
    receiver_rig_close(r);
}

static void a_lost_datagram_is_asked_for_until_it_comes(void)
{
    receiver_rig_t *r = open_with_image();
    receiver_rig_data(r, 0, 1024);
    receiver_rig_data(r, 3168, 1024);
    receiver_rig_cycle(r);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_NAK), -1);
    CHECK_EQ(r->rcv_pos, 1056);
    receiver_rig_step(r, 1000);
    receiver_rig_cycle(r);
    expect_nak(r, TERM, 1056, 2112);
    receiver_rig_step(r, 99000);
    receiver_rig_cycle(r);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_NAK), -1);
    receiver_rig_step(r, 1000);
    receiver_rig_cycle(r);
    expect_nak(r, TERM, 1056, 2112);
    CHECK_EQ(r->naks_sent, 2);
    CHECK_EQ(receiver_rig_count(r, APY_SC_NAKS_SENT), 2);

    receiver_rig_data(r, 2112, 1024);
    receiver_rig_data(r, 1056, 1024);
    CHECK_EQ(r->rcv_pos, 4224);
    receiver_rig_step(r, RIG_MS);
    receiver_rig_cycle(r);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_NAK), -1);

    int64_t offset = 0;
    apy_loss_entry_t entry;
    CHECK_EQ(apy_loss_report_next(r->rig->loss_memory, sizeof(r->rig->loss_memory), &offset, &entry), 1);
    CHECK_EQ(entry.bytes_lost, 2112); /* a retry counts nothing */
    CHECK_EQ(entry.observations, 1);
    CHECK_EQ(entry.session_id, SESSION);
    CHECK_EQ(entry.stream_id, STREAM);
    CHECK_EQ(entry.source_length, 11);
    receiver_rig_close(r);
}

static void a_lost_tail_is_found_by_the_heartbeat(void)
{
    receiver_rig_t *r = open_with_image();
    receiver_rig_data(r, 0, 1024);
    receiver_rig_heartbeat(r, 0xC0, 2112);
    CHECK_EQ(receiver_rig_count(r, APY_SC_HEARTBEATS_RECEIVED), 1);
    CHECK_EQ(r->rcv_hwm, 2112);
    receiver_rig_step(r, 1000);
    receiver_rig_cycle(r);
    expect_nak(r, TERM, 1056, 1056);
    receiver_rig_close(r);
}

static void an_unreliable_stream_fills_the_gap_and_asks_for_nothing(void)
{
    receiver_rig_t *r = receiver_rig_open();
    r->params.reliable = false;
    receiver_rig_image(r);
    rig_drain(r->publisher);
    receiver_rig_data(r, 0, 1024);
    receiver_rig_data(r, 3168, 1024);
    receiver_rig_cycle(r);
    receiver_rig_cycle(r);
    CHECK_EQ(r->rcv_pos, 4224);
    CHECK_EQ(receiver_rig_count(r, APY_SC_LOSS_GAP_FILLS), 1);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_NAK), -1);
    const apy_frame_t *pad = receiver_rig_at(r, 1056);
    CHECK_EQ(pad->type, APY_FRAME_PAD);
    CHECK_EQ(pad->length, 2112);
    CHECK_EQ(pad->term_offset, 1056);
    CHECK_EQ(pad->term_id, TERM);
    CHECK_EQ(pad->session_id, SESSION);
    receiver_rig_close(r);
}

static void only_half_a_term_ahead_is_taken_and_nothing_behind(void)
{
    receiver_rig_t *r = open_with_image();
    receiver_rig_data(r, WINDOW - 1056, 1024); /* ends at the bound */
    CHECK_EQ(receiver_rig_count(r, APY_SC_FLOW_CONTROL_OVER_RUNS), 0);
    CHECK_EQ(r->rcv_hwm, WINDOW);
    receiver_rig_data(r, WINDOW - 1024, 1024);
    CHECK_EQ(receiver_rig_count(r, APY_SC_FLOW_CONTROL_OVER_RUNS), 1);
    CHECK_EQ(r->rcv_hwm, WINDOW);

    for (int64_t position = 0; position < WINDOW - 1056; position += 1056) {
        receiver_rig_data(r, position, 1024);
    }
    apy_store_release_i64(&r->sub_pos, 10560); /* beyond a quarter of the window */
    receiver_rig_cycle(r);
    receiver_rig_cycle(r);
    receiver_rig_data(r, 9504, 1024);
    CHECK_EQ(receiver_rig_count(r, APY_SC_FLOW_CONTROL_UNDER_RUNS), 1);
    receiver_rig_close(r);
}

static void reading_a_quarter_of_the_window_sends_a_status_message_at_once(void)
{
    receiver_rig_t *r = open_with_image();
    apy_sm_t sm;
    for (int64_t position = 0; position < 16896; position += 1056) {
        receiver_rig_data(r, position, 1024);
    }
    apy_store_release_i64(&r->sub_pos, WINDOW / 4);
    receiver_rig_cycle(r);
    receiver_rig_cycle(r);
    CHECK_EQ(receiver_rig_take(r), -1);
    receiver_rig_step(r, 201 * RIG_MS);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_SM), 36);
    memcpy(&sm, r->datagram, sizeof(sm));
    CHECK_EQ(sm.consumption_term_offset, 0); /* a timed one repeats the old position */

    apy_store_release_i64(&r->sub_pos, WINDOW / 4 + 256);
    receiver_rig_cycle(r);
    receiver_rig_cycle(r);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_SM), 36);
    memcpy(&sm, r->datagram, sizeof(sm));
    CHECK_EQ(sm.consumption_term_id, TERM);
    CHECK_EQ(sm.consumption_term_offset, WINDOW / 4 + 256);
    CHECK_EQ(sm.receiver_window, WINDOW);
    CHECK_EQ(sm.flags, 0);
    receiver_rig_close(r);
}

static void packets_that_contradict_themselves_are_refused(void)
{
    receiver_rig_t *r = open_with_image();
    struct {
        apy_frame_t first;
        uint8_t payload[32];
        apy_frame_t second;
        uint8_t rest[32];
    } packet;
    memset(&packet, 0, sizeof(packet));
    packet.first = receiver_rig_frame(64, 0xC0, APY_FRAME_DATA, 0);
    packet.second = receiver_rig_frame(64, 0xC0, APY_FRAME_DATA, 64);
    const size_t length = sizeof(packet);
    CHECK_EQ(length, 128);

    packet.second.term_offset = 96;
    receiver_rig_give(r, &packet, length);
    packet.second.term_offset = 64;
    packet.second.length = 0;
    receiver_rig_give(r, &packet, length);
    packet.second.length = 64;
    packet.second.type = APY_FRAME_SETUP;
    receiver_rig_give(r, &packet, length);
    packet.second.type = APY_FRAME_DATA;
    packet.second.length = 32; /* 32 bytes are left over, and hold no frame */
    receiver_rig_give(r, &packet, length);
    packet.second.length = 128; /* longer than the datagram */
    receiver_rig_give(r, &packet, length);
    packet.second.length = 64;
    packet.first.term_offset = 16;
    receiver_rig_give(r, &packet, length);
    packet.first.term_offset = TERM_LENGTH;
    receiver_rig_give(r, &packet, length);
    packet.first.term_offset = -32;
    receiver_rig_give(r, &packet, length);
    CHECK_EQ(receiver_rig_count(r, APY_SC_INVALID_PACKETS), 8);
    packet.first.term_offset = 0;
    packet.first.term_id = TERM - 1; /* before the beginning: dropped without a word */
    receiver_rig_give(r, &packet, length);
    CHECK_EQ(receiver_rig_count(r, APY_SC_INVALID_PACKETS), 8);
    CHECK_EQ(r->rcv_hwm, 0);
    CHECK_EQ(receiver_rig_at(r, 0)->length, 0);

    packet.first.term_id = TERM;
    receiver_rig_give(r, &packet, length);
    CHECK_EQ(r->rcv_pos, 128);
    receiver_rig_close(r);
}

static void a_padding_header_stands_for_all_of_its_padding(void)
{
    receiver_rig_t *r = receiver_rig_open();
    r->params.term_offset = 65472;
    r->rcv_hwm = r->rcv_pos = r->sub_pos = 65472;
    receiver_rig_image(r);
    uint8_t pad[32];
    const size_t length = rig_hex("40 00 00 00 00 c0 00 00 | c0 ff 00 00 | 34 12 00 00 | e9 03 00 00 | 07 00 00 00 |"
                                  "00 00 00 00 00 00 00 00",
                                  pad);
    receiver_rig_give(r, pad, length);
    CHECK_EQ(r->rcv_pos, TERM_LENGTH);
    receiver_rig_data(r, TERM_LENGTH, 12);
    CHECK_EQ(r->rcv_pos, TERM_LENGTH + 64);
    receiver_rig_close(r);
}

/* --- the end --- */

static void the_end_is_answered_about_five_times_and_then_the_image_goes(void)
{
    receiver_rig_t *r = open_with_image();
    int eos = 0;
    receiver_rig_data(r, 0, 12);
    apy_store_release_i64(&r->sub_pos, 64);
    receiver_rig_heartbeat(r, 0xE0, 64);
    CHECK_EQ(r->log.meta->end_of_stream_position, 64);
    CHECK_EQ(receiver_rig_tick(r, RIG_SECOND), APY_IMAGE_TICK_NOTHING);
    CHECK_EQ(apy_image_state(r->image), APY_IMAGE_DRAINING);
    rig_drain(r->publisher);
    receiver_rig_cycle(r);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_SM), 36);
    CHECK_EQ(((const apy_sm_t *)(const void *)r->datagram)->flags, APY_FLAG_SM_EOS);
    for (int i = 0; i < 100; i++) {
        receiver_rig_heartbeat(r, 0xE0, 64);
        receiver_rig_step(r, 10 * RIG_MS);
        while (receiver_rig_take_type(r, APY_FRAME_SM) > 0) {
            CHECK_EQ(((const apy_sm_t *)(const void *)r->datagram)->flags, APY_FLAG_SM_EOS);
            eos++;
        }
    }
    CHECK(eos >= 4 && eos <= 5);
    CHECK_EQ(receiver_rig_tick(r, 1), APY_IMAGE_TICK_UNAVAILABLE);
    CHECK_EQ(apy_image_state(r->image), APY_IMAGE_LINGER);
    CHECK(!apy_image_is_accepting(r->image));
    CHECK_EQ(receiver_rig_tick(r, 10 * RIG_SECOND), APY_IMAGE_TICK_NOTHING);
    CHECK_EQ(receiver_rig_tick(r, 1), APY_IMAGE_TICK_RELEASE);
    CHECK_EQ(receiver_rig_tick(r, RIG_SECOND), APY_IMAGE_TICK_NOTHING);
    receiver_rig_close(r);
}

static void what_was_not_read_yet_keeps_the_image(void)
{
    receiver_rig_t *r = open_with_image();
    receiver_rig_data(r, 0, 12);
    receiver_rig_heartbeat(r, 0xE0, 64);
    receiver_rig_tick(r, RIG_SECOND);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(receiver_rig_tick(r, RIG_SECOND), APY_IMAGE_TICK_NOTHING);
    }
    CHECK(apy_image_is_accepting(r->image));
    apy_store_release_i64(&r->sub_pos, 64);
    CHECK_EQ(receiver_rig_tick(r, RIG_SECOND), APY_IMAGE_TICK_UNAVAILABLE);
    receiver_rig_close(r);
}

static void the_end_is_not_reached_while_something_is_missing(void)
{
    receiver_rig_t *r = open_with_image();
    receiver_rig_heartbeat(r, 0xE0, 1056);
    receiver_rig_tick(r, RIG_SECOND);
    CHECK_EQ(apy_image_state(r->image), APY_IMAGE_ACTIVE);
    receiver_rig_cycle(r);
    expect_nak(r, TERM, 0, 1056);
    receiver_rig_data(r, 0, 1024);
    receiver_rig_tick(r, 1);
    CHECK_EQ(apy_image_state(r->image), APY_IMAGE_DRAINING);
    receiver_rig_close(r);
}

static void a_revoked_stream_ends_at_once(void)
{
    receiver_rig_t *r = open_with_image();
    receiver_rig_heartbeat(r, 0xF0, 1056); /* with bytes missing that nobody will ask for */
    CHECK_EQ(r->log.meta->is_publication_revoked, 1);
    CHECK_EQ(r->log.meta->end_of_stream_position, 1056);
    CHECK_EQ(receiver_rig_count(r, APY_SC_IMAGES_REVOKED), 1);
    receiver_rig_step(r, RIG_MS);
    receiver_rig_step(r, RIG_MS);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_NAK), -1);
    CHECK_EQ(receiver_rig_tick(r, RIG_MS), APY_IMAGE_TICK_NOTHING);
    receiver_rig_cycle(r);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_SM), 36);
    CHECK_EQ(((const apy_sm_t *)(const void *)r->datagram)->flags, APY_FLAG_SM_EOS);
    CHECK_EQ(receiver_rig_tick(r, RIG_SECOND), APY_IMAGE_TICK_UNAVAILABLE);
    receiver_rig_close(r);
}

static void a_silent_source_is_given_up_after_the_liveness_timeout(void)
{
    receiver_rig_t *r = open_with_image();
    receiver_rig_data(r, 0, 12);
    receiver_rig_step(r, 4900 * RIG_MS);
    CHECK(rig_drain(r->publisher) > 0);
    receiver_rig_step(r, 100 * RIG_MS); /* 5 s after the last packet nobody is there to hear */
    receiver_rig_step(r, 300 * RIG_MS);
    CHECK_EQ(receiver_rig_take(r), -1);
    receiver_rig_tick(r, 4700 * RIG_MS);
    CHECK_EQ(apy_image_state(r->image), APY_IMAGE_ACTIVE);
    receiver_rig_tick(r, 1);
    CHECK_EQ(apy_image_state(r->image), APY_IMAGE_DRAINING);
    receiver_rig_cycle(r);
    CHECK_EQ(r->log.meta->active_transport_count, 0);
    receiver_rig_close(r);
}

static void without_subscribers_it_says_so_and_goes(void)
{
    receiver_rig_t *r = open_with_image();
    apy_subscriber_t removed;
    CHECK_EQ(apy_image_remove_subscriber(r->image, 3, &removed), 1);
    CHECK_EQ(apy_image_remove_subscriber(r->image, 3, &removed), 0);
    CHECK(!apy_image_is_accepting(r->image));
    receiver_rig_tick(r, RIG_MS);
    receiver_rig_cycle(r);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_SM), 36);
    CHECK_EQ(((const apy_sm_t *)(const void *)r->datagram)->flags, APY_FLAG_SM_EOS);
    CHECK_EQ(receiver_rig_tick(r, RIG_SECOND + 1), APY_IMAGE_TICK_UNAVAILABLE);
    CHECK_EQ(receiver_rig_tick(r, RIG_SECOND), APY_IMAGE_TICK_RELEASE);
    receiver_rig_close(r);
}

static void a_new_image_waits_a_moment_for_its_subscribers(void)
{
    receiver_rig_t *r = receiver_rig_open();
    r->log = rig_log(r->rig, APY_LOG_IMAGE, SESSION, STREAM, TERM, TERM_LENGTH);
    CHECK_EQ(apy_image_create(&r->rig->context, r->endpoint, &r->log, &r->params, &r->image), APY_OK);
    CHECK_EQ(apy_receiver_add_image(r->receiver, r->endpoint, r->image), APY_OK);
    receiver_rig_tick(r, RIG_SECOND);
    CHECK_EQ(apy_image_state(r->image), APY_IMAGE_ACTIVE);
    CHECK(apy_image_is_accepting(r->image));
    receiver_rig_tick(r, 1);
    CHECK_EQ(apy_image_state(r->image), APY_IMAGE_DRAINING);
    receiver_rig_close(r);
}

static void a_rejected_image_answers_with_errors_and_takes_nothing(void)
{
    receiver_rig_t *r = open_with_image();
    apy_image_reject(r->image, "No longer valid", 15);
    receiver_rig_data(r, 0, 12);
    CHECK_EQ(r->rcv_hwm, 0);
    CHECK_EQ(receiver_rig_take(r), -1);
    for (int i = 0; i < 3; i++) {
        receiver_rig_step(r, 201 * RIG_MS);
        CHECK_EQ(receiver_rig_take(r), 55);
        rig_expect(r->datagram, 40,
                   "37 00 00 00 00 00 04 00 | 34 12 00 00 | e9 03 00 00 | 78 3e ed ab da 33 2f bb |"
                   "ff ff ff ff ff ff ff ff | 0d 00 00 00 | 0f 00 00 00");
        CHECK(memcmp(r->datagram + 40, "No longer valid", 15) == 0);
        CHECK_EQ(receiver_rig_take(r), -1);
    }
    CHECK_EQ(receiver_rig_count(r, APY_SC_ERROR_FRAMES_SENT), 3);
    CHECK_EQ(receiver_rig_count(r, APY_SC_IMAGES_REJECTED), 1);
    receiver_rig_data(r, 0, 12);
    receiver_rig_tick(r, 10 * RIG_SECOND);
    CHECK_EQ(apy_image_state(r->image), APY_IMAGE_DRAINING);
    receiver_rig_close(r);
}

/* --- subscribers --- */

static void a_late_subscriber_joins_where_the_slowest_is(void)
{
    receiver_rig_t *r = open_with_image();
    for (int i = 0; i < 4; i++) {
        receiver_rig_data(r, 1056 * i, 1024);
    }
    apy_store_release_i64(&r->sub_pos, 2112);
    CHECK_EQ(apy_image_join_position(r->image), 2112);
    apy_store_release_i64(&r->sub_pos, 4224);
    CHECK_EQ(apy_image_join_position(r->image), 4224);
    receiver_rig_close(r);
}

static void the_slowest_subscriber_sets_the_window_and_an_untethered_one_is_cut_off(void)
{
    receiver_rig_t *r = open_with_image();
    int64_t fast = 0;
    const apy_subscriber_t subscriber = {.registration_id = 4, .position = &fast, .tether = true};
    apy_subscriber_t removed;
    /* The first one may be left behind, the second not. */
    CHECK_EQ(apy_image_remove_subscriber(r->image, 3, &removed), 1);
    removed.tether = false;
    removed.rejoin = true;
    removed.time_of_last_update_ns = r->rig->hand.nano_time;
    CHECK_EQ(apy_image_add_subscriber(r->image, &removed), APY_OK);
    CHECK_EQ(apy_image_add_subscriber(r->image, &subscriber), APY_OK);
    for (int64_t position = 0; position < WINDOW - 1056; position += 1056) {
        receiver_rig_data(r, position, 1024);
    }
    apy_store_release_i64(&fast, 31680);
    receiver_rig_step(r, RIG_MS);
    receiver_rig_step(r, RIG_MS);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_SM), -1);

    const apy_subscribers_t *subscribers = apy_image_subscribers(r->image);
    receiver_rig_tick(r, 0);
    CHECK_EQ(subscribers->items[0].state, APY_SUBSCRIBER_ACTIVE);
    for (int i = 0; i < 6; i++) {
        receiver_rig_heartbeat(r, 0xC0, 31680);
        receiver_rig_tick(r, RIG_SECOND);
    }
    CHECK_EQ(subscribers->items[0].state, APY_SUBSCRIBER_LINGER);
    for (int i = 0; i < 6; i++) {
        receiver_rig_heartbeat(r, 0xC0, 31680);
        receiver_rig_tick(r, RIG_SECOND);
    }
    CHECK_EQ(subscribers->items[0].state, APY_SUBSCRIBER_RESTING);
    receiver_rig_cycle(r);
    receiver_rig_cycle(r);
    int32_t offset = -1;
    while (receiver_rig_take_type(r, APY_FRAME_SM) > 0) {
        offset = ((const apy_sm_t *)(const void *)r->datagram)->consumption_term_offset;
    }
    CHECK_EQ(offset, 31680); /* the fast one's position counts now */
    for (int i = 0; i < 11; i++) {
        receiver_rig_heartbeat(r, 0xC0, 31680);
        receiver_rig_tick(r, RIG_SECOND);
    }
    CHECK_EQ(subscribers->items[0].state, APY_SUBSCRIBER_ACTIVE);
    CHECK_EQ(r->sub_pos, 31680);
    receiver_rig_close(r);
}

int main(void)
{
    RUN(packets_are_rebuilt_byte_for_byte);
    RUN(a_lost_datagram_is_asked_for_until_it_comes);
    RUN(a_lost_tail_is_found_by_the_heartbeat);
    RUN(an_unreliable_stream_fills_the_gap_and_asks_for_nothing);
    RUN(only_half_a_term_ahead_is_taken_and_nothing_behind);
    RUN(reading_a_quarter_of_the_window_sends_a_status_message_at_once);
    RUN(packets_that_contradict_themselves_are_refused);
    RUN(a_padding_header_stands_for_all_of_its_padding);
    RUN(the_end_is_answered_about_five_times_and_then_the_image_goes);
    RUN(what_was_not_read_yet_keeps_the_image);
    RUN(the_end_is_not_reached_while_something_is_missing);
    RUN(a_revoked_stream_ends_at_once);
    RUN(a_silent_source_is_given_up_after_the_liveness_timeout);
    RUN(without_subscribers_it_says_so_and_goes);
    RUN(a_new_image_waits_a_moment_for_its_subscribers);
    RUN(a_rejected_image_answers_with_errors_and_takes_nothing);
    RUN(a_late_subscriber_joins_where_the_slowest_is);
    RUN(the_slowest_subscriber_sets_the_window_and_an_untethered_one_is_cut_off);
    return 0;
}
