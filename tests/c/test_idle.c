/* Idle strategies by name, their arguments, the states of backoff, and durations. */
#include "apy/idle.h"

#include "apy/clock.h"
#include <stdbool.h>

#include "check.h"

static void durations_are_digits_and_a_unit(void)
{
    static const struct {
        const char *text;
        int64_t ns;
    } good[] = {{"0", 0},
                {"5", 5},
                {"7ns", 7},
                {"3us", 3000},
                {"10ms", 10000000},
                {"2s", 2000000000},
                {"9223372036s", INT64_C(9223372036000000000)}};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t ns = -1;
        CHECK_EQ(apy_parse_duration(good[i].text, &ns), APY_OK);
        CHECK_EQ(ns, good[i].ns);
    }
    static const char *const bad[] = {
        "", "ms", "-1", "1.5s", "1 s", "5m", "1sec", "9223372037s", "9223372036854775808"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t ns = -1;
        CHECK_EQ(apy_parse_duration(bad[i], &ns), APY_E_ARGUMENT);
        CHECK_EQ(ns, -1);
    }
}

static void names_select_strategies(void)
{
    apy_idle_t idle;
    CHECK_EQ(apy_idle_init(&idle, "noop", NULL), APY_OK);
    CHECK_EQ(idle.kind, APY_IDLE_NOOP);
    CHECK_EQ(apy_idle_init(&idle, "busy-spin", ""), APY_OK);
    CHECK_EQ(idle.kind, APY_IDLE_SPIN);
    CHECK_EQ(apy_idle_init(&idle, "yield", NULL), APY_OK);
    CHECK_EQ(idle.kind, APY_IDLE_YIELD);
    CHECK_EQ(apy_idle_init(&idle, "sleep-ns", "2ms"), APY_OK);
    CHECK_EQ(idle.kind, APY_IDLE_SLEEP);
    CHECK_EQ(idle.park_min_ns, 2000000);
    CHECK_EQ(apy_idle_init(&idle, "sleeping", NULL), APY_OK);
    CHECK_EQ(idle.park_min_ns, 1);
    CHECK_EQ(apy_idle_init(&idle, "sleep-ms", NULL), APY_OK);
    CHECK_EQ(idle.park_min_ns, 1000000);
    CHECK_EQ(apy_idle_init(&idle, "backoff", NULL), APY_OK);
    CHECK_EQ(idle.spins_max, 10);
    CHECK_EQ(idle.yields_max, 20);
    CHECK_EQ(idle.park_min_ns, 1000);
    CHECK_EQ(idle.park_max_ns, 1000000);
}

static void wrong_names_and_arguments_are_refused(void)
{
    static const char *const bad[][2] = {{"sleepy", ""},
                                         {"yield", "1ms"},
                                         {"sleep-ns", "soon"},
                                         {"backoff", "1-2-3us"},
                                         {"backoff", "1-2-3us-4us-5"},
                                         {"backoff", "x-2-3us-4us"},
                                         {"backoff", "1-2-9us-4us"}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        apy_idle_t idle = {.kind = APY_IDLE_YIELD, .spins_max = 77};
        CHECK_EQ(apy_idle_init(&idle, bad[i][0], bad[i][1]), APY_E_ARGUMENT);
        CHECK_EQ(idle.spins_max, 77);
    }
}

static void backoff_spins_then_yields_then_parks_ever_longer(void)
{
    apy_idle_t idle;
    CHECK_EQ(apy_idle_init(&idle, "backoff", "2-3-1us-3us"), APY_OK);
    enum { NOT_IDLE, SPINNING, YIELDING, PARKING };
    /* after each call: the first only counts, two spins more pass the limit of 2, four calls pass 3 yields */
    static const int states[] = {SPINNING, SPINNING, YIELDING, YIELDING, YIELDING, YIELDING, PARKING, PARKING};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        apy_idle(&idle, 0);
        CHECK_EQ(idle.state, states[i]);
    }
    CHECK_EQ(idle.park_ns, 2000);
    apy_idle(&idle, 0);
    CHECK_EQ(idle.park_ns, 3000);
    apy_idle(&idle, 0);
    CHECK_EQ(idle.park_ns, 3000);
    apy_idle(&idle, 1);
    CHECK_EQ(idle.state, NOT_IDLE);
    CHECK_EQ(idle.park_ns, 1000);
    CHECK_EQ(idle.spins + idle.yields, 0);
}

static void sleeping_takes_its_time_and_work_does_not(void)
{
    const apy_clock_t clock = apy_clock_system();
    apy_idle_t idle;
    CHECK_EQ(apy_idle_init(&idle, "sleep-ns", "5ms"), APY_OK);
    const int64_t start = apy_nano_time(&clock);
    apy_idle(&idle, 0);
    CHECK(apy_nano_time(&clock) - start >= 5000000);
    CHECK_EQ(apy_idle_init(&idle, "sleep-ns", "3600s"), APY_OK);
    apy_idle(&idle, 1); /* would not end within the test's time */
}

static void a_bound_ends_any_sleep(void)
{
    static const char *const sleepers[][2] = {{"sleep-ns", "3600s"}, {"backoff", "0-0-3600s-3600s"}};
    for (int i = 0; i < 2; i++) {
        apy_idle_t idle;
        CHECK_EQ(apy_idle_init(&idle, sleepers[i][0], sleepers[i][1]), APY_OK);
        for (int j = 0; j < 8; j++) {
            apy_idle_within(&idle, 0, 20000); /* one without the bound would not end within the test's time */
        }
    }
}

static void a_controllable_one_does_what_the_number_says(void)
{
    const apy_clock_t clock = apy_clock_system();
    apy_idle_t idle;
    CHECK_EQ(apy_idle_init(&idle, "controllable", NULL), APY_OK);
    CHECK_EQ(idle.kind, APY_IDLE_CONTROLLABLE);
    int64_t control = 0;
    apy_idle(&idle, 0); /* before it has a number: it parks */
    idle.control = &control;
    idle.park_min_ns = 2000000;
    static const bool parks[] = {true, false, false, false, true, true};
    for (control = 0; control < 6; control++) {
        int64_t least_ns = INT64_MAX; /* of some, since the system may take the thread away at any time */
        for (int i = 0; i < 5; i++) {
            const int64_t start = apy_nano_time(&clock);
            apy_idle(&idle, 0);
            const int64_t took_ns = apy_nano_time(&clock) - start;
            least_ns = took_ns < least_ns ? took_ns : least_ns;
        }
        CHECK_EQ(least_ns >= 2000000, parks[control]);
    }
}

int main(void)
{
    RUN(durations_are_digits_and_a_unit);
    RUN(names_select_strategies);
    RUN(wrong_names_and_arguments_are_refused);
    RUN(backoff_spins_then_yields_then_parks_ever_longer);
    RUN(a_bound_ends_any_sleep);
    RUN(a_controllable_one_does_what_the_number_says);
    RUN(sleeping_takes_its_time_and_work_does_not);
    return 0;
}
