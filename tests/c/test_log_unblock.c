/* What a dead publisher may leave behind, and how the driver frees the readers from it. */
#include "apy/append.h"

#include <signal.h>
#include <sys/wait.h>

#include "log_fixture.h"

static void nothing_blocked_is_left_alone(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    const struct iovec part = {"12345678", 8};
    CHECK_EQ(apy_append_offer(&append, &part, 1, NULL, NULL), 64);
    CHECK(!apy_log_unblock(&fixture.log, 0, false));  /* a message is there */
    CHECK(!apy_log_unblock(&fixture.log, 64, false)); /* the tail: nothing was reserved */
    CHECK_EQ(apy_append_position(&append), 64);
    fixture_close(&fixture);
}

static void space_taken_but_never_announced_is_padded_up_to_the_next_frame(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    fixture.log.meta->tails[0] += 160;               /* one died right after taking its space */
    CHECK(!apy_log_unblock(&fixture.log, 0, false)); /* and nothing behind it shows where it ends */
    const struct iovec part = {"12345678", 8};
    CHECK_EQ(apy_append_offer(&append, &part, 1, NULL, NULL), 224);
    CHECK(apy_log_unblock(&fixture.log, 0, false));
    check_frame(&fixture, 0, 0, 160, 0xC0, APY_FRAME_PAD);
    CHECK_EQ(frame_in(&fixture, 0, 0)->term_id, 7);
    check_frame(&fixture, 0, 160, 40, 0xC0, APY_FRAME_DATA);
    CHECK(!apy_log_unblock(&fixture.log, 0, false));
    fixture_close(&fixture);
}

static void space_taken_last_is_padded_once_no_writer_lives(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    apy_append_t append;
    apy_append_init(&append, &fixture.log, &fixture.limit);
    const struct iovec part = {"12345678", 8};
    CHECK_EQ(apy_append_offer(&append, &part, 1, NULL, NULL), 64);
    fixture.log.meta->tails[0] += 160;
    CHECK(!apy_log_unblock(&fixture.log, 64, false)); /* its writer may be about to come */
    CHECK(!apy_log_unblock(&fixture.log, 0, true));   /* a message is there */
    CHECK(apy_log_unblock(&fixture.log, 64, true));
    check_frame(&fixture, 0, 64, 160, 0xC0, APY_FRAME_PAD);
    CHECK(!apy_log_unblock(&fixture.log, 64, true));
    CHECK(!apy_log_unblock(&fixture.log, 224, true)); /* the tail: nothing was reserved */
    fixture_close(&fixture);
}

static void a_term_that_nobody_padded_is_padded_and_rotated(void)
{
    apy_log_params_t params = fixture_params(65536, 1408);
    params.start_term_offset = 65536 - 96;
    fixture_t fixture;
    fixture_open_with(&fixture, &params);
    fixture.log.meta->tails[0] += 128; /* one died right after it tripped the end */
    CHECK(apy_log_unblock(&fixture.log, 65536 - 96, false));
    check_frame(&fixture, 0, 65536 - 96, 96, 0xC0, APY_FRAME_PAD);
    CHECK_EQ(fixture.log.meta->active_term_count, 1);
    CHECK_EQ(fixture.log.meta->tails[1], INT64_C(8) << 32);
    fixture_close(&fixture);
}

static void a_full_term_that_nobody_rotated_is_rotated(void)
{
    apy_log_params_t params = fixture_params(65536, 1408);
    params.start_term_offset = 65536;
    for (int is_tail_set = 0; is_tail_set < 2; is_tail_set++) {
        fixture_t fixture;
        fixture_open_with(&fixture, &params);
        if (is_tail_set) { /* it died between the two steps of the rotation */
            fixture.log.meta->tails[1] = INT64_C(8) << 32;
        }
        CHECK(apy_log_unblock(&fixture.log, 65536, false));
        CHECK_EQ(fixture.log.meta->active_term_count, 1);
        CHECK_EQ(fixture.log.meta->tails[1], INT64_C(8) << 32);
        CHECK_EQ(apy_log_producer_position(&fixture.log), 65536);
        fixture_close(&fixture);
    }
}

static void a_killed_claimer_leaves_padding(void)
{
    fixture_t fixture;
    fixture_open(&fixture, 65536, 1408);
    int ready[2];
    CHECK_EQ(pipe(ready), 0);
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        apy_log_t log;
        apy_append_t append;
        uint8_t *claim = NULL;
        if (apy_log_open(&log, fixture.path) == APY_OK) {
            apy_append_init(&append, &log, &fixture.limit);
            if (apy_append_claim(&append, 100, &claim) == 160 && write(ready[1], "x", 1) == 1) {
                pause();
            }
        }
        _exit(1);
    }
    char byte = 0;
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    CHECK_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));

    check_frame(&fixture, 0, 0, -132, 0xC0, APY_FRAME_DATA);
    CHECK(apy_log_unblock(&fixture.log, 0, false));
    check_frame(&fixture, 0, 0, 132, 0xC0, APY_FRAME_PAD);
    CHECK_EQ(frame_in(&fixture, 0, 0)->term_id, 7);
    CHECK(!apy_log_unblock(&fixture.log, 0, false));
    uint8_t *late = fixture.log.terms[0];
    apy_claim_commit(late); /* a claimer that was only slow finds padding, and leaves it */
    check_frame(&fixture, 0, 0, 132, 0xC0, APY_FRAME_PAD);
    close(ready[0]);
    close(ready[1]);
    fixture_close(&fixture);
}

int main(void)
{
    RUN(nothing_blocked_is_left_alone);
    RUN(space_taken_but_never_announced_is_padded_up_to_the_next_frame);
    RUN(space_taken_last_is_padded_once_no_writer_lives);
    RUN(a_term_that_nobody_padded_is_padded_and_rotated);
    RUN(a_full_term_that_nobody_rotated_is_rotated);
    RUN(a_killed_claimer_leaves_padding);
    return 0;
}
