/* A publisher's datagrams that came in a train: each is taken, counted and refused by itself. */

#include "apy/udp_train.h"
#include "receiver_rig.h"

#define COUNT 20
#define SPAN 1056

typedef struct train {
    uint8_t bytes[COUNT * SPAN];
    struct iovec datagrams[COUNT];
} train_t;

/* Full frames from the first position on, as the sender of one publication couples them. */
static void lay_out(train_t *train)
{
    memset(train, 0, sizeof(*train));
    for (int i = 0; i < COUNT; i++) {
        const apy_frame_t frame = receiver_rig_frame(SPAN, 0xC0, APY_FRAME_DATA, (int64_t)i * SPAN);
        uint8_t *at = train->bytes + i * SPAN;
        memcpy(at, &frame, sizeof(frame));
        memset(at + sizeof(frame), i, SPAN - sizeof(frame));
        train->datagrams[i] = (struct iovec){at, SPAN};
    }
}

static void give(receiver_rig_t *r, const train_t *train)
{
    const apy_udp_channel_t channel = {.so_sndbuf = 1 << 20};
    const struct sockaddr_storage any = rig_address(0);
    apy_udp_transport_t out;
    int64_t sent = 0;
    CHECK_EQ(apy_udp_transport_open(&out, &channel, &any, NULL, NULL), APY_OK);
    CHECK_EQ(apy_udp_transport_send(&out, &r->receiver_address, train->datagrams, COUNT, &sent), COUNT);
    apy_udp_transport_close(&out);
    receiver_rig_cycle(r);
}

static receiver_rig_t *open_with_image(void)
{
    receiver_rig_t *r = receiver_rig_open();
    receiver_rig_image(r);
    rig_drain(r->publisher);
    return r;
}

static void a_turn_takes_more_than_a_vector_of_datagrams(void)
{
    receiver_rig_t *r = open_with_image();
    static train_t train;
    lay_out(&train);
    give(r, &train);
    CHECK_EQ(r->rcv_hwm, COUNT * SPAN);
    CHECK_EQ(r->rcv_pos, COUNT * SPAN);
    CHECK_EQ(receiver_rig_count(r, APY_SC_BYTES_RECEIVED), COUNT * SPAN);
    for (int i = 0; i < COUNT; i++) {
        const uint8_t *frame = (const uint8_t *)receiver_rig_at(r, (int64_t)i * SPAN);
        CHECK(memcmp(frame, train.bytes + i * SPAN, SPAN) == 0);
    }
    receiver_rig_close(r);
}

static void a_spoiled_one_is_refused_and_the_others_are_taken(void)
{
    receiver_rig_t *r = open_with_image();
    static train_t train;
    lay_out(&train);
    train.bytes[7 * SPAN + offsetof(apy_frame_t, version)] = 1;
    give(r, &train);
    CHECK_EQ(receiver_rig_count(r, APY_SC_INVALID_PACKETS), 1);
    CHECK_EQ(r->rcv_hwm, COUNT * SPAN);
    CHECK_EQ(r->rcv_pos, 7 * SPAN);
    CHECK_EQ(receiver_rig_at(r, 7 * SPAN)->length, 0);
    CHECK_EQ(receiver_rig_at(r, 8 * SPAN)->length, SPAN);
    receiver_rig_close(r);
}

static void those_of_two_sessions_go_their_own_ways(void)
{
    receiver_rig_t *r = open_with_image();
    static train_t train;
    lay_out(&train);
    const int32_t stranger = SESSION + 1;
    for (int i = 1; i < COUNT; i += 2) {
        memcpy(train.bytes + i * SPAN + offsetof(apy_frame_t, session_id), &stranger, sizeof(stranger));
    }
    give(r, &train);
    CHECK_EQ(receiver_rig_at(r, 0)->length, SPAN);
    CHECK_EQ(receiver_rig_at(r, SPAN)->length, 0);
    CHECK_EQ(receiver_rig_at(r, 2 * SPAN)->length, SPAN);
    CHECK_EQ(r->rcv_hwm, (COUNT - 1) * SPAN);
    CHECK_EQ(receiver_rig_count(r, APY_SC_INVALID_PACKETS), 0);
    receiver_rig_close(r);
}

int main(void)
{
    RUN(a_turn_takes_more_than_a_vector_of_datagrams);
    RUN(a_spoiled_one_is_refused_and_the_others_are_taken);
    RUN(those_of_two_sessions_go_their_own_ways);
    return 0;
}
