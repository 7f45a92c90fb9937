/* Many gaps at once, when each is asked for, and terms whose ids wrap around: a raw publisher loses and repeats. */

#include "receiver_rig.h"

#define SPAN 1056 /* of a message of 1024 bytes */

static receiver_rig_t *open_with(void (*change)(apy_image_params_t *params))
{
    receiver_rig_t *r = receiver_rig_open();
    if (change != NULL) {
        change(&r->params);
    }
    receiver_rig_image(r);
    rig_drain(r->publisher);
    return r;
}

static const apy_nak_t *next_nak(receiver_rig_t *r)
{
    return receiver_rig_take_type(r, APY_FRAME_NAK) < 0 ? NULL : (const apy_nak_t *)(const void *)r->datagram;
}

/* Every third message is lost; each gap is asked for in turn, once the one before it is filled. */
static void many_gaps_are_asked_for_one_after_another(void)
{
    receiver_rig_t *r = open_with(NULL);
    for (int i = 0; i < 24; i++) {
        if (i % 3 != 1) {
            receiver_rig_data(r, (int64_t)i * SPAN, 1024);
        }
    }
    for (int gap = 1; gap < 24; gap += 3) {
        receiver_rig_step(r, 1000);
        receiver_rig_cycle(r);
        const apy_nak_t *nak = next_nak(r);
        CHECK(nak != NULL);
        CHECK_EQ(nak->term_offset, gap * SPAN);
        CHECK_EQ(nak->range_length, SPAN);
        CHECK(next_nak(r) == NULL);
        CHECK_EQ(r->rcv_pos, gap * SPAN);
        receiver_rig_data(r, (int64_t)gap * SPAN, 1024);
    }
    CHECK_EQ(r->rcv_pos, 24 * SPAN);
    CHECK_EQ(r->naks_sent, 8);
    int64_t offset = 0;
    apy_loss_entry_t entry;
    CHECK_EQ(apy_loss_report_next(r->rig->loss_memory, sizeof(r->rig->loss_memory), &offset, &entry), 1);
    CHECK_EQ(entry.observations, 8);
    CHECK_EQ(entry.bytes_lost, 8 * SPAN);
    receiver_rig_close(r);
}

/* The retransmits come in the wrong order, and twice. */
static void gaps_may_be_filled_in_any_order(void)
{
    receiver_rig_t *r = open_with(NULL);
    receiver_rig_heartbeat(r, 0xC0, 20 * SPAN);
    for (int i = 19; i >= 0; i--) {
        receiver_rig_data(r, (int64_t)i * SPAN, 1024);
        receiver_rig_data(r, (int64_t)i * SPAN, 1024);
    }
    CHECK_EQ(r->rcv_pos, 20 * SPAN);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(receiver_rig_at(r, (int64_t)i * SPAN)->length, SPAN);
    }
    receiver_rig_close(r);
}

/* A term's last padding counts 32 bytes of the sender's window, whatever its length: 1088 here, behind position 64448. */
static void a_tail_is_found_from_behind_padding_that_led_past_the_bound(void)
{
    receiver_rig_t *r = open_with(NULL);
    for (int i = 0; i < 30; i++) {
        receiver_rig_data(r, (int64_t)i * SPAN, 1024);
    }
    apy_store_release_i64(&r->sub_pos, 30 * SPAN);
    receiver_rig_step(r, RIG_MS);
    receiver_rig_step(r, RIG_MS);
    CHECK(receiver_rig_take_type(r, APY_FRAME_SM) > 0); /* data is taken up to half a term behind 31680 now */

    receiver_rig_heartbeat(r, 0xC0, 65536);
    CHECK_EQ(receiver_rig_count(r, APY_SC_FLOW_CONTROL_OVER_RUNS), 0);
    CHECK_EQ(receiver_rig_count(r, APY_SC_HEARTBEATS_RECEIVED), 1);
    CHECK_EQ(r->rcv_hwm, 65536);
    receiver_rig_step(r, 1000);
    receiver_rig_cycle(r);
    const int length = receiver_rig_take_type(r, APY_FRAME_NAK);
    CHECK(length > 0);
    CHECK_EQ(((const apy_nak_t *)(const void *)r->datagram)->term_offset, 30 * SPAN);
    CHECK_EQ(((const apy_nak_t *)(const void *)r->datagram)->range_length, 65536 - 30 * SPAN);

    receiver_rig_heartbeat(r, 0xC0, 65536 + 32); /* no padding leads there */
    receiver_rig_heartbeat(r, 0xC0, 2 * 65536);
    CHECK_EQ(receiver_rig_count(r, APY_SC_FLOW_CONTROL_OVER_RUNS), 2);
    CHECK_EQ(r->rcv_hwm, 65536);
    receiver_rig_close(r);
}

static void ask_late(apy_image_params_t *params)
{
    params->nak_delay_ns = 3 * RIG_MS;
}

static void the_channel_says_how_long_a_gap_may_last(void)
{
    receiver_rig_t *r = open_with(ask_late);
    receiver_rig_data(r, SPAN, 1024);
    receiver_rig_step(r, 3 * RIG_MS - 1);
    receiver_rig_cycle(r);
    CHECK(next_nak(r) == NULL);
    receiver_rig_step(r, 1);
    receiver_rig_cycle(r);
    CHECK(next_nak(r) != NULL);
    receiver_rig_step(r, 299 * RIG_MS);
    receiver_rig_cycle(r);
    CHECK(next_nak(r) == NULL);
    receiver_rig_step(r, RIG_MS);
    receiver_rig_cycle(r);
    CHECK(next_nak(r) != NULL); /* a hundred times the delay */
    receiver_rig_close(r);
}

static void one_of_many(apy_image_params_t *params)
{
    params->group = true;
    params->nak_delay_ns = 0; /* which a group does not heed */
}

/* In a group each waits for its own time, within the backoff, so that few speak; a repair in time silences all. */
static void a_group_waits_at_random(void)
{
    int64_t shortest_ns = INT64_MAX, longest_ns = 0;
    for (int i = 0; i < 40; i++) {
        receiver_rig_t *r = receiver_rig_open();
        one_of_many(&r->params);
        r->params.correlation_id = 88 + i; /* of which its randomness is made */
        receiver_rig_image(r);
        receiver_rig_data(r, SPAN, 1024);
        int64_t waited_ns = 0;
        while (next_nak(r) == NULL) {
            receiver_rig_step(r, 100000);
            waited_ns += 100000;
            CHECK(waited_ns <= 10 * RIG_MS + 200000);
        }
        shortest_ns = waited_ns < shortest_ns ? waited_ns : shortest_ns;
        longest_ns = waited_ns > longest_ns ? waited_ns : longest_ns;
        receiver_rig_close(r);
    }
    CHECK(longest_ns - shortest_ns > 2 * RIG_MS);

    receiver_rig_t *r = open_with(one_of_many);
    receiver_rig_data(r, SPAN, 1024);
    receiver_rig_data(r, 0, 1024);
    receiver_rig_step(r, 20 * RIG_MS);
    receiver_rig_cycle(r);
    CHECK(next_nak(r) == NULL);
    receiver_rig_close(r);
}

static void with_endless_patience(apy_image_params_t *params)
{
    params->nak_delay_ns = INT64_MAX;
}

static void a_delay_as_long_as_can_be_said_never_ends(void)
{
    receiver_rig_t *r = open_with(with_endless_patience);
    r->rig->context.config.image_liveness_timeout_ns = INT64_MAX;
    receiver_rig_data(r, SPAN, 1024);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(receiver_rig_tick(r, 100 * RIG_SECOND), APY_IMAGE_TICK_NOTHING);
        CHECK(next_nak(r) == NULL);
        CHECK_EQ(apy_image_state(r->image), APY_IMAGE_ACTIVE);
    }
    receiver_rig_close(r);
}

static void rather_lose(apy_image_params_t *params)
{
    params->reliable = false;
}

static void an_unreliable_stream_jumps_over_each_gap(void)
{
    receiver_rig_t *r = open_with(rather_lose);
    memcpy(r->log.meta->default_header + 12, &(int32_t){SESSION}, 4);
    for (int i = 1; i < 20; i += 2) {
        receiver_rig_data(r, (int64_t)i * SPAN, 1024);
    }
    for (int i = 0; i < 30; i++) {
        receiver_rig_step(r, 1000);
    }
    CHECK_EQ(r->rcv_pos, 20 * SPAN);
    CHECK_EQ(receiver_rig_count(r, APY_SC_LOSS_GAP_FILLS), 10);
    for (int i = 0; i < 20; i += 2) {
        CHECK_EQ(receiver_rig_at(r, (int64_t)i * SPAN)->type, APY_FRAME_PAD);
        CHECK_EQ(receiver_rig_at(r, (int64_t)i * SPAN)->length, SPAN);
    }
    CHECK(next_nak(r) == NULL);
    receiver_rig_close(r);
}

/* After 2147483647 comes -2147483648: the stream goes on, and what is asked for has the new id. */
static void term_ids_wrap_around(void)
{
    receiver_rig_t *r = receiver_rig_open();
    r->params.initial_term_id = r->params.active_term_id = INT32_MAX;
    r->log = rig_log(r->rig, APY_LOG_IMAGE, SESSION, STREAM, INT32_MAX, TERM_LENGTH);
    const apy_subscriber_t subscriber = {.registration_id = 3, .position = &r->sub_pos, .tether = true};
    CHECK_EQ(apy_image_create(&r->rig->context, r->endpoint, &r->log, &r->params, &r->image), APY_OK);
    CHECK_EQ(apy_image_add_subscriber(r->image, &subscriber), APY_OK);
    CHECK_EQ(apy_receiver_add_image(r->receiver, r->endpoint, r->image), APY_OK);
    receiver_rig_cycle(r);
    uint8_t datagram[1024] = {0};
    for (int64_t position = 0; position < 2 * TERM_LENGTH; position += 1024) {
        apy_frame_t frame = receiver_rig_frame(1024, 0xC0, APY_FRAME_DATA, position);
        frame.term_id = position < TERM_LENGTH ? INT32_MAX : INT32_MIN;
        memcpy(datagram, &frame, sizeof(frame));
        if (position != TERM_LENGTH + 1024) {
            receiver_rig_give(r, datagram, sizeof(datagram));
        }
        if (position < TERM_LENGTH) {
            r->sub_pos = r->rcv_pos;
        }
        receiver_rig_cycle(r);
        receiver_rig_cycle(r);
    }
    CHECK_EQ(r->rcv_pos, TERM_LENGTH + 1024);
    receiver_rig_step(r, RIG_MS);
    receiver_rig_cycle(r);
    const apy_nak_t *nak = next_nak(r);
    CHECK(nak != NULL);
    CHECK_EQ(nak->term_id, INT32_MIN);
    CHECK_EQ(nak->term_offset, 1024);
    CHECK_EQ(nak->range_length, 1024);
    receiver_rig_close(r);
}

int main(void)
{
    RUN(many_gaps_are_asked_for_one_after_another);
    RUN(gaps_may_be_filled_in_any_order);
    RUN(a_tail_is_found_from_behind_padding_that_led_past_the_bound);
    RUN(the_channel_says_how_long_a_gap_may_last);
    RUN(a_group_waits_at_random);
    RUN(a_delay_as_long_as_can_be_said_never_ends);
    RUN(an_unreliable_stream_jumps_over_each_gap);
    RUN(term_ids_wrap_around);
    return 0;
}
