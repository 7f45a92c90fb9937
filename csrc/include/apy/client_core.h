#ifndef APY_CLIENT_CORE_H
#define APY_CLIENT_CORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "apy/agent_runner.h"
#include "apy/clock.h"
#include "apy/cnc.h"
#include "apy/error.h"
#include "apy/wake.h"

/*
 * client_core keeps a client alive at its driver, and never needs the interpreter for it: it gives the
 * heartbeat, watches the driver's, and takes events off the broadcast buffer before they are overwritten.
 * Events that concern this client wait in a queue for the thread that decides.
 *
 * Threads: do_work by its own thread (start) or the caller's (no start); next_event by one thread; the rest by any.
 * Allocates: per event and per watched id.  Blocks: stop, for one duty cycle; wait, as told. The lock is held for
 * a few instructions.
 */

#define APY_CLIENT_HEARTBEAT_TYPE 11
#define APY_CLIENT_NAME_MAX 100
#define APY_CLIENT_TERMINATED (-2) /* the type of the last event; why it came stands in ended_reason and ended_text */

/* Why a client ended; the first three are the reference client's numbers. */
enum {
    APY_CLIENT_ENDED_DRIVER_TIMEOUT = 1000,
    APY_CLIENT_ENDED_CLIENT_TIMEOUT = 1001,
    APY_CLIENT_ENDED_SERVICE_TIMEOUT = 1002,
    APY_CLIENT_ENDED_HEARTBEAT_LOST = 2000,
    APY_CLIENT_ENDED_LAPPED = 2001,
    APY_CLIENT_ENDED_MEMORY = 2002,
    APY_CLIENT_ENDED_DRIVER_SHUTDOWN = 2003, /* in order */
    APY_CLIENT_ENDED_DRIVER_REPLACED = 2004  /* dead, and another one lives in its directory */
};

typedef struct apy_client_event {
    struct apy_client_event *next;
    int32_t type, length;
    uint8_t body[];
} apy_client_event_t;

typedef struct apy_client_params {
    int64_t driver_timeout_ms;
    int64_t keepalive_interval_ns;
    int64_t inter_service_timeout_ns;
    int64_t idle_sleep_ns;
    int64_t woken_sleep_ns;                     /* under a driver that wakes its clients; 0: as idle_sleep_ns */
    const char *directory;                      /* the driver's */
    const char *client_name, *version, *commit; /* for the heartbeat's label */
} apy_client_params_t;

typedef struct apy_client_core {
    apy_cnc_t *cnc;
    apy_clock_t clock;
    apy_client_params_t params;
    int64_t client_id;
    const apy_ringer_t *ringer; /* for a driver that dozes: set before start; may be NULL */
    apy_broadcast_receiver_t receiver;
    int64_t last_service_ns, last_check_ns, last_keepalive_ns;
    char *directory;
    int32_t heartbeat_id; /* -1: not found yet */
    int32_t ended_reason; /* these two are written before is_terminated, and then no more */
    char ended_text[APY_ERROR_TEXT_MAX];
    char label[APY_CLIENT_NAME_MAX + 128];
    apy_agent_runner_t runner;

    _Alignas(APY_CACHE_LINE) int32_t is_terminated; /* release */
    int32_t is_stopping;
    int32_t awaited_count; /* calls that wait: poll without sleeping */
    int32_t wants_counters;
    apy_wake_t nudge;  /* wakes the core's thread */
    apy_wake_t events; /* wakes the thread that decides */
    pthread_mutex_t lock;
    apy_client_event_t *first, *last;
    apy_client_event_t *last_event; /* allocated ahead for the end; NULL once used */
    int64_t *watched;               /* sorted */
    int32_t watched_count, watched_capacity;
} apy_client_core_t;

/* cnc stays open as long as the core. The names are copied. */
int apy_client_core_init(apy_client_core_t *core, apy_cnc_t *cnc, const apy_client_params_t *params, apy_clock_t clock);
void apy_client_core_free(apy_client_core_t *core); /* stops it first */

/*
 * idle NULL: it sleeps for idle_sleep_ns; a driver of ours wakes it, with others those who wait make it look more often. The time since init does not
 * count as one without service: nothing was promised to the driver yet.
 */
int apy_client_core_start(apy_client_core_t *core, const apy_idle_t *idle);
void apy_client_core_stop(apy_client_core_t *core);
int apy_client_core_do_work(void *core);

/* Events that name this id are kept, from before its command is sent. */
int apy_client_core_watch(apy_client_core_t *core, int64_t id);
void apy_client_core_unwatch(apy_client_core_t *core, int64_t id);

/* Write a command: APY_OK, APY_E_FULL, APY_E_TOO_LONG, or APY_E_STATE once ended. */
int apy_client_core_command(apy_client_core_t *core, int32_t type, const void *body, int32_t length);

/* Callers are waiting for answers: the core looks for them more often. */
void apy_client_core_await(apy_client_core_t *core, int32_t delta);

/* The oldest event, which the caller frees; NULL when there is none. */
apy_client_event_t *apy_client_core_next_event(apy_client_core_t *core);

/* Sleep until there may be events, woken, or timeout_ns passed. */
void apy_client_core_wait(apy_client_core_t *core, int64_t timeout_ns);
void apy_client_core_wake(apy_client_core_t *core);

#endif
