#include "floors.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loops_inline.h"

#define RING_BYTES ((size_t)48 << 20)
#define BATCH 16
#define DATAGRAM_MAX 2048
#define SOCKET_BUFFER (4 << 20)
#define FAILED (-1)

typedef struct ball {
    _Alignas(128) _Atomic int64_t there;
    _Alignas(128) _Atomic int64_t back;
    int64_t trips;
    int cpu;
} ball_t;

static void stay_on(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *return_ball(void *argument)
{
    ball_t *ball = argument;
    stay_on(ball->cpu);
    for (int64_t trip = 1; trip <= ball->trips; trip++) {
        while (atomic_load_explicit(&ball->there, memory_order_acquire) < trip) {
        }
        atomic_store_explicit(&ball->back, trip, memory_order_release);
    }
    return NULL;
}

int64_t floor_cache_line(int first_cpu, int second_cpu, int64_t trips)
{
    ball_t ball = {.trips = trips, .cpu = second_cpu};
    cpu_set_t before;
    pthread_t other;
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    if (pthread_create(&other, NULL, return_ball, &ball) != 0) {
        return FAILED;
    }
    stay_on(first_cpu);
    const int64_t start_ns = now_ns();
    for (int64_t trip = 1; trip <= trips; trip++) {
        atomic_store_explicit(&ball.there, trip, memory_order_release);
        while (atomic_load_explicit(&ball.back, memory_order_acquire) < trip) {
        }
    }
    const int64_t elapsed_ns = now_ns() - start_ns;
    pthread_join(other, NULL);
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    return elapsed_ns / trips;
}

int64_t floor_copy(size_t size, int64_t count)
{
    static uint8_t *ring;
    static uint8_t message[MESSAGE_MAX];
    if (ring == NULL) {
        ring = aligned_alloc(4096, RING_BYTES);
        if (ring == NULL) {
            return FAILED;
        }
    }
    memset(ring, 1, RING_BYTES); /* warm, as a log that is turned over */
    const size_t span = (size + 32 + 31) & ~(size_t)31;
    size_t at = 0;
    const int64_t start_ns = now_ns();
    for (int64_t number = 0; number < count; number++) {
        memcpy(message, &number, sizeof number);
        memcpy(ring + at + 32, message, size);
        at = at + 2 * span <= RING_BYTES ? at + span : 0;
    }
    return now_ns() - start_ns;
}

typedef struct drain {
    int fd;
    _Atomic int is_over;
} drain_t;

static void *empty_socket(void *argument)
{
    drain_t *drain = argument;
    static uint8_t buffers[BATCH][DATAGRAM_MAX];
    struct mmsghdr headers[BATCH];
    struct iovec parts[BATCH];
    memset(headers, 0, sizeof headers);
    for (int index = 0; index < BATCH; index++) {
        parts[index] = (struct iovec){buffers[index], DATAGRAM_MAX};
        headers[index].msg_hdr.msg_iov = &parts[index];
        headers[index].msg_hdr.msg_iovlen = 1;
    }
    while (!atomic_load(&drain->is_over)) {
        if (recvmmsg(drain->fd, headers, BATCH, MSG_DONTWAIT, NULL) <= 0) {
            sched_yield();
        }
    }
    return NULL;
}

static int64_t send_all(int fd, size_t size, int64_t count)
{
    static uint8_t payload[DATAGRAM_MAX];
    struct mmsghdr headers[BATCH];
    struct iovec part = {payload, size};
    memset(headers, 0, sizeof headers);
    for (int index = 0; index < BATCH; index++) {
        headers[index].msg_hdr.msg_iov = &part;
        headers[index].msg_hdr.msg_iovlen = 1;
    }
    const int64_t start_ns = now_ns();
    for (int64_t sent = 0; sent < count;) {
        const int now = sendmmsg(fd, headers, BATCH, 0);
        if (now < 0) {
            return FAILED;
        }
        sent += now;
    }
    return now_ns() - start_ns;
}

int64_t floor_datagrams(size_t size, int64_t count)
{
    if (size > DATAGRAM_MAX) {
        return FAILED;
    }
    int64_t elapsed_ns = FAILED;
    const int buffer = SOCKET_BUFFER;
    const int in = socket(AF_INET, SOCK_DGRAM, 0);
    const int out = socket(AF_INET, SOCK_DGRAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    drain_t drain = {.fd = in};
    pthread_t other;
    setsockopt(in, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    if (bind(in, (struct sockaddr *)&address, length) == 0 &&
        getsockname(in, (struct sockaddr *)&address, &length) == 0 &&
        connect(out, (struct sockaddr *)&address, length) == 0 &&
        pthread_create(&other, NULL, empty_socket, &drain) == 0) {
        elapsed_ns = send_all(out, size, count);
        atomic_store(&drain.is_over, 1);
        pthread_join(other, NULL);
    }
    close(in);
    close(out);
    return elapsed_ns;
}
