#ifndef APY_TEST_LOOP_RIG_H
#define APY_TEST_LOOP_RIG_H

/*
 * loop_rig is a publication and its image in one process: sender, receiver, and a core that does what the
 * conductor does for them. The stream is a sequence of bytes that anybody can compute, in messages of any length.
 */

#include "apy/receiver.h"
#include "apy/sender.h"
#include "driver_rig.h"

#define LOOP_TERM_LENGTH 65536
#define LOOP_INITIAL_TERM INT32_MAX /* term ids wrap on the way */

typedef struct loop {
    rig_t *rig;
    apy_sender_t *sender;
    apy_receiver_t *receiver;
    apy_send_endpoint_t *send_endpoint;
    apy_receive_endpoint_t *receive_endpoint;
    apy_receive_destination_t *destination;
    apy_network_publication_t *publication;
    apy_image_t *image; /* release, by the core */
    apy_log_t publication_log, image_log;
    apy_exclusive_t append;
    int64_t statuses[2], pub_pos, pub_lmt, snd_pos, snd_lmt, snd_bpe, naks_received;
    int64_t rcv_hwm, rcv_pos, naks_sent, sub_pos;
    apy_congestion_params_t congestion; /* of the image */
    int64_t timer_deadline_ns;
    int ticks; /* what the timers said, or-ed: images in bits 8 and up */
    uint32_t seed;
    uint64_t offered, taken; /* bytes of the stream */
} loop_t;

/* to: where the publication sends; NULL: straight to the image's endpoint. */
static inline loop_t *loop_open(rig_t *rig, const struct sockaddr_storage *to, struct sockaddr_storage *receive_address)
{
    loop_t *loop = calloc(1, sizeof(*loop));
    CHECK(loop != NULL);
    loop->rig = rig;
    loop->seed = 20240607;
    apy_udp_channel_t channel = {.has_explicit_endpoint = true, .so_rcvbuf = 1 << 20, APY_NO_TIMESTAMPS};
    channel.remote_data = channel.remote_control = channel.local_data = channel.local_control = rig_address(0);
    CHECK_EQ(apy_receive_endpoint_create(&rig->context, &channel, 1, &loop->statuses[0], &loop->receive_endpoint),
             APY_OK);
    CHECK_EQ(apy_receive_destination_open(loop->receive_endpoint, &channel, 1, &loop->destination), APY_OK);
    *receive_address = *apy_receive_destination_bound_address(loop->destination);
    channel.remote_data = channel.remote_control = to != NULL ? *to : *receive_address;
    CHECK_EQ(apy_send_endpoint_open(&rig->context, &channel, 2, &loop->statuses[1], NULL, &loop->send_endpoint),
             APY_OK);

    const apy_network_publication_params_t params = {
        .registration_id = 10,
        .session_id = 77,
        .stream_id = 1001,
        .initial_term_id = LOOP_INITIAL_TERM,
        .window_length = LOOP_TERM_LENGTH / 2,
        .linger_ns = 5 * RIG_SECOND,
        .exclusive = true,
        .signal_eos = true,
        .flow_control = {.kind = APY_FLOW_UNICAST, .retransmit_windows = 16},
        .pub_pos = &loop->pub_pos,
        .pub_lmt = &loop->pub_lmt,
        .snd_pos = &loop->snd_pos,
        .snd_lmt = &loop->snd_lmt,
        .snd_bpe = &loop->snd_bpe,
        .naks_received = &loop->naks_received,
    };
    loop->publication_log = rig_log(rig, APY_LOG_EXCLUSIVE, 77, 1001, LOOP_INITIAL_TERM, LOOP_TERM_LENGTH);
    loop->image_log = rig_log(rig, APY_LOG_IMAGE, 77, 1001, LOOP_INITIAL_TERM, LOOP_TERM_LENGTH);
    CHECK_EQ(apy_network_publication_create(&rig->context, loop->send_endpoint, &loop->publication_log, &params,
                                            &loop->publication),
             APY_OK);
    apy_exclusive_init(&loop->append, &loop->publication_log, &loop->pub_lmt);
    CHECK_EQ(apy_sender_create(&rig->context, &loop->sender), APY_OK);
    CHECK_EQ(apy_receiver_create(&rig->context, &loop->receiver), APY_OK);
    CHECK_EQ(apy_sender_add_endpoint(loop->sender, loop->send_endpoint), APY_OK);
    CHECK_EQ(apy_sender_add_publication(loop->sender, loop->publication), APY_OK);
    CHECK_EQ(apy_receiver_add_destination(loop->receiver, loop->destination), APY_OK);
    CHECK_EQ(apy_receiver_add_stream(loop->receiver, loop->receive_endpoint, 1001), APY_OK);
    return loop;
}

static inline void loop_close(loop_t *loop)
{
    apy_sender_free(loop->sender);
    apy_receiver_free(loop->receiver);
    apy_network_publication_free(loop->publication);
    apy_image_free(loop->image);
    if (loop->image == NULL) {
        apy_log_close(&loop->image_log);
    }
    apy_send_endpoint_free(loop->send_endpoint);
    apy_receive_destination_free(loop->destination);
    apy_receive_endpoint_free(loop->receive_endpoint);
    free(loop);
}

/* --- the core --- */

static inline void loop_on_inbox(void *context, int32_t type, const uint8_t *message, int32_t length)
{
    loop_t *loop = context;
    apy_inbox_setup_t setup;
    if (type != APY_INBOX_SETUP) {
        return;
    }
    CHECK_EQ(length, sizeof(setup));
    memcpy(&setup, message, sizeof(setup));
    if (loop->image != NULL) { /* one stream is all that is wanted here */
        apy_receiver_refuse_image(loop->receiver, loop->receive_endpoint, setup.setup.stream_id,
                                  setup.setup.session_id);
        return;
    }
    const apy_subscriber_t subscriber = {.registration_id = 3, .position = &loop->sub_pos, .tether = true};
    const apy_image_params_t params = {
        .correlation_id = 11,
        .session_id = setup.setup.session_id,
        .stream_id = setup.setup.stream_id,
        .initial_term_id = setup.setup.initial_term_id,
        .active_term_id = setup.setup.active_term_id,
        .term_offset = setup.setup.term_offset,
        .window_length = LOOP_TERM_LENGTH / 2,
        .reliable = true,
        .nak_delay_ns = -1,
        .mtu = setup.setup.mtu,
        .congestion = loop->congestion,
        .destination_id = setup.destination_id,
        .source = setup.source,
        .channel = "aeron:udp?endpoint=localhost:0",
        .source_identity = "127.0.0.1:0",
        .rcv_hwm = &loop->rcv_hwm,
        .rcv_pos = &loop->rcv_pos,
        .naks_sent = &loop->naks_sent,
    };
    apy_image_t *image = NULL;
    CHECK_EQ(apy_image_create(&loop->rig->context, loop->receive_endpoint, &loop->image_log, &params, &image), APY_OK);
    CHECK_EQ(apy_image_add_subscriber(image, &subscriber), APY_OK);
    CHECK_EQ(apy_receiver_add_image(loop->receiver, loop->receive_endpoint, image), APY_OK);
    atomic_store_explicit((_Atomic(apy_image_t *) *)&loop->image, image, memory_order_release);
}

static inline int loop_core(loop_t *loop)
{
    const int64_t now_ns = apy_nano_time(&loop->rig->context.clock);
    const bool is_tick = now_ns > loop->timer_deadline_ns;
    int work = apy_mpsc_ring_read(&loop->rig->inbox, loop_on_inbox, loop, 10);
    work += apy_network_publication_update(loop->publication, now_ns);
    if (loop->image != NULL) {
        work += apy_image_track_rebuild(loop->image, now_ns);
    }
    if (is_tick) {
        loop->timer_deadline_ns = now_ns + loop->rig->context.config.timer_interval_ns;
        loop->ticks |= apy_network_publication_on_timer(loop->publication, now_ns);
        if (loop->image != NULL) {
            loop->ticks |= apy_image_on_timer(loop->image, now_ns) << 8;
        }
    }
    return work;
}

/* --- the stream --- */

static inline uint8_t loop_byte(uint64_t at)
{
    at = (at + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint8_t)(at >> 56);
}

/* Offer the next message when there is room; up to total bytes. */
static inline int loop_offer(loop_t *loop, uint64_t total)
{
    uint8_t message[4096];
    if (loop->offered >= total) {
        return 0;
    }
    const uint32_t next_seed = loop->seed * 1664525 + 1013904223;
    const uint64_t left = total - loop->offered;
    const size_t drawn = (next_seed >> 16) % ((next_seed & 0x8000) ? 100 : sizeof(message));
    const size_t length = drawn < left ? drawn : left;
    for (size_t i = 0; i < length; i++) {
        message[i] = loop_byte(loop->offered + i);
    }
    const struct iovec part = {message, length};
    const int64_t result = apy_exclusive_offer(&loop->append, &part, 1, NULL, NULL);
    if (result <= 0) {
        CHECK(result == APY_NOT_CONNECTED || result == APY_BACK_PRESSURED || result == APY_ADMIN_ACTION);
        return 0;
    }
    loop->seed = next_seed;
    loop->offered += length;
    return 1;
}

/* Take whatever can be read, and check every byte of it. */
static inline int loop_take(loop_t *loop)
{
    const apy_image_t *image = atomic_load_explicit((_Atomic(apy_image_t *) *)&loop->image, memory_order_acquire);
    int frames = 0;
    if (image == NULL) {
        return 0;
    }
    int64_t position = loop->sub_pos;
    for (;;) {
        const uint8_t *term = loop->image_log.terms[apy_position_partition(position, loop->image_log.shift)];
        const apy_frame_t *frame = (const apy_frame_t *)(const void *)(term + position % LOOP_TERM_LENGTH);
        const int32_t length = apy_load_acquire_i32(&frame->length);
        if (length <= 0) {
            break;
        }
        CHECK_EQ(frame->term_offset, position % LOOP_TERM_LENGTH);
        CHECK_EQ(frame->term_id, apy_position_term_id(position, loop->image_log.shift, LOOP_INITIAL_TERM));
        if (frame->type == APY_FRAME_DATA) {
            const uint8_t *payload = (const uint8_t *)frame + APY_FRAME_HEADER;
            for (int32_t i = 0; i < length - APY_FRAME_HEADER; i++) {
                CHECK_EQ(payload[i], loop_byte(loop->taken + (uint64_t)i));
            }
            loop->taken += (uint64_t)(length - APY_FRAME_HEADER);
        }
        position += apy_frame_span(length);
        apy_store_release_i64(&loop->sub_pos, position);
        frames++;
    }
    return frames;
}

#endif
