/* One writer's appends: the same vectors, padding, blocks, the end of the stream. */
#include "apy/append.h"

#include "log_fixture.h"

static uint8_t message[70000];

static int64_t offer(apy_exclusive_t *exclusive, size_t length)
{
    const struct iovec part = {message, length};
    return apy_exclusive_offer(exclusive, &part, 1, NULL, NULL);
}

static void vectors_a_and_d_hold(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_exclusive_t exclusive;
    apy_exclusive_init(&exclusive, &fixture.log, &fixture.limit);
    CHECK_EQ(offer(&exclusive, 5), 64);
    fill_message(message, 3000, 1);
    CHECK_EQ(offer(&exclusive, 3000), 3168);
    CHECK_EQ(offer(&exclusive, 0), 3200);
    uint8_t *claim = NULL;
    CHECK_EQ(apy_exclusive_claim(&exclusive, 100, &claim), 3360);
    check_frame(&fixture, 0, 64, 1408, 0x80, APY_FRAME_DATA);
    check_frame(&fixture, 0, 1472, 1408, 0x00, APY_FRAME_DATA);
    check_frame(&fixture, 0, 2880, 280, 0x40, APY_FRAME_DATA);
    check_frame(&fixture, 0, 3200, -132, 0xC0, APY_FRAME_DATA);
    CHECK_EQ(memcmp(fixture.log.terms[0] + 2912, message + 2752, 248), 0);
    apy_claim_abort(claim);
    check_frame(&fixture, 0, 3200, 132, 0xC0, APY_FRAME_PAD);
    fixture_close(&fixture);

    fixture_open(&fixture, 65536, 1408);
    apy_exclusive_init(&exclusive, &fixture.log, &fixture.limit);
    for (int64_t i = 1; i <= 62; i++) {
        CHECK_EQ(offer(&exclusive, 1000), i * 1056);
        CHECK_EQ(fixture.log.meta->tails[0], (INT64_C(7) << 32) + i * 1056);
    }
    CHECK_EQ(offer(&exclusive, 1000), APY_ADMIN_ACTION);
    CHECK_EQ(fixture.log.meta->tails[0], (INT64_C(7) << 32) + 66528);
    check_frame(&fixture, 0, 65472, 64, 0xC0, APY_FRAME_PAD);
    CHECK_EQ(fixture.log.meta->active_term_count, 1);
    CHECK_EQ(fixture.log.meta->tails[1], INT64_C(8) << 32);
    CHECK_EQ(apy_exclusive_position(&exclusive), 65536);
    CHECK_EQ(offer(&exclusive, 1000), 66592);
    CHECK_EQ(apy_log_producer_position(&fixture.log), 66592);
    fixture_close(&fixture);
}

static void terms_follow_each_other_round_and_round(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_exclusive_t exclusive;
    apy_exclusive_init(&exclusive, &fixture.log, &fixture.limit);
    int64_t clean = 0;
    for (int64_t term = 0; term < 7; term++) {
        for (int64_t i = 1; i <= 64; i++) { /* frames of 1024 bytes fill a term without padding */
            CHECK_EQ(offer(&exclusive, 992), term * 65536 + i * 1024);
        }
        check_frame(&fixture, (int)(term % 3), 65536 - 1024, 1024, 0xC0, APY_FRAME_DATA);
        CHECK_EQ(frame_in(&fixture, (int)(term % 3), 0)->term_id, 7 + term);
        CHECK_EQ(offer(&exclusive, 992), APY_ADMIN_ACTION);
        CHECK_EQ(fixture.log.meta->active_term_count, term + 1);
        apy_log_clean(&fixture.log, &clean, (term + 1) * 65536);
    }
    fixture_close(&fixture);
}

static void a_second_writer_takes_up_where_the_first_stopped(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_exclusive_t first, second;
    apy_exclusive_init(&first, &fixture.log, &fixture.limit);
    CHECK_EQ(offer(&first, 100), 160);
    apy_exclusive_init(&second, &fixture.log, &fixture.limit);
    CHECK_EQ(offer(&second, 100), 320);
    fixture_close(&fixture);
}

static void padding_is_one_frame(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_exclusive_t exclusive;
    apy_exclusive_init(&exclusive, &fixture.log, &fixture.limit);
    CHECK_EQ(apy_exclusive_append_padding(&exclusive, 3000), 3040);
    check_frame(&fixture, 0, 0, 3032, 0xC0, APY_FRAME_PAD);
    CHECK_EQ(apy_exclusive_append_padding(&exclusive, 0), 3072);
    check_frame(&fixture, 0, 3040, 32, 0xC0, APY_FRAME_PAD);
    /* The framed length of the longest message: 5 * 1408 + align(1312 + 32, 32). */
    CHECK_EQ(apy_exclusive_append_padding(&exclusive, 8385), APY_OFFER_ERROR);
    CHECK_EQ(apy_exclusive_append_padding(&exclusive, -1), APY_OFFER_ERROR);
    CHECK_EQ(apy_exclusive_append_padding(&exclusive, 8384), 3072 + 8416);
    fixture.limit = 0;
    CHECK_EQ(apy_exclusive_append_padding(&exclusive, 0), APY_NOT_CONNECTED);
    fixture_close(&fixture);
}

static void a_block_of_frames_goes_in_as_it_is(void)
{
    fixture_t source, fixture;
    fixture_open(&source, 65536, 1408);
    apy_exclusive_t exclusive;
    apy_exclusive_init(&exclusive, &source.log, &source.limit);
    fill_message(message, 3000, 9);
    CHECK_EQ(offer(&exclusive, 3000), 3104);
    CHECK_EQ(offer(&exclusive, 40), 3200);
    uint8_t block[3200];
    memcpy(block, source.log.terms[0], sizeof(block));
    fixture_close(&source);

    fixture_open(&fixture, 65536, 1408);
    apy_exclusive_init(&exclusive, &fixture.log, &fixture.limit);
    CHECK_EQ(apy_exclusive_offer_block(&exclusive, block, 3200), 3200);
    CHECK_EQ(memcmp(fixture.log.terms[0], block, 3200), 0);
    CHECK_EQ(fixture.log.meta->tails[0], (INT64_C(7) << 32) + 3200);
    CHECK_EQ(apy_exclusive_offer_block(&exclusive, block, 3200), APY_OFFER_ERROR); /* is for offset 0 */
    CHECK(strstr(apy_error_text(), "term 7 at 3200") != NULL);
    fixture_close(&fixture);
}

static void blocks_that_do_not_belong_are_refused(void)
{
    static const struct {
        int offset, width;
        int64_t value;
    } spoilt[] = {{0, 4, 0}, {0, 4, -64}, {0, 4, 96}, {6, 2, 0}, {8, 4, 32}, {12, 4, 5}, {16, 4, 5}, {20, 4, 8}};
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_exclusive_t exclusive;
    apy_exclusive_init(&exclusive, &fixture.log, &fixture.limit);
    const apy_frame_t good = {
        .length = 64, .flags = 0xC0, .type = APY_FRAME_DATA, .session_id = SESSION, .stream_id = STREAM, .term_id = 7};
    uint8_t block[64] = {0};
    for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
        memcpy(block, &good, sizeof(good));
        memcpy(block + spoilt[i].offset, &spoilt[i].value, (size_t)spoilt[i].width);
        CHECK_EQ(apy_exclusive_offer_block(&exclusive, block, 64), APY_OFFER_ERROR);
    }
    memcpy(block, &good, sizeof(good));
    CHECK_EQ(apy_exclusive_offer_block(&exclusive, block, 0), APY_OFFER_ERROR);
    CHECK_EQ(apy_exclusive_offer_block(&exclusive, block, 63), APY_OFFER_ERROR);
    CHECK_EQ(apy_exclusive_offer_block(&exclusive, block, 65568), APY_OFFER_ERROR);
    static const struct {
        int32_t length, term_offset;
    } second[] = {{0, 64}, {31, 64}, {-64, 64}, {65, 64}, {32, 96}};
    uint8_t run[128] = {0};
    memcpy(run, &good, sizeof(good));
    for (size_t i = 0; i < sizeof(second) / sizeof(second[0]); i++) {
        apy_frame_t frame = good;
        frame.length = second[i].length;
        frame.term_offset = second[i].term_offset;
        memcpy(run + 64, &frame, sizeof(frame));
        CHECK_EQ(apy_exclusive_offer_block(&exclusive, run, 128), APY_OFFER_ERROR);
    }
    CHECK(strstr(apy_error_text(), "no run of whole frames") != NULL);
    CHECK_EQ(fixture.log.meta->tails[0], INT64_C(7) << 32);
    CHECK_EQ(apy_exclusive_offer_block(&exclusive, block, 64), 64);
    fixture.limit = 64;
    CHECK_EQ(apy_exclusive_offer_block(&exclusive, block, 64), APY_NOT_CONNECTED);
    fixture_close(&fixture);
}

static void a_block_moves_on_from_a_full_term(void)
{
    apy_log_params_t params = fixture_params(65536, 1408);
    params.start_term_offset = 65536;
    fixture_t fixture;
    fixture_open_with(&fixture, &params);
    apy_exclusive_t exclusive;
    apy_exclusive_init(&exclusive, &fixture.log, &fixture.limit);
    const apy_frame_t frame = {
        .length = 32, .flags = 0xC0, .type = APY_FRAME_DATA, .session_id = SESSION, .stream_id = STREAM, .term_id = 8};
    CHECK_EQ(apy_exclusive_offer_block(&exclusive, (const uint8_t *)&frame, 32), 65568);
    CHECK_EQ(fixture.log.meta->active_term_count, 1);
    fixture_close(&fixture);
}

static void the_last_term_ends_the_stream(void)
{
    apy_log_params_t params = fixture_params(65536, 1408);
    params.start_term_id = apy_wrap_add(params.initial_term_id, INT32_MAX);
    params.start_term_offset = 65536 - 128;
    fixture_t fixture;
    fixture_open_with(&fixture, &params);
    apy_exclusive_t exclusive;
    apy_exclusive_init(&exclusive, &fixture.log, &fixture.limit);
    const int64_t position_max = INT64_C(65536) << 31;
    CHECK_EQ(offer(&exclusive, 32), position_max - 64);
    CHECK_EQ(offer(&exclusive, 64), APY_MAX_POSITION_EXCEEDED);
    check_frame(&fixture, INT32_MAX % 3, 65536 - 64, 64, 0xC0, APY_FRAME_PAD);
    CHECK_EQ(offer(&exclusive, 64), APY_MAX_POSITION_EXCEEDED);
    CHECK_EQ(apy_exclusive_offer_block(&exclusive, message, 64), APY_MAX_POSITION_EXCEEDED);
    CHECK_EQ(apy_exclusive_position(&exclusive), position_max);
    CHECK_EQ(apy_log_producer_position(&fixture.log), position_max);
    CHECK_EQ(fixture.log.meta->active_term_count, INT32_MAX);
    fixture.limit = 0;
    CHECK_EQ(offer(&exclusive, 64), APY_MAX_POSITION_EXCEEDED);
    fixture_close(&fixture);
}

int main(void)
{
    RUN(vectors_a_and_d_hold);
    RUN(terms_follow_each_other_round_and_round);
    RUN(a_second_writer_takes_up_where_the_first_stopped);
    RUN(padding_is_one_frame);
    RUN(a_block_of_frames_goes_in_as_it_is);
    RUN(blocks_that_do_not_belong_are_refused);
    RUN(a_block_moves_on_from_a_full_term);
    RUN(the_last_term_ends_the_stream);
    return 0;
}
