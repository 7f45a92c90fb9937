#ifndef APY_DRIVER_H
#define APY_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/agent_runner.h"
#include "apy/broadcast.h"
#include "apy/cnc.h"
#include "apy/conductor.h"
#include "apy/doze.h"
#include "apy/counters.h"
#include "apy/driver_context.h"

/*
 * driver owns the native parts of one media driver: its files, counters and logs, its agents and their threads.
 *
 * Threads: open, start, stop and close by the owner; counters and broadcast by the decision thread.
 * Allocates: in open.  Blocks: open on the file system, stop for a cycle of each agent.
 */

typedef enum apy_threading_mode {
    APY_THREADING_DEDICATED,
    APY_THREADING_SHARED_NETWORK,
    APY_THREADING_SHARED,
    APY_THREADING_INVOKER
} apy_threading_mode_t;

typedef struct apy_driver_params {
    apy_driver_config_t config;
    apy_cnc_params_t cnc; /* start_ms and client_liveness_timeout_ns are filled from clock and config */
    int64_t loss_report_length;
    int64_t counters_reuse_ms;
} apy_driver_params_t;

typedef struct apy_driver {
    apy_driver_context_t context;
    apy_cnc_t cnc;
    apy_mapping_t loss_report_mapping;
    apy_loss_report_t loss_report;
    apy_error_log_t error_log;
    apy_counters_manager_t counters;
    apy_broadcast_transmitter_t to_clients;
    uint8_t *inbox_memory;
    apy_mpsc_ring_t inbox;
    apy_sender_t *sender;
    apy_receiver_t *receiver;
    apy_conductor_t *conductor;
    apy_agent_runner_t runners[3];
    apy_doze_t dozes[3]; /* of the runners, where they doze */
    int runner_count;
    char *directory;
    bool is_open;
} apy_driver_t;

/* How one agent's thread idles. */
typedef struct apy_agent_settings {
    const char *idle_strategy, *idle_arguments;
    int cpu;                 /* -1: any */
    const char *thread_name; /* NULL: the classic one */
} apy_agent_settings_t;

/*
 * Create cnc.dat and loss-report.dat in an empty directory, with the system counters; not yet visible to clients.
 * labels: the texts of the APY_SC_COUNT system counters. Nothing is left behind on failure but the files.
 */
int apy_driver_open(apy_driver_t *driver, const char *directory, const apy_driver_params_t *params,
                    const char *const *labels, apy_clock_t clock);

/*
 * Record these events (bit n: event n) of the native threads from now on: once, before anything is made in the driver
 * and before its threads start.
 */
int apy_driver_trace(apy_driver_t *driver, uint64_t events);

/* Let clients in. */
void apy_driver_ready(apy_driver_t *driver);

/*
 * Start the mode's threads: settings are for conductor, sender and receiver; the first for SHARED, the first
 * two for SHARED_NETWORK. None in INVOKER.
 */
int apy_driver_start(apy_driver_t *driver, apy_threading_mode_t mode, const apy_agent_settings_t *settings);
/* Join them. Safe twice. */
void apy_driver_stop(apy_driver_t *driver);
/* An agent's strategy for a thread of the caller's, and what it does there after a cycle that did so much work. */
int apy_driver_idle_init(apy_driver_t *driver, apy_idle_t *idle, const apy_agent_settings_t *settings);
void apy_driver_idle(apy_driver_t *driver, apy_idle_t *idle, int work);
/* A cycle of every agent on the caller's thread, in the order of SHARED; only while no thread runs. */
int apy_driver_do_work(apy_driver_t *driver);

/* The threads are stopped and all resources freed: say goodbye to clients and release everything. Safe twice. */
void apy_driver_close(apy_driver_t *driver);

#endif
