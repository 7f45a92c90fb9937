#ifndef APY_TEST_RECEIVER_RIG_H
#define APY_TEST_RECEIVER_RIG_H

/*
 * receiver_rig is a receive endpoint for stream 1001 behind the receiver, a raw socket as its publisher, and the
 * image of session 0x1234, initial term 7, 64 KiB terms, when the test asks for it.
 */

#include "apy/receive_dispatch.h"
#include "apy/receiver.h"
#include "driver_rig.h"

#define SESSION 0x1234
#define STREAM 1001
#define TERM 7
#define TERM_LENGTH 65536
#define WINDOW 32768

typedef struct receiver_rig {
    rig_t *rig;
    apy_receiver_t *receiver;
    apy_receive_endpoint_t *endpoint;
    apy_receive_destination_t *destination;
    apy_udp_channel_t channel;
    apy_image_t *image;
    apy_log_t log;
    apy_image_params_t params;
    int64_t status, rcv_hwm, rcv_pos, naks_sent, sub_pos;
    int publisher; /* a socket */
    struct sockaddr_storage publisher_address, receiver_address;
    uint8_t datagram[65536];
} receiver_rig_t;

/* Everything but the endpoint, for a test to say what channel it has. */
static inline receiver_rig_t *receiver_rig_prepare(void)
{
    receiver_rig_t *r = calloc(1, sizeof(*r));
    CHECK(r != NULL);
    r->rig = rig_open();
    r->rig->context.next_receiver_id = (int64_t)UINT64_C(0xbb2f33daabed3e78); /* of the captures */
    r->publisher = rig_socket(&r->publisher_address);
    r->channel = (apy_udp_channel_t){.has_explicit_endpoint = true, .so_rcvbuf = 4 << 20, APY_NO_TIMESTAMPS};
    r->channel.remote_data = r->channel.remote_control = rig_address(0);
    r->channel.local_data = r->channel.local_control = rig_address(0);
    CHECK_EQ(apy_receiver_create(&r->rig->context, &r->receiver), APY_OK);
    r->params = (apy_image_params_t){
        .correlation_id = 88,
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = TERM,
        .active_term_id = TERM,
        .window_length = WINDOW,
        .mtu = 1408,
        .reliable = true,
        .rejoin = true,
        .nak_delay_ns = -1,
        .untethered_window_limit_ns = 5 * RIG_SECOND,
        .untethered_linger_ns = 5 * RIG_SECOND,
        .untethered_resting_ns = 10 * RIG_SECOND,
        .destination_id = 6,
        .source = r->publisher_address,
        .channel = "aeron:udp?endpoint=127.0.0.1:0",
        .source_identity = "127.0.0.1:1",
        .rcv_hwm = &r->rcv_hwm,
        .rcv_pos = &r->rcv_pos,
        .naks_sent = &r->naks_sent,
    };
    return r;
}

/* The endpoint of r->channel, id 6, with a destination of the same channel and id. */
static inline void receiver_rig_start(receiver_rig_t *r)
{
    CHECK_EQ(apy_receive_endpoint_create(&r->rig->context, &r->channel, 6, &r->status, &r->endpoint), APY_OK);
    CHECK_EQ(apy_receive_destination_open(r->endpoint, &r->channel, 6, &r->destination), APY_OK);
    r->receiver_address = *apy_receive_destination_bound_address(r->destination);
    CHECK_EQ(apy_receiver_add_destination(r->receiver, r->destination), APY_OK);
    CHECK_EQ(apy_receiver_add_stream(r->receiver, r->endpoint, STREAM), APY_OK);
}

static inline receiver_rig_t *receiver_rig_open(void)
{
    receiver_rig_t *r = receiver_rig_prepare();
    receiver_rig_start(r);
    return r;
}

/* One cycle of the receiver, then one of the core. */
static inline void receiver_rig_cycle(receiver_rig_t *r)
{
    apy_receiver_do_work(r->receiver);
    if (r->image != NULL) {
        apy_image_track_rebuild(r->image, r->rig->hand.nano_time);
    }
}

static inline void receiver_rig_step(receiver_rig_t *r, int64_t delta_ns)
{
    rig_advance(r->rig, delta_ns);
    receiver_rig_cycle(r);
}

static inline int receiver_rig_tick(receiver_rig_t *r, int64_t delta_ns)
{
    receiver_rig_step(r, delta_ns);
    return apy_image_on_timer(r->image, r->rig->hand.nano_time);
}

static inline int64_t receiver_rig_count(const receiver_rig_t *r, int counter)
{
    return r->rig->counters[counter];
}

static inline int receiver_rig_take(receiver_rig_t *r)
{
    return rig_take(r->publisher, r->datagram, sizeof(r->datagram));
}

/* The next frame of a type; -1: none. */
static inline int receiver_rig_take_type(receiver_rig_t *r, int type)
{
    int length = receiver_rig_take(r);
    while (length >= 0 && ((const apy_frame_t *)(const void *)r->datagram)->type != type) {
        length = receiver_rig_take(r);
    }
    return length;
}

static inline void receiver_rig_give(receiver_rig_t *r, const void *datagram, size_t length)
{
    rig_give(r->publisher, &r->receiver_address, datagram, length);
    receiver_rig_cycle(r);
}

static inline apy_setup_t receiver_rig_setup(void)
{
    return (apy_setup_t){sizeof(apy_setup_t), 0,    0, APY_FRAME_SETUP, 0, SESSION, STREAM, TERM, TERM,
                         TERM_LENGTH,         1408, 0};
}

static inline apy_frame_t receiver_rig_frame(int32_t length, uint8_t flags, uint16_t type, int64_t position)
{
    return (apy_frame_t){length,
                         0,
                         flags,
                         type,
                         (int32_t)(position % TERM_LENGTH),
                         SESSION,
                         STREAM,
                         TERM + (int32_t)(position / TERM_LENGTH),
                         0};
}

/* One data frame of payload bytes, each the low byte of the position, in a datagram of its own. */
static inline void receiver_rig_data(receiver_rig_t *r, int64_t position, int32_t payload)
{
    uint8_t datagram[2048] = {0};
    const apy_frame_t frame = receiver_rig_frame(32 + payload, 0xC0, APY_FRAME_DATA, position);
    memcpy(datagram, &frame, sizeof(frame));
    memset(datagram + sizeof(frame), (int)(position / 32), (size_t)payload);
    receiver_rig_give(r, datagram, (size_t)apy_frame_span(32 + payload));
}

static inline void receiver_rig_heartbeat(receiver_rig_t *r, uint8_t flags, int64_t position)
{
    const apy_frame_t frame = receiver_rig_frame(0, flags, APY_FRAME_DATA, position);
    receiver_rig_give(r, &frame, sizeof(frame));
}

/* The image as the conductor would make it, with one subscriber, known to the receiver. */
static inline void receiver_rig_image(receiver_rig_t *r)
{
    const apy_subscriber_t subscriber = {.registration_id = 3, .position = &r->sub_pos, .tether = true};
    r->log = rig_log(r->rig, APY_LOG_IMAGE, SESSION, STREAM, TERM, TERM_LENGTH);
    CHECK_EQ(apy_image_create(&r->rig->context, r->endpoint, &r->log, &r->params, &r->image), APY_OK);
    CHECK(apy_image_is_accepting(r->image));
    CHECK_EQ(apy_image_add_subscriber(r->image, &subscriber), APY_OK);
    CHECK_EQ(apy_receiver_add_image(r->receiver, r->endpoint, r->image), APY_OK);
    receiver_rig_cycle(r);
}

static inline const apy_frame_t *receiver_rig_at(const receiver_rig_t *r, int64_t position)
{
    const uint8_t *term = r->log.terms[apy_position_partition(position, r->log.shift)];
    return (const apy_frame_t *)(const void *)(term + position % TERM_LENGTH);
}

static inline void receiver_rig_close(receiver_rig_t *r)
{
    apy_receiver_free(r->receiver);
    apy_image_free(r->image);
    apy_receive_destination_free(r->destination);
    apy_receive_endpoint_free(r->endpoint);
    close(r->publisher);
    rig_close(r->rig);
    free(r);
}

#endif
