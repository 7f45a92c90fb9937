/* The log's file: every metadata byte, what is refused, cleaning, rotation. */
#include "apy/log_buffer.h"

#include <sys/stat.h>

#include "log_fixture.h"

static const uint8_t *meta_bytes(const apy_log_t *log)
{
    return log->mapping.address + log->mapping.length - 4096;
}

static int64_t i64_at(const apy_log_t *log, int offset)
{
    int64_t value;
    memcpy(&value, meta_bytes(log) + offset, sizeof(value));
    return value;
}

static int32_t i32_at(const apy_log_t *log, int offset)
{
    int32_t value;
    memcpy(&value, meta_bytes(log) + offset, sizeof(value));
    return value;
}

static void file_lengths_are_those_of_the_table(void)
{
    CHECK_EQ(apy_log_file_length(65536, 4096), 200704);
    CHECK_EQ(apy_log_file_length(65536, 65536), 262144);
    CHECK_EQ(apy_log_file_length(65536, 2097152), 2097152);
    CHECK_EQ(apy_log_file_length(16777216, 4096), 50335744);
    CHECK_EQ(apy_log_file_length(67108864, 2097152), 203423744);
    CHECK_EQ(apy_log_file_length(1073741824, 4096), INT64_C(3221229568));
    CHECK_EQ(apy_log_file_length(1073741824, 2097152), INT64_C(3223322624));
}

static void every_field_lies_at_its_offset(void)
{
    const apy_log_params_t params = {.correlation_id = INT64_C(0x1122334455667788),
                                     .session_id = -2,
                                     .stream_id = 1001,
                                     .initial_term_id = 7,
                                     .start_term_id = 7,
                                     .term_length = 65536,
                                     .mtu = 1408,
                                     .page_size = 65536,
                                     .publication_window_length = 101,
                                     .receiver_window_length = 102,
                                     .socket_sndbuf_length = 103,
                                     .os_default_sndbuf_length = 104,
                                     .os_max_sndbuf_length = 105,
                                     .socket_rcvbuf_length = 106,
                                     .os_default_rcvbuf_length = 107,
                                     .os_max_rcvbuf_length = 108,
                                     .max_resend = 109,
                                     .entity_tag = 110,
                                     .response_correlation_id = 111,
                                     .linger_timeout_ns = 112,
                                     .untethered_window_limit_timeout_ns = 113,
                                     .untethered_resting_timeout_ns = 114,
                                     .untethered_linger_timeout_ns = 115,
                                     .group = 1,
                                     .is_response = 2,
                                     .rejoin = 3,
                                     .reliable = 4,
                                     .sparse = 5,
                                     .signal_eos = 6,
                                     .spies_simulate_connection = 7,
                                     .tether = 8,
                                     .type = APY_LOG_EXCLUSIVE};
    fixture_t fixture;
    fixture_open_with(&fixture, &params);
    const apy_log_t *log = &fixture.log;
    CHECK_EQ(log->mapping.length, 262144);
    CHECK_EQ((const uint8_t *)log->meta - log->mapping.address, 258048); /* from the end, not after the terms */

    uint8_t rest[4096]; /* what is no field must be zero */
    memcpy(rest, meta_bytes(log), sizeof(rest));
    CHECK_EQ(i64_at(log, 128), INT64_MAX);
    CHECK_EQ(i64_at(log, 256), INT64_C(0x1122334455667788));
    static const int32_t words[] = {7, 32, 1408, 65536, 65536, 101, 102, 103, 104, 105, 106, 107, 108, 109};
    for (int i = 0; i < 14; i++) {
        CHECK_EQ(i32_at(log, 264 + 4 * i), words[i]);
    }
    static const uint8_t header[32] = {0, 0, 0, 0, 0, 0xC0, 1, 0, 0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xE9, 3, 0, 0, 7};
    CHECK_EQ(memcmp(meta_bytes(log) + 320, header, sizeof(header)), 0);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(i64_at(log, 448 + 8 * i), 110 + i);
    }
    static const uint8_t flags[12] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 0, 0};
    CHECK_EQ(memcmp(meta_bytes(log) + 488, flags, sizeof(flags)), 0);
    CHECK_EQ(i64_at(log, 500), 115);

    memset(rest, 0, 28);
    memset(rest + 128, 0, 8);
    memset(rest + 256, 0, 64 + 32);
    memset(rest + 448, 0, 60);
    for (size_t i = 0; i < sizeof(rest); i++) {
        CHECK_EQ(rest[i], 0);
    }
    fixture_close(&fixture);
}

static void vector_c_starts_in_the_middle(void)
{
    apy_log_params_t params = fixture_params(131072, 1408);
    params.initial_term_id = 5;
    params.start_term_id = 10;
    params.start_term_offset = 4096;
    fixture_t fixture;
    fixture_open_with(&fixture, &params);
    CHECK_EQ(i32_at(&fixture.log, 24), 5);
    CHECK_EQ(i64_at(&fixture.log, 0), INT64_C(8) << 32);
    CHECK_EQ(i64_at(&fixture.log, 8), INT64_C(9) << 32);
    CHECK_EQ(i64_at(&fixture.log, 16), (INT64_C(10) << 32) + 4096);
    CHECK_EQ(apy_log_producer_position(&fixture.log), 659456);

    apy_append_t append;
    apy_exclusive_t exclusive;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    apy_exclusive_init(&exclusive, &fixture.log, &fixture.limit);
    CHECK_EQ(apy_append_position(&append), 659456);
    CHECK_EQ(apy_exclusive_position(&exclusive), 659456);
    fixture_close(&fixture);
}

static void term_ids_wrap(void)
{
    apy_log_params_t params = fixture_params(65536, 1408);
    params.initial_term_id = INT32_MAX;
    params.start_term_id = INT32_MIN; /* the next one */
    fixture_t fixture;
    fixture_open_with(&fixture, &params);
    CHECK_EQ(i32_at(&fixture.log, 24), 1);
    CHECK_EQ(apy_log_producer_position(&fixture.log), 65536);
    apy_log_rotate(&fixture.log, 1, INT32_MIN);
    CHECK_EQ(apy_log_producer_position(&fixture.log), 131072);
    fixture_close(&fixture);
}

static void image_logs_carry_no_producer_state(void)
{
    apy_log_params_t params = fixture_params(65536, 1408);
    params.start_term_id = 9;
    params.type = APY_LOG_IMAGE;
    fixture_t fixture;
    fixture_open_with(&fixture, &params);
    for (int i = 0; i < 28; i++) {
        CHECK_EQ(meta_bytes(&fixture.log)[i], 0);
    }
    fixture_close(&fixture);
}

static void wrong_parameters_leave_no_file(void)
{
    const apy_log_params_t good = fixture_params(65536, 1408);
    apy_log_params_t bad[9] = {good, good, good, good, good, good, good, good, good};
    bad[0].term_length = 65536 + 4096;
    bad[1].term_length = 32768;
    bad[2].page_size = 2048;
    bad[3].mtu = 32;
    bad[4].mtu = 1400;
    bad[5].mtu = 65536;
    bad[6].start_term_offset = 65568;
    bad[7].start_term_offset = 33;
    bad[8].start_term_id = 6;
    apy_log_t log = {.term_length = 77};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_EQ(apy_log_create(&log, "/dev/shm/apy-test-log-refused", &bad[i]), APY_E_ARGUMENT);
        CHECK_EQ(log.term_length, 77);
        CHECK(access("/dev/shm/apy-test-log-refused", F_OK) != 0);
    }
}

static void an_opened_log_is_the_same_log(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_log_t opened = {.meta = NULL};
    CHECK_EQ(apy_log_open(&opened, fixture.path), APY_OK);
    CHECK_EQ(opened.term_length, 65536);
    CHECK_EQ(opened.shift, 16);
    CHECK_EQ(opened.mtu, 1408);
    CHECK_EQ(opened.initial_term_id, 7);
    opened.terms[2][65535] = 99;
    CHECK_EQ(fixture.log.terms[2][65535], 99);
    CHECK_EQ(fixture.log.mapping.address[3 * 65536 - 1], 99);
    apy_log_close(&opened);
    apy_log_close(&opened);
    CHECK(opened.meta == NULL);
    fixture_close(&fixture);
}

static void corrupt_lengths_are_refused_on_opening(void)
{
    static const struct {
        size_t offset;
        int32_t value;
    } spoilt[] = {{276, 0}, {276, 65537}, {276, -65536}, {276, 131072}, {280, 0}, {280, 5000}, {272, 0}, {272, 33}};
    for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
        fixture_t fixture;
        fixture_open(&fixture, 65536, 1408);
        memcpy((uint8_t *)fixture.log.meta + spoilt[i].offset, &spoilt[i].value, 4);
        apy_log_t opened = {.term_length = 77};
        CHECK_EQ(apy_log_open(&opened, fixture.path), APY_E_CORRUPT);
        CHECK_EQ(opened.term_length, 77);
        fixture_close(&fixture);
    }
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    CHECK_EQ(truncate(fixture.path, 8192), 0);
    apy_log_t opened;
    CHECK_EQ(apy_log_open(&opened, fixture.path), APY_E_CORRUPT);
    fixture_close(&fixture);
}

static void cleaning_zeroes_what_was_asked_and_no_more(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    memset(fixture.log.mapping.address, 0xFF, (size_t)3 * 65536);
    int64_t clean = 65536 - 64;
    apy_log_clean(&fixture.log, &clean, 65536 - 64);
    CHECK_EQ(clean, 65536 - 64);
    apy_log_clean(&fixture.log, &clean, 65536 + 128); /* stops at the border */
    CHECK_EQ(clean, 65536);
    apy_log_clean(&fixture.log, &clean, 65536 + 128);
    CHECK_EQ(clean, 65536 + 128);
    for (int i = 0; i < 3 * 65536; i++) {
        const bool cleaned = i >= 65536 - 64 && i < 65536 + 128;
        CHECK_EQ(fixture.log.mapping.address[i], cleaned ? 0 : 0xFF);
    }
    fixture_close(&fixture);
}

static void rotation_is_done_once(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_log_rotate(&fixture.log, 0, 7);
    CHECK_EQ(i32_at(&fixture.log, 24), 1);
    CHECK_EQ(i64_at(&fixture.log, 8), INT64_C(8) << 32);
    fixture.log.meta->tails[1] += 96; /* others append to the new term */
    apy_log_rotate(&fixture.log, 0, 7);
    CHECK_EQ(i32_at(&fixture.log, 24), 1);
    CHECK_EQ(i64_at(&fixture.log, 8), (INT64_C(8) << 32) + 96);
    CHECK_EQ(i64_at(&fixture.log, 16), INT64_C(6) << 32);
    fixture_close(&fixture);
}

int main(void)
{
    RUN(file_lengths_are_those_of_the_table);
    RUN(every_field_lies_at_its_offset);
    RUN(vector_c_starts_in_the_middle);
    RUN(term_ids_wrap);
    RUN(image_logs_carry_no_producer_state);
    RUN(wrong_parameters_leave_no_file);
    RUN(an_opened_log_is_the_same_log);
    RUN(corrupt_lengths_are_refused_on_opening);
    RUN(cleaning_zeroes_what_was_asked_and_no_more);
    RUN(rotation_is_done_once);
    return 0;
}
