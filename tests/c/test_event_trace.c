/* What agents leave for the event log: only what is wanted, never more than there is room for. */
#include "apy/event_trace.h"

#include "apy/atomic.h"
#include "apy/flow_control.h"
#include "apy/frame.h"
#include "apy/transport_poller.h"
#include "driver_rig.h"

typedef struct record {
    apy_traced_t head;
    int32_t event, body_length;
    uint8_t body[2048];
} record_t;

typedef struct records {
    int count;
    record_t items[8];
} records_t;

static void keep(void *context, int32_t event, const uint8_t *message, int32_t length)
{
    records_t *records = context;
    CHECK(records->count < 8);
    record_t *record = &records->items[records->count++];
    CHECK(length >= (int32_t)sizeof(record->head));
    memcpy(&record->head, message, sizeof(record->head));
    record->event = event;
    record->body_length = length - (int32_t)sizeof(record->head);
    CHECK(record->body_length <= (int32_t)sizeof(record->body));
    memcpy(record->body, message + sizeof(record->head), (size_t)record->body_length);
}

static void what_finds_no_room_is_counted_and_what_did_stays_in_order(void)
{
    apy_hand_clock_t hand = {.nano_time = 1};
    apy_event_trace_t *trace;
    static uint8_t body[1000];
    CHECK_EQ(apy_event_trace_open(&trace, UINT64_MAX, apy_clock_by_hand(&hand)), APY_OK);
    int64_t written = 0;
    while (apy_load_acquire_i64(&trace->dropped) < 3) {
        memcpy(body, &written, sizeof(written));
        apy_event_trace_write(trace, APY_TRACE_RESEND, NULL, 0, body, sizeof(body));
        written++;
        CHECK(written < 100000);
        hand.nano_time++;
    }
    CHECK(written > 500);
    int64_t read = 0;
    for (records_t records = {0}; apy_event_trace_read(trace, keep, &records, 8) > 0; records.count = 0) {
        for (int i = 0; i < records.count; i++) {
            CHECK_EQ(memcmp(records.items[i].body, &read, sizeof(read)), 0);
            CHECK_EQ(records.items[i].head.time_ns, ++read);
            CHECK_EQ(records.items[i].head.address_length, 0);
            CHECK_EQ(records.items[i].event, APY_TRACE_RESEND);
        }
    }
    CHECK_EQ(read, written - 3);
    records_t records = {0};
    apy_event_trace_write(trace, APY_TRACE_RESEND, NULL, 0, body, sizeof(body));
    CHECK_EQ(apy_event_trace_read(trace, keep, &records, 8), 1);
    apy_event_trace_close(trace);
}

static void nothing_counts_as_wanted_without_a_trace_or_its_bit(void)
{
    apy_event_trace_t trace = {.events = UINT64_C(1) << APY_TRACE_IMAGE_REVOKED};
    CHECK(!apy_traces(NULL, APY_TRACE_FRAME_IN));
    CHECK(apy_event_trace_tap(NULL) == NULL);
    CHECK(apy_event_trace_tap(&trace) == NULL);
    CHECK(apy_traces(&trace, APY_TRACE_IMAGE_REVOKED));
    trace.events |= UINT64_C(1) << APY_TRACE_FRAME_OUT;
    CHECK(apy_event_trace_tap(&trace) == &trace.tap);
}

static void ignore(void *context, void *owner, const apy_datagram_t *datagram)
{
    (void)context;
    (void)owner;
    (void)datagram;
}

/* Two datagrams from one transport to another that is polled; what was recorded of them. */
static records_t frames(uint64_t events, struct sockaddr_storage *from, struct sockaddr_storage *to)
{
    apy_event_trace_t *trace;
    apy_udp_transport_t sends, hears;
    apy_transport_poller_t *poller = calloc(1, sizeof(*poller));
    const apy_udp_channel_t channel = {APY_NO_TIMESTAMPS};
    const struct sockaddr_storage any = rig_address(0);
    const apy_loss_interceptor_t no_loss = {0};
    _Alignas(8) static uint8_t data[96];
    apy_setup_t setup = {.length = sizeof(setup), .type = APY_FRAME_SETUP, .mtu = 1408};
    const apy_frame_t frame = {.length = 90, .type = APY_FRAME_DATA, .term_offset = 64};
    memcpy(data, &frame, sizeof(frame));
    CHECK_EQ(apy_event_trace_open(&trace, events, apy_clock_system()), APY_OK);
    CHECK_EQ(apy_udp_transport_open(&sends, &channel, &any, NULL, NULL), APY_OK);
    CHECK_EQ(apy_udp_transport_open(&hears, &channel, &any, NULL, NULL), APY_OK);
    sends.tap = hears.tap = apy_event_trace_tap(trace);
    CHECK_EQ(apy_transport_poller_init(poller, 4, &no_loss), APY_OK);
    CHECK_EQ(apy_transport_poller_add(poller, &hears, NULL), APY_OK);
    const struct iovec datagrams[2] = {{&setup, sizeof(setup)}, {data, sizeof(data)}};
    int64_t bytes = 0;
    records_t records = {0};
    CHECK_EQ(apy_udp_transport_send(&sends, &hears.bound, datagrams, 2, &bytes), 2);
    CHECK_EQ(apy_transport_poller_poll(poller, ignore, NULL, &bytes), 2);
    while (apy_event_trace_read(trace, keep, &records, 8) > 0) {
    }
    *from = sends.bound;
    *to = hears.bound;
    apy_transport_poller_free(poller);
    free(poller);
    apy_udp_transport_close(&sends);
    apy_udp_transport_close(&hears);
    apy_event_trace_close(trace);
    return records;
}

static void frames_are_recorded_both_ways_with_their_head_and_the_other_side(void)
{
    struct sockaddr_storage from, to;
    const records_t both = frames(UINT64_C(3) << APY_TRACE_FRAME_IN, &from, &to);
    CHECK_EQ(both.count, 4);
    for (int i = 0; i < 4; i++) {
        const record_t *record = &both.items[i];
        CHECK_EQ(record->event, i < 2 ? APY_TRACE_FRAME_OUT : APY_TRACE_FRAME_IN);
        CHECK_EQ(record->head.length, i % 2 == 0 ? 40 : 96);
        CHECK_EQ(record->body_length, i % 2 == 0 ? 40 : 32); /* no payload */
        CHECK_EQ(record->body[6], i % 2 == 0 ? APY_FRAME_SETUP : APY_FRAME_DATA);
        CHECK_EQ(record->head.address_length, sizeof(struct sockaddr_in));
        CHECK_EQ(memcmp(record->head.address, i < 2 ? &to : &from, sizeof(struct sockaddr_in)), 0);
    }
    const records_t incoming = frames(UINT64_C(1) << APY_TRACE_FRAME_IN, &from, &to);
    CHECK_EQ(incoming.count, 2);
    CHECK_EQ(incoming.items[0].event, APY_TRACE_FRAME_IN);
}

typedef struct change {
    int count;
    bool is_added;
    int64_t receiver_id;
    int32_t receivers;
} change_t;

static void on_change(void *context, bool is_added, int64_t receiver_id, int32_t receivers)
{
    change_t *change = context;
    *change = (change_t){change->count + 1, is_added, receiver_id, receivers};
}

static void receivers_that_are_waited_for_are_told_as_they_come_and_go(void)
{
    change_t last = {0};
    apy_flow_control_t flow;
    const apy_flow_control_params_t params = {.kind = APY_FLOW_MIN,
                                              .retransmit_windows = 4,
                                              .receiver_timeout_ns = 100,
                                              .on_change = on_change,
                                              .change_context = &last};
    apy_flow_control_init(&flow, &params);
    apy_flow_control_on_sm(&flow, &(apy_allowance_t){.receiver_id = 8, .window = 100}, 0, 10);
    CHECK(last.count == 1 && last.is_added && last.receiver_id == 8 && last.receivers == 1);
    apy_flow_control_on_sm(&flow, &(apy_allowance_t){.receiver_id = 9, .window = 100}, 0, 50);
    CHECK(last.count == 2 && last.is_added && last.receiver_id == 9 && last.receivers == 2);
    apy_flow_control_on_sm(&flow, &(apy_allowance_t){.receiver_id = 9, .window = 100}, 0, 60);
    apy_flow_control_on_idle(&flow, 0, 110);
    CHECK_EQ(last.count, 2);
    apy_flow_control_on_idle(&flow, 0, 111);
    CHECK(last.count == 3 && !last.is_added && last.receiver_id == 8 && last.receivers == 1);
    apy_flow_control_free(&flow);
}

int main(void)
{
    RUN(what_finds_no_room_is_counted_and_what_did_stays_in_order);
    RUN(nothing_counts_as_wanted_without_a_trace_or_its_bit);
    RUN(frames_are_recorded_both_ways_with_their_head_and_the_other_side);
    RUN(receivers_that_are_waited_for_are_told_as_they_come_and_go);
    return 0;
}
