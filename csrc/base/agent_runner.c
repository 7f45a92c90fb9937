#include "apy/agent_runner.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "apy/atomic.h"
#include "apy/error.h"

#define THREAD_NAME_MAX 16 /* with its NUL */
#define LOOKS_BEFORE_DOZE 4

static int cycle(apy_agent_runner_t *runner)
{
    int work = 0;
    for (int i = 0; i < runner->agent_count; i++) {
        const int done = runner->agents[i].do_work(runner->agents[i].state);
        work += done > 0 ? done : 0;
    }
    return work;
}

static int64_t park_max(const apy_agent_runner_t *runner)
{
    return runner->park_max_ns != NULL ? apy_load_acquire_i64(runner->park_max_ns) : INT64_MAX;
}

/* Announce a sleep, look once more, and sleep if there is nothing; true where there was something. */
static bool doze(apy_agent_runner_t *runner)
{
    int64_t max_ns = park_max(runner);
    apy_doze_announce(runner->doze);
    for (int i = 0; i < runner->agent_count; i++) {
        if (runner->agents[i].lie_down != NULL) {
            const int64_t agent_max_ns = runner->agents[i].lie_down(runner->agents[i].state);
            max_ns = agent_max_ns < max_ns ? agent_max_ns : max_ns;
        }
    }
    const int work = cycle(runner);
    bool is_woken = false;
    if (work == 0 && apy_load_acquire_i32(&runner->is_running)) {
        is_woken = apy_doze_sleep(runner->doze, max_ns);
    }
    apy_doze_get_up(runner->doze);
    for (int i = 0; i < runner->agent_count; i++) {
        if (runner->agents[i].get_up != NULL) {
            runner->agents[i].get_up(runner->agents[i].state);
        }
    }
    if (work > 0) {
        apy_doze_wake_others(runner->doze);
    }
    return work > 0 || is_woken;
}

static void run_dozing(apy_agent_runner_t *runner)
{
    int looks = 0; /* more before the next sleep */
    while (apy_load_acquire_i32(&runner->is_running)) {
        if (looks == 0) {
            looks = doze(runner) ? LOOKS_BEFORE_DOZE : 0;
        } else if (cycle(runner) > 0) {
            apy_doze_wake_others(runner->doze);
            looks = LOOKS_BEFORE_DOZE;
        } else {
            looks--;
            sched_yield();
        }
    }
}

static void *run(void *argument)
{
    apy_agent_runner_t *runner = argument;
    if (runner->doze != NULL) {
        run_dozing(runner);
        return NULL;
    }
    if (runner->idle.kind == APY_IDLE_BACKOFF) {
        (void)prctl(PR_SET_TIMERSLACK, 1UL); /* the kernel would make 50 us of its short sleeps; it has few of them */
    }
    while (apy_load_acquire_i32(&runner->is_running)) {
        const int work = cycle(runner);
        apy_idle_within(&runner->idle, work, park_max(runner));
    }
    return NULL;
}

static int create_thread(apy_agent_runner_t *runner, const pthread_attr_t *attributes)
{
    /* The thread inherits the mask: signals stay with the threads that Python knows of. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&runner->thread, attributes, run, runner);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int apy_agent_runner_start(apy_agent_runner_t *runner, const apy_agent_t *agents, int agent_count,
                           const apy_idle_t *idle, const char *thread_name, int cpu)
{
    if (agent_count < 1 || agent_count > APY_AGENTS_MAX) {
        return apy_fail(APY_E_ARGUMENT, "a runner takes 1 to %d agents, not %d", APY_AGENTS_MAX, agent_count);
    }
    if (cpu < -1 || cpu >= CPU_SETSIZE) {
        return apy_fail(APY_E_ARGUMENT, "cpu %d is not within -1 (any) and %d", cpu, CPU_SETSIZE - 1);
    }
    if (runner->is_started) {
        return apy_fail(APY_E_STATE, "%s is running already", runner->agents[0].role_name);
    }

    memcpy(runner->agents, agents, sizeof(*agents) * (size_t)agent_count);
    runner->agent_count = agent_count;
    runner->idle = *idle;
    apy_idle_reset(&runner->idle);
    apy_store_release_i32(&runner->is_running, 1);

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (cpu >= 0) {
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(cpu, &cpus);
        pthread_attr_setaffinity_np(&attributes, sizeof(cpus), &cpus);
    }
    const int error = create_thread(runner, &attributes);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        apy_store_release_i32(&runner->is_running, 0);
        errno = error;
        return apy_fail_os("cannot start thread %s on cpu %d", thread_name, cpu);
    }
    runner->is_started = 1;

    char name[THREAD_NAME_MAX];
    snprintf(name, sizeof(name), "%s", thread_name);
    (void)pthread_setname_np(runner->thread, name); /* a name helps people only */
    return APY_OK;
}

void apy_agent_runner_stop(apy_agent_runner_t *runner)
{
    if (runner->is_started) {
        apy_store_release_i32(&runner->is_running, 0);
        if (runner->doze != NULL) {
            apy_doze_wake(runner->doze);
        }
        pthread_join(runner->thread, NULL);
        runner->is_started = 0;
    }
}
