/* From frames to rows: every rule of reading a segment, and that no bytes can make the scanner crash. */

#include "check.h"

#include "apy/frame.h"
#include "apy/position.h"
#include "apy/segment_scan.h"

#define TERM_LENGTH 65536
#define INITIAL_TERM_ID INT32_MAX /* so that the second term's id wraps */
#define STREAM_ID 1001
#define ROWS_MAX 64

static uint8_t memory[3 * TERM_LENGTH];
static int64_t position[ROWS_MAX], end_position[ROWS_MAX], reserved_value[ROWS_MAX];
static int32_t term_id[ROWS_MAX], term_offset[ROWS_MAX], session_id[ROWS_MAX], fragments[ROWS_MAX], length[ROWS_MAX];
static int32_t payload_offsets[ROWS_MAX + 1];
static int16_t flags[ROWS_MAX], type[ROWS_MAX];
static uint8_t incomplete[ROWS_MAX], payload[2 * TERM_LENGTH];

static apy_segment_columns_t columns_of(int64_t rows_max, int64_t bytes_max)
{
    return (apy_segment_columns_t){.position = position,
                                   .end_position = end_position,
                                   .term_id = term_id,
                                   .term_offset = term_offset,
                                   .flags = flags,
                                   .type = type,
                                   .session_id = session_id,
                                   .reserved_value = reserved_value,
                                   .fragments = fragments,
                                   .length = length,
                                   .incomplete = incomplete,
                                   .payload_offsets = payload_offsets,
                                   .payload = payload,
                                   .rows_max = rows_max,
                                   .bytes_max = bytes_max};
}

/* Write a frame at a position; the payload's bytes are all `fill`. Returns the position after it. */
static int64_t put(int64_t at, int32_t frame_length, uint8_t frame_flags, uint16_t frame_type, uint8_t fill)
{
    const apy_frame_t frame = {.length = frame_length,
                               .flags = frame_flags,
                               .type = frame_type,
                               .term_offset = (int32_t)(at % TERM_LENGTH),
                               .session_id = 5,
                               .stream_id = STREAM_ID,
                               .term_id = apy_wrap_add(INITIAL_TERM_ID, (int32_t)(at / TERM_LENGTH)),
                               .reserved_value = 1000 + at};
    memcpy(memory + at, &frame, sizeof(frame));
    if (frame_type == APY_FRAME_DATA) {
        memset(memory + at + sizeof(frame), fill, (size_t)frame_length - sizeof(frame));
    }
    return at + apy_frame_span(frame_length);
}

static int64_t put_data(int64_t at, int32_t bytes, uint8_t frame_flags, uint8_t fill)
{
    return put(at, bytes + 32, frame_flags, APY_FRAME_DATA, fill);
}

static apy_segment_scan_t scan_to(int64_t limit)
{
    apy_segment_scan_t scan;
    CHECK_EQ(apy_segment_scan_init(&scan, INITIAL_TERM_ID, TERM_LENGTH, STREAM_ID, 0, limit), APY_OK);
    return scan;
}

static void a_whole_message_is_a_row_with_all_its_facts(void)
{
    memset(memory, 0, sizeof(memory));
    int64_t at = put_data(0, 100, APY_FLAG_UNFRAGMENTED, 7);
    at = put_data(at, 0, APY_FLAG_UNFRAGMENTED, 0);
    apy_segment_scan_t scan = scan_to(at);
    apy_segment_columns_t columns = columns_of(ROWS_MAX, sizeof(payload));
    CHECK_EQ(apy_segment_scan_run(&scan, memory, at, &columns), APY_SEGMENT_DONE);
    CHECK_EQ(columns.row_count, 2);
    CHECK_EQ(position[0], 0);
    CHECK_EQ(end_position[0], 160);
    CHECK_EQ(term_id[0], INITIAL_TERM_ID);
    CHECK_EQ(flags[0], 0xC0);
    CHECK_EQ(type[0], 1);
    CHECK_EQ(session_id[0], 5);
    CHECK_EQ(reserved_value[0], 1000);
    CHECK_EQ(fragments[0], 1);
    CHECK_EQ(length[0], 100);
    CHECK_EQ(incomplete[0], APY_ROW_WHOLE);
    CHECK_EQ(payload_offsets[1], 100);
    CHECK(payload[0] == 7 && payload[99] == 7);
    CHECK_EQ(position[1], 160);
    CHECK_EQ(length[1], 0);
    CHECK_EQ(payload_offsets[2], 100);
    CHECK_EQ(scan.frame_count, 2);
}

static void fragments_become_one_message_and_term_ids_wrap(void)
{
    memset(memory, 0, sizeof(memory));
    int64_t at = put(0, TERM_LENGTH - 128, APY_FLAG_UNFRAGMENTED, APY_FRAME_PAD, 0);
    at = put(at, 128, APY_FLAG_UNFRAGMENTED, APY_FRAME_PAD, 0);
    at = put_data(at, 64, APY_FLAG_BEGIN, 1);
    at = put_data(at, 64, 0, 2);
    at = put_data(at, 10, APY_FLAG_END, 3);
    apy_segment_scan_t scan = scan_to(at);
    apy_segment_columns_t columns = columns_of(ROWS_MAX, sizeof(payload));
    CHECK_EQ(apy_segment_scan_run(&scan, memory, at, &columns), APY_SEGMENT_DONE);
    CHECK_EQ(columns.row_count, 1);
    CHECK_EQ(position[0], TERM_LENGTH);
    CHECK_EQ(end_position[0], at);
    CHECK_EQ(term_id[0], INT32_MIN);
    CHECK_EQ(term_offset[0], 0);
    CHECK_EQ(fragments[0], 3);
    CHECK_EQ(length[0], 138);
    CHECK(payload[63] == 1 && payload[64] == 2 && payload[128] == 3);
    CHECK_EQ(scan.incomplete_count, 0);
}

static void a_message_lacks_a_fragment_when_padding_a_begin_or_the_term_cuts_it(void)
{
    memset(memory, 0, sizeof(memory));
    int64_t at = put_data(0, 32, APY_FLAG_END, 1); /* the tail of something */
    const int64_t second = at;
    at = put_data(at, 32, APY_FLAG_BEGIN, 2); /* cut by padding */
    at = put(at, 64, APY_FLAG_UNFRAGMENTED, APY_FRAME_PAD, 0);
    at = put_data(at, 32, APY_FLAG_BEGIN, 3); /* cut by another begin */
    at = put_data(at, 32, APY_FLAG_UNFRAGMENTED, 4);
    at = put(at, TERM_LENGTH - (int32_t)at - 64, APY_FLAG_UNFRAGMENTED, APY_FRAME_PAD, 0);
    at = put_data(at, 32, APY_FLAG_BEGIN, 5); /* cut by the term */
    at = put_data(at, 32, APY_FLAG_END, 6);
    apy_segment_scan_t scan = scan_to(at);
    apy_segment_columns_t columns = columns_of(ROWS_MAX, sizeof(payload));
    CHECK_EQ(apy_segment_scan_run(&scan, memory, at, &columns), APY_SEGMENT_DONE);
    CHECK_EQ(columns.row_count, 1);
    CHECK(payload[0] == 4);
    CHECK_EQ(scan.incomplete_count, 5);
    CHECK_EQ(scan.incomplete_position, 0);

    scan = scan_to(at);
    scan.emit_incomplete = true;
    columns = columns_of(ROWS_MAX, sizeof(payload));
    CHECK_EQ(apy_segment_scan_run(&scan, memory, at, &columns), APY_SEGMENT_DONE);
    CHECK_EQ(columns.row_count, 6);
    CHECK_EQ(incomplete[0], APY_ROW_NO_BEGIN);
    CHECK_EQ(position[1], second);
    CHECK_EQ(incomplete[1], APY_ROW_NO_END);
    CHECK_EQ(incomplete[3], APY_ROW_WHOLE);
    CHECK_EQ(incomplete[4], APY_ROW_NO_END);
    CHECK_EQ(incomplete[5], APY_ROW_NO_BEGIN);
    CHECK_EQ(columns.byte_count, 6 * 32);
}

static void only_rows_that_begin_in_the_range_come_out_each_whole(void)
{
    memset(memory, 0, sizeof(memory));
    int64_t at = put_data(0, 32, APY_FLAG_BEGIN, 1);
    const int64_t middle = at;
    at = put_data(at, 32, APY_FLAG_END, 2);
    const int64_t second = at;
    at = put_data(at, 32, APY_FLAG_BEGIN, 3);
    const int64_t to = at;
    at = put_data(at, 32, APY_FLAG_END, 4);
    at = put_data(at, 32, APY_FLAG_UNFRAGMENTED, 5);
    apy_segment_scan_t scan = scan_to(at);
    scan.from = middle;
    scan.to = to;
    apy_segment_columns_t columns = columns_of(ROWS_MAX, sizeof(payload));
    CHECK_EQ(apy_segment_scan_run(&scan, memory, at, &columns), APY_SEGMENT_DONE);
    CHECK_EQ(columns.row_count, 1);
    CHECK_EQ(position[0], second);
    CHECK_EQ(length[0], 64);
    CHECK_EQ(scan.incomplete_count, 0);
}

static void memory_that_ends_within_a_message_is_taken_up_from_its_begin(void)
{
    memset(memory, 0, sizeof(memory));
    int64_t at = put_data(0, 32, APY_FLAG_UNFRAGMENTED, 1);
    const int64_t begin = at;
    at = put_data(at, 32, APY_FLAG_BEGIN, 2);
    at = put_data(at, 100, APY_FLAG_END, 3);
    for (int64_t cut = begin; cut < at - 28; cut++) { /* the last 28 bytes only align */
        apy_segment_scan_t scan = scan_to(at);
        apy_segment_columns_t columns = columns_of(ROWS_MAX, sizeof(payload));
        CHECK_EQ(apy_segment_scan_run(&scan, memory, cut, &columns), APY_SEGMENT_MORE);
        CHECK_EQ(scan.position, begin);
        CHECK_EQ(columns.row_count, 1);
        CHECK_EQ(apy_segment_scan_run(&scan, memory + begin, at - begin, &columns), APY_SEGMENT_DONE);
        CHECK_EQ(columns.row_count, 2);
        CHECK_EQ(length[1], 132);
        CHECK_EQ(payload_offsets[2], 164);
        CHECK(payload[32] == 2 && payload[163] == 3);
        CHECK_EQ(scan.frame_count, 3);
    }
}

static void full_columns_resume_where_they_stopped(void)
{
    memset(memory, 0, sizeof(memory));
    int64_t at = 0;
    for (uint8_t i = 0; i < 10; i++) {
        at = put_data(at, 40, APY_FLAG_UNFRAGMENTED, i);
    }
    apy_segment_scan_t scan = scan_to(at);
    int64_t rows = 0;
    int status;
    do {
        apy_segment_columns_t columns = columns_of(3, 100); /* two messages by bytes, three by rows */
        const int64_t from = scan.position;
        status = apy_segment_scan_run(&scan, memory + from, at - from, &columns);
        CHECK_EQ(columns.row_count, 2);
        CHECK(payload[0] == rows && payload[40] == rows + 1);
        rows += columns.row_count;
    } while (status == APY_SEGMENT_FULL);
    CHECK_EQ(status, APY_SEGMENT_DONE);
    CHECK_EQ(rows, 10);

    scan = scan_to(at);
    apy_segment_columns_t small = columns_of(3, 39);
    CHECK_EQ(apy_segment_scan_run(&scan, memory, at, &small), APY_SEGMENT_FULL);
    CHECK_EQ(small.row_count, 0);
}

static void what_is_open_at_a_live_edge_is_held_back(void)
{
    memset(memory, 0, sizeof(memory));
    int64_t at = put_data(0, 32, APY_FLAG_UNFRAGMENTED, 1);
    const int64_t begin = at;
    at = put_data(at, 32, APY_FLAG_BEGIN, 2);
    apy_segment_scan_t scan = scan_to(at);
    scan.live = true;
    apy_segment_columns_t columns = columns_of(ROWS_MAX, sizeof(payload));
    CHECK_EQ(apy_segment_scan_run(&scan, memory, at, &columns), APY_SEGMENT_DONE);
    CHECK_EQ(scan.position, begin);
    CHECK_EQ(scan.incomplete_count, 0);

    scan = scan_to(at);
    CHECK_EQ(apy_segment_scan_run(&scan, memory, at, &columns), APY_SEGMENT_DONE);
    CHECK_EQ(scan.position, at);
    CHECK_EQ(scan.incomplete_count, 1);
}

static void frames_are_rows_of_their_own_and_a_padding_body_need_not_be_there(void)
{
    memset(memory, 0, sizeof(memory));
    int64_t at = put_data(0, 32, APY_FLAG_BEGIN, 1);
    at = put_data(at, 5, APY_FLAG_END, 2);
    const int64_t padding = at;
    at = put(at, 4096, APY_FLAG_UNFRAGMENTED, APY_FRAME_PAD, 0);
    apy_segment_scan_t scan = scan_to(at);
    scan.frames = true;
    apy_segment_columns_t columns = columns_of(ROWS_MAX, sizeof(payload));
    CHECK_EQ(apy_segment_scan_run(&scan, memory, padding + 32, &columns), APY_SEGMENT_DONE);
    CHECK_EQ(columns.row_count, 3);
    CHECK_EQ(type[2], APY_FRAME_PAD);
    CHECK_EQ(length[2], 4064);
    CHECK_EQ(end_position[2], at);
    CHECK_EQ(payload_offsets[3], 37);
}

static void check_fault(apy_segment_fault_kind_t kind, apy_frame_t change, int64_t limit)
{
    const int64_t at = put_data(0, 32, APY_FLAG_UNFRAGMENTED, 1);
    put_data(at, 32, APY_FLAG_UNFRAGMENTED, 2);
    memcpy(memory + at, &change, sizeof(change));
    apy_segment_scan_t scan = scan_to(limit);
    apy_segment_columns_t columns = columns_of(ROWS_MAX, sizeof(payload));
    CHECK_EQ(apy_segment_scan_run(&scan, memory, (int64_t)sizeof(memory), &columns), APY_SEGMENT_FAULT);
    CHECK_EQ(scan.fault.kind, kind);
    CHECK_EQ(scan.fault.position, at);
    CHECK_EQ(scan.fault.offset, at);
    CHECK(memcmp(scan.fault.header, &change, sizeof(change)) == 0);
    CHECK_EQ(scan.position, at);
    CHECK_EQ(columns.row_count, 1);
}

static void each_wrong_header_is_its_own_fault_after_the_rows_before_it(void)
{
    memset(memory, 0, sizeof(memory));
    const int64_t at = put_data(0, 32, APY_FLAG_UNFRAGMENTED, 1);
    put_data(at, 32, APY_FLAG_UNFRAGMENTED, 2);
    apy_frame_t good;
    memcpy(&good, memory + at, sizeof(good));
    const int64_t limit = TERM_LENGTH;
    apy_frame_t frame = good;
    frame.length = 0;
    check_fault(APY_SEGMENT_EMPTY, frame, limit);
    frame.length = -64;
    check_fault(APY_SEGMENT_EMPTY, frame, limit);
    frame.length = 31;
    check_fault(APY_SEGMENT_SHORT, frame, limit);
    frame.length = INT32_MAX;
    check_fault(APY_SEGMENT_PAST_TERM, frame, limit);
    frame.length = TERM_LENGTH - (int32_t)at + 1;
    check_fault(APY_SEGMENT_PAST_TERM, frame, 2 * limit);
    frame = good;
    check_fault(APY_SEGMENT_PAST_LIMIT, frame, at + 32);
    frame.version = 1;
    check_fault(APY_SEGMENT_VERSION, frame, limit);
    frame = good;
    frame.type = APY_FRAME_SETUP;
    check_fault(APY_SEGMENT_TYPE, frame, limit);
    frame = good;
    frame.term_offset += 32;
    check_fault(APY_SEGMENT_TERM_OFFSET, frame, limit);
    frame = good;
    frame.term_id = apy_wrap_add(good.term_id, 1);
    check_fault(APY_SEGMENT_TERM_ID, frame, limit);
    frame = good;
    frame.stream_id++;
    check_fault(APY_SEGMENT_STREAM_ID, frame, limit);
}

static void numbers_outside_their_bounds_are_refused(void)
{
    apy_segment_scan_t scan;
    CHECK_EQ(apy_segment_scan_init(&scan, 0, 65537, 1, 0, 0), APY_E_ARGUMENT);
    CHECK_EQ(apy_segment_scan_init(&scan, 0, 32768, 1, 0, 0), APY_E_ARGUMENT);
    CHECK_EQ(apy_segment_scan_init(&scan, 0, TERM_LENGTH, 1, 16, 64), APY_E_ARGUMENT);
    CHECK_EQ(apy_segment_scan_init(&scan, 0, TERM_LENGTH, 1, 0, ((int64_t)TERM_LENGTH << 31) + 32), APY_E_ARGUMENT);
    scan = scan_to(64);
    apy_segment_columns_t columns = columns_of(0, 0);
    CHECK_EQ(apy_segment_scan_run(&scan, memory, 64, &columns), APY_E_ARGUMENT);
    columns = columns_of(1, (int64_t)INT32_MAX + 1);
    CHECK_EQ(apy_segment_scan_run(&scan, memory, 64, &columns), APY_E_ARGUMENT);
}

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* Under AddressSanitizer this is what proves that broken bytes cannot lead out of memory or columns. */
static void broken_bytes_never_lead_astray(void)
{
    uint32_t random = 2463534242u;
    for (int round = 0; round < 3000; round++) {
        memset(memory, 0, sizeof(memory));
        int64_t at = 0;
        while (at < TERM_LENGTH) {
            const int32_t left = TERM_LENGTH - (int32_t)at;
            int32_t span = 32 + (int32_t)(next_random(&random) % 4000);
            span = span > left ? left : span;
            at = put(at, span, (uint8_t)(next_random(&random) & 0xC0), (uint16_t)(next_random(&random) % 4 != 0), 9);
        }
        for (uint32_t i = next_random(&random) % 8; i > 0; i--) {
            memory[next_random(&random) % TERM_LENGTH] = (uint8_t)next_random(&random);
        }
        apy_segment_scan_t scan = scan_to(TERM_LENGTH);
        scan.frames = next_random(&random) % 2 != 0;
        scan.emit_incomplete = next_random(&random) % 2 != 0;
        int status = APY_SEGMENT_FULL;
        int64_t bytes_max = 500;
        for (int calls = 0; calls < 100000 && (status == APY_SEGMENT_FULL || status == APY_SEGMENT_MORE); calls++) {
            apy_segment_columns_t columns = columns_of(5, bytes_max);
            const int64_t from = scan.position < TERM_LENGTH ? scan.position : TERM_LENGTH;
            const int64_t some = (int64_t)(next_random(&random) % 8192);
            const int64_t left = TERM_LENGTH - from;
            status = apy_segment_scan_run(&scan, memory + from, some < left && calls % 50 ? some : left, &columns);
            CHECK(status >= 0);
            bytes_max = status == APY_SEGMENT_FULL && columns.row_count == 0 ? (int64_t)sizeof(payload) : 500;
        }
        CHECK(status == APY_SEGMENT_DONE || status == APY_SEGMENT_FAULT);
    }
}

int main(void)
{
    RUN(a_whole_message_is_a_row_with_all_its_facts);
    RUN(fragments_become_one_message_and_term_ids_wrap);
    RUN(a_message_lacks_a_fragment_when_padding_a_begin_or_the_term_cuts_it);
    RUN(only_rows_that_begin_in_the_range_come_out_each_whole);
    RUN(memory_that_ends_within_a_message_is_taken_up_from_its_begin);
    RUN(full_columns_resume_where_they_stopped);
    RUN(what_is_open_at_a_live_edge_is_held_back);
    RUN(frames_are_rows_of_their_own_and_a_padding_body_need_not_be_there);
    RUN(each_wrong_header_is_its_own_fault_after_the_rows_before_it);
    RUN(numbers_outside_their_bounds_are_refused);
    RUN(broken_bytes_never_lead_astray);
    return 0;
}
