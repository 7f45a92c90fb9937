/* Sockets on loopback: batches out and in, few and many sockets, the errors that are none, loss on purpose. */

#include <net/if.h>

#include "apy/frame.h"
#include "apy/transport_poller.h"
#include "driver_rig.h"

typedef struct taken {
    int count;
    size_t lengths[64];
    int64_t times_ns[64];
    uint8_t first_bytes[64];
    void *owners[64];
} taken_t;

static void on_datagram(void *context, void *owner, const apy_datagram_t *datagram)
{
    taken_t *taken = context;
    CHECK_EQ(datagram->source->ss_family, AF_INET);
    taken->lengths[taken->count] = datagram->length;
    taken->first_bytes[taken->count] = datagram->data[0];
    taken->times_ns[taken->count] = datagram->time_ns;
    taken->owners[taken->count] = owner;
    taken->count++;
}

static const apy_udp_channel_t plain = {.so_rcvbuf = 1 << 20};
static apy_loss_interceptor_t no_loss;

static apy_udp_transport_t open_on_loopback(const struct sockaddr_storage *connect_to)
{
    apy_udp_transport_t transport;
    const struct sockaddr_storage any = rig_address(0);
    CHECK_EQ(apy_udp_transport_open(&transport, &plain, &any, connect_to, NULL), APY_OK);
    CHECK(rig_port(&transport.bound) != 0);
    return transport;
}

static void a_batch_arrives_whole_and_in_order_at_most_a_vector_at_a_time(void)
{
    apy_udp_transport_t in = open_on_loopback(NULL);
    apy_udp_transport_t out = open_on_loopback(&in.bound);
    apy_transport_poller_t poller;
    uint8_t bytes[16][1408];
    struct iovec batch[16];
    int64_t count = 0;
    for (int i = 0; i < 16; i++) {
        memset(bytes[i], i, sizeof(bytes[i]));
        batch[i] = (struct iovec){bytes[i], (size_t)(32 + 86 * i)};
    }
    CHECK_EQ(apy_transport_poller_init(&poller, 10, &no_loss), APY_OK);
    CHECK_EQ(apy_transport_poller_add(&poller, &in, &in), APY_OK);
    CHECK_EQ(apy_udp_transport_send(&out, NULL, batch, 16, &count), 16);
    CHECK_EQ(count, 16 * 32 + 86 * 15 * 16 / 2);

    taken_t taken = {0};
    CHECK_EQ(apy_transport_poller_poll(&poller, on_datagram, &taken, &count), 10);
    CHECK_EQ(apy_transport_poller_poll(&poller, on_datagram, &taken, &count), 6);
    CHECK_EQ(apy_transport_poller_poll(&poller, on_datagram, &taken, &count), 0);
    CHECK_EQ(count, 0);
    for (int i = 0; i < 16; i++) {
        CHECK_EQ(taken.lengths[i], 32 + 86 * i);
        CHECK_EQ(taken.first_bytes[i], i);
    }
    apy_transport_poller_free(&poller);
    apy_udp_transport_close(&out);
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&in);
}

static void the_largest_datagram_passes(void)
{
    static uint8_t large[APY_UDP_PAYLOAD_MAX];
    apy_udp_transport_t in = open_on_loopback(NULL);
    apy_udp_transport_t out = open_on_loopback(NULL);
    const struct iovec datagram = {large, sizeof(large)};
    apy_transport_poller_t poller;
    taken_t taken = {0};
    int64_t count = 0;
    CHECK_EQ(apy_transport_poller_init(&poller, 2, &no_loss), APY_OK);
    CHECK_EQ(apy_transport_poller_add(&poller, &in, NULL), APY_OK);
    CHECK_EQ(apy_udp_transport_send(&out, &in.bound, &datagram, 1, &count), 1);
    CHECK_EQ(apy_transport_poller_poll(&poller, on_datagram, &taken, &count), 1);
    CHECK_EQ(taken.lengths[0], sizeof(large));
    apy_transport_poller_free(&poller);
    apy_udp_transport_close(&out);
    apy_udp_transport_close(&in);
}

static void many_sockets_are_served_and_a_removed_one_is_not(void)
{
    apy_udp_transport_t in[9];
    apy_udp_transport_t out = open_on_loopback(NULL);
    apy_transport_poller_t poller;
    uint8_t byte = 7;
    const struct iovec datagram = {&byte, 1};
    int64_t count = 0;
    CHECK_EQ(apy_transport_poller_init(&poller, 4, &no_loss), APY_OK);
    for (int i = 0; i < 9; i++) {
        in[i] = open_on_loopback(NULL);
        CHECK_EQ(apy_transport_poller_add(&poller, &in[i], &in[i]), APY_OK);
    }
    apy_transport_poller_remove(&poller, &in[3]);
    for (int i = 0; i < 9; i++) {
        CHECK_EQ(apy_udp_transport_send(&out, &in[i].bound, &datagram, 1, &count), 1);
    }
    taken_t taken = {0};
    CHECK_EQ(apy_transport_poller_poll(&poller, on_datagram, &taken, &count), 8);
    CHECK_EQ(count, 8);
    for (int i = 0; i < 9; i++) {
        int seen = 0;
        for (int j = 0; j < taken.count; j++) {
            seen += taken.owners[j] == &in[i];
        }
        CHECK_EQ(seen, i != 3);
    }
    for (int i = 0; i < 9; i++) {
        apy_transport_poller_remove(&poller, &in[i]);
        apy_udp_transport_close(&in[i]);
    }
    apy_transport_poller_free(&poller);
    apy_udp_transport_close(&out);
}

static void nobody_listening_is_nothing_sent_and_no_error(void)
{
    apy_udp_transport_t gone = open_on_loopback(NULL);
    const struct sockaddr_storage address = gone.bound;
    apy_udp_transport_close(&gone);
    apy_udp_transport_t out = open_on_loopback(&address);
    apy_transport_poller_t poller;
    uint8_t byte = 1;
    const struct iovec datagram = {&byte, 1};
    taken_t taken = {0};
    int64_t count = 0;
    CHECK_EQ(apy_transport_poller_init(&poller, 4, &no_loss), APY_OK);
    CHECK_EQ(apy_transport_poller_add(&poller, &out, NULL), APY_OK);

    CHECK_EQ(apy_udp_transport_send(&out, NULL, &datagram, 1, &count), 1);
    CHECK_EQ(apy_udp_transport_send(&out, NULL, &datagram, 1, &count), 0); /* the echo of the first */
    CHECK_EQ(count, 0);
    CHECK_EQ(apy_udp_transport_send(&out, NULL, &datagram, 1, &count), 1);
    CHECK_EQ(apy_transport_poller_poll(&poller, on_datagram, &taken, &count), 0);
    apy_transport_poller_free(&poller);
    apy_udp_transport_close(&out);
}

static void a_port_in_use_is_an_error_that_names_it(void)
{
    apy_udp_transport_t first = open_on_loopback(NULL);
    apy_udp_transport_t second;
    char text[64];
    CHECK_EQ(apy_udp_transport_open(&second, &plain, &first.bound, NULL, NULL), APY_E_OS);
    apy_address_format(&first.bound, text, sizeof(text));
    CHECK(strstr(apy_error_text(), text) != NULL);
    apy_udp_transport_close(&first);
}

static void a_datagram_too_long_for_udp_is_an_error(void)
{
    static uint8_t large[65536];
    apy_udp_transport_t out = open_on_loopback(NULL);
    const struct iovec datagram = {large, sizeof(large)};
    int64_t count = 0;
    CHECK_EQ(apy_udp_transport_send(&out, &out.bound, &datagram, 1, &count), APY_E_OS);
    apy_udp_transport_close(&out);
}

static void a_group_is_heard_by_those_who_joined_it(void)
{
    apy_udp_channel_t channel = {.is_multicast = true, .ttl = 3, .interface_index = if_nametoindex("lo")};
    struct sockaddr_storage group = rig_address(0), other = rig_address(0), any = rig_address(0);
    apy_udp_transport_t in[2], out;
    apy_transport_poller_t poller;
    uint8_t byte = 9;
    const struct iovec datagram = {&byte, 1};
    int64_t count = 0;
    channel.local_data = rig_address(0);
    ((struct sockaddr_in *)(void *)&any)->sin_addr.s_addr = INADDR_ANY;
    CHECK_EQ(inet_pton(AF_INET, "224.20.30.39", &((struct sockaddr_in *)(void *)&group)->sin_addr), 1);
    CHECK_EQ(inet_pton(AF_INET, "224.20.30.41", &((struct sockaddr_in *)(void *)&other)->sin_addr), 1);

    CHECK_EQ(apy_udp_transport_open(&in[0], &channel, &any, NULL, &group), APY_OK);
    const in_port_t port = htons(rig_port(&in[0].bound));
    ((struct sockaddr_in *)(void *)&group)->sin_port = port;
    ((struct sockaddr_in *)(void *)&other)->sin_port = port;
    ((struct sockaddr_in *)(void *)&any)->sin_port = port;
    CHECK_EQ(apy_udp_transport_open(&in[1], &channel, &any, NULL, &other), APY_OK);
    CHECK_EQ(apy_udp_transport_open(&out, &channel, &channel.local_data, &group, NULL), APY_OK);
    CHECK_EQ(apy_transport_poller_init(&poller, 4, &no_loss), APY_OK);
    CHECK_EQ(apy_transport_poller_add(&poller, &in[0], &in[0]), APY_OK);
    CHECK_EQ(apy_transport_poller_add(&poller, &in[1], &in[1]), APY_OK);

    taken_t taken = {0};
    CHECK_EQ(apy_udp_transport_send(&out, NULL, &datagram, 1, &count), 1);
    CHECK_EQ(apy_transport_poller_poll(&poller, on_datagram, &taken, &count), 1);
    CHECK(taken.owners[0] == &in[0]);
    apy_transport_poller_free(&poller);
    apy_udp_transport_close(&in[0]);
    apy_udp_transport_close(&in[1]);
    apy_udp_transport_close(&out);
}

static void addresses_print_and_compare(void)
{
    char text[64];
    struct sockaddr_storage a = rig_address(40123), b = rig_address(40123), c = rig_address(40124), v6;
    CHECK_EQ(apy_address_format(&a, text, sizeof(text)), 15);
    CHECK(strcmp(text, "127.0.0.1:40123") == 0);
    CHECK(apy_address_equal(&a, &b));
    CHECK(!apy_address_equal(&a, &c));

    memset(&v6, 0, sizeof(v6));
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&v6;
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(9);
    six->sin6_addr = in6addr_loopback;
    CHECK_EQ(apy_address_format(&v6, text, sizeof(text)), 7);
    CHECK(strcmp(text, "[::1]:9") == 0);
    CHECK_EQ(apy_address_length(&v6), sizeof(struct sockaddr_in6));
    CHECK(!apy_address_equal(&a, &v6));
    CHECK(apy_address_equal(&v6, &v6));
}

static void loss_takes_its_share_of_the_types_in_the_mask_and_repeats_by_seed(void)
{
    apy_loss_interceptor_t loss, same;
    apy_frame_t data = {.type = APY_FRAME_DATA}, setup = {.type = APY_FRAME_SETUP}, ext = {.type = 0xFFFF};
    int dropped = 0;
    apy_loss_interceptor_init(&loss, &(apy_loss_plan_t){.rate = 0.25, .mask = 1u << APY_FRAME_DATA, .seed = 42});
    apy_loss_interceptor_init(&same, &(apy_loss_plan_t){.rate = 0.25, .mask = 1u << APY_FRAME_DATA, .seed = 42});
    for (int i = 0; i < 10000; i++) {
        const bool drops = apy_loss_interceptor_drops(&loss, (const uint8_t *)&data, sizeof(data));
        CHECK_EQ(apy_loss_interceptor_drops(&same, (const uint8_t *)&data, sizeof(data)), drops);
        CHECK(!apy_loss_interceptor_drops(&loss, (const uint8_t *)&setup, sizeof(setup)));
        CHECK(!apy_loss_interceptor_drops(&loss, (const uint8_t *)&ext, sizeof(ext)));
        dropped += drops;
    }
    CHECK(dropped > 2300 && dropped < 2700);

    apy_loss_interceptor_init(&loss, &(apy_loss_plan_t){.rate = 1.0, .mask = 1u << APY_FRAME_DATA, .seed = 1});
    CHECK(apy_loss_interceptor_drops(&loss, (const uint8_t *)&data, sizeof(data)));
    CHECK(!apy_loss_interceptor_drops(&loss, (const uint8_t *)&data, 7)); /* has no type */
    apy_loss_interceptor_init(&loss, &(apy_loss_plan_t){.rate = 0.0, .mask = ~0u, .seed = 1});
    CHECK(!apy_loss_interceptor_drops(&loss, (const uint8_t *)&data, sizeof(data)));
}

static apy_frame_t frame_at(int32_t session_id, int32_t term_id, int32_t offset)
{
    return (apy_frame_t){.length = 1024,
                         .type = APY_FRAME_DATA,
                         .term_offset = offset,
                         .session_id = session_id,
                         .stream_id = 7,
                         .term_id = term_id};
}

static bool loses(apy_loss_interceptor_t *loss, int32_t session_id, int32_t term_id, int32_t offset)
{
    uint8_t datagram[1024] = {0};
    const apy_frame_t frame = frame_at(session_id, term_id, offset);
    memcpy(datagram, &frame, sizeof(frame));
    return apy_loss_interceptor_drops(loss, datagram, sizeof(datagram));
}

static void a_gap_is_lost_once_in_each_stream(void)
{
    apy_loss_interceptor_t loss;
    apy_loss_interceptor_init(&loss, &(apy_loss_plan_t){.fixed = {.term_id = 5, .end = 3000}});
    for (int32_t session = 1; session <= 2; session++) {
        CHECK(!loses(&loss, session, 4, 0)); /* another term */
        CHECK(loses(&loss, session, 5, 0));
        CHECK(loses(&loss, session, 5, 1024));
        CHECK(loses(&loss, session, 5, 2048)); /* begins within */
        CHECK(!loses(&loss, session, 5, 3072));
        CHECK(!loses(&loss, session, 5, 0)); /* sent again */
        CHECK(!loses(&loss, session, 5, 2048));
    }
    apy_frame_t setup = frame_at(3, 5, 0);
    setup.type = APY_FRAME_SETUP;
    CHECK(!apy_loss_interceptor_drops(&loss, (const uint8_t *)&setup, sizeof(setup)));
}

static void several_gaps_are_lost_once_each(void)
{
    apy_loss_interceptor_t loss;
    apy_loss_interceptor_init(&loss,
                              &(apy_loss_plan_t){.gaps = {.term_id = 5, .radix = 4096, .length = 1000, .count = 2}});
    /* gaps at 4096 to 5096 and at 8192 to 9192 */
    static const bool lost[] = {false, false, false, false, true,  false, false,
                                false, true,  false, false, false, false};
    for (int round = 0; round < 2; round++) {
        for (int32_t i = 0; i < (int32_t)(sizeof(lost) / sizeof(lost[0])); i++) {
            CHECK_EQ(loses(&loss, 1, 5, 1024 * i), round == 0 && lost[i]);
        }
    }
    CHECK(loses(&loss, 2, 5, 4096 - 32)); /* reaches into it */
    CHECK(loses(&loss, 2, 5, 8192 + 992));
    CHECK(!loses(&loss, 3, 5, 8192 + 1000));
    for (int32_t session = 10; session < 10 + 2 * APY_GAP_STREAMS_MAX; session++) {
        loses(&loss, session, 5, 4096); /* more streams than there is room for: no harm */
    }
}

static void what_is_dropped_never_reaches_the_handler(void)
{
    apy_udp_transport_t in = open_on_loopback(NULL);
    apy_udp_transport_t out = open_on_loopback(&in.bound);
    apy_transport_poller_t poller;
    apy_loss_interceptor_t loss;
    apy_frame_t data = {.type = APY_FRAME_DATA}, setup = {.type = APY_FRAME_SETUP};
    const struct iovec batch[2] = {{&data, sizeof(data)}, {&setup, sizeof(setup)}};
    taken_t taken = {0};
    int64_t count = 0;
    apy_loss_interceptor_init(&loss, &(apy_loss_plan_t){.rate = 1.0, .mask = 1u << APY_FRAME_SETUP, .seed = 1});
    CHECK_EQ(apy_transport_poller_init(&poller, 4, &loss), APY_OK);
    CHECK_EQ(apy_transport_poller_add(&poller, &in, NULL), APY_OK);
    CHECK_EQ(apy_udp_transport_send(&out, NULL, batch, 2, &count), 2);
    CHECK_EQ(apy_transport_poller_poll(&poller, on_datagram, &taken, &count), 2);
    CHECK_EQ(taken.count, 1);
    CHECK_EQ(count, 64); /* it did arrive */
    apy_transport_poller_free(&poller);
    apy_udp_transport_close(&out);
    apy_udp_transport_close(&in);
}

int main(void)
{
    RUN(a_batch_arrives_whole_and_in_order_at_most_a_vector_at_a_time);
    RUN(the_largest_datagram_passes);
    RUN(many_sockets_are_served_and_a_removed_one_is_not);
    RUN(nobody_listening_is_nothing_sent_and_no_error);
    RUN(a_port_in_use_is_an_error_that_names_it);
    RUN(a_datagram_too_long_for_udp_is_an_error);
    RUN(a_group_is_heard_by_those_who_joined_it);
    RUN(addresses_print_and_compare);
    RUN(loss_takes_its_share_of_the_types_in_the_mask_and_repeats_by_seed);
    RUN(a_gap_is_lost_once_in_each_stream);
    RUN(several_gaps_are_lost_once_each);
    RUN(what_is_dropped_never_reaches_the_handler);
    return 0;
}
