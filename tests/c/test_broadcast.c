/* The to-clients buffer: layout, padding, lapping, and bytes that break the format. */
#include "apy/broadcast.h"

#include <pthread.h>
#include <sched.h>

#include "apy/atomic.h"
#include "check.h"

enum { CAPACITY = 1024, LENGTH = CAPACITY + APY_BROADCAST_TRAILER };

static _Alignas(128) uint8_t memory[LENGTH];
static apy_broadcast_transmitter_t transmitter;
static apy_broadcast_receiver_t receiver;
static int32_t type, length;
static const uint8_t *message;

static void begin(int64_t position)
{
    memset(memory, 0, sizeof memory);
    for (int at = 0; at < 24; at += 8) {
        memcpy(memory + CAPACITY + at, &position, sizeof position);
    }
    CHECK_EQ(apy_broadcast_transmitter_init(&transmitter, memory, LENGTH), APY_OK);
    CHECK_EQ(apy_broadcast_receiver_init(&receiver, memory, LENGTH), APY_OK);
}

static void end(void)
{
    apy_broadcast_receiver_free(&receiver);
    apy_broadcast_receiver_free(&receiver);
}

static int32_t i32_at(int64_t offset)
{
    int32_t value;
    memcpy(&value, memory + offset, sizeof value);
    return value;
}

static void put_i32(int64_t offset, int32_t value)
{
    memcpy(memory + offset, &value, sizeof value);
}

static int64_t trailer_at(int64_t offset)
{
    int64_t value;
    memcpy(&value, memory + CAPACITY + offset, sizeof value);
    return value;
}

static int receive(void)
{
    return apy_broadcast_receive(&receiver, &type, &message, &length);
}

static void init_wants_a_power_of_two_and_a_trailer(void)
{
    CHECK_EQ(apy_broadcast_transmitter_init(&transmitter, memory, CAPACITY), APY_E_ARGUMENT);
    CHECK_EQ(apy_broadcast_transmitter_init(&transmitter, memory, 8 + APY_BROADCAST_TRAILER), APY_E_ARGUMENT);
    CHECK_EQ(apy_broadcast_receiver_init(&receiver, memory, LENGTH - 8), APY_E_ARGUMENT);
    begin(0);
    CHECK_EQ(transmitter.message_max, CAPACITY / 8);
    end();
}

static void a_message_arrives_once(void)
{
    begin(0);
    CHECK_EQ(receive(), 0);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 6, "hello", 5), APY_OK);
    CHECK_EQ(i32_at(0), 13);
    CHECK_EQ(i32_at(4), 6);
    CHECK_EQ(trailer_at(0), 16);
    CHECK_EQ(trailer_at(8), 16);
    CHECK_EQ(trailer_at(16), 0); /* latest: where the last record starts */

    CHECK_EQ(receive(), 1);
    CHECK_EQ(type, 6);
    CHECK_EQ(length, 5);
    CHECK(memcmp(message, "hello", 5) == 0);
    CHECK_EQ(receive(), 0);
    end();
}

static void a_receiver_starts_with_what_comes_next(void)
{
    begin(0);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 1, "old", 3), APY_OK);
    apy_broadcast_receiver_t late;
    CHECK_EQ(apy_broadcast_receiver_init(&late, memory, LENGTH), APY_OK);
    CHECK_EQ(apy_broadcast_receive(&late, &type, &message, &length), 0);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 2, "new", 3), APY_OK);
    CHECK_EQ(apy_broadcast_receive(&late, &type, &message, &length), 1);
    CHECK_EQ(type, 2);
    apy_broadcast_receiver_free(&late);
    end();
}

static void padding_leads_from_the_end_to_the_start(void)
{
    begin(CAPACITY - 24);
    const uint8_t body[20] = {42};
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 3, body, 20), APY_OK);
    CHECK_EQ(i32_at(CAPACITY - 24), 24);
    CHECK_EQ(i32_at(CAPACITY - 20), -1);
    CHECK_EQ(i32_at(0), 28);
    CHECK_EQ(trailer_at(0), CAPACITY + 32);
    CHECK_EQ(trailer_at(16), CAPACITY);
    CHECK_EQ(receive(), 1);
    CHECK_EQ(type, 3);
    CHECK_EQ(message[0], 42);
    CHECK_EQ(receive(), 0);
    end();
}

static void a_message_longer_than_the_copy_buffer_makes_it_grow(void)
{
    enum { LARGE = 1 << 16 };
    static _Alignas(128) uint8_t large[LARGE + APY_BROADCAST_TRAILER], body[LARGE / 8];
    memset(body, 5, sizeof body);
    apy_broadcast_transmitter_t sender;
    apy_broadcast_receiver_t reader;
    CHECK_EQ(apy_broadcast_transmitter_init(&sender, large, sizeof large), APY_OK);
    CHECK_EQ(apy_broadcast_receiver_init(&reader, large, sizeof large), APY_OK);
    CHECK_EQ(apy_broadcast_transmit(&sender, 1, body, sizeof body), APY_OK);
    CHECK_EQ(apy_broadcast_receive(&reader, &type, &message, &length), 1);
    CHECK_EQ(length, (int)sizeof body);
    CHECK(memcmp(message, body, sizeof body) == 0);
    apy_broadcast_receiver_free(&reader);
}

static void what_cannot_be_sent_is_refused(void)
{
    begin(0);
    const uint8_t body[CAPACITY] = {0};
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 0, body, 1), APY_E_ARGUMENT);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 1, body, -1), APY_E_ARGUMENT);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 1, body, CAPACITY / 8 + 1), APY_E_TOO_LONG);
    CHECK_EQ(trailer_at(0), 0);
    end();
}

static void a_lapped_receiver_is_told_and_goes_on_with_the_newest(void)
{
    begin(0);
    for (uint8_t i = 0; i < 17; i++) { /* 16 records of 64 bytes fill the buffer */
        const uint8_t body[56] = {i};
        CHECK_EQ(apy_broadcast_transmit(&transmitter, 1, body, 56), APY_OK);
    }
    CHECK_EQ(receive(), APY_E_LAPPED);
    CHECK_EQ(receiver.lapped_count, 1);
    CHECK_EQ(receive(), 1);
    CHECK_EQ(message[0], 16);
    CHECK_EQ(receive(), 0);
    end();
}

static void a_record_being_overwritten_is_not_delivered(void)
{
    begin(0);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 1, "x", 1), APY_OK);
    const int64_t intent = CAPACITY; /* the transmitter has announced the bytes up to here, and one lap is up to 0 */
    memcpy(memory + CAPACITY, &intent, sizeof intent);
    CHECK_EQ(receive(), APY_E_LAPPED);
    end();
}

static void bytes_that_break_the_format_are_corrupt(void)
{
    static const int32_t lengths[] = {0, 7, -8, CAPACITY + 8, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        begin(0);
        CHECK_EQ(apy_broadcast_transmit(&transmitter, 1, "x", 1), APY_OK);
        put_i32(0, lengths[i]);
        CHECK_EQ(receive(), APY_E_CORRUPT);
        CHECK(strstr(apy_error_text(), "offset 0") != NULL);
        end();
    }
    begin(0);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 1, "x", 1), APY_OK);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 1, "y", 1), APY_OK);
    put_i32(4, -1);
    put_i32(20, -1);
    CHECK_EQ(receive(), APY_E_CORRUPT);
    end();
    begin(3);
    const int64_t tail = 19;
    memcpy(memory + CAPACITY + 8, &tail, sizeof tail);
    CHECK_EQ(receive(), APY_E_CORRUPT);
    end();
}

static void positions_at_the_end_of_time_do_not_trap(void)
{
    begin(INT64_MAX - 7);
    CHECK_EQ(receive(), 0);
    receiver.next_record = INT64_MIN;
    CHECK(receive() < 0);
    end();
}

static void *sleep_long(void *told)
{
    CHECK(apy_broadcast_sleep_begin(&receiver));
    apy_store_release_i32(told, 1);
    apy_broadcast_sleep(&receiver, INT64_C(60000000000));
    return NULL;
}

static void a_message_ends_a_sleep_also_one_that_only_begins(void)
{
    begin(0);
    pthread_t sleeper;
    int32_t told = 0;
    CHECK_EQ(pthread_create(&sleeper, NULL, sleep_long, &told), 0);
    while (apy_load_acquire_i32(&told) == 0) {
        sched_yield();
    }
    CHECK_EQ(apy_broadcast_transmit(&transmitter, 1, "x", 1), APY_OK);
    CHECK_EQ(pthread_join(sleeper, NULL), 0);
    CHECK_EQ(receive(), 1);
    CHECK_EQ(i32_at(CAPACITY + 64), 0); /* nobody sleeps: the next message makes no system call */
    end();
}

static void a_wake_ends_a_sleep_without_a_message(void)
{
    begin(0);
    pthread_t sleeper;
    int32_t told = 0;
    CHECK_EQ(pthread_create(&sleeper, NULL, sleep_long, &told), 0);
    while (apy_load_acquire_i32(&told) == 0) {
        sched_yield();
    }
    apy_broadcast_wake(&receiver);
    CHECK_EQ(pthread_join(sleeper, NULL), 0);
    CHECK_EQ(receive(), 0);
    end();
}

static void with_another_transmitter_nobody_sleeps(void)
{
    begin(0);
    put_i32(CAPACITY + 68, 0); /* padding of theirs */
    CHECK(!apy_broadcast_sleep_begin(&receiver));
    CHECK_EQ(i32_at(CAPACITY + 64), 0);
    end();
}

int main(void)
{
    RUN(init_wants_a_power_of_two_and_a_trailer);
    RUN(a_message_arrives_once);
    RUN(a_receiver_starts_with_what_comes_next);
    RUN(padding_leads_from_the_end_to_the_start);
    RUN(a_message_longer_than_the_copy_buffer_makes_it_grow);
    RUN(what_cannot_be_sent_is_refused);
    RUN(a_lapped_receiver_is_told_and_goes_on_with_the_newest);
    RUN(a_record_being_overwritten_is_not_delivered);
    RUN(bytes_that_break_the_format_are_corrupt);
    RUN(positions_at_the_end_of_time_do_not_trap);
    RUN(a_message_ends_a_sleep_also_one_that_only_begins);
    RUN(a_wake_ends_a_sleep_without_a_message);
    RUN(with_another_transmitter_nobody_sleeps);
    return 0;
}
