/* A network publication's life: who listens, how far publishers may go, and how it ends. */

#include "sender_rig.h"

static const apy_frame_t *frame_of(const sender_rig_t *s)
{
    return (const apy_frame_t *)(const void *)s->datagram;
}

static void receivers_expire_5_s_after_their_last_status_message(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    CHECK(sender_rig_offer(s, "first", 5) > 0);
    sender_rig_tick(s, 0);
    CHECK_EQ(s->pub_lmt, 64 + 32768);
    CHECK_EQ(sender_rig_tick(s, 5 * RIG_SECOND - 1), APY_TICK_NOTHING);
    CHECK_EQ(s->log.meta->is_connected, 1);
    sender_rig_tick(s, 1);
    CHECK_EQ(s->log.meta->is_connected, 0);
    CHECK_EQ(s->pub_lmt, 64);
    rig_drain(s->receiver);
    sender_rig_step(s, 101 * RIG_MS);
    CHECK_EQ(sender_rig_take(s), 32); /* heartbeats go on, SETUPs do not come back */
    CHECK_EQ(sender_rig_take(s), -1);

    sender_rig_sm(s, 0, TERM, 64, 32768); /* and one status message is enough to be back */
    CHECK_EQ(s->log.meta->is_connected, 1);
    CHECK_EQ(s->pub_lmt, 64 + 32768);
    sender_rig_close(s);
}

static void a_closed_publication_signals_its_end_and_goes_when_the_receiver_confirmed(void)
{
    sender_rig_t *s = sender_rig_open();
    static uint8_t message[1024];
    sender_rig_connect(s, 2048);
    for (int i = 0; i < 3; i++) {
        CHECK(sender_rig_offer(s, message, sizeof(message)) > 0);
    }
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, 1056);
    apy_network_publication_close(s->publication, s->rig->hand.nano_time);
    CHECK_EQ(apy_network_publication_state(s->publication), APY_PUBLICATION_DRAINING);
    CHECK_EQ(s->log.meta->end_of_stream_position, 3168);
    CHECK_EQ(s->pub_lmt, 3168);
    rig_drain(s->receiver);
    CHECK_EQ(sender_rig_tick(s, 200 * RIG_MS), APY_TICK_NOTHING);
    CHECK_EQ(sender_rig_take(s), 32);
    CHECK_EQ(frame_of(s)->flags, 0xC0); /* not all is sent */

    sender_rig_sm(s, 0, TERM, 1056, 32768);
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, 3168);
    sender_rig_sm(s, 0, TERM, 3168, 32768);
    CHECK_EQ(sender_rig_tick(s, 0), APY_TICK_NOTHING);
    CHECK_EQ(apy_network_publication_state(s->publication), APY_PUBLICATION_LINGER);
    rig_drain(s->receiver);
    sender_rig_tick(s, 101 * RIG_MS);
    rig_expect(
        s->datagram, sender_rig_take(s),
        "00 00 00 00 00 e0 01 00 | 60 0c 00 00 | 34 12 00 00 | e9 03 00 00 | 07 00 00 00 | 00 00 00 00 00 00 00 00");

    sender_rig_sm(s, APY_FLAG_SM_EOS, TERM, 3168, 32768);
    CHECK_EQ(sender_rig_tick(s, 0), APY_TICK_RELEASE);
    CHECK_EQ(apy_network_publication_state(s->publication), APY_PUBLICATION_DONE);
    CHECK_EQ(sender_rig_tick(s, RIG_SECOND), APY_TICK_NOTHING);
    sender_rig_close(s);
}

static void without_a_confirmation_it_lingers_and_answers_naks(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    CHECK(sender_rig_offer(s, "last", 4) > 0);
    sender_rig_cycle(s);
    apy_network_publication_close(s->publication, s->rig->hand.nano_time);
    sender_rig_tick(s, 0);
    CHECK_EQ(apy_network_publication_state(s->publication), APY_PUBLICATION_LINGER);
    CHECK_EQ(sender_rig_tick(s, 5 * RIG_SECOND), APY_TICK_NOTHING);
    rig_drain(s->receiver);
    sender_rig_nak(s, TERM, 0, 64);
    CHECK_EQ(sender_rig_take_data(s), 64);
    CHECK_EQ(sender_rig_tick(s, 1), APY_TICK_RELEASE);
    sender_rig_close(s);
}

static void a_linger_as_long_as_can_be_said_never_ends(void)
{
    sender_rig_t *s = sender_rig_open_bare();
    apy_network_publication_params_t params = sender_rig_params(s);
    params.linger_ns = INT64_MAX;
    s = sender_rig_open_with(&params, s);
    sender_rig_connect(s, 32768);
    apy_network_publication_close(s->publication, s->rig->hand.nano_time);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(sender_rig_tick(s, 1000 * RIG_SECOND), APY_TICK_NOTHING);
    }
    sender_rig_close(s);
}

static void a_publication_that_must_not_signal_its_end_does_not(void)
{
    sender_rig_t *s = sender_rig_open_bare();
    apy_network_publication_params_t params = sender_rig_params(s);
    params.signal_eos = false;
    sender_rig_open_with(&params, s);
    sender_rig_connect(s, 32768);
    apy_network_publication_close(s->publication, s->rig->hand.nano_time);
    sender_rig_tick(s, 101 * RIG_MS);
    sender_rig_tick(s, 101 * RIG_MS);
    rig_drain(s->receiver);
    sender_rig_tick(s, 101 * RIG_MS);
    CHECK_EQ(sender_rig_take(s), 32);
    CHECK_EQ(frame_of(s)->flags, 0xC0);
    sender_rig_close(s);
}

static void a_revoked_publication_ends_where_it_is(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    CHECK(sender_rig_offer(s, "gone", 4) > 0);
    sender_rig_cycle(s);
    apy_network_publication_revoke(s->publication);
    CHECK_EQ(s->log.meta->is_publication_revoked, 1);
    CHECK_EQ(s->log.meta->is_connected, 0);
    CHECK_EQ(s->log.meta->end_of_stream_position, 64);
    CHECK_EQ(sender_rig_count(s, APY_SC_PUBLICATIONS_REVOKED), 1);
    rig_drain(s->receiver);
    sender_rig_sm(s, 0, TERM, 64, 32768); /* changes nothing any more */
    CHECK_EQ(s->log.meta->is_connected, 0);
    CHECK_EQ(sender_rig_tick(s, 101 * RIG_MS), APY_TICK_NOTHING);
    CHECK_EQ(apy_network_publication_state(s->publication), APY_PUBLICATION_LINGER);
    CHECK_EQ(sender_rig_take(s), 32);
    CHECK_EQ(frame_of(s)->flags, 0xF0);
    CHECK_EQ(frame_of(s)->term_offset, 64);

    CHECK_EQ(sender_rig_tick(s, 6 * RIG_SECOND), APY_TICK_NOTHING); /* a client holds it still */
    apy_network_publication_close(s->publication, s->rig->hand.nano_time);
    CHECK_EQ(sender_rig_tick(s, 0), APY_TICK_RELEASE);
    sender_rig_close(s);
}

static void a_setup_on_request_is_not_sent_after_the_end(void)
{
    sender_rig_t *s = sender_rig_open();
    sender_rig_connect(s, 32768);
    apy_network_publication_close(s->publication, s->rig->hand.nano_time);
    rig_advance(s->rig, 200 * RIG_MS);
    sender_rig_sm(s, APY_FLAG_SM_SEND_SETUP, 0, 0, 0);
    sender_rig_step(s, 200 * RIG_MS);
    while (sender_rig_take(s) >= 0) {
        CHECK(frame_of(s)->type != APY_FRAME_SETUP);
    }
    sender_rig_close(s);
}

static void limits_rise_with_the_sender_and_the_log_is_zeroed_behind(void)
{
    sender_rig_t *s = sender_rig_open();
    static uint8_t message[1376];
    int64_t position = 0;
    memset(message, 0xAB, sizeof(message));
    sender_rig_connect(s, 32768);
    while (position < 5 * TERM_LENGTH) {
        const int64_t result = sender_rig_offer(s, message, sizeof(message));
        CHECK(result > 0 || result == APY_ADMIN_ACTION);
        position = apy_exclusive_position(&s->append);
        sender_rig_cycle(s);
        sender_rig_sm(s, 0, TERM + (int32_t)(position / TERM_LENGTH), (int32_t)(position % TERM_LENGTH), 32768);
        CHECK_EQ(s->snd_pos, position);
        CHECK_EQ(s->pub_lmt, position + TERM_LENGTH / 2);
        CHECK_EQ(s->pub_pos, position);
        rig_drain(s->receiver);
    }
    /* All that a publisher may enter now is zero. */
    for (int64_t at = position; at < s->pub_lmt; at += 4) {
        const uint8_t *term = s->log.terms[apy_position_partition(at, s->log.shift)];
        int32_t word = 0;
        memcpy(&word, term + at % TERM_LENGTH, sizeof(word));
        CHECK_EQ(word, 0);
    }
    sender_rig_close(s);
}

static void an_error_frame_is_told_once_and_unconnects(void)
{
    sender_rig_t *s = sender_rig_open();
    uint8_t err[64];
    size_t length = rig_hex("37 00 00 00 00 00 04 00 | 34 12 00 00 | e9 03 00 00 | 99 00 00 00 00 00 00 00 |"
                            "ff ff ff ff ff ff ff ff | 0d 00 00 00 | 0f 00 00 00",
                            err);
    memcpy(err + length, "No longer valid", 15);
    length += 15;
    CHECK_EQ(length, 55);
    sender_rig_connect(s, 32768);
    rig_give(s->receiver, &s->sender_address, err, length);
    sender_rig_cycle(s);
    const rig_record_t record = rig_inbox(s->rig);
    apy_inbox_publication_error_t error;
    CHECK_EQ(record.type, APY_INBOX_PUBLICATION_ERROR);
    memcpy(&error, record.bytes, sizeof(error));
    CHECK_EQ(error.registration_id, 77);
    CHECK_EQ(error.receiver_id, 0x99);
    CHECK_EQ(error.group_tag, -1);
    CHECK_EQ(error.session_id, SESSION);
    CHECK_EQ(error.stream_id, STREAM);
    CHECK_EQ(error.error_code, 13);
    CHECK_EQ(error.text_length, 15);
    CHECK(memcmp(record.bytes + sizeof(error), "No longer valid", 15) == 0);
    CHECK(apy_address_equal(&error.source, &s->receiver_address));
    sender_rig_tick(s, 0);
    CHECK_EQ(s->log.meta->is_connected, 0);

    rig_give(s->receiver, &s->sender_address, err, length); /* repeated every 200 ms */
    sender_rig_cycle(s);
    CHECK_EQ(rig_inbox(s->rig).type, 0);
    CHECK_EQ(sender_rig_count(s, APY_SC_ERROR_FRAMES_RECEIVED), 2);

    err[36] = 16; /* more text than the frame has */
    rig_give(s->receiver, &s->sender_address, err, length);
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_count(s, APY_SC_INVALID_PACKETS), 1);
    CHECK_EQ(sender_rig_count(s, APY_SC_ERROR_FRAMES_RECEIVED), 2);
    sender_rig_close(s);
}

static void spies_hold_back_the_limit_and_can_stand_for_receivers(void)
{
    sender_rig_t *s = sender_rig_open_bare();
    apy_network_publication_params_t params = sender_rig_params(s);
    params.spies_simulate_connection = true;
    sender_rig_open_with(&params, s);
    int64_t spy_position = -1, join = -1;
    apy_subscriber_t spy = {.registration_id = 3, .position = &spy_position, .tether = true}, removed;

    sender_rig_cycle(s);
    CHECK_EQ(s->log.meta->is_connected, 0);
    CHECK_EQ(apy_network_publication_add_spy(s->publication, &spy, &join), APY_OK);
    CHECK_EQ(join, 0);
    CHECK_EQ(spy_position, 0);
    CHECK_EQ(s->log.meta->is_connected, 1);
    sender_rig_cycle(s);
    CHECK_EQ(s->pub_lmt, 32768);
    CHECK_EQ(sender_rig_offer(s, "spied", 5), 64);
    apy_store_release_i64(&spy_position, 64);
    sender_rig_cycle(s);
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, 64); /* it moves with the spy, where nobody else listens */
    CHECK_EQ(s->pub_lmt, 64 + 32768);

    apy_network_publication_close(s->publication, s->rig->hand.nano_time);
    CHECK_EQ(sender_rig_tick(s, 0), APY_TICK_SPIES_DRAINED);
    CHECK_EQ(apy_network_publication_remove_spy(s->publication, 3, &removed), 1);
    CHECK_EQ(apy_network_publication_remove_spy(s->publication, 3, &removed), 0);
    sender_rig_close(s);
}

static void a_claim_that_nobody_ends_is_padded_over(void)
{
    sender_rig_t *s = sender_rig_open_bare();
    apy_network_publication_params_t params = sender_rig_params(s);
    params.exclusive = false;
    sender_rig_open_with(&params, s);
    apy_append_t append;
    uint8_t *frame = NULL;
    apy_append_init(&append, &s->log, &s->pub_lmt);
    sender_rig_connect(s, 32768);
    CHECK_EQ(apy_append_claim(&append, 100, &frame), 160);
    const struct iovec part = {(void *)(uintptr_t)"behind it", 9};
    CHECK_EQ(apy_append_offer(&append, &part, 1, NULL, NULL), 224);
    sender_rig_tick(s, 0);
    CHECK_EQ(s->snd_pos, 0);
    for (int i = 0; i < 15; i++) {
        sender_rig_sm(s, 0, TERM, 0, 32768);
        sender_rig_tick(s, RIG_SECOND);
    }
    CHECK_EQ(s->snd_pos, 0);
    sender_rig_tick(s, 1);
    sender_rig_cycle(s);
    CHECK_EQ(sender_rig_count(s, APY_SC_UNBLOCKED_PUBLICATIONS), 1);
    sender_rig_cycle(s);
    CHECK_EQ(s->snd_pos, 224);
    sender_rig_close(s);
}

static void what_is_removed_is_answered_and_silent(void)
{
    sender_rig_t *s = sender_rig_open();
    apy_inbox_released_t released;
    sender_rig_connect(s, 32768);
    CHECK_EQ(apy_sender_remove_publication(s->sender, s->publication), APY_OK);
    CHECK_EQ(apy_sender_remove_endpoint(s->sender, s->endpoint), APY_OK);
    CHECK_EQ(s->status, 2);
    apy_sender_do_work(s->sender);
    rig_record_t record = rig_inbox(s->rig);
    CHECK_EQ(record.type, APY_INBOX_PUBLICATION_RELEASED);
    memcpy(&released, record.bytes, sizeof(released));
    CHECK(released.resource == s->publication);
    CHECK_EQ(released.id, 77);
    record = rig_inbox(s->rig);
    CHECK_EQ(record.type, APY_INBOX_SEND_ENDPOINT_RELEASED);
    memcpy(&released, record.bytes, sizeof(released));
    CHECK(released.resource == s->endpoint);
    CHECK_EQ(released.id, 5);
    rig_drain(s->receiver);
    rig_advance(s->rig, RIG_SECOND);
    apy_sender_do_work(s->sender);
    CHECK_EQ(sender_rig_take(s), -1);
    sender_rig_close(s);
}

static void an_answer_waits_until_the_inbox_has_room(void)
{
    sender_rig_t *s = sender_rig_open();
    uint8_t filler[1000] = {0};
    sender_rig_connect(s, 32768);
    while (apy_mpsc_ring_write(&s->rig->inbox, 99, filler, sizeof(filler)) == APY_OK) {
    }
    while (apy_mpsc_ring_write(&s->rig->inbox, 99, filler, 8) == APY_OK) {
    }
    CHECK_EQ(apy_sender_remove_publication(s->sender, s->publication), APY_OK);
    CHECK_EQ(apy_sender_remove_endpoint(s->sender, s->endpoint), APY_OK);
    apy_sender_do_work(s->sender);
    CHECK(sender_rig_count(s, APY_SC_CONDUCTOR_PROXY_FAILS) > 0);
    rig_record_t record = rig_inbox(s->rig);
    while (record.type == 99) {
        record = rig_inbox(s->rig);
    }
    CHECK_EQ(record.type, 0);
    apy_sender_do_work(s->sender);
    CHECK_EQ(rig_inbox(s->rig).type, APY_INBOX_PUBLICATION_RELEASED);
    CHECK_EQ(rig_inbox(s->rig).type, APY_INBOX_SEND_ENDPOINT_RELEASED);
    sender_rig_close(s);
}

static void receiver_ids_from_the_network_are_bounded(void)
{
    sender_rig_t *s = sender_rig_open();
    apy_sm_t sm = {sizeof(sm), 0, 0, APY_FRAME_SM, SESSION, STREAM, TERM, 0, 32768, 0};
    sender_rig_cycle(s);
    for (int i = 0; i < 3000; i++) {
        sm.receiver_id = i;
        apy_send_endpoint_on_datagram(s->endpoint, (const uint8_t *)&sm, sizeof(sm), &s->receiver_address,
                                      s->rig->hand.nano_time);
    }
    CHECK_EQ(sender_rig_count(s, APY_SC_SMS_REJECTED), 3000 - 1024);
    CHECK_EQ(s->log.meta->is_connected, 1);
    sender_rig_close(s);
}

int main(void)
{
    RUN(receivers_expire_5_s_after_their_last_status_message);
    RUN(a_closed_publication_signals_its_end_and_goes_when_the_receiver_confirmed);
    RUN(without_a_confirmation_it_lingers_and_answers_naks);
    RUN(a_linger_as_long_as_can_be_said_never_ends);
    RUN(a_publication_that_must_not_signal_its_end_does_not);
    RUN(a_revoked_publication_ends_where_it_is);
    RUN(a_setup_on_request_is_not_sent_after_the_end);
    RUN(limits_rise_with_the_sender_and_the_log_is_zeroed_behind);
    RUN(an_error_frame_is_told_once_and_unconnects);
    RUN(spies_hold_back_the_limit_and_can_stand_for_receivers);
    RUN(a_claim_that_nobody_ends_is_padded_over);
    RUN(what_is_removed_is_answered_and_silent);
    RUN(an_answer_waits_until_the_inbox_has_room);
    RUN(receiver_ids_from_the_network_are_bounded);
    return 0;
}
