/* The to-driver ring: layout, claiming, wrapping, reading, unblocking. Offsets as of the format's description. */
#include "apy/mpsc_ring.h"

#include "check.h"

enum { CAPACITY = 1024, LENGTH = CAPACITY + APY_RING_TRAILER };

static _Alignas(128) uint8_t memory[LENGTH];

typedef struct seen {
    int count;
    int32_t type, length;
    uint8_t first;
    int64_t bytes;
} seen_t;

static void see(void *context, int32_t type, const uint8_t *message, int32_t length)
{
    seen_t *seen = context;
    seen->count++;
    seen->type = type;
    seen->length = length;
    seen->first = length > 0 ? message[0] : 0;
    seen->bytes += length;
}

static apy_mpsc_ring_t new_ring(void)
{
    apy_mpsc_ring_t ring;
    memset(memory, 0, sizeof memory);
    CHECK_EQ(apy_mpsc_ring_init(&ring, memory, LENGTH), APY_OK);
    return ring;
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

static int64_t i64_at(int64_t offset)
{
    int64_t value;
    memcpy(&value, memory + offset, sizeof value);
    return value;
}

static void set_positions(int64_t head, int64_t tail)
{
    memcpy(memory + CAPACITY + 128, &tail, 8);
    memcpy(memory + CAPACITY + 256, &head, 8);
    memcpy(memory + CAPACITY + 384, &head, 8);
}

static void init_wants_a_power_of_two_and_a_trailer(void)
{
    apy_mpsc_ring_t ring;
    CHECK_EQ(apy_mpsc_ring_init(&ring, memory, LENGTH - 256), APY_E_ARGUMENT);
    CHECK_EQ(apy_mpsc_ring_init(&ring, memory, LENGTH + 8), APY_E_ARGUMENT);
    CHECK_EQ(apy_mpsc_ring_init(&ring, memory, APY_RING_TRAILER), APY_E_ARGUMENT);
    CHECK_EQ(apy_mpsc_ring_init(&ring, memory, 4 + APY_RING_TRAILER), APY_E_ARGUMENT);
    CHECK_EQ(apy_mpsc_ring_init(&ring, memory, 8 + APY_RING_TRAILER), APY_OK);
    CHECK_EQ(ring.message_max, 0);
    CHECK_EQ(apy_mpsc_ring_init(&ring, memory, LENGTH), APY_OK);
    CHECK_EQ(ring.message_max, CAPACITY / 8);
}

static void a_record_has_length_type_and_message(void)
{
    apy_mpsc_ring_t ring = new_ring();
    CHECK_EQ(apy_mpsc_ring_write_two(&ring, 7, "abc", 3, "de", 2), APY_OK);
    CHECK_EQ(i32_at(0), 13);
    CHECK_EQ(i32_at(4), 7);
    CHECK(memcmp(memory + 8, "abcde", 5) == 0);
    CHECK_EQ(i64_at(CAPACITY + 128), 16); /* tail: 13 aligned to 8 */
    CHECK_EQ(apy_mpsc_ring_producer_position(&ring), 16);
    CHECK_EQ(apy_mpsc_ring_size(&ring), 16);

    seen_t seen = {0};
    CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), 1);
    CHECK_EQ(seen.type, 7);
    CHECK_EQ(seen.length, 5);
    CHECK_EQ(seen.first, 'a');
    CHECK_EQ(i64_at(CAPACITY + 384), 16); /* head */
    CHECK_EQ(apy_mpsc_ring_size(&ring), 0);
    for (int i = 0; i < CAPACITY; i++) {
        CHECK_EQ(memory[i], 0);
    }
}

static void what_a_ring_cannot_take_is_refused(void)
{
    apy_mpsc_ring_t ring = new_ring();
    uint8_t large[CAPACITY] = {0}, *message = NULL;
    CHECK_EQ(apy_mpsc_ring_write(&ring, 0, large, 8), APY_E_ARGUMENT);
    CHECK_EQ(apy_mpsc_ring_write(&ring, APY_RING_PADDING_TYPE, large, 8), APY_E_ARGUMENT);
    CHECK_EQ(apy_mpsc_ring_write(&ring, 1, large, -1), APY_E_ARGUMENT);
    CHECK_EQ(apy_mpsc_ring_write(&ring, 1, large, CAPACITY / 8 + 1), APY_E_TOO_LONG);
    CHECK_EQ(apy_mpsc_ring_write_two(&ring, 1, large, 100, large, 100), APY_E_TOO_LONG);
    CHECK_EQ(apy_mpsc_ring_write_two(&ring, 1, large, 100, large, -90), APY_E_ARGUMENT);
    CHECK_EQ(apy_mpsc_ring_claim(&ring, 1, CAPACITY, &message), APY_E_TOO_LONG);
    CHECK(message == NULL);
    CHECK_EQ(apy_mpsc_ring_producer_position(&ring), 0);
}

static void a_full_ring_says_so_until_it_is_read(void)
{
    apy_mpsc_ring_t ring = new_ring();
    const uint8_t message[120] = {1};
    for (int i = 0; i < CAPACITY / 128; i++) {
        CHECK_EQ(apy_mpsc_ring_write(&ring, 1, message, 120), APY_OK);
    }
    CHECK_EQ(apy_mpsc_ring_write(&ring, 1, message, 0), APY_E_FULL);
    CHECK_EQ(apy_mpsc_ring_producer_position(&ring), CAPACITY);

    seen_t seen = {0};
    CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 3), 3);
    CHECK_EQ(apy_mpsc_ring_write(&ring, 1, message, 120), APY_OK);
    CHECK_EQ(apy_mpsc_ring_size(&ring), 6 * 128);
}

static void a_record_that_does_not_fit_before_the_end_starts_at_zero(void)
{
    apy_mpsc_ring_t ring = new_ring();
    const int64_t start = CAPACITY - 32;
    set_positions(start, start);
    const uint8_t message[40] = {9};
    CHECK_EQ(apy_mpsc_ring_write(&ring, 5, message, 40), APY_OK);
    CHECK_EQ(i32_at(start), 32);
    CHECK_EQ(i32_at(start + 4), -1);
    CHECK_EQ(i32_at(0), 48);
    CHECK_EQ(i64_at(CAPACITY + 128), start + 32 + 48);

    seen_t seen = {0};
    CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), 0); /* one read stops at the end */
    CHECK_EQ(apy_mpsc_ring_consumer_position(&ring), CAPACITY);
    CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), 1);
    CHECK_EQ(seen.type, 5);
    CHECK_EQ(seen.first, 9);
}

static void a_wrap_that_would_run_into_the_consumer_is_full(void)
{
    apy_mpsc_ring_t ring = new_ring();
    set_positions(CAPACITY + 24, CAPACITY * 2 - 32); /* 24 bytes are free at the start, 32 at the end */
    const uint8_t message[40] = {0};
    CHECK_EQ(apy_mpsc_ring_write(&ring, 1, message, 40), APY_E_FULL);
    CHECK_EQ(i64_at(CAPACITY + 128), CAPACITY * 2 - 32);
    CHECK_EQ(apy_mpsc_ring_write(&ring, 1, message, 24), APY_OK);
}

static void a_claim_is_unread_until_committed_and_skipped_when_aborted(void)
{
    apy_mpsc_ring_t ring = new_ring();
    uint8_t *first, *second;
    seen_t seen = {0};
    CHECK_EQ(apy_mpsc_ring_claim(&ring, 3, 12, &first), APY_OK);
    CHECK_EQ(apy_mpsc_ring_claim(&ring, 4, 12, &second), APY_OK);
    CHECK_EQ(i32_at(0), -20);
    second[0] = 'b';
    apy_mpsc_ring_commit(&ring, second);
    CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), 0);
    apy_mpsc_ring_abort(&ring, first);
    CHECK_EQ(i32_at(0), 20);
    CHECK_EQ(i32_at(4), -1);
    CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), 1);
    CHECK_EQ(seen.type, 4);
    CHECK_EQ(seen.first, 'b');
}

static void a_padding_record_with_nothing_behind_it_is_consumed(void)
{
    apy_mpsc_ring_t ring = new_ring();
    const int64_t start = CAPACITY - 64;
    set_positions(start, CAPACITY);
    put_i32(start, 64);
    put_i32(start + 4, -1);
    seen_t seen = {0};
    CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), 0);
    CHECK_EQ(apy_mpsc_ring_consumer_position(&ring), CAPACITY);
    CHECK_EQ(i32_at(start), 0);
}

static void a_record_that_breaks_the_format_is_corrupt_and_stays(void)
{
    static const int32_t lengths[] = {7, 1, CAPACITY - 15, INT32_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        apy_mpsc_ring_t ring = new_ring();
        seen_t seen = {0};
        CHECK_EQ(apy_mpsc_ring_write(&ring, 1, "12345678", 8), APY_OK);
        put_i32(16, lengths[i]);
        CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), 1);
        CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), APY_E_CORRUPT);
        CHECK(strstr(apy_error_text(), "offset 16") != NULL);
        CHECK_EQ(seen.count, 1);
    }
    apy_mpsc_ring_t ring = new_ring();
    set_positions(3, 800);
    seen_t seen = {0};
    CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), APY_E_CORRUPT);
    CHECK(!apy_mpsc_ring_unblock(&ring));
}

static void unblock_leaves_an_empty_or_a_readable_ring_alone(void)
{
    apy_mpsc_ring_t ring = new_ring();
    CHECK(!apy_mpsc_ring_unblock(&ring));
    CHECK_EQ(apy_mpsc_ring_write(&ring, 1, "x", 1), APY_OK);
    CHECK(!apy_mpsc_ring_unblock(&ring));
}

static void unblock_skips_a_claim_whose_length_is_known(void)
{
    apy_mpsc_ring_t ring = new_ring();
    uint8_t *message;
    seen_t seen = {0};
    CHECK_EQ(apy_mpsc_ring_claim(&ring, 1, 20, &message), APY_OK);
    CHECK_EQ(apy_mpsc_ring_write(&ring, 2, "x", 1), APY_OK);
    CHECK(apy_mpsc_ring_unblock(&ring));
    CHECK_EQ(i32_at(0), 28);
    CHECK_EQ(i32_at(4), -1);
    CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), 1);
    CHECK_EQ(seen.type, 2);
}

static void unblock_skips_silence_up_to_the_next_record(void)
{
    apy_mpsc_ring_t ring = new_ring();
    seen_t seen = {0};
    set_positions(0, 64); /* a producer moved the tail and died */
    CHECK(!apy_mpsc_ring_unblock(&ring));
    CHECK_EQ(apy_mpsc_ring_write(&ring, 2, "x", 1), APY_OK);
    CHECK(apy_mpsc_ring_unblock(&ring));
    CHECK_EQ(i32_at(0), 64);
    CHECK_EQ(i32_at(4), -1);
    CHECK_EQ(apy_mpsc_ring_read(&ring, see, &seen, 10), 1);
    CHECK_EQ(apy_mpsc_ring_size(&ring), 0);
}

static void unblock_looks_to_the_end_when_the_producer_wrapped(void)
{
    apy_mpsc_ring_t ring = new_ring();
    set_positions(CAPACITY - 128, CAPACITY + 16);
    put_i32(CAPACITY - 64, -64); /* in progress counts as a length too */
    CHECK(apy_mpsc_ring_unblock(&ring));
    CHECK_EQ(i32_at(CAPACITY - 128), 64);
}

static void correlation_ids_count_up_from_what_is_there(void)
{
    apy_mpsc_ring_t ring = new_ring();
    CHECK_EQ(apy_mpsc_ring_next_correlation_id(&ring), 0);
    CHECK_EQ(apy_mpsc_ring_next_correlation_id(&ring), 1);
    CHECK_EQ(i64_at(CAPACITY + 512), 2);
    *ring.heartbeat_ms = 77;
    CHECK_EQ(i64_at(CAPACITY + 640), 77);
}

static void size_stays_within_the_ring_whatever_the_positions_say(void)
{
    apy_mpsc_ring_t ring = new_ring();
    set_positions(100, 50);
    CHECK_EQ(apy_mpsc_ring_size(&ring), 0);
    set_positions(INT64_MIN, INT64_MAX);
    CHECK(apy_mpsc_ring_size(&ring) >= 0);
    set_positions(0, 1 << 20);
    CHECK_EQ(apy_mpsc_ring_size(&ring), CAPACITY);
}

int main(void)
{
    RUN(init_wants_a_power_of_two_and_a_trailer);
    RUN(a_record_has_length_type_and_message);
    RUN(what_a_ring_cannot_take_is_refused);
    RUN(a_full_ring_says_so_until_it_is_read);
    RUN(a_record_that_does_not_fit_before_the_end_starts_at_zero);
    RUN(a_wrap_that_would_run_into_the_consumer_is_full);
    RUN(a_claim_is_unread_until_committed_and_skipped_when_aborted);
    RUN(a_padding_record_with_nothing_behind_it_is_consumed);
    RUN(a_record_that_breaks_the_format_is_corrupt_and_stays);
    RUN(unblock_leaves_an_empty_or_a_readable_ring_alone);
    RUN(unblock_skips_a_claim_whose_length_is_known);
    RUN(unblock_skips_silence_up_to_the_next_record);
    RUN(unblock_looks_to_the_end_when_the_producer_wrapped);
    RUN(correlation_ids_count_up_from_what_is_there);
    RUN(size_stays_within_the_ring_whatever_the_positions_say);
    return 0;
}
