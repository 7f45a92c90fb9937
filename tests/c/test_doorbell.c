/* Sleeps that end by themselves, and earlier when somebody rings: from another process, too. */
#include "apy/doorbell.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apy/clock.h"
#include "check.h"

#define LONG_NS INT64_C(20000000000)
#define SHORT_NS INT64_C(3000000)

static int64_t now(void)
{
    const apy_clock_t clock = apy_clock_system();
    return apy_nano_time(&clock);
}

static void a_sleep_that_nobody_ends_ends_at_its_time(void)
{
    apy_doorbell_t bell = {0};
    const int64_t start = now();
    apy_doorbell_wait(&bell, SHORT_NS);
    CHECK(now() - start >= SHORT_NS);
    CHECK(!apy_doorbell_take(&bell));
}

static void who_rings_while_nobody_sleeps_is_not_heard(void)
{
    apy_doorbell_t bell = {0};
    apy_doorbell_ring(&bell, NULL);
    CHECK(!apy_doorbell_take(&bell));
    const int64_t start = now();
    apy_doorbell_wait(&bell, SHORT_NS);
    CHECK(now() - start >= SHORT_NS);
}

static void *sleep_long(void *bell)
{
    apy_doorbell_wait(bell, LONG_NS);
    return NULL;
}

static void a_ring_ends_a_sleep_and_is_taken_once(void)
{
    apy_doorbell_t bell = {0};
    pthread_t sleeper;
    const int64_t start = now();
    CHECK_EQ(pthread_create(&sleeper, NULL, sleep_long, &bell), 0);
    while (!apy_doorbell_take(&bell)) { /* rung as soon as it sleeps */
        apy_doorbell_ring(&bell, NULL);
        CHECK(now() - start < LONG_NS);
    }
    CHECK_EQ(pthread_join(sleeper, NULL), 0);
    CHECK(now() - start < LONG_NS);
    CHECK(!apy_doorbell_take(&bell));
}

static void a_wake_ends_a_sleep_and_leaves_no_mark(void)
{
    apy_doorbell_t bell = {0};
    pthread_t sleeper;
    const int64_t start = now();
    CHECK_EQ(pthread_create(&sleeper, NULL, sleep_long, &bell), 0);
    while (pthread_tryjoin_np(sleeper, NULL) != 0) {
        apy_doorbell_wake(&bell, NULL);
        CHECK(now() - start < LONG_NS);
    }
    CHECK(!apy_doorbell_take(&bell));
}

static void it_is_heard_in_another_process_and_survives_a_sleeper_that_died(void)
{
    apy_doorbell_t *bell = mmap(NULL, sizeof(*bell), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(bell != MAP_FAILED);
    const int64_t start = now();
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        apy_doorbell_wait(bell, LONG_NS);
        _exit(apy_doorbell_take(bell) ? 7 : 8);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        apy_doorbell_ring(bell, NULL);
        CHECK(now() - start < LONG_NS);
    }
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 7);

    *bell = (apy_doorbell_t){-1}; /* as one leaves it that was killed in its sleep */
    apy_doorbell_ring(bell, NULL);
    apy_doorbell_ring(bell, NULL);
    const int64_t again = now();
    CHECK(apy_doorbell_take(bell));
    apy_doorbell_wait(bell, SHORT_NS);
    CHECK(now() - again >= SHORT_NS);
    CHECK_EQ(munmap(bell, sizeof(*bell)), 0);
}

int main(void)
{
    RUN(a_sleep_that_nobody_ends_ends_at_its_time);
    RUN(who_rings_while_nobody_sleeps_is_not_heard);
    RUN(a_ring_ends_a_sleep_and_is_taken_once);
    RUN(a_wake_ends_a_sleep_and_leaves_no_mark);
    RUN(it_is_heard_in_another_process_and_survives_a_sleeper_that_died);
    return 0;
}
