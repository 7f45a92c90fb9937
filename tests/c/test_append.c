/* Many writers' appends, one at a time: the specification's vectors A, B and D, the limit, the end of the stream. */
#include "apy/append.h"

#include "log_fixture.h"

static uint8_t message[70000];

static int64_t offer(const apy_append_t *append, size_t length)
{
    const struct iovec part = {message, length};
    return apy_append_offer(append, &part, 1, NULL, NULL);
}

static void vector_a_trips_the_end_of_the_term(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    for (int64_t i = 1; i <= 62; i++) {
        CHECK_EQ(offer(&append, 1000), i * 1056);
    }
    check_frame(&fixture, 0, 64416, 1032, 0xC0, APY_FRAME_DATA);
    CHECK_EQ(offer(&append, 1000), APY_ADMIN_ACTION);
    CHECK_EQ(fixture.log.meta->tails[0], (INT64_C(7) << 32) + 66528);
    check_frame(&fixture, 0, 65472, 64, 0xC0, APY_FRAME_PAD);
    CHECK_EQ(fixture.log.meta->active_term_count, 1);
    CHECK_EQ(fixture.log.meta->tails[1], INT64_C(8) << 32);
    CHECK_EQ(offer(&append, 1000), 66592);
    check_frame(&fixture, 1, 0, 1032, 0xC0, APY_FRAME_DATA);
    CHECK_EQ(frame_in(&fixture, 1, 0)->term_id, 8);
    CHECK_EQ(apy_append_position(&append), 66592);
    CHECK_EQ(apy_log_producer_position(&fixture.log), 66592);
    fixture_close(&fixture);
}

static void vector_b_fragments(void)
{
    apy_log_params_t params = fixture_params(131072, 4096);
    params.start_term_offset = 4352;
    fixture_t fixture;
    fixture_open_with(&fixture, &params);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    fill_message(message, 9000, 3);
    CHECK_EQ(offer(&append, 9000), 13472);
    check_frame(&fixture, 0, 4352, 4096, 0x80, APY_FRAME_DATA);
    check_frame(&fixture, 0, 8448, 4096, 0x00, APY_FRAME_DATA);
    check_frame(&fixture, 0, 12544, 904, 0x40, APY_FRAME_DATA);
    CHECK_EQ(fixture.log.meta->tails[0] & 0xFFFFFFFF, 13472);
    CHECK_EQ(memcmp(fixture.log.terms[0] + 4352 + 32, message, 4064), 0);
    CHECK_EQ(memcmp(fixture.log.terms[0] + 8448 + 32, message + 4064, 4064), 0);
    CHECK_EQ(memcmp(fixture.log.terms[0] + 12544 + 32, message + 8128, 872), 0);
    fixture_close(&fixture);
}

static void vector_d_mixes_all_kinds(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    CHECK_EQ(offer(&append, 5), 64);
    CHECK_EQ(offer(&append, 3000), 3168);
    CHECK_EQ(offer(&append, 0), 3200);
    uint8_t *claim = NULL;
    CHECK_EQ(apy_append_claim(&append, 100, &claim), 3360);
    CHECK(claim == fixture.log.terms[0] + 3200);
    check_frame(&fixture, 0, 0, 37, 0xC0, APY_FRAME_DATA);
    check_frame(&fixture, 0, 64, 1408, 0x80, APY_FRAME_DATA);
    check_frame(&fixture, 0, 1472, 1408, 0x00, APY_FRAME_DATA);
    check_frame(&fixture, 0, 2880, 280, 0x40, APY_FRAME_DATA);
    check_frame(&fixture, 0, 3168, 32, 0xC0, APY_FRAME_DATA);
    check_frame(&fixture, 0, 3200, -132, 0xC0, APY_FRAME_DATA);
    apy_claim_abort(claim);
    check_frame(&fixture, 0, 3200, 132, 0xC0, APY_FRAME_PAD);
    CHECK_EQ(apy_append_position(&append), 3360);

    CHECK_EQ(apy_append_claim(&append, 1376, &claim), 3360 + 1408);
    memset(claim + 32, 9, 1376);
    apy_claim_commit(claim);
    check_frame(&fixture, 0, 3360, 1408, 0xC0, APY_FRAME_DATA);
    apy_claim_abort(claim); /* too late: nothing happens */
    check_frame(&fixture, 0, 3360, 1408, 0xC0, APY_FRAME_DATA);
    fixture_close(&fixture);
}

static void every_small_length_arrives_and_nothing_is_written_behind_it(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    memset(fixture.log.terms[0], 0xEE, 65536);
    int32_t offset = 0;
    for (int length = 0; length <= 200; length++) {
        fill_message(message, (size_t)length, length);
        CHECK_EQ(offer(&append, (size_t)length), offset + apy_frame_span(length + 32));
        const uint8_t *frame = fixture.log.terms[0] + offset;
        CHECK_EQ(memcmp(frame + 32, message, (size_t)length), 0);
        for (int i = 24; i < 32; i++) {
            CHECK_EQ(frame[i], 0xEE); /* the reserved value is the supplier's */
        }
        for (int i = 32 + length; i < apy_frame_span(length + 32); i++) {
            CHECK_EQ(frame[i], 0xEE);
        }
        offset += apy_frame_span(length + 32);
    }
    fixture_close(&fixture);
}

static void parts_are_one_stream_across_fragments(void)
{
    static const size_t cuts[][4] = {{3000, 0, 0, 0}, {0, 1376, 0, 1624}, {1, 1375, 1, 1623}, {1375, 2, 0, 1623}};
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        fixture_t fixture;
        fixture_open(&fixture, 65536, 1408);
        apy_append_t append;
        apy_append_init(&append, &fixture.log, &fixture.limit);
        fill_message(message, 3000, 5);
        struct iovec parts[4];
        size_t from = 0;
        for (int k = 0; k < 4; k++) {
            parts[k] = (struct iovec){cuts[i][k] == 0 ? NULL : message + from, cuts[i][k]};
            from += cuts[i][k];
        }
        CHECK_EQ(apy_append_offer(&append, parts, 4, NULL, NULL), 2 * 1408 + 288);
        CHECK_EQ(memcmp(fixture.log.terms[0] + 32, message, 1376), 0);
        CHECK_EQ(memcmp(fixture.log.terms[0] + 1408 + 32, message + 1376, 1376), 0);
        CHECK_EQ(memcmp(fixture.log.terms[0] + 2816 + 32, message + 2752, 248), 0);
        CHECK_EQ(apy_append_offer(&append, parts + 1, 2, NULL, NULL) - 3104,
                 apy_frame_span((int32_t)(cuts[i][1] + cuts[i][2]) + 32));
        CHECK_EQ(apy_append_offer(&append, NULL, 0, NULL, NULL), apy_append_position(&append));
        fixture_close(&fixture);
    }
}

typedef struct supplied {
    const uint8_t *frames[4];
    int32_t lengths[4];
    int count;
} supplied_t;

static int64_t supply(void *context, uint8_t *frame, int32_t frame_length)
{
    supplied_t *supplied = context;
    CHECK_EQ(((const apy_frame_t *)(const void *)frame)->length, -frame_length); /* not yet committed */
    supplied->frames[supplied->count] = frame;
    supplied->lengths[supplied->count] = frame_length;
    return 1000 + supplied->count++;
}

static void the_supplier_sees_each_frame(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    supplied_t supplied = {.count = 0};
    const struct iovec part = {message, 1500};
    CHECK(apy_append_offer(&append, &part, 1, supply, &supplied) > 0);
    CHECK_EQ(supplied.count, 2);
    CHECK(supplied.frames[0] == fixture.log.terms[0] && supplied.frames[1] == fixture.log.terms[0] + 1408);
    CHECK_EQ(supplied.lengths[0], 1408);
    CHECK_EQ(supplied.lengths[1], 156);
    CHECK_EQ(frame_in(&fixture, 0, 0)->reserved_value, 1000);
    CHECK_EQ(frame_in(&fixture, 0, 1408)->reserved_value, 1001);
    fixture_close(&fixture);
}

static void the_limit_holds_the_start_of_a_message_only(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    uint8_t *claim = NULL;
    fixture.limit = 0;
    CHECK_EQ(offer(&append, 8), APY_NOT_CONNECTED);
    fixture.limit = 32;
    CHECK_EQ(offer(&append, 8000), 5 * 1408 + 1152);
    CHECK_EQ(offer(&append, 8), APY_NOT_CONNECTED);
    fixture.log.meta->is_connected = 1;
    CHECK_EQ(offer(&append, 8), APY_BACK_PRESSURED);
    CHECK_EQ(apy_append_claim(&append, 8, &claim), APY_BACK_PRESSURED);
    CHECK(claim == NULL);
    CHECK_EQ(apy_append_position(&append), 5 * 1408 + 1152);
    fixture_close(&fixture);
}

static void what_is_too_long_says_so(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    uint8_t *claim = NULL;
    CHECK_EQ(offer(&append, 8193), APY_OFFER_ERROR);
    CHECK(strstr(apy_error_text(), "8193 bytes: here 0 to 8192") != NULL);
    CHECK_EQ(offer(&append, SIZE_MAX), APY_OFFER_ERROR);
    const struct iovec parts[] = {{message, SIZE_MAX}, {message, SIZE_MAX}, {message, 2}};
    CHECK_EQ(apy_append_offer(&append, parts, 3, NULL, NULL), APY_OFFER_ERROR);
    CHECK_EQ(apy_append_claim(&append, 1377, &claim), APY_OFFER_ERROR);
    CHECK_EQ(apy_append_claim(&append, -1, &claim), APY_OFFER_ERROR);
    CHECK_EQ(apy_append_position(&append), 0);
    CHECK_EQ(offer(&append, 8192), 5 * 1408 + 1344);
    fixture_close(&fixture);
}

static void a_rotation_half_done_is_an_admin_action(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    fixture.log.meta->active_term_count = 1; /* the tail there still has the id of two terms ago */
    CHECK_EQ(offer(&append, 8), APY_ADMIN_ACTION);
    CHECK_EQ(fixture.log.meta->tails[1], INT64_C(5) << 32);
    fixture_close(&fixture);
}

static void the_last_term_ends_the_stream(void)
{
    apy_log_params_t params = fixture_params(65536, 1408);
    params.start_term_id = apy_wrap_add(params.initial_term_id, INT32_MAX);
    params.start_term_offset = 65536 - 128;
    fixture_t fixture;
    fixture_open_with(&fixture, &params);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    const int64_t position_max = INT64_C(65536) << 31;
    CHECK_EQ(offer(&append, 32), position_max - 64);
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(offer(&append, 64), APY_MAX_POSITION_EXCEEDED);
    }
    const int partition = INT32_MAX % 3;
    check_frame(&fixture, partition, 65536 - 64, 64, 0xC0, APY_FRAME_PAD);
    CHECK_EQ(fixture.log.meta->active_term_count, INT32_MAX);
    CHECK_EQ(apy_append_position(&append), position_max);
    /* Offers that fail for ever must not count the tail up into the next term id. */
    CHECK_EQ(fixture.log.meta->tails[partition] & 0xFFFFFFFF, 65536);
    fixture.limit = 0;
    CHECK_EQ(offer(&append, 64), APY_MAX_POSITION_EXCEEDED);
    fixture_close(&fixture);
}

int main(void)
{
    RUN(vector_a_trips_the_end_of_the_term);
    RUN(vector_b_fragments);
    RUN(vector_d_mixes_all_kinds);
    RUN(every_small_length_arrives_and_nothing_is_written_behind_it);
    RUN(parts_are_one_stream_across_fragments);
    RUN(the_supplier_sees_each_frame);
    RUN(the_limit_holds_the_start_of_a_message_only);
    RUN(what_is_too_long_says_so);
    RUN(a_rotation_half_done_is_an_admin_action);
    RUN(the_last_term_ends_the_stream);
    return 0;
}
