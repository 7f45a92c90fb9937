/* Datagrams in trains: what is coupled, that each arrives by itself, and what happens where no train passes. */

#include <errno.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "apy/frame.h"
#include "apy/transport_poller.h"
#include "driver_rig.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define DATAGRAMS 100
#define SEGMENT 1408

typedef struct taken {
    int count;
    size_t lengths[2 * DATAGRAMS];
    uint8_t first_bytes[2 * DATAGRAMS], last_bytes[2 * DATAGRAMS];
    int64_t times_ns[2 * DATAGRAMS];
} taken_t;

static void on_datagram(void *context, void *owner, const apy_datagram_t *datagram)
{
    taken_t *taken = context;
    (void)owner;
    CHECK(taken->count < 2 * DATAGRAMS);
    taken->lengths[taken->count] = datagram->length;
    taken->first_bytes[taken->count] = datagram->data[0];
    taken->last_bytes[taken->count] = datagram->data[datagram->length - 1];
    taken->times_ns[taken->count] = datagram->time_ns;
    taken->count++;
}

static const apy_udp_channel_t plain = {.so_rcvbuf = 1 << 20, .so_sndbuf = 1 << 20};
static apy_loss_interceptor_t no_loss;
static uint8_t bytes[DATAGRAMS * SEGMENT];

static apy_udp_transport_t open_transport(const struct sockaddr_storage *bind_to)
{
    apy_udp_transport_t transport;
    CHECK_EQ(apy_udp_transport_open(&transport, &plain, bind_to, NULL, NULL), APY_OK);
    return transport;
}

static apy_udp_transport_t open_on_loopback(void)
{
    const struct sockaddr_storage any = rig_address(0);
    return open_transport(&any);
}

/* Datagrams of one length in one stretch, numbered in every byte. */
static void fill(struct iovec *datagrams, int count, size_t length)
{
    for (int i = 0; i < count; i++) {
        memset(bytes + (size_t)i * length, i, length);
        datagrams[i] = (struct iovec){bytes + (size_t)i * length, length};
    }
}

static void poll_all(apy_transport_poller_t *poller, taken_t *taken, int64_t *total)
{
    int64_t count = 0;
    while (apy_transport_poller_poll(poller, on_datagram, taken, &count) > 0) {
        *total += count;
    }
}

static void take_all(apy_udp_transport_t *in, taken_t *taken, int64_t *total)
{
    apy_transport_poller_t poller;
    memset(taken, 0, sizeof(*taken));
    *total = 0;
    CHECK_EQ(apy_transport_poller_init(&poller, 4, &no_loss), APY_OK);
    CHECK_EQ(apy_transport_poller_add(&poller, in, NULL), APY_OK);
    poll_all(&poller, taken, total);
    apy_transport_poller_free(&poller);
}

static void check_numbered(const taken_t *taken, int count)
{
    CHECK_EQ(taken->count, count);
    for (int i = 0; i < count; i++) {
        CHECK_EQ(taken->first_bytes[i], i);
        CHECK_EQ(taken->last_bytes[i], i);
    }
}

/* --- what is coupled --- */

static void only_the_last_of_a_train_is_shorter(void)
{
    apy_udp_train_t train = {0};
    CHECK(apy_udp_train_couple(&train, 960));
    CHECK(apy_udp_train_couple(&train, 960));
    CHECK(!apy_udp_train_couple(&train, 992));
    CHECK(apy_udp_train_couple(&train, 32));
    CHECK(!apy_udp_train_couple(&train, 32));
    CHECK_EQ(train.count, 3);
    CHECK_EQ(train.bytes, 1952);
    CHECK_EQ(train.segment, 960);
}

static void a_train_holds_no_more_than_the_kernel_takes(void)
{
    apy_udp_train_t small = {0}, large = {0}, single = {0};
    while (apy_udp_train_couple(&small, 32)) {
    }
    CHECK_EQ(small.count, 64);
    while (apy_udp_train_couple(&large, 8960)) {
    }
    CHECK_EQ(large.count, 7);
    CHECK(apy_udp_train_couple(&single, APY_UDP_PAYLOAD_MAX));
    CHECK(!apy_udp_train_couple(&single, 32));
}

/* --- there and back --- */

static void every_datagram_arrives_by_itself(bool in_trains, const struct sockaddr_storage *at)
{
    apy_udp_transport_t in = open_transport(at), out = open_transport(at);
    struct iovec datagrams[DATAGRAMS];
    taken_t taken;
    int64_t sent = 0, total = 0;
    fill(datagrams, DATAGRAMS, SEGMENT);
    datagrams[DATAGRAMS - 1].iov_len = 96;
    if (in_trains) {
        apy_udp_transport_ask_trains(&in);
        CHECK(in.takes_trains);
    }
    CHECK(apy_udp_transport_couples(&out, &in.bound));
    CHECK_EQ(apy_udp_transport_send(&out, &in.bound, datagrams, DATAGRAMS, &sent), DATAGRAMS);
    CHECK(apy_udp_transport_couples(&out, &in.bound));
    CHECK_EQ(sent, (DATAGRAMS - 1) * SEGMENT + 96);
    take_all(&in, &taken, &total);
    CHECK_EQ(total, sent);
    check_numbered(&taken, DATAGRAMS);
    for (int i = 0; i < DATAGRAMS; i++) {
        CHECK_EQ(taken.lengths[i], i < DATAGRAMS - 1 ? SEGMENT : 96);
    }
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&out);
}

static void a_socket_without_trains_gets_datagrams(void)
{
    const struct sockaddr_storage any = rig_address(0);
    every_datagram_arrives_by_itself(false, &any);
}

static void a_socket_with_trains_gives_datagrams(void)
{
    const struct sockaddr_storage any = rig_address(0);
    every_datagram_arrives_by_itself(true, &any);
}

static void so_it_is_over_ipv6(void)
{
    struct sockaddr_storage any;
    memset(&any, 0, sizeof(any));
    ((struct sockaddr_in6 *)(void *)&any)->sin6_family = AF_INET6;
    ((struct sockaddr_in6 *)(void *)&any)->sin6_addr = in6addr_loopback;
    every_datagram_arrives_by_itself(false, &any);
    every_datagram_arrives_by_itself(true, &any);
}

static void one_read_takes_a_whole_train(void)
{
    apy_udp_transport_t in = open_on_loopback(), out = open_on_loopback();
    apy_transport_poller_t poller;
    struct iovec datagrams[40];
    taken_t taken = {0};
    int64_t count = 0;
    fill(datagrams, 40, SEGMENT);
    apy_udp_transport_ask_trains(&in);
    CHECK_EQ(apy_transport_poller_init(&poller, 1, &no_loss), APY_OK);
    CHECK_EQ(apy_transport_poller_add(&poller, &in, NULL), APY_OK);
    CHECK_EQ(apy_udp_transport_send(&out, &in.bound, datagrams, 40, &count), 40);
    CHECK_EQ(apy_transport_poller_poll(&poller, on_datagram, &taken, &count), 40);
    CHECK_EQ(count, 40 * SEGMENT);
    check_numbered(&taken, 40);
    apy_transport_poller_free(&poller);
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&out);
}

static void lengths_that_change_and_places_apart_keep_their_borders(void)
{
    static const size_t lengths[] = {64, 64, 64, 1408, 1408, 32, 32, 96, 64, 64, 1, 1, 2};
    enum { COUNT = sizeof(lengths) / sizeof(lengths[0]) };
    apy_udp_transport_t in = open_on_loopback(), out = open_on_loopback();
    struct iovec datagrams[COUNT];
    taken_t taken;
    int64_t sent = 0, total = 0;
    fill(datagrams, COUNT, SEGMENT);
    for (int i = 0; i < COUNT; i++) {
        datagrams[i].iov_len = lengths[i];
    }
    apy_udp_transport_ask_trains(&in);
    CHECK_EQ(apy_udp_transport_send(&out, &in.bound, datagrams, COUNT, &sent), COUNT);
    take_all(&in, &taken, &total);
    check_numbered(&taken, COUNT);
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(taken.lengths[i], lengths[i]);
    }
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&out);
}

static void trains_of_others_are_taken_apart_by_their_own_length(void)
{
    apy_udp_transport_t in = open_on_loopback();
    struct sockaddr_storage address;
    const int foreign = rig_socket(&address), segment = 500;
    taken_t taken;
    int64_t total = 0;
    memset(bytes, 7, sizeof(bytes));
    apy_udp_transport_ask_trains(&in);
    CHECK_EQ(setsockopt(foreign, IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof(segment)), 0);
    rig_give(foreign, &in.bound, bytes, 1700);
    take_all(&in, &taken, &total);
    CHECK_EQ(total, 1700);
    CHECK_EQ(taken.count, 4);
    CHECK_EQ(taken.lengths[0], 500);
    CHECK_EQ(taken.lengths[2], 500);
    CHECK_EQ(taken.lengths[3], 200);
    close(foreign);
    apy_udp_transport_close(&in);
}

static void a_group_hears_datagrams_too(void)
{
    apy_udp_channel_t channel = {.is_multicast = true, .so_rcvbuf = 1 << 20, .interface_index = if_nametoindex("lo")};
    struct sockaddr_storage group = rig_address(0), any = rig_address(0);
    apy_udp_transport_t in, out;
    struct iovec datagrams[50];
    taken_t taken;
    int64_t sent = 0, total = 0;
    fill(datagrams, 50, SEGMENT);
    channel.local_data = rig_address(0);
    ((struct sockaddr_in *)(void *)&any)->sin_addr.s_addr = INADDR_ANY;
    CHECK_EQ(inet_pton(AF_INET, "224.20.30.43", &((struct sockaddr_in *)(void *)&group)->sin_addr), 1);
    CHECK_EQ(apy_udp_transport_open(&in, &channel, &any, NULL, &group), APY_OK);
    ((struct sockaddr_in *)(void *)&group)->sin_port = htons(rig_port(&in.bound));
    CHECK_EQ(apy_udp_transport_open(&out, &channel, &channel.local_data, &group, NULL), APY_OK);
    apy_udp_transport_ask_trains(&in);
    CHECK_EQ(apy_udp_transport_send(&out, NULL, datagrams, 50, &sent), 50);
    take_all(&in, &taken, &total);
    check_numbered(&taken, 50);
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&out);
}

/* --- with times, with loss --- */

static void with_times_no_train_is_taken_and_each_datagram_has_its_own(void)
{
    apy_udp_transport_t in = open_on_loopback(), out = open_on_loopback();
    struct iovec datagrams[10];
    taken_t taken;
    int64_t sent = 0, total = 0;
    fill(datagrams, 10, SEGMENT);
    apy_udp_transport_ask_trains(&in);
    CHECK_EQ(apy_udp_transport_ask_times(&in), APY_OK);
    CHECK(!in.takes_trains);
    apy_udp_transport_ask_trains(&in);
    CHECK(!in.takes_trains);
    CHECK_EQ(apy_udp_transport_send(&out, &in.bound, datagrams, 10, &sent), 10);
    take_all(&in, &taken, &total);
    check_numbered(&taken, 10);
    for (int i = 0; i < 10; i++) {
        CHECK(taken.times_ns[i] > 0);
    }
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&out);
}

static void loss_takes_datagrams_out_of_a_train(void)
{
    apy_udp_transport_t in = open_on_loopback(), out = open_on_loopback();
    apy_transport_poller_t poller;
    apy_loss_interceptor_t loss;
    static apy_frame_t frames[40];
    struct iovec datagrams[40];
    taken_t taken = {0};
    int64_t count = 0;
    for (int i = 0; i < 40; i++) {
        frames[i] = (apy_frame_t){.length = i, .type = i % 4 == 3 ? APY_FRAME_PAD : APY_FRAME_DATA};
        datagrams[i] = (struct iovec){&frames[i], sizeof(frames[i])};
    }
    apy_loss_interceptor_init(&loss, &(apy_loss_plan_t){.rate = 1.0, .mask = 1u << APY_FRAME_PAD, .seed = 1});
    apy_udp_transport_ask_trains(&in);
    CHECK_EQ(apy_transport_poller_init(&poller, 1, &loss), APY_OK);
    CHECK_EQ(apy_transport_poller_add(&poller, &in, NULL), APY_OK);
    CHECK_EQ(apy_udp_transport_send(&out, &in.bound, datagrams, 40, &count), 40);
    CHECK_EQ(apy_transport_poller_poll(&poller, on_datagram, &taken, &count), 40);
    CHECK_EQ(taken.count, 30);
    CHECK_EQ(taken.first_bytes[29], 38);
    apy_transport_poller_free(&poller);
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&out);
}

/* --- where no train passes --- */

static void a_socket_that_refuses_trains_sends_datagrams(void)
{
    apy_udp_transport_t in = open_on_loopback(), out = open_on_loopback(), other = open_on_loopback();
    const int is_on = 1, is_off = 0;
    struct iovec datagrams[40];
    taken_t taken;
    int64_t sent = 0, total = 0;
    fill(datagrams, 40, SEGMENT);
    /* The kernel couples none that have no checksum. */
    CHECK_EQ(setsockopt(out.fd, SOL_SOCKET, SO_NO_CHECK, &is_on, sizeof(is_on)), 0);
    CHECK_EQ(apy_udp_transport_send(&out, &in.bound, datagrams, 40, &sent), 40);
    CHECK(!apy_udp_transport_couples(&out, &in.bound));
    CHECK(apy_udp_transport_couples(&out, &other.bound)); /* it is of this address */
    take_all(&in, &taken, &total);
    check_numbered(&taken, 40);

    CHECK_EQ(setsockopt(out.fd, SOL_SOCKET, SO_NO_CHECK, &is_off, sizeof(is_off)), 0);
    CHECK_EQ(apy_udp_transport_send(&out, &other.bound, datagrams, 40, &sent), 40);
    CHECK(apy_udp_transport_couples(&out, &other.bound));
    take_all(&other, &taken, &total);
    check_numbered(&taken, 40);
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&out);
    apy_udp_transport_close(&other);
}

static void of_many_that_refuse_the_oldest_is_asked_again(void)
{
    apy_udp_transport_t in = open_on_loopback(), out = open_on_loopback();
    const int is_on = 1;
    struct iovec datagrams[2];
    struct sockaddr_storage addresses[APY_TRAIN_REFUSALS_MAX + 1];
    int64_t sent = 0;
    fill(datagrams, 2, 64);
    CHECK_EQ(setsockopt(out.fd, SOL_SOCKET, SO_NO_CHECK, &is_on, sizeof(is_on)), 0);
    for (int i = 0; i <= APY_TRAIN_REFUSALS_MAX; i++) {
        addresses[i] = in.bound;
        ((struct sockaddr_in *)(void *)&addresses[i])->sin_addr.s_addr = htonl(0x7F000001u + (uint32_t)i);
        CHECK(apy_udp_transport_couples(&out, &addresses[i]));
        apy_udp_transport_send(&out, &addresses[i], datagrams, 2, &sent);
        CHECK(!apy_udp_transport_couples(&out, &addresses[i]));
    }
    CHECK(apy_udp_transport_couples(&out, &addresses[0]));
    CHECK(!apy_udp_transport_couples(&out, &addresses[1]));
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&out);
}

/* In a network of its own, whose link takes less than a datagram: those go in IP fragments. */
static void send_over_a_narrow_link(void)
{
    struct ifreq link = {.ifr_name = "lo", .ifr_mtu = 1000};
    const int control = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK_EQ(ioctl(control, SIOCSIFMTU, &link), 0);
    link.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
    CHECK_EQ(ioctl(control, SIOCSIFFLAGS, &link), 0);
    close(control);

    apy_udp_transport_t in = open_on_loopback(), out = open_on_loopback();
    struct iovec datagrams[40];
    taken_t taken;
    int64_t sent = 0, total = 0;
    fill(datagrams, 40, SEGMENT);
    apy_udp_transport_ask_trains(&in);
    CHECK_EQ(apy_udp_transport_send(&out, &in.bound, datagrams, 40, &sent), 40);
    CHECK(!apy_udp_transport_couples(&out, &in.bound));
    take_all(&in, &taken, &total);
    check_numbered(&taken, 40);
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&out);
}

static void a_link_narrower_than_a_datagram_takes_them_one_by_one(void)
{
    int status = 0;
    fflush(stdout);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) {
            printf("  SKIPPED: no network namespace may be made here (errno %d)\n", errno);
            fflush(stdout);
            _exit(0);
        }
        send_over_a_narrow_link();
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

/* --- where there is no room --- */

static void a_full_socket_takes_whole_trains_or_none(void)
{
    const apy_udp_channel_t narrow = {.so_sndbuf = 8192, .so_rcvbuf = 1 << 20};
    const struct sockaddr_storage any = rig_address(0);
    apy_udp_transport_t in = open_on_loopback(), out;
    struct iovec datagrams[80];
    taken_t taken = {0};
    int64_t sent_bytes = 0, total = 0;
    CHECK_EQ(apy_udp_transport_open(&out, &narrow, &any, NULL, NULL), APY_OK);
    fill(datagrams, 80, SEGMENT);
    apy_udp_transport_ask_trains(&in);
    /* What a receiver did not take yet counts as the sender's, up to a train past its limit. */
    int sent = apy_udp_transport_send(&out, &in.bound, datagrams, 80, &sent_bytes);
    CHECK(sent >= 0 && sent <= 80);
    CHECK_EQ(sent_bytes, sent * SEGMENT);
    take_all(&in, &taken, &total);
    CHECK_EQ(total, sent_bytes);
    check_numbered(&taken, sent);
    CHECK_EQ(apy_udp_transport_send(&out, &in.bound, datagrams, 2, &sent_bytes), 2);
    apy_udp_transport_close(&in);
    apy_udp_transport_close(&out);
}

int main(void)
{
    RUN(only_the_last_of_a_train_is_shorter);
    RUN(a_train_holds_no_more_than_the_kernel_takes);
    RUN(a_socket_without_trains_gets_datagrams);
    RUN(a_socket_with_trains_gives_datagrams);
    RUN(so_it_is_over_ipv6);
    RUN(one_read_takes_a_whole_train);
    RUN(lengths_that_change_and_places_apart_keep_their_borders);
    RUN(trains_of_others_are_taken_apart_by_their_own_length);
    RUN(a_group_hears_datagrams_too);
    RUN(with_times_no_train_is_taken_and_each_datagram_has_its_own);
    RUN(loss_takes_datagrams_out_of_a_train);
    RUN(a_socket_that_refuses_trains_sends_datagrams);
    RUN(of_many_that_refuse_the_oldest_is_asked_again);
    RUN(a_link_narrower_than_a_datagram_takes_them_one_by_one);
    RUN(a_full_socket_takes_whole_trains_or_none);
    return 0;
}
