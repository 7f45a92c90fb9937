/* Clocks: the system's, and the one that tests move. */
#include "apy/clock.h"

#include <time.h>

#include "check.h"

static void the_system_clock_agrees_with_the_system(void)
{
    const apy_clock_t clock = apy_clock_system();
    const int64_t first = apy_nano_time(&clock);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t second = apy_nano_time(&clock);
    const int64_t between = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    CHECK(first <= between && between <= second);

    const int64_t seconds = (int64_t)time(NULL);
    CHECK(llabs(apy_epoch_ms(&clock) / 1000 - seconds) <= 1);
    CHECK(llabs(apy_epoch_ns() / 1000000000 - seconds) <= 1);
}

static void a_hand_clock_moves_only_when_told(void)
{
    apy_hand_clock_t hand = {.nano_time = 500, .epoch_ms = 1000};
    const apy_clock_t clock = apy_clock_by_hand(&hand);
    CHECK_EQ(apy_nano_time(&clock), 500);
    CHECK_EQ(apy_epoch_ms(&clock), 1000);
    apy_hand_clock_advance_ns(&hand, 2500000);
    CHECK_EQ(apy_nano_time(&clock), 2500500);
    CHECK_EQ(apy_epoch_ms(&clock), 1002);
}

static void small_steps_add_up_to_milliseconds(void)
{
    apy_hand_clock_t hand = {.nano_time = 0, .epoch_ms = 0};
    for (int i = 0; i < 3000; i++) {
        apy_hand_clock_advance_ns(&hand, 1000);
    }
    CHECK_EQ(hand.epoch_ms, 3);
}

int main(void)
{
    RUN(the_system_clock_agrees_with_the_system);
    RUN(a_hand_clock_moves_only_when_told);
    RUN(small_steps_add_up_to_milliseconds);
    return 0;
}
