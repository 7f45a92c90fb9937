/* A client's publications: closed under their users, waiting, many messages at once, and the end of the stream. */
#include "apy/publication.h"

#include "apy/clock.h"
#include "log_fixture.h"

static fixture_t fixture;
static apy_publication_t publication;
static uint8_t bytes[70000];

static void open_with(const apy_log_params_t *params, bool is_exclusive)
{
    fixture_open_with(&fixture, params);
    apy_publication_init(&publication, &fixture.log, &fixture.limit, is_exclusive);
    fill_message(bytes, sizeof(bytes), 3);
}

static void open_publication(bool is_exclusive)
{
    const apy_log_params_t params = fixture_params(65536, 1408);
    open_with(&params, is_exclusive);
}

static int64_t offer(size_t length)
{
    const struct iovec part = {bytes, length};
    return apy_publication_offer(&publication, &part, 1, NULL, NULL);
}

static void a_writer_at_its_limit_rings_once_for_each_limit(void)
{
    for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++) {
        apy_doorbell_t bell = {-1}; /* somebody sleeps */
        open_publication(is_exclusive);
        apy_publication_set_bell(&publication, &bell);
        fixture.log.meta->is_connected = 1;
        for (int64_t limit = 64; limit <= 192; limit += 64) {
            fixture.limit = limit;
            CHECK_EQ(offer(32), limit);
            CHECK(!apy_doorbell_take(&bell));
            CHECK_EQ(offer(32), APY_BACK_PRESSURED);
            CHECK(apy_doorbell_take(&bell));
            bell.state = -1;
            CHECK_EQ(offer(32), APY_BACK_PRESSURED);
            CHECK(!apy_doorbell_take(&bell));
        }
        fixture.log.meta->is_connected = 0;
        fixture.limit = 192;
        CHECK_EQ(offer(32), APY_NOT_CONNECTED);
        CHECK(!apy_doorbell_take(&bell));
        apy_publication_close(&publication);
        fixture_close(&fixture);
    }
}

static void a_closed_publication_takes_nothing(void)
{
    for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++) {
        open_publication(is_exclusive);
        fixture.log.meta->is_connected = 1;
        CHECK_EQ(offer(32), 64);
        CHECK_EQ(apy_publication_position(&publication), 64);
        CHECK(apy_publication_is_connected(&publication));
        apy_publication_close(&publication);
        uint8_t *frame = NULL;
        int64_t result = 0;
        const int32_t lengths[] = {1};
        CHECK_EQ(offer(32), APY_CLOSED);
        CHECK_EQ(apy_publication_claim(&publication, 8, &frame), APY_CLOSED);
        CHECK_EQ(apy_publication_offer_packed(&publication, bytes, 1, lengths, 1, &result), 0);
        CHECK_EQ(result, APY_CLOSED);
        CHECK_EQ(apy_publication_position(&publication), APY_CLOSED);
        CHECK_EQ(apy_publication_position_limit(&publication), APY_CLOSED);
        CHECK(!apy_publication_is_connected(&publication));
        fixture_close(&fixture);
    }
}

static void lengths_that_lead_out_of_the_bytes_are_refused(void)
{
    open_publication(true);
    int64_t result = 0;
    const int32_t lengths[] = {0, 40, 61, 1};
    CHECK_EQ(apy_publication_offer_packed(&publication, bytes, 100, lengths, 4, &result), 2);
    CHECK_EQ(result, APY_OFFER_ERROR);
    CHECK(strstr(apy_error_text(), "message 2 has a length of 61, with 60 bytes left") != NULL);
    CHECK_EQ(apy_publication_offer_packed(&publication, bytes, 102, lengths, 4, &result), 4);
    check_frame(&fixture, 0, 32, 72, 0xC0, APY_FRAME_DATA);
    CHECK_EQ(memcmp(fixture.log.terms[0] + 64, bytes, 40), 0);
    const int32_t negative[] = {-1};
    CHECK_EQ(apy_publication_offer_packed(&publication, bytes, 100, negative, 1, &result), 0);
    CHECK_EQ(result, APY_OFFER_ERROR);
    fixture_close(&fixture);
}

static void lengths_below_zero_are_arguments(void)
{
    open_publication(true);
    uint8_t *frame = NULL;
    CHECK_EQ(apy_publication_claim(&publication, -1, &frame), APY_OFFER_ERROR);
    CHECK(strstr(apy_error_text(), "-1 bytes: here 0 to 1376") != NULL);
    CHECK_EQ(apy_exclusive_append_padding(&publication.exclusive, -5), APY_OFFER_ERROR);
    CHECK(strstr(apy_error_text(), "-5 bytes: here 0 to 8384") != NULL);
    fixture_close(&fixture);
}

static void waiting_to_send_ends_with_its_time(void)
{
    open_publication(false);
    apy_idle_t idle;
    CHECK_EQ(apy_idle_init(&idle, "yield", NULL), APY_OK);
    const struct iovec part = {bytes, 40};
    fixture.limit = 0;
    const apy_clock_t clock = apy_clock_system();
    const int64_t started_ns = apy_nano_time(&clock);
    CHECK_EQ(apy_publication_send(&publication, &part, 1, NULL, NULL, &idle, 3000000), APY_NOT_CONNECTED);
    CHECK(apy_nano_time(&clock) - started_ns >= 3000000);
    fixture.limit = FAR;
    CHECK_EQ(apy_publication_send(&publication, &part, 1, NULL, NULL, &idle, 3000000), 96);
    fixture_close(&fixture);
}

/* Both kinds come to the last term in the same way: 128 bytes before the end of all. */
static void the_stream_is_full_for_ever_at_its_last_byte(void)
{
    const int64_t position_max = INT64_C(65536) << 31;
    for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++) {
        apy_log_params_t params = fixture_params(65536, 1408);
        params.start_term_id = apy_wrap_add(params.initial_term_id, INT32_MAX);
        params.start_term_offset = 65536 - 128;
        open_with(&params, is_exclusive);
        uint8_t *frame = NULL;
        int64_t result = 0;
        const int32_t lengths[] = {0, 33, 0};
        CHECK_EQ(apy_publication_position(&publication), position_max - 128);
        CHECK_EQ(apy_publication_claim(&publication, 0, &frame), position_max - 96);
        apy_claim_commit(frame);
        /* 32 fit, 96 do not: the rest of the term becomes padding, and there is no next one. */
        CHECK_EQ(apy_publication_offer_packed(&publication, bytes, 33, lengths, 3, &result), 1);
        CHECK_EQ(result, APY_MAX_POSITION_EXCEEDED);
        check_frame(&fixture, INT32_MAX % 3, 65536 - 64, 64, 0xC0, APY_FRAME_PAD);
        CHECK_EQ(apy_publication_position(&publication), position_max);
        CHECK_EQ(offer(0), APY_MAX_POSITION_EXCEEDED);
        CHECK_EQ(apy_publication_claim(&publication, 0, &frame), APY_MAX_POSITION_EXCEEDED);
        fixture.limit = position_max; /* as a driver gives it out, and nobody is there */
        CHECK_EQ(offer(0), APY_MAX_POSITION_EXCEEDED);
        fixture_close(&fixture);
    }
}

static void term_ids_wrap_around(void)
{
    for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++) {
        apy_log_params_t params = fixture_params(65536, 1408);
        params.initial_term_id = params.start_term_id = INT32_MAX;
        open_with(&params, is_exclusive);
        int64_t clean = 0;
        for (int64_t term = 0; term < 4; term++) {
            for (int64_t i = 1; i <= 64; i++) {
                CHECK_EQ(offer(992), term * 65536 + i * 1024);
            }
            CHECK_EQ(offer(992), APY_ADMIN_ACTION);
            const int32_t term_id = frame_in(&fixture, (int)(term % 3), 65536 - 1024)->term_id;
            CHECK_EQ(term_id, term == 0 ? INT32_MAX : INT32_MIN + term - 1);
            apy_log_clean(&fixture.log, &clean, (term + 1) * 65536);
        }
        CHECK_EQ(apy_publication_position(&publication), 4 * 65536);
        fixture_close(&fixture);
    }
}

int main(void)
{
    RUN(a_writer_at_its_limit_rings_once_for_each_limit);
    RUN(a_closed_publication_takes_nothing);
    RUN(lengths_that_lead_out_of_the_bytes_are_refused);
    RUN(lengths_below_zero_are_arguments);
    RUN(waiting_to_send_ends_with_its_time);
    RUN(the_stream_is_full_for_ever_at_its_last_byte);
    RUN(term_ids_wrap_around);
    return 0;
}
