/* A native thread for agents: runs, is named, takes no signals, stops. */
#include "apy/agent_runner.h"

#include <sched.h>
#include <signal.h>

#include "apy/atomic.h"
#include "check.h"

typedef struct worker {
    int64_t cycles;
    char name[32];
    int is_signal_blocked;
    int cpu_count;
} worker_t;

static int work(void *state)
{
    worker_t *worker = state;
    if (apy_load_relaxed_i64(&worker->cycles) == 1) {
        sigset_t blocked;
        pthread_sigmask(SIG_SETMASK, NULL, &blocked);
        worker->is_signal_blocked = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM);
        cpu_set_t cpus;
        sched_getaffinity(0, sizeof(cpus), &cpus);
        worker->cpu_count = CPU_COUNT(&cpus);
    }
    apy_fetch_add_i64(&worker->cycles, 1);
    return -1; /* an error that it reported itself: counts as idle, not as work */
}

static void await_cycles(worker_t *worker, int64_t cycles)
{
    while (apy_load_acquire_i64(&worker->cycles) < cycles) {
        sched_yield();
    }
}

static void agents_take_turns_until_stopped(void)
{
    worker_t first = {.cycles = 0}, second = {.cycles = 0};
    const apy_agent_t agents[] = {{"first", work, &first, NULL, NULL}, {"second", work, &second, NULL, NULL}};
    apy_agent_runner_t runner = {.is_started = 0};
    apy_idle_t idle;
    CHECK_EQ(apy_idle_init(&idle, "yield", NULL), APY_OK);
    apy_agent_runner_stop(&runner); /* before start */
    CHECK_EQ(apy_agent_runner_start(&runner, agents, 2, &idle, "a-name-that-is-too-long", 0), APY_OK);
    CHECK_EQ(apy_agent_runner_start(&runner, agents, 2, &idle, "again", -1), APY_E_STATE);
    char name[32];
    CHECK_EQ(pthread_getname_np(runner.thread, name, sizeof(name)), 0);
    CHECK(strcmp(name, "a-name-that-is-") == 0);
    await_cycles(&second, 100);
    apy_agent_runner_stop(&runner);
    const int64_t cycles = first.cycles;
    CHECK_EQ(cycles, second.cycles);
    CHECK(first.is_signal_blocked);
    CHECK_EQ(first.cpu_count, 1);
    apy_agent_runner_stop(&runner);

    sigset_t blocked; /* the starter's own mask is as before */
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    CHECK(!sigismember(&blocked, SIGINT));

    CHECK_EQ(apy_agent_runner_start(&runner, agents, 1, &idle, "again", -1), APY_OK);
    await_cycles(&first, cycles + 10);
    apy_agent_runner_stop(&runner);
}

static void a_bound_keeps_a_thread_from_sleeping(void)
{
    worker_t worker = {.cycles = 0};
    const apy_agent_t agent = {"worker", work, &worker, NULL, NULL};
    int64_t park_max_ns = 20000;
    apy_agent_runner_t runner = {.park_max_ns = &park_max_ns};
    apy_idle_t idle;
    CHECK_EQ(apy_idle_init(&idle, "backoff", "0-0-3600s-3600s"), APY_OK);
    CHECK_EQ(apy_agent_runner_start(&runner, &agent, 1, &idle, "bounded", -1), APY_OK);
    await_cycles(&worker, 100); /* without the bound the test's time would be over first */
    apy_agent_runner_stop(&runner);
}

static void wrong_counts_and_cpus_are_refused(void)
{
    worker_t worker = {.cycles = 0};
    const apy_agent_t agent = {"worker", work, &worker, NULL, NULL};
    apy_agent_runner_t runner = {.is_started = 0};
    apy_idle_t idle;
    CHECK_EQ(apy_idle_init(&idle, "yield", NULL), APY_OK);
    CHECK_EQ(apy_agent_runner_start(&runner, &agent, 0, &idle, "x", -1), APY_E_ARGUMENT);
    CHECK_EQ(apy_agent_runner_start(&runner, &agent, APY_AGENTS_MAX + 1, &idle, "x", -1), APY_E_ARGUMENT);
    CHECK_EQ(apy_agent_runner_start(&runner, &agent, 1, &idle, "x", 100000), APY_E_ARGUMENT);
    CHECK_EQ(apy_agent_runner_start(&runner, &agent, 1, &idle, "x", 1023), APY_E_OS); /* no such cpu here */
    CHECK_EQ(worker.cycles, 0);
    apy_agent_runner_stop(&runner);
}

int main(void)
{
    RUN(agents_take_turns_until_stopped);
    RUN(a_bound_keeps_a_thread_from_sleeping);
    RUN(wrong_counts_and_cpus_are_refused);
    return 0;
}
