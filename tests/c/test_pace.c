/* How long the driver's threads may sleep: by the fastest stream, loosened slowly, gone when nothing moves. */
#include "apy/pace.h"

#include "check.h"

#define US INT64_C(1000)
#define MS (1000 * US)
#define WINDOW 32768

/* One epoch in which a stream moved so much; returns the bound. */
static int64_t epoch(apy_pace_t *pace, int64_t *now_ns, int64_t length_ns, int64_t bytes)
{
    *now_ns += length_ns;
    CHECK(apy_pace_is_due(pace, *now_ns));
    apy_pace_moved(pace, bytes, WINDOW);
    return apy_pace_end(pace);
}

static void a_sleep_takes_an_eighth_of_the_window(void)
{
    apy_pace_t pace;
    int64_t now_ns = 5 * MS;
    apy_pace_init(&pace, now_ns);
    CHECK(!apy_pace_is_due(&pace, now_ns + APY_PACE_EPOCH_NS - 1));

    /* a window in 4 ms: an eighth of it in 500 us */
    CHECK_EQ(epoch(&pace, &now_ns, MS, WINDOW / 4), 500 * US);
    /* ten windows in a millisecond: sleeps shorter than the least one do not pay */
    CHECK_EQ(epoch(&pace, &now_ns, MS, 10 * WINDOW), APY_PACE_PARK_MIN_NS);
}

static void the_fastest_of_all_streams_counts(void)
{
    apy_pace_t pace;
    apy_pace_init(&pace, 0);
    CHECK(apy_pace_is_due(&pace, MS));
    apy_pace_moved(&pace, 0, WINDOW);
    apy_pace_moved(&pace, WINDOW / 2, WINDOW);
    apy_pace_moved(&pace, WINDOW / 2, 100 * WINDOW);
    apy_pace_moved(&pace, -WINDOW, WINDOW); /* a limit that went back */
    CHECK_EQ(apy_pace_end(&pace), 2 * MS / 8);
}

static void a_stream_that_sleeps_hold_back_speeds_up_until_none_does(void)
{
    apy_pace_t pace;
    int64_t now_ns = 0, sleep_ns = MS;
    apy_pace_init(&pace, now_ns);
    int epochs = 0;
    while (sleep_ns > APY_PACE_PARK_MIN_NS) { /* it always uses its window up, however short the sleep is */
        const int64_t sleeps = (APY_PACE_EPOCH_NS + sleep_ns - 1) / sleep_ns;
        sleep_ns = epoch(&pace, &now_ns, sleeps * sleep_ns, sleeps * WINDOW);
        CHECK(++epochs < 5);
    }
}

static void the_bound_outlives_a_pause_and_then_goes(void)
{
    apy_pace_t pace;
    int64_t now_ns = 0;
    apy_pace_init(&pace, now_ns);
    epoch(&pace, &now_ns, MS, 10 * WINDOW);
    int64_t bound_ns = 0;
    for (int i = 0; i < 10; i++) {
        bound_ns = epoch(&pace, &now_ns, APY_PACE_EPOCH_NS, 0);
    }
    CHECK(bound_ns < 100 * US); /* 2 ms of silence are no end of a stream */
    for (int i = 0; i < 400; i++) {
        bound_ns = epoch(&pace, &now_ns, APY_PACE_EPOCH_NS, 0);
    }
    CHECK_EQ(bound_ns, APY_PACE_NO_BOUND);
    CHECK_EQ(epoch(&pace, &now_ns, 3600 * 1000 * MS, INT64_C(1) << 40), APY_PACE_PARK_MIN_NS); /* after a stall */
}

int main(void)
{
    RUN(a_sleep_takes_an_eighth_of_the_window);
    RUN(the_fastest_of_all_streams_counts);
    RUN(a_stream_that_sleeps_hold_back_speeds_up_until_none_does);
    RUN(the_bound_outlives_a_pause_and_then_goes);
    return 0;
}
