/* Threads that sleep long and are woken on need: nothing made before the sleep or after it is slept through. */
#include "apy/doze.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apy/agent_runner.h"
#include "apy/atomic.h"
#include "apy/clock.h"
#include "apy/doorbell.h"
#include "check.h"

#define LONG_NS INT64_C(20000000000)

static char directory[64];
static apy_ringer_t ringer;

static int64_t now(void)
{
    const apy_clock_t clock = apy_clock_system();
    return apy_nano_time(&clock);
}

static void open_doze(apy_doze_t *doze, int64_t id, int64_t park_max_ns)
{
    CHECK_EQ(apy_doze_open(doze, &ringer, directory, id, park_max_ns), APY_OK);
}

static void a_sleep_ends_with_its_time_or_its_longest(void)
{
    apy_doze_t doze;
    open_doze(&doze, -1, 3000000);
    int64_t started = now();
    CHECK(!apy_doze_sleep(&doze, LONG_NS));
    CHECK(now() - started >= 3000000);
    started = now();
    CHECK(!apy_doze_sleep(&doze, 100000));
    CHECK(now() - started >= 100000);
    apy_doze_close(&doze);
}

static void only_the_announced_are_woken_and_once(void)
{
    apy_doze_t doze;
    open_doze(&doze, -1, LONG_NS);
    apy_doze_wake(&doze);
    CHECK(!apy_doze_sleep(&doze, 1000));
    apy_doze_announce(&doze);
    apy_doze_wake(&doze);
    apy_doze_wake(&doze);
    CHECK(apy_doze_sleep(&doze, LONG_NS));
    CHECK(!apy_doze_sleep(&doze, 1000));
    apy_doze_get_up(&doze);
    apy_doze_close(&doze);
}

static void a_socket_wakes_and_is_left_as_it_is(void)
{
    apy_doze_t doze;
    int pair[2];
    char byte;
    open_doze(&doze, -1, LONG_NS);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
    CHECK_EQ(apy_doze_watch(&doze, pair[0]), APY_OK);
    CHECK_EQ(send(pair[1], "x", 1, 0), 1);
    CHECK(apy_doze_sleep(&doze, LONG_NS));
    CHECK(apy_doze_sleep(&doze, LONG_NS)); /* nobody took it */
    CHECK_EQ(recv(pair[0], &byte, 1, 0), 1);
    CHECK(!apy_doze_sleep(&doze, 1000));
    CHECK(apy_doze_watch(&doze, -1) < 0);
    close(pair[0]);
    close(pair[1]);
    apy_doze_close(&doze);
}

static void a_bell_of_one_that_dozes_rings_its_socket(void)
{
    apy_doze_t doze;
    apy_doorbell_t bell = {0};
    open_doze(&doze, APY_DOZE_CONDUCTOR, LONG_NS);
    apy_doorbell_wake(&bell, &ringer);
    CHECK(!apy_doze_sleep(&doze, 1000)); /* it is up */

    apy_doorbell_doze(&bell);
    apy_doorbell_wake(&bell, &ringer);
    CHECK(apy_doze_sleep(&doze, LONG_NS));
    CHECK(!apy_doorbell_take(&bell));

    apy_doorbell_doze(&bell);
    apy_doorbell_ring(&bell, &ringer);
    apy_doorbell_ring(&bell, &ringer);
    CHECK(apy_doze_sleep(&doze, LONG_NS));
    CHECK(!apy_doze_sleep(&doze, 1000));
    apy_doorbell_get_up(&bell);
    CHECK(apy_doorbell_take(&bell)); /* that it met its limit is told */

    apy_doorbell_doze(&bell);
    apy_doorbell_ring(&bell, NULL); /* from one that has no ringer */
    apy_doorbell_get_up(&bell);
    CHECK(!apy_doze_sleep(&doze, 1000));
    apy_doze_close(&doze);
}

/* --- two agents that hand work to and fro --- */

typedef struct player {
    int64_t taken, wanted; /* wanted: release by the other one */
    struct player *other;
} player_t;

enum { THROWS = 2000 };

static int play(void *state)
{
    player_t *player = state;
    const int64_t wanted = apy_load_acquire_i64(&player->wanted);
    if (player->taken == wanted) {
        return 0;
    }
    player->taken = wanted;
    apy_store_release_i64(&player->other->wanted, wanted + 1);
    return 1;
}

/* Each throw wakes the other: with sleeps of twenty seconds, one that is slept through would stop the game. */
static void work_of_one_wakes_the_other_every_time(void)
{
    player_t players[2] = {{.other = &players[1]}, {.other = &players[0]}};
    apy_doze_t dozes[2];
    apy_agent_runner_t runners[2];
    apy_idle_t idle;
    memset(runners, 0, sizeof(runners));
    CHECK_EQ(apy_idle_init(&idle, "noop", NULL), APY_OK);
    for (int i = 0; i < 2; i++) {
        open_doze(&dozes[i], -1 - i, LONG_NS);
        runners[i].doze = &dozes[i];
    }
    apy_doze_add_other(&dozes[0], &dozes[1]);
    apy_doze_add_other(&dozes[1], &dozes[0]);
    const int64_t started = now();
    for (int i = 0; i < 2; i++) {
        const apy_agent_t agent = {.role_name = "player", .do_work = play, .state = &players[i]};
        CHECK_EQ(apy_agent_runner_start(&runners[i], &agent, 1, &idle, "player", -1), APY_OK);
    }
    apy_store_release_i64(&players[0].wanted, 1);
    apy_doze_wake(&dozes[0]);
    while (apy_load_acquire_i64(&players[0].wanted) < THROWS) {
        usleep(1000); /* the players do the work: this only looks on */
        CHECK(now() - started < LONG_NS);
    }
    for (int i = 0; i < 2; i++) {
        apy_agent_runner_stop(&runners[i]); /* wakes it */
        apy_doze_close(&dozes[i]);
    }
    CHECK(now() - started < LONG_NS);
}

int main(void)
{
    char waiters[96];
    snprintf(directory, sizeof(directory), "/dev/shm/apy-test-doze-%d", (int)getpid());
    CHECK_EQ(mkdir(directory, 0700), 0);
    apy_ringer_open(&ringer, directory);
    RUN(a_sleep_ends_with_its_time_or_its_longest);
    RUN(only_the_announced_are_woken_and_once);
    RUN(a_socket_wakes_and_is_left_as_it_is);
    RUN(a_bell_of_one_that_dozes_rings_its_socket);
    RUN(work_of_one_wakes_the_other_every_time);
    snprintf(waiters, sizeof(waiters), "%s/waiters", directory);
    CHECK_EQ(rmdir(waiters), 0);
    CHECK_EQ(rmdir(directory), 0);
    apy_ringer_close(&ringer);
    return 0;
}
