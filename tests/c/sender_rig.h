#ifndef APY_TEST_SENDER_RIG_H
#define APY_TEST_SENDER_RIG_H

/*
 * sender_rig is one publication of session 0x1234, stream 1001, initial term 7, 64 KiB terms, mtu 1408, behind the
 * sender, and a raw socket as its receiver.
 */

#include "apy/send_dispatch.h"
#include "apy/sender.h"
#include "driver_rig.h"

#define SESSION 0x1234
#define STREAM 1001
#define TERM 7
#define TERM_LENGTH 65536

typedef struct sender_rig {
    rig_t *rig;
    apy_sender_t *sender;
    apy_send_endpoint_t *endpoint;
    apy_network_publication_t *publication;
    apy_log_t log;
    apy_exclusive_t append;
    int64_t status, destination_count, receiver_count, pub_pos, pub_lmt, snd_pos, snd_lmt, snd_bpe, naks_received;
    int receiver; /* a socket */
    struct sockaddr_storage receiver_address, sender_address;
    uint8_t datagram[65536];
} sender_rig_t;

static inline apy_network_publication_params_t sender_rig_params(sender_rig_t *s)
{
    return (apy_network_publication_params_t){
        .registration_id = 77,
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = TERM,
        .window_length = TERM_LENGTH / 2,
        .linger_ns = 5 * RIG_SECOND,
        .exclusive = true,
        .signal_eos = true,
        .flow_control = {.kind = APY_FLOW_UNICAST,
                         .retransmit_windows = 16,
                         .group_tag = -1,
                         .receiver_timeout_ns = 5 * RIG_SECOND,
                         .receiver_count = &s->receiver_count},
        .untethered_window_limit_ns = 5 * RIG_SECOND,
        .untethered_linger_ns = 5 * RIG_SECOND,
        .untethered_resting_ns = 10 * RIG_SECOND,
        .pub_pos = &s->pub_pos,
        .pub_lmt = &s->pub_lmt,
        .snd_pos = &s->snd_pos,
        .snd_lmt = &s->snd_lmt,
        .snd_bpe = &s->snd_bpe,
        .naks_received = &s->naks_received,
    };
}

static inline sender_rig_t *sender_rig_open_with(const apy_network_publication_params_t *params, sender_rig_t *s)
{
    s->log = rig_log(s->rig, APY_LOG_EXCLUSIVE, SESSION, STREAM, TERM, TERM_LENGTH);
    CHECK_EQ(apy_network_publication_create(&s->rig->context, s->endpoint, &s->log, params, &s->publication), APY_OK);
    apy_exclusive_init(&s->append, &s->log, &s->pub_lmt);
    CHECK_EQ(apy_sender_add_endpoint(s->sender, s->endpoint), APY_OK);
    CHECK_EQ(apy_sender_add_publication(s->sender, s->publication), APY_OK);
    return s;
}

/* What a test may want otherwise: then it calls the three parts itself. */
static inline sender_rig_t *sender_rig_start(void)
{
    sender_rig_t *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    s->rig = rig_open();
    s->receiver = rig_socket(&s->receiver_address);
    return s;
}

static inline apy_udp_channel_t sender_rig_channel(const sender_rig_t *s)
{
    apy_udp_channel_t channel = {.has_explicit_endpoint = true, APY_NO_TIMESTAMPS};
    channel.remote_data = channel.remote_control = s->receiver_address;
    channel.local_data = channel.local_control = rig_address(0);
    return channel;
}

static inline void sender_rig_open_endpoint(sender_rig_t *s, const apy_udp_channel_t *channel)
{
    CHECK_EQ(apy_send_endpoint_open(&s->rig->context, channel, 5, &s->status, &s->destination_count, &s->endpoint),
             APY_OK);
    CHECK_EQ(s->status, 1);
    s->sender_address = *apy_send_endpoint_bound_address(s->endpoint);
    CHECK_EQ(apy_sender_create(&s->rig->context, &s->sender), APY_OK);
}

/* All but the publication, which a test may want with parameters of its own. */
static inline sender_rig_t *sender_rig_open_bare(void)
{
    sender_rig_t *s = sender_rig_start();
    const apy_udp_channel_t channel = sender_rig_channel(s);
    sender_rig_open_endpoint(s, &channel);
    return s;
}

static inline sender_rig_t *sender_rig_open(void)
{
    sender_rig_t *s = sender_rig_open_bare();
    const apy_network_publication_params_t params = sender_rig_params(s);
    return sender_rig_open_with(&params, s);
}

static inline void sender_rig_close(sender_rig_t *s)
{
    apy_sender_free(s->sender);
    apy_network_publication_free(s->publication);
    apy_send_endpoint_free(s->endpoint);
    close(s->receiver);
    rig_close(s->rig);
    free(s);
}

/* One cycle of the sender, then one of the core. */
static inline void sender_rig_cycle(sender_rig_t *s)
{
    apy_sender_do_work(s->sender);
    apy_network_publication_update(s->publication, s->rig->hand.nano_time);
}

static inline void sender_rig_step(sender_rig_t *s, int64_t delta_ns)
{
    rig_advance(s->rig, delta_ns);
    sender_rig_cycle(s);
}

static inline int sender_rig_tick(sender_rig_t *s, int64_t delta_ns)
{
    sender_rig_step(s, delta_ns);
    return apy_network_publication_on_timer(s->publication, s->rig->hand.nano_time);
}

static inline int sender_rig_take(sender_rig_t *s)
{
    return rig_take(s->receiver, s->datagram, sizeof(s->datagram));
}

/* The next datagram that is neither SETUP nor heartbeat; -1: none. */
static inline int sender_rig_take_data(sender_rig_t *s)
{
    int length = sender_rig_take(s);
    while (length >= 0) {
        const apy_frame_t *frame = (const apy_frame_t *)(const void *)s->datagram;
        if (frame->type <= APY_FRAME_DATA && frame->length > 0) {
            break;
        }
        length = sender_rig_take(s);
    }
    return length;
}

static inline void sender_rig_sm(sender_rig_t *s, uint8_t flags, int32_t term_id, int32_t offset, int32_t window)
{
    const apy_sm_t sm = {sizeof(sm), 0, flags, APY_FRAME_SM, SESSION, STREAM, term_id, offset, window, 0x99};
    rig_give(s->receiver, &s->sender_address, &sm, sizeof(sm));
    sender_rig_cycle(s);
}

static inline void sender_rig_nak(sender_rig_t *s, int32_t term_id, int32_t offset, int32_t length)
{
    const apy_nak_t nak = {sizeof(nak), 0, 0, APY_FRAME_NAK, SESSION, STREAM, term_id, offset, length};
    rig_give(s->receiver, &s->sender_address, &nak, sizeof(nak));
    sender_rig_cycle(s);
}

/* The handshake: SETUP seen, window given, nothing left in the socket. */
static inline void sender_rig_connect(sender_rig_t *s, int32_t window)
{
    sender_rig_cycle(s);
    sender_rig_sm(s, 0, TERM, 0, window);
    sender_rig_cycle(s);
    rig_drain(s->receiver);
}

static inline int64_t sender_rig_offer(sender_rig_t *s, const void *message, size_t length)
{
    const struct iovec part = {(void *)(uintptr_t)message, length};
    return apy_exclusive_offer(&s->append, &part, 1, NULL, NULL);
}

static inline int64_t sender_rig_count(const sender_rig_t *s, int counter)
{
    return s->rig->counters[counter];
}

#endif
