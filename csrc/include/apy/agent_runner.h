#ifndef APY_AGENT_RUNNER_H
#define APY_AGENT_RUNNER_H

#include <pthread.h>
#include <stdint.h>

#include "apy/doze.h"
#include "apy/idle.h"

/*
 * agent_runner is a native thread that runs the duty cycles of one or several agents until stopped. It never
 * knows of Python.
 *
 * Threads: start and stop by the owner; stop joins, is safe twice, and before start.
 * Allocates: the thread's stack.  Blocks: stop, for at most one duty cycle.
 */

#define APY_AGENTS_MAX 4

typedef struct apy_agent {
    const char *role_name;
    int (*do_work)(void *state); /* work done, 0: idle; it reports its own errors */
    void *state;
    /* Where its thread dozes: tell those who are to ring, and say how long it may last. May be NULL, as the next. */
    int64_t (*lie_down)(void *state);
    void (*get_up)(void *state);
} apy_agent_t;

typedef struct apy_agent_runner {
    apy_agent_t agents[APY_AGENTS_MAX];
    int agent_count;
    apy_idle_t idle;
    const int64_t *park_max_ns; /* how long it may sleep at a time, set before start; NULL: as the strategy says */
    apy_doze_t *doze;           /* of this thread, set before start; NULL: it idles by its strategy */
    pthread_t thread;
    int32_t is_running; /* release, acquire */
    int32_t is_started;
} apy_agent_runner_t;

/* thread_name is cut to what the system takes. cpu: -1 for any. */
int apy_agent_runner_start(apy_agent_runner_t *runner, const apy_agent_t *agents, int agent_count,
                           const apy_idle_t *idle, const char *thread_name, int cpu);
void apy_agent_runner_stop(apy_agent_runner_t *runner);

#endif
