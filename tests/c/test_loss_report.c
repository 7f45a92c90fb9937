/* The loss report: entries as the format's vector has them, updates, and bytes that break the format. */
#include "apy/loss_report.h"

#include "check.h"

enum { CAPACITY = 1024 };

#define CHANNEL "aeron:udp?endpoint=127.0.0.1:25001"
#define SOURCE "127.0.0.1:56698"

static _Alignas(64) uint8_t memory[CAPACITY];
static apy_loss_report_t report;

static void begin(void)
{
    memset(memory, 0, sizeof memory);
    CHECK_EQ(apy_loss_report_init(&report, memory, CAPACITY), APY_OK);
}

static void put_i32(int64_t offset, int32_t value)
{
    memcpy(memory + offset, &value, sizeof value);
}

static int32_t i32_at(int64_t offset)
{
    int32_t value;
    memcpy(&value, memory + offset, sizeof value);
    return value;
}

static void an_entry_is_laid_out_as_the_vector_says(void)
{
    begin();
    CHECK_EQ(apy_loss_report_create(&report, 1408, 111, -7, 1001, CHANNEL, SOURCE), 0);
    CHECK_EQ(i32_at(32), -7);
    CHECK_EQ(i32_at(36), 1001);
    CHECK_EQ(i32_at(40), 34);
    CHECK(memcmp(memory + 44, CHANNEL, 34) == 0);
    CHECK_EQ(i32_at(80), 15);
    CHECK(memcmp(memory + 84, SOURCE, 15) == 0);
    CHECK_EQ(apy_loss_report_create(&report, 1, 112, 8, 1002, "aeron:udp", "x:1"), 128);
}

static void updates_add_up(void)
{
    begin();
    const int64_t at = apy_loss_report_create(&report, 1408, 111, -7, 1001, CHANNEL, SOURCE);
    apy_loss_report_update(&report, at, 100, 222);
    apy_loss_report_update(&report, at, 10, 333);

    int64_t offset = 0;
    apy_loss_entry_t entry;
    CHECK_EQ(apy_loss_report_next(memory, CAPACITY, &offset, &entry), 1);
    CHECK_EQ(entry.observations, 3);
    CHECK_EQ(entry.bytes_lost, 1518);
    CHECK_EQ(entry.first_ms, 111);
    CHECK_EQ(entry.last_ms, 333);
    CHECK_EQ(entry.session_id, -7);
    CHECK_EQ(entry.stream_id, 1001);
    CHECK_EQ(entry.channel_length, 34);
    CHECK(memcmp(entry.channel, CHANNEL, 34) == 0);
    CHECK_EQ(entry.source_length, 15);
    CHECK(memcmp(entry.source, SOURCE, 15) == 0);
    CHECK_EQ(offset, 128);
    CHECK_EQ(apy_loss_report_next(memory, CAPACITY, &offset, &entry), 0);
}

static void every_channel_length_keeps_its_place(void)
{
    /* lengths at which padding does and does not move the entry over a 64-byte border */
    begin();
    char channel[80];
    memset(channel, 'c', sizeof channel);
    int64_t expected = 0;
    for (int length = 0; length < 8; length++) {
        channel[length] = '\0';
        const int64_t size = (40 + (4 + length + 3) / 4 * 4 + 4 + 13 + 63) / 64 * 64;
        CHECK_EQ(apy_loss_report_create(&report, 1, 1, length, 1, channel, "1234567890123"), expected);
        channel[length] = 'c';
        expected += size;
    }
    int64_t offset = 0;
    apy_loss_entry_t entry;
    for (int length = 0; length < 8; length++) {
        CHECK_EQ(apy_loss_report_next(memory, CAPACITY, &offset, &entry), 1);
        CHECK_EQ(entry.session_id, length);
        CHECK_EQ(entry.channel_length, length);
    }
    CHECK_EQ(apy_loss_report_next(memory, CAPACITY, &offset, &entry), 0);
    CHECK_EQ(offset, expected);
}

static void a_full_report_takes_no_more(void)
{
    begin();
    for (int i = 0; i < CAPACITY / 128; i++) {
        CHECK_EQ(apy_loss_report_create(&report, 1, 1, i, 1, CHANNEL, SOURCE), i * 128);
    }
    CHECK_EQ(apy_loss_report_create(&report, 1, 1, 1, 1, "", ""), APY_E_FULL);
    int64_t offset = 0;
    apy_loss_entry_t entry;
    int count = 0;
    while (apy_loss_report_next(memory, CAPACITY, &offset, &entry) == 1) {
        count++;
    }
    CHECK_EQ(count, CAPACITY / 128);
    CHECK_EQ(apy_loss_report_init(&report, memory, 32), APY_E_ARGUMENT);
}

static void lengths_that_break_the_format_are_corrupt(void)
{
    static const struct {
        int64_t at;
        int32_t length;
    } faults[] = {{40, -1}, {40, CAPACITY}, {40, INT32_MAX}, {40, INT32_MIN}, {40, CAPACITY - 47},
                  {80, -1}, {80, CAPACITY}, {80, INT32_MAX}, {80, INT32_MIN}, {80, CAPACITY - 83}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        begin();
        CHECK_EQ(apy_loss_report_create(&report, 1, 1, 1, 1, CHANNEL, SOURCE), 0);
        put_i32(faults[i].at, faults[i].length);
        int64_t offset = 0;
        apy_loss_entry_t entry;
        CHECK_EQ(apy_loss_report_next(memory, CAPACITY, &offset, &entry), APY_E_CORRUPT);
        CHECK(strstr(apy_error_text(), "offset 0") != NULL);
        CHECK_EQ(offset, 0);
    }
    int64_t odd = 4;
    apy_loss_entry_t entry;
    CHECK_EQ(apy_loss_report_next(memory, CAPACITY, &odd, &entry), APY_E_ARGUMENT);
    begin();
    memory[0] = 1; /* an entry that says it was seen, cut off by the file's end */
    int64_t start = 0;
    CHECK_EQ(apy_loss_report_next(memory, 16, &start, &entry), APY_E_CORRUPT);
}

int main(void)
{
    RUN(an_entry_is_laid_out_as_the_vector_says);
    RUN(updates_add_up);
    RUN(every_channel_length_keeps_its_place);
    RUN(a_full_report_takes_no_more);
    RUN(lengths_that_break_the_format_are_corrupt);
    return 0;
}
