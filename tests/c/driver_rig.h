#ifndef APY_TEST_DRIVER_RIG_H
#define APY_TEST_DRIVER_RIG_H

/*
 * driver_rig is a driver's context without a driver: a clock moved by hand, counters, an inbox that the test
 * reads, logs in a directory of their own, and raw sockets that play the other side.
 */

#include <arpa/inet.h>
#include <ctype.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "apy/append.h"
#include "apy/conductor_inbox.h"
#include "apy/driver_context.h"
#include "apy/log_buffer.h"
#include "apy/udp_transport.h"
#include "check.h"

#define RIG_MS INT64_C(1000000)
#define RIG_SECOND INT64_C(1000000000)
#define RIG_INBOX 65536

typedef struct rig {
    apy_hand_clock_t hand;
    apy_driver_context_t context;
    int64_t counters[APY_SC_COUNT];
    apy_mpsc_ring_t inbox;
    _Alignas(64) uint8_t inbox_memory[RIG_INBOX + APY_RING_TRAILER];
    apy_error_log_t error_log;
    _Alignas(64) uint8_t error_memory[65536];
    apy_loss_report_t loss_report;
    _Alignas(64) uint8_t loss_memory[65536];
    char directory[64];
    int log_count;
} rig_t;

static inline rig_t *rig_open(void)
{
    rig_t *rig = aligned_alloc(64, (sizeof(rig_t) + 63) / 64 * 64);
    CHECK(rig != NULL);
    memset(rig, 0, sizeof(*rig));
    rig->hand = (apy_hand_clock_t){.nano_time = 1000 * RIG_SECOND, .epoch_ms = 1700000000000};
    rig->context.clock = apy_clock_by_hand(&rig->hand);
    for (int i = 0; i < APY_SC_COUNT; i++) {
        rig->context.system_counters[i] = &rig->counters[i];
    }
    rig->context.config = (apy_driver_config_t){
        .timer_interval_ns = RIG_SECOND,
        .client_liveness_timeout_ns = 10 * RIG_SECOND,
        .image_liveness_timeout_ns = 10 * RIG_SECOND,
        .publication_connection_timeout_ns = 5 * RIG_SECOND,
        .publication_unblock_timeout_ns = 15 * RIG_SECOND,
        .status_message_timeout_ns = 200 * RIG_MS,
        .nak_unicast_delay_ns = 1000,
        .nak_unicast_retry_ratio = 100,
        .nak_multicast_max_backoff_ns = 10 * RIG_MS,
        .nak_multicast_group_size = 10,
        .retransmit_linger_ns = 10 * RIG_MS,
        .conductor_threshold_ns = 100 * RIG_MS,
        .sender_threshold_ns = 100 * RIG_MS,
        .receiver_threshold_ns = 100 * RIG_MS,
        .send_to_status_poll_ratio = 6,
        .messages_per_send = 4,
        .sender_io_vector = 4,
        .receiver_io_vector = 4,
        .initial_window_length = 131072,
        .mtu_length = 1408,
        .stream_session_limit = INT32_MAX,
        .connect_send_sockets = true,
    };
    CHECK_EQ(apy_mpsc_ring_init(&rig->inbox, rig->inbox_memory, sizeof(rig->inbox_memory)), APY_OK);
    CHECK_EQ(apy_error_log_init(&rig->error_log, rig->error_memory, sizeof(rig->error_memory), rig->context.clock),
             APY_OK);
    CHECK_EQ(apy_loss_report_init(&rig->loss_report, rig->loss_memory, sizeof(rig->loss_memory)), APY_OK);
    rig->context.error_log = &rig->error_log;
    rig->context.loss_report = &rig->loss_report;
    rig->context.conductor_inbox = &rig->inbox;
    rig->context.next_receiver_id = INT64_C(0x1122334455667788);
    strcpy(rig->directory, "/dev/shm/apy-network-XXXXXX");
    CHECK(mkdtemp(rig->directory) != NULL);
    return rig;
}

static inline void rig_close(rig_t *rig)
{
    char path[128];
    for (int i = 0; i < rig->log_count; i++) {
        snprintf(path, sizeof(path), "%s/%d.logbuffer", rig->directory, i);
        unlink(path);
    }
    CHECK_EQ(rmdir(rig->directory), 0);
    apy_error_log_close(&rig->error_log);
    free(rig);
}

static inline void rig_advance(rig_t *rig, int64_t delta_ns)
{
    apy_hand_clock_advance_ns(&rig->hand, delta_ns);
}

static inline apy_log_t rig_log(rig_t *rig, int type, int32_t session_id, int32_t stream_id, int32_t initial_term_id,
                                int32_t term_length)
{
    char path[128];
    apy_log_t log;
    const apy_log_params_t params = {
        .correlation_id = rig->log_count,
        .session_id = session_id,
        .stream_id = stream_id,
        .initial_term_id = initial_term_id,
        .start_term_id = initial_term_id,
        .term_length = term_length,
        .mtu = 1408,
        .page_size = 4096,
        .sparse = 1,
        .type = (uint8_t)type,
    };
    snprintf(path, sizeof(path), "%s/%d.logbuffer", rig->directory, rig->log_count++);
    CHECK_EQ(apy_log_create(&log, path, &params), APY_OK);
    return log;
}

/* --- sockets --- */

static inline struct sockaddr_storage rig_address(uint16_t port)
{
    struct sockaddr_storage address;
    memset(&address, 0, sizeof(address));
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)&address;
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static inline uint16_t rig_port(const struct sockaddr_storage *address)
{
    return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
}

/* A plain socket on an ephemeral port of 127.0.0.1. */
static inline int rig_socket(struct sockaddr_storage *bound)
{
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    const struct sockaddr_storage any = rig_address(0);
    socklen_t length = sizeof(*bound);
    const int size = 4 << 20;
    CHECK(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    CHECK_EQ(bind(fd, (const struct sockaddr *)&any, sizeof(struct sockaddr_in)), 0);
    CHECK_EQ(getsockname(fd, (struct sockaddr *)bound, &length), 0);
    return fd;
}

/* What is there already: a datagram on loopback is in the socket when its send has returned. -1: nothing. */
static inline int rig_take(int fd, uint8_t *datagram, size_t size)
{
    return (int)recv(fd, datagram, size, 0);
}

static inline int rig_take_from(int fd, uint8_t *datagram, size_t size, struct sockaddr_storage *from)
{
    socklen_t length = sizeof(*from);
    return (int)recvfrom(fd, datagram, size, 0, (struct sockaddr *)from, &length);
}

static inline int rig_drain(int fd)
{
    uint8_t datagram[65536];
    int count = 0;
    while (rig_take(fd, datagram, sizeof(datagram)) >= 0) {
        count++;
    }
    return count;
}

static inline void rig_give(int fd, const struct sockaddr_storage *to, const void *datagram, size_t length)
{
    CHECK_EQ(sendto(fd, datagram, length, 0, (const struct sockaddr *)to, sizeof(struct sockaddr_in)), (int64_t)length);
}

/* --- bytes as the captures write them: pairs of hex digits; blanks and | are skipped --- */

static inline size_t rig_hex(const char *text, uint8_t *bytes)
{
    size_t count = 0;
    while (*text != '\0') {
        if (!isxdigit((unsigned char)*text)) {
            text++;
            continue;
        }
        const char pair[3] = {text[0], text[1], '\0'};
        bytes[count++] = (uint8_t)strtoul(pair, NULL, 16);
        text += 2;
    }
    return count;
}

static inline void rig_expect(const uint8_t *actual, int64_t length, const char *expected)
{
    uint8_t bytes[2048];
    const size_t count = rig_hex(expected, bytes);
    CHECK_EQ(length, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        if (actual[i] != bytes[i]) {
            fprintf(stderr, "byte %zu is %02x, expected %02x\n", i, actual[i], bytes[i]);
            exit(1);
        }
    }
}

/* --- the inbox --- */

typedef struct rig_record {
    int32_t type, length; /* type 0: nothing was there */
    uint8_t bytes[2048];
} rig_record_t;

static inline void rig_keep_record(void *context, int32_t type, const uint8_t *message, int32_t length)
{
    rig_record_t *record = context;
    CHECK(length <= (int32_t)sizeof(record->bytes));
    record->type = type;
    record->length = length;
    memcpy(record->bytes, message, (size_t)length);
}

static inline rig_record_t rig_inbox(rig_t *rig)
{
    rig_record_t record = {0};
    /* Twice, since a read that passes the end of the buffer may deliver nothing. */
    for (int i = 0; i < 2 && record.type == 0; i++) {
        CHECK(apy_mpsc_ring_read(&rig->inbox, rig_keep_record, &record, 1) >= 0);
    }
    return record;
}

#endif
