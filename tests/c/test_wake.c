/* Waiting for a signal: none is lost, none is counted twice. */
#include "apy/wake.h"

#include <pthread.h>

#include "apy/atomic.h"
#include "apy/clock.h"
#include "check.h"

#define FOREVER INT64_MAX

static void a_signal_before_the_wait_is_kept_once(void)
{
    apy_wake_t wake;
    apy_wake_init(&wake);
    apy_wake_signal(&wake);
    apy_wake_signal(&wake);
    CHECK(apy_wake_wait(&wake, FOREVER));
    CHECK(!apy_wake_wait(&wake, 0));
}

static void a_wait_without_a_signal_ends_at_its_time(void)
{
    const apy_clock_t clock = apy_clock_system();
    apy_wake_t wake;
    apy_wake_init(&wake);
    const int64_t start = apy_nano_time(&clock);
    CHECK(!apy_wake_wait(&wake, 3000000));
    CHECK(apy_nano_time(&clock) - start >= 3000000);
    apy_wake_signal(&wake);
    CHECK(apy_wake_wait(&wake, FOREVER));
}

typedef struct rally {
    apy_wake_t ping, pong;
    int64_t ball;
} rally_t;

enum { STROKES = 20000 };

static void *return_strokes(void *argument)
{
    rally_t *rally = argument;
    for (int i = 0; i < STROKES; i++) {
        CHECK(apy_wake_wait(&rally->ping, FOREVER));
        rally->ball++;
        apy_wake_signal(&rally->pong);
    }
    return NULL;
}

static void two_threads_rally_without_losing_a_signal(void)
{
    rally_t rally = {.ball = 0};
    apy_wake_init(&rally.ping);
    apy_wake_init(&rally.pong);
    pthread_t other;
    CHECK_EQ(pthread_create(&other, NULL, return_strokes, &rally), 0);
    for (int i = 0; i < STROKES; i++) {
        apy_wake_signal(&rally.ping);
        CHECK(apy_wake_wait(&rally.pong, FOREVER));
        CHECK_EQ(rally.ball, i + 1);
    }
    CHECK_EQ(pthread_join(other, NULL), 0);
}

int main(void)
{
    RUN(a_signal_before_the_wait_is_kept_once);
    RUN(a_wait_without_a_signal_ends_at_its_time);
    RUN(two_threads_rally_without_losing_a_signal);
    return 0;
}
