/*
 * fuzz_datagram feeds datagrams to what listens on the network: a receive endpoint with and without an image, and
 * a send endpoint with a publication. An input is a run of datagrams, each behind two bytes of length; the lowest
 * bit of the first says to which side it goes, the highest of the second to which of two destinations: the other one
 * knows its publisher and stamps what comes. Between them the clock moves and both agents and the core run.
 */

#include "apy/receive_dispatch.h"
#include "apy/send_dispatch.h"

#include "../c/loop_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static apy_receive_destination_t *open_other(loop_t *loop)
{
    apy_receive_destination_t *other = NULL;
    apy_udp_channel_t channel = {.has_explicit_endpoint = true, .has_explicit_control = true};
    channel.remote_data = channel.remote_control = rig_address(0);
    channel.local_data = channel.local_control = *apy_send_endpoint_bound_address(loop->send_endpoint);
    channel.channel_snd_timestamp_offset = APY_TIMESTAMP_NONE;
    channel.channel_rcv_timestamp_offset = 0;
    channel.media_rcv_timestamp_offset = APY_TIMESTAMP_RESERVED;
    CHECK_EQ(apy_receive_destination_open(loop->receive_endpoint, &channel, 3, &other), APY_OK);
    CHECK_EQ(apy_receiver_add_destination(loop->receiver, other), APY_OK);
    return other;
}

static void one(loop_t *loop, apy_receive_destination_t *destination, uint8_t *datagram, size_t length,
                bool to_receiver)
{
    const struct sockaddr_storage *source = apy_send_endpoint_bound_address(loop->send_endpoint);
    if (to_receiver) {
        const apy_datagram_t received = {datagram, length, source, 1};
        apy_receiver_on_datagram(loop->receiver, destination, &received);
    } else {
        apy_send_endpoint_on_datagram(loop->send_endpoint, datagram, length, source, loop->rig->hand.nano_time);
    }
    rig_advance(loop->rig, 60 * RIG_MS);
    apy_sender_do_work(loop->sender);
    apy_receiver_do_work(loop->receiver);
    loop_core(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rig_t *rig = rig_open();
    struct sockaddr_storage address;
    loop_t *loop = loop_open(rig, NULL, &address);
    loop->congestion = (apy_congestion_params_t){.is_cubic = true, .measure_rtt = true, .initial_rtt_ns = 100000};
    apy_receive_destination_t *other = open_other(loop);
    /* The handshake, so that there is an image; then something to resend. */
    for (int i = 0; i < 6; i++) {
        rig_advance(rig, 60 * RIG_MS);
        apy_sender_do_work(loop->sender);
        apy_receiver_do_work(loop->receiver);
        loop_core(loop);
        loop_offer(loop, 10000);
    }
    while (size >= 2) {
        const size_t wanted = (size_t)(data[0] >> 1) + ((size_t)(data[1] & 0x7F) << 7);
        const size_t length = wanted < size - 2 ? wanted : size - 2;
        /* A copy of its exact size, so that a byte too far is seen. */
        uint8_t *datagram = malloc(length > 0 ? length : 1);
        memcpy(datagram, data + 2, length);
        one(loop, data[1] & 0x80 ? other : loop->destination, datagram, length, data[0] & 1);
        free(datagram);
        data += 2 + length;
        size -= 2 + length;
    }
    loop_close(loop);
    apy_receive_destination_free(other);
    rig_close(rig);
    return 0;
}
