/* The distinct error log: records, counting, room, and bytes that break the format. */
#include "apy/error_log.h"

#include "check.h"

enum { CAPACITY = 256 };

static _Alignas(64) uint8_t memory[CAPACITY];
static apy_hand_clock_t hand;
static apy_error_log_t error_log;

static void begin(void)
{
    memset(memory, 0, sizeof memory);
    hand = (apy_hand_clock_t){.epoch_ms = 5000};
    CHECK_EQ(apy_error_log_init(&error_log, memory, CAPACITY, apy_clock_by_hand(&hand)), APY_OK);
}

static int record(const char *text)
{
    return apy_error_log_record(&error_log, text, (int32_t)strlen(text));
}

static void put_i32(int64_t offset, int32_t value)
{
    memcpy(memory + offset, &value, sizeof value);
}

static void the_same_error_is_counted_not_repeated(void)
{
    begin();
    CHECK_EQ(record("first error"), APY_OK);
    hand.epoch_ms = 6000;
    CHECK_EQ(record("second"), APY_OK);
    hand.epoch_ms = 7000;
    CHECK_EQ(record("first error"), APY_OK);

    /* length 24 + 11, count 2, last 7000, first 5000, text; then the next at 40 */
    static const uint8_t header[] = {35, 0, 0, 0, 2, 0, 0, 0, 0x58, 0x1B, 0, 0, 0, 0, 0, 0, 0x88, 0x13, 0, 0};
    CHECK(memcmp(memory, header, sizeof header) == 0);
    CHECK(memcmp(memory + 24, "first error", 11) == 0);
    CHECK_EQ(memory[40], 30);

    int64_t offset = 0;
    apy_error_record_t found;
    CHECK_EQ(apy_error_log_next(memory, CAPACITY, &offset, &found), 1);
    CHECK_EQ(found.observations, 2);
    CHECK_EQ(found.first_ms, 5000);
    CHECK_EQ(found.last_ms, 7000);
    CHECK_EQ(found.text_length, 11);
    CHECK_EQ(offset, 40);
    CHECK_EQ(apy_error_log_next(memory, CAPACITY, &offset, &found), 1);
    CHECK_EQ(found.observations, 1);
    CHECK(memcmp(found.text, "second", 6) == 0);
    CHECK_EQ(apy_error_log_next(memory, CAPACITY, &offset, &found), 0);
    apy_error_log_close(&error_log);
}

static void texts_that_begin_alike_are_distinct(void)
{
    begin();
    CHECK_EQ(record("error"), APY_OK);
    CHECK_EQ(record("error 2"), APY_OK);
    CHECK_EQ(record(""), APY_OK);
    CHECK_EQ(error_log.next_offset, 32 + 32 + 24);
    apy_error_log_close(&error_log);
}

static void an_error_without_room_is_refused_and_a_known_one_is_counted(void)
{
    begin();
    char text[CAPACITY - 24 + 1];
    memset(text, 'e', sizeof text);
    CHECK_EQ(apy_error_log_record(&error_log, text, CAPACITY - 24 + 1), APY_E_FULL);
    CHECK_EQ(apy_error_log_record(&error_log, text, CAPACITY - 24), APY_OK);
    CHECK_EQ(record("more"), APY_E_FULL);
    CHECK_EQ(apy_error_log_record(&error_log, text, CAPACITY - 24), APY_OK);
    CHECK_EQ(apy_error_log_record(&error_log, text, -1), APY_E_ARGUMENT);

    int64_t offset = 0;
    apy_error_record_t found;
    CHECK_EQ(apy_error_log_next(memory, CAPACITY, &offset, &found), 1);
    CHECK_EQ(found.observations, 2);
    CHECK_EQ(apy_error_log_next(memory, CAPACITY, &offset, &found), 0);
    apy_error_log_close(&error_log);
}

static void a_log_goes_on_behind_what_it_holds(void)
{
    begin();
    CHECK_EQ(record("old"), APY_OK);
    apy_error_log_close(&error_log);
    CHECK_EQ(apy_error_log_init(&error_log, memory, CAPACITY, apy_clock_by_hand(&hand)), APY_OK);
    CHECK_EQ(record("old"), APY_OK);
    CHECK_EQ(record("new"), APY_OK);
    CHECK_EQ(memory[4], 2);
    CHECK_EQ(memory[32], 27);
    apy_error_log_close(&error_log);
}

static void a_record_that_breaks_the_format_is_corrupt(void)
{
    static const int32_t lengths[] = {1, 23, -5, CAPACITY, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        begin();
        CHECK_EQ(record("fine"), APY_OK);
        apy_error_log_close(&error_log);
        put_i32(32, lengths[i]);
        int64_t offset = 0;
        apy_error_record_t found;
        CHECK_EQ(apy_error_log_next(memory, CAPACITY, &offset, &found), 1);
        CHECK_EQ(apy_error_log_next(memory, CAPACITY, &offset, &found), APY_E_CORRUPT);
        CHECK(strstr(apy_error_text(), "offset 32") != NULL);
        CHECK_EQ(offset, 32);
        CHECK_EQ(apy_error_log_init(&error_log, memory, CAPACITY, apy_clock_by_hand(&hand)), APY_E_CORRUPT);
    }
    int64_t odd = 3;
    apy_error_record_t found;
    CHECK_EQ(apy_error_log_next(memory, CAPACITY, &odd, &found), APY_E_ARGUMENT);
    int64_t past = CAPACITY + 8;
    CHECK_EQ(apy_error_log_next(memory, CAPACITY, &past, &found), 0);
}

int main(void)
{
    RUN(the_same_error_is_counted_not_repeated);
    RUN(texts_that_begin_alike_are_distinct);
    RUN(an_error_without_room_is_refused_and_a_known_one_is_counted);
    RUN(a_log_goes_on_behind_what_it_holds);
    RUN(a_record_that_breaks_the_format_is_corrupt);
    return 0;
}
