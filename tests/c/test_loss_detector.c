/* When a gap is asked for: first delay, retries, gaps that grow, and how a group spreads its requests. */

#include "apy/loss_detector.h"
#include "apy/frame.h"
#include "driver_rig.h"

static void put(apy_log_t *log, int64_t position, int32_t length)
{
    uint8_t *term = log->terms[apy_position_partition(position, log->shift)];
    apy_frame_t *frame = (apy_frame_t *)(void *)(term + position % log->term_length);
    frame->type = APY_FRAME_DATA;
    frame->length = length;
}

typedef struct scanned {
    int64_t position;
    bool is_new, is_due;
    apy_lost_range_t lost;
} scanned_t;

static scanned_t scan(apy_loss_detector_t *detector, const apy_log_t *log, int64_t rebuild, int64_t hwm, int64_t now_ns)
{
    scanned_t found = {0};
    found.position =
        apy_loss_detector_scan(detector, log, rebuild, hwm, now_ns, &found.is_new, &found.is_due, &found.lost);
    return found;
}

static void a_gap_is_asked_for_after_a_delay_and_then_after_each_retry_delay(void)
{
    rig_t *rig = rig_open();
    apy_log_t log = rig_log(rig, APY_LOG_IMAGE, 1, 2, 7, 65536);
    apy_loss_detector_t detector;
    apy_nak_delay_t delay;
    apy_nak_delay_fixed(&delay, 1000, 100000);
    apy_loss_detector_init(&detector, &delay);
    put(&log, 0, 1056);
    put(&log, 3168, 1056);

    scanned_t found = scan(&detector, &log, 0, 4224, 5000);
    CHECK_EQ(found.position, 1056);
    CHECK(!found.is_due);
    CHECK(!scan(&detector, &log, 1056, 4224, 5999).is_due);
    found = scan(&detector, &log, 1056, 4224, 6000);
    CHECK(found.is_due);
    CHECK_EQ(found.lost.term_id, 7);
    CHECK_EQ(found.lost.term_offset, 1056);
    CHECK_EQ(found.lost.length, 2112);
    CHECK(!scan(&detector, &log, 1056, 4224, 105999).is_due);
    CHECK(scan(&detector, &log, 1056, 4224, 106000).is_due);

    put(&log, 1056, 1056); /* half of it came: what is left is a new gap */
    found = scan(&detector, &log, 1056, 4224, 106001);
    CHECK_EQ(found.position, 2112);
    CHECK(!found.is_due);
    found = scan(&detector, &log, 2112, 4224, 107001);
    CHECK(found.is_due);
    CHECK_EQ(found.lost.length, 1056);
    put(&log, 2112, 1056);
    found = scan(&detector, &log, 2112, 4224, 107002);
    CHECK_EQ(found.position, 4224);
    CHECK(!found.is_due);
    apy_log_close(&log);
    rig_close(rig);
}

static void a_gap_that_grows_starts_its_delay_anew(void)
{
    rig_t *rig = rig_open();
    apy_log_t log = rig_log(rig, APY_LOG_IMAGE, 1, 2, 7, 65536);
    apy_loss_detector_t detector;
    apy_nak_delay_t delay;
    apy_nak_delay_fixed(&delay, 1000, 100000);
    apy_loss_detector_init(&detector, &delay);
    CHECK(!scan(&detector, &log, 0, 1056, 0).is_due);
    CHECK(!scan(&detector, &log, 0, 2112, 999).is_due);
    CHECK(!scan(&detector, &log, 0, 2112, 1998).is_due);
    CHECK(scan(&detector, &log, 0, 2112, 1999).is_due);
    apy_log_close(&log);
    rig_close(rig);
}

static void a_gap_ends_with_its_term(void)
{
    rig_t *rig = rig_open();
    apy_log_t log = rig_log(rig, APY_LOG_IMAGE, 1, 2, INT32_MAX, 65536);
    apy_loss_detector_t detector;
    apy_nak_delay_t delay;
    apy_nak_delay_fixed(&delay, 0, 0);
    apy_loss_detector_init(&detector, &delay);
    scanned_t found = scan(&detector, &log, 65536 - 64, 65536 + 640, 1);
    CHECK_EQ(found.position, 65536 - 64);
    CHECK(found.is_due);
    CHECK_EQ(found.lost.term_id, INT32_MAX);
    CHECK_EQ(found.lost.length, 64);
    found = scan(&detector, &log, 65536, 65536 + 640, 1);
    CHECK(found.is_due);
    CHECK_EQ(found.lost.term_id, INT32_MIN); /* term ids wrap */
    CHECK_EQ(found.lost.term_offset, 0);
    CHECK_EQ(found.lost.length, 640);
    apy_log_close(&log);
    rig_close(rig);
}

static void a_groups_delays_fill_the_backoff_and_lean_to_its_end(void)
{
    apy_nak_delay_t delay;
    int late = 0;
    int64_t least = INT64_MAX, most = 0;
    apy_nak_delay_random(&delay, 10 * RIG_MS, 10, 4711);
    for (int i = 0; i < 20000; i++) {
        const int64_t drawn = apy_nak_delay_draw(&delay);
        CHECK(drawn >= 0 && drawn <= 10 * RIG_MS);
        least = drawn < least ? drawn : least;
        most = drawn > most ? drawn : most;
        late += drawn > 5 * RIG_MS;
    }
    CHECK(least < RIG_MS);
    CHECK(most > 9 * RIG_MS);
    /*
     * By the formula of the spec, delay > T/2 when u * (e^L - 1) + 1 > e^(L/2), which has probability
     * 1 - (e^(L/2) - 1) / (e^L - 1) = 0.839 for L = ln 10 + 1.
     */
    CHECK(late > 20000 * 0.82 && late < 20000 * 0.86);
    apy_nak_delay_random(&delay, 0, 10, 1);
    CHECK_EQ(apy_nak_delay_draw(&delay), 0);
}

int main(void)
{
    RUN(a_gap_is_asked_for_after_a_delay_and_then_after_each_retry_delay);
    RUN(a_gap_that_grows_starts_its_delay_anew);
    RUN(a_gap_ends_with_its_term);
    RUN(a_groups_delays_fill_the_backoff_and_lean_to_its_end);
    return 0;
}
