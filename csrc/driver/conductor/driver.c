#include "apy/driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "apy/atomic.h"
#include "apy/error.h"
#include "apy/pace.h"

#define INBOX_CAPACITY (1024 * 1024)
#define SYSTEM_COUNTER_TYPE 0

static int open_counters(apy_driver_t *driver, const apy_driver_params_t *params, const char *const *labels,
                         apy_clock_t clock)
{
    const apy_cnc_header_t *header = driver->cnc.header;
    const int rc = apy_counters_manager_init(&driver->counters, driver->cnc.counters_metadata,
                                             header->counters_metadata_length, driver->cnc.counters_values,
                                             header->counters_values_length, clock, params->counters_reuse_ms);
    if (rc < 0) {
        return rc;
    }
    for (int32_t i = 0; i < APY_SC_COUNT; i++) {
        const int32_t id = apy_counters_allocate(&driver->counters, SYSTEM_COUNTER_TYPE, &i, (int32_t)sizeof i,
                                                 labels[i], (int32_t)strlen(labels[i]), i, -1, 0, 0);
        if (id < 0) {
            return id;
        }
        driver->context.system_counters[i] = apy_counter_address(&driver->counters.reader, id);
    }
    return APY_OK;
}

static int open_loss_report(apy_driver_t *driver, const char *directory, int64_t length)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", directory, APY_LOSS_REPORT_FILE) >= (int)sizeof path) {
        return apy_fail(APY_E_TOO_LONG, "directory name of %zu bytes is too long", strlen(directory));
    }
    const int rc = apy_mapping_create(&driver->loss_report_mapping, path, (size_t)length, false);
    return rc < 0 ? rc : apy_loss_report_init(&driver->loss_report, driver->loss_report_mapping.address, length);
}

static int open_inbox(apy_driver_t *driver)
{
    driver->inbox_memory = calloc(1, INBOX_CAPACITY + APY_RING_TRAILER);
    if (driver->inbox_memory == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for the conductor's inbox");
    }
    return apy_mpsc_ring_init(&driver->inbox, driver->inbox_memory, INBOX_CAPACITY + APY_RING_TRAILER);
}

static int64_t random_i64(void)
{
    int64_t value = apy_epoch_ns();
    FILE *source = fopen("/dev/urandom", "rb");
    if (source != NULL) {
        if (fread(&value, sizeof value, 1, source) != 1) {
            value = apy_epoch_ns();
        }
        fclose(source);
    }
    return value;
}

static int open_parts(apy_driver_t *driver, const char *directory, const apy_driver_params_t *params,
                      const char *const *labels, apy_clock_t clock)
{
    apy_cnc_params_t cnc_params = params->cnc;
    cnc_params.client_liveness_timeout_ns = params->config.client_liveness_timeout_ns;
    cnc_params.start_ms = apy_epoch_ms(&clock);
    int rc = apy_cnc_create(&driver->cnc, directory, &cnc_params);
    if (rc < 0) {
        return rc;
    }
    const apy_cnc_header_t *header = driver->cnc.header;
    if ((rc = open_loss_report(driver, directory, params->loss_report_length)) < 0 ||
        (rc = apy_error_log_init(&driver->error_log, driver->cnc.error_log, header->error_log_length, clock)) < 0) {
        return rc;
    }
    driver->context.error_log = &driver->error_log;
    if ((rc = apy_broadcast_transmitter_init(&driver->to_clients, driver->cnc.to_clients, header->to_clients_length)) <
            0 ||
        (rc = open_counters(driver, params, labels, clock)) < 0 || (rc = open_inbox(driver)) < 0) {
        return rc;
    }
    apy_driver_context_t *context = &driver->context;
    context->config = params->config;
    context->clock = clock;
    context->loss_report = &driver->loss_report;
    context->conductor_inbox = &driver->inbox;
    context->next_receiver_id = random_i64();
    context->park_max_ns = APY_PACE_NO_BOUND;
    apy_ringer_open(&context->ringer, directory);
    driver->directory = strdup(directory);
    if (driver->directory == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for the name of a directory");
    }
    apy_store_release_i64(context->system_counters[APY_SC_BYTES_MAPPED],
                          (int64_t)(driver->cnc.mapping.length + driver->loss_report_mapping.length));

    if ((rc = apy_sender_create(context, &driver->sender)) < 0 ||
        (rc = apy_receiver_create(context, &driver->receiver)) < 0) {
        return rc;
    }
    return apy_conductor_create(context, &driver->cnc.ring, driver->sender, driver->receiver, &driver->conductor);
}

static void release(apy_driver_t *driver)
{
    apy_conductor_free(driver->conductor);
    apy_receiver_free(driver->receiver);
    apy_sender_free(driver->sender);
    free(driver->inbox_memory);
    apy_event_trace_close(driver->context.trace);
    apy_ringer_close(&driver->context.ringer);
    free(driver->directory);
    apy_counters_manager_close(&driver->counters);
    if (driver->context.error_log != NULL) {
        apy_error_log_close(&driver->error_log);
    }
    apy_mapping_close(&driver->loss_report_mapping);
    apy_cnc_close(&driver->cnc);
    memset(driver, 0, sizeof *driver);
}

int apy_driver_open(apy_driver_t *driver, const char *directory, const apy_driver_params_t *params,
                    const char *const *labels, apy_clock_t clock)
{
    memset(driver, 0, sizeof *driver);
    driver->context.ringer.fd = -1;
    const int rc = open_parts(driver, directory, params, labels, clock);
    if (rc < 0) {
        release(driver);
        return rc;
    }
    driver->is_open = true;
    return APY_OK;
}

int apy_driver_trace(apy_driver_t *driver, uint64_t events)
{
    if (driver->context.trace != NULL || driver->runner_count > 0) {
        return apy_fail(APY_E_STATE, "what is traced is said once, before the driver's threads start");
    }
    return apy_event_trace_open(&driver->context.trace, events, driver->context.clock);
}

void apy_driver_ready(apy_driver_t *driver)
{
    apy_store_release_i64(driver->cnc.ring.heartbeat_ms, apy_epoch_ms(&driver->context.clock));
    apy_cnc_ready(&driver->cnc);
}

/* --- threads --- */

int apy_driver_idle_init(apy_driver_t *driver, apy_idle_t *idle, const apy_agent_settings_t *settings)
{
    const int rc = apy_idle_init(idle, settings->idle_strategy, settings->idle_arguments);
    idle->control = rc < 0 ? NULL : driver->context.system_counters[APY_SC_CONTROLLABLE_IDLE_STRATEGY];
    return rc;
}

void apy_driver_idle(apy_driver_t *driver, apy_idle_t *idle, int work)
{
    apy_idle_within(idle, work, apy_load_acquire_i64(&driver->context.park_max_ns));
}

/* The first thread is rung by clients, the others by what they do; each by the sockets of its agents. */
static int open_doze(apy_driver_t *driver, int index, const apy_agent_t *agents, int count)
{
    apy_doze_t *doze = &driver->dozes[index];
    const int64_t id = APY_DOZE_CONDUCTOR - index;
    int rc = apy_doze_open(doze, &driver->context.ringer, driver->directory, id, driver->context.config.quiet_park_ns);
    for (int i = 0; rc == APY_OK && i < count; i++) {
        if (agents[i].state == driver->sender) {
            apy_sender_set_bell(driver->sender, id);
            rc = apy_doze_watch(doze, apy_sender_fd(driver->sender));
        } else if (agents[i].state == driver->receiver) {
            rc = apy_doze_watch(doze, apy_receiver_fd(driver->receiver));
        }
    }
    if (rc == APY_OK && index > 0) {
        apy_doze_add_other(doze, &driver->dozes[0]);
        apy_doze_add_other(&driver->dozes[0], doze);
    }
    driver->runners[index].doze = doze;
    return rc;
}

static int start_runner(apy_driver_t *driver, const apy_agent_t *agents, int count,
                        const apy_agent_settings_t *settings)
{
    apy_idle_t idle;
    int rc = apy_driver_idle_init(driver, &idle, settings);
    if (rc < 0) {
        return rc;
    }
    if (driver->runner_count == 0) { /* the one with the conductor, which moves limits */
        idle.bell = driver->cnc.ring.bell;
    }
    if (driver->context.config.quiet_park_ns > 0) {
        rc = open_doze(driver, driver->runner_count, agents, count);
        if (rc < 0) {
            return rc;
        }
    }
    driver->runners[driver->runner_count].park_max_ns = &driver->context.park_max_ns;
    const char *name = settings->thread_name != NULL ? settings->thread_name : agents[0].role_name;
    apy_agent_runner_t *runner = &driver->runners[driver->runner_count];
    rc = apy_agent_runner_start(runner, agents, count, &idle, name, settings->cpu);
    if (rc == APY_E_OS && settings->cpu >= 0) {
        apy_driver_report_error(&driver->context, rc); /* no such processor: better anywhere than not at all */
        rc = apy_agent_runner_start(runner, agents, count, &idle, name, -1);
    }
    if (rc >= 0) {
        driver->runner_count++;
    }
    return rc;
}

static int start_runners(apy_driver_t *driver, apy_threading_mode_t mode, const apy_agent_settings_t *settings)
{
    const apy_agent_t agents[3] = {
        {"sender", apy_sender_do_work, driver->sender, apy_sender_lie_down, NULL},
        {"receiver", apy_receiver_do_work, driver->receiver, NULL, NULL},
        {"conductor", apy_conductor_do_work, driver->conductor, apy_conductor_lie_down, apy_conductor_get_up},
    };
    switch (mode) {
    case APY_THREADING_SHARED:
        return start_runner(driver, agents, 3, &settings[0]);
    case APY_THREADING_SHARED_NETWORK: {
        const int rc = start_runner(driver, &agents[2], 1, &settings[0]);
        return rc < 0 ? rc : start_runner(driver, agents, 2, &settings[1]);
    }
    case APY_THREADING_DEDICATED: {
        int rc = start_runner(driver, &agents[2], 1, &settings[0]);
        if (rc >= 0) {
            rc = start_runner(driver, &agents[0], 1, &settings[1]);
        }
        return rc < 0 ? rc : start_runner(driver, &agents[1], 1, &settings[2]);
    }
    case APY_THREADING_INVOKER:
        break;
    }
    return APY_OK;
}

int apy_driver_start(apy_driver_t *driver, apy_threading_mode_t mode, const apy_agent_settings_t *settings)
{
    if (driver->runner_count > 0) {
        return apy_fail(APY_E_STATE, "the driver's threads run already");
    }
    if (mode == APY_THREADING_INVOKER) {
        return APY_OK;
    }
    apy_conductor_set_threaded(driver->conductor, true);
    const int rc = start_runners(driver, mode, settings);
    if (rc < 0) {
        apy_driver_stop(driver);
        apy_conductor_set_threaded(driver->conductor, false);
    }
    return rc;
}

void apy_driver_stop(apy_driver_t *driver)
{
    if (!driver->is_open) {
        return;
    }
    for (int i = 0; i < driver->runner_count; i++) {
        apy_agent_runner_stop(&driver->runners[i]);
    }
    if (driver->runner_count > 0) {
        apy_conductor_set_threaded(driver->conductor, false);
    }
    for (int i = 0; i < 3; i++) {
        if (driver->runners[i].doze != NULL) {
            apy_doze_close(&driver->dozes[i]);
            driver->runners[i].doze = NULL;
        }
    }
    driver->runner_count = 0;
}

int apy_driver_do_work(apy_driver_t *driver)
{
    int work = apy_sender_do_work(driver->sender);
    work += apy_receiver_do_work(driver->receiver);
    return work + apy_conductor_do_work(driver->conductor);
}

void apy_driver_close(apy_driver_t *driver)
{
    if (!driver->is_open) {
        return;
    }
    apy_driver_stop(driver);
    for (int32_t i = 0; i < driver->counters.next_id; i++) {
        apy_counter_info_t info;
        if (apy_counters_get(&driver->counters.reader, i, &info) == 1 && info.state == APY_COUNTER_ALLOCATED) {
            apy_counters_free(&driver->counters, i);
        }
    }
    apy_store_release_i64(driver->cnc.ring.heartbeat_ms, -1);
    apy_mapping_sync(&driver->cnc.mapping);
    release(driver);
}
