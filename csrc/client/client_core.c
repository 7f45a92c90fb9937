#include "apy/client_core.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apy/atomic.h"
#include "apy/client_events.h"

enum { EVENTS_PER_CYCLE = 256, AWAITING_SLEEP_NS = 100000, WATCHED_INITIAL = 64 };

/* A driver that is silent for this part of its time-out may have been replaced by one started in its place. */
enum { SUSPECT_PARTS = 4 };

/* --- ids --- */

/* Index of the first watched id that is not less than id. */
static int32_t lower_bound(const apy_client_core_t *core, int64_t id)
{
    int32_t low = 0, high = core->watched_count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (core->watched[middle] < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const apy_client_core_t *core, int32_t index, int64_t id)
{
    return index < core->watched_count && core->watched[index] == id;
}

static bool is_watched(apy_client_core_t *core, int64_t id)
{
    pthread_mutex_lock(&core->lock);
    const bool found = is_at(core, lower_bound(core, id), id);
    pthread_mutex_unlock(&core->lock);
    return found;
}

int apy_client_core_watch(apy_client_core_t *core, int64_t id)
{
    int rc = APY_OK;
    pthread_mutex_lock(&core->lock);
    if (core->watched_count == core->watched_capacity) {
        const int32_t capacity = core->watched_capacity == 0 ? WATCHED_INITIAL : core->watched_capacity * 2;
        int64_t *watched = realloc(core->watched, sizeof(*watched) * (size_t)capacity);
        if (watched == NULL) {
            rc = apy_fail(APY_E_MEMORY, "no memory to follow %d registrations", capacity);
        } else {
            core->watched = watched;
            core->watched_capacity = capacity;
        }
    }
    const int32_t index = lower_bound(core, id);
    if (rc == APY_OK && !is_at(core, index, id)) {
        const size_t behind = (size_t)(core->watched_count - index);
        memmove(core->watched + index + 1, core->watched + index, behind * sizeof(*core->watched));
        core->watched[index] = id;
        core->watched_count++;
    }
    pthread_mutex_unlock(&core->lock);
    return rc;
}

void apy_client_core_unwatch(apy_client_core_t *core, int64_t id)
{
    pthread_mutex_lock(&core->lock);
    const int32_t index = lower_bound(core, id);
    if (is_at(core, index, id)) {
        const size_t behind = (size_t)(core->watched_count - index - 1);
        memmove(core->watched + index, core->watched + index + 1, behind * sizeof(*core->watched));
        core->watched_count--;
    }
    pthread_mutex_unlock(&core->lock);
}

/* --- events --- */

static void append(apy_client_core_t *core, apy_client_event_t *event)
{
    event->next = NULL;
    pthread_mutex_lock(&core->lock);
    if (core->last == NULL) {
        core->first = event;
    } else {
        core->last->next = event;
    }
    core->last = event;
    pthread_mutex_unlock(&core->lock);
    apy_wake_signal(&core->events);
}

apy_client_event_t *apy_client_core_next_event(apy_client_core_t *core)
{
    pthread_mutex_lock(&core->lock);
    apy_client_event_t *event = core->first;
    if (event != NULL) {
        core->first = event->next;
        if (core->first == NULL) {
            core->last = NULL;
        }
    }
    pthread_mutex_unlock(&core->lock);
    return event;
}

void apy_client_core_wait(apy_client_core_t *core, int64_t timeout_ns)
{
    (void)apy_wake_wait(&core->events, timeout_ns);
}

void apy_client_core_wake(apy_client_core_t *core)
{
    apy_wake_signal(&core->events);
}

/* Its event was allocated with the core, so that even a lack of memory can be told. */
static __attribute__((format(printf, 3, 4))) void terminate(apy_client_core_t *core, int32_t reason, const char *format,
                                                            ...)
{
    apy_client_event_t *event = core->last_event;
    if (event == NULL) {
        return; /* it has ended already, for an earlier reason */
    }
    core->last_event = NULL;
    core->ended_reason = reason;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(core->ended_text, sizeof(core->ended_text), format, arguments);
    va_end(arguments);
    event->type = APY_CLIENT_TERMINATED;
    event->length = 0;
    apy_store_release_i32(&core->is_terminated, 1);
    append(core, event);
}

/* Queue an event. One that cannot be kept ends the client: what it should have told would be missing for ever. */
static bool push(apy_client_core_t *core, int32_t type, const uint8_t *body, int32_t length)
{
    apy_client_event_t *event = malloc(sizeof(*event) + (size_t)length);
    if (event == NULL) {
        terminate(core, APY_CLIENT_ENDED_MEMORY, "no memory to keep an event %#x of %d bytes", (unsigned)type, length);
        return false;
    }
    event->type = type;
    event->length = length;
    memcpy(event->body, body, (size_t)length);
    append(core, event);
    return true;
}

static bool concerns_us(apy_client_core_t *core, int32_t type, const uint8_t *body, int32_t length)
{
    int64_t id;
    switch (type) {
    case APY_EVENT_AVAILABLE_IMAGE:
        return apy_event_i64(body, length, 16, &id) && is_watched(core, id);
    case APY_EVENT_UNAVAILABLE_IMAGE:
        return apy_event_i64(body, length, 8, &id) && is_watched(core, id);
    case APY_EVENT_COUNTER_READY:
        return apy_event_i64(body, length, 0, &id) &&
               (apy_load_acquire_i32(&core->wants_counters) || is_watched(core, id));
    case APY_EVENT_UNAVAILABLE_COUNTER:
        return apy_load_acquire_i32(&core->wants_counters) != 0;
    case APY_EVENT_PUBLICATION_ERROR:
        return true; /* rare, and shared publications are known by another id */
    case APY_EVENT_ERROR:
        /* Endpoint failures name a counter in place of a command. */
        return apy_event_i64(body, length, 0, &id) &&
               (is_watched(core, id) || apy_event_i32_is(body, length, 8, APY_ERROR_CHANNEL_ENDPOINT));
    default:
        return apy_event_i64(body, length, 0, &id) && is_watched(core, id);
    }
}

static int receive_events(apy_client_core_t *core)
{
    int events = 0;
    while (events < EVENTS_PER_CYCLE) {
        int32_t type, length;
        const uint8_t *body;
        const int rc = apy_broadcast_receive(&core->receiver, &type, &body, &length);
        if (rc < 0) {
            terminate(core, APY_CLIENT_ENDED_LAPPED, "events of the driver were lost: %s", apy_error_text());
            return events;
        }
        if (rc == 0) {
            break;
        }
        events++;
        int64_t id;
        if (type == APY_EVENT_CLIENT_TIMEOUT) {
            if (apy_event_i64(body, length, 0, &id) && id == core->client_id) {
                terminate(core, APY_CLIENT_ENDED_CLIENT_TIMEOUT, "the media driver gave up on client %lld",
                          (long long)id);
                return events;
            }
        } else if (concerns_us(core, type, body, length) && !push(core, type, body, length)) {
            return events;
        }
    }
    return events;
}

/* --- liveness --- */

static void check_heartbeat_counter(apy_client_core_t *core, int64_t now_ns)
{
    const apy_counters_reader_t *counters = &core->cnc->counters;
    if (core->heartbeat_id < 0) {
        core->heartbeat_id = apy_counters_find_by_key_i64(counters, APY_CLIENT_HEARTBEAT_TYPE, core->client_id);
        if (core->heartbeat_id < 0) {
            return; /* the driver makes it with our first resource; looked for again at the next check */
        }
        (void)apy_counters_append_label(counters, core->heartbeat_id, core->label, (int32_t)strlen(core->label));
    } else {
        apy_counter_info_t info;
        int64_t key = -1;
        const int rc = apy_counters_get(counters, core->heartbeat_id, &info);
        if (rc == 1) {
            memcpy(&key, info.key, sizeof(key));
        }
        if (rc != 1 || info.state != APY_COUNTER_ALLOCATED || info.type_id != APY_CLIENT_HEARTBEAT_TYPE ||
            key != core->client_id) {
            (void)receive_events(core); /* what the driver said before it took the counter away is the better reason */
            terminate(core, APY_CLIENT_ENDED_HEARTBEAT_LOST,
                      "unexpected close of heartbeat timestamp counter %d of client %lld", core->heartbeat_id,
                      (long long)core->client_id);
            return;
        }
    }
    apy_store_release_i64(apy_counter_address(counters, core->heartbeat_id), apy_epoch_ms(&core->clock));
    core->last_keepalive_ns = now_ns;
}

/* Whether another driver, started later, lives in the directory: this one's file is then nobody's any more. */
static bool is_replaced(const apy_client_core_t *core)
{
    apy_cnc_t other;
    const int rc = apy_cnc_map(&other, core->directory, false);
    if (rc < 0) {
        return rc == APY_E_VERSION; /* only a driver of another make writes another version */
    }
    const bool is_other =
        other.header->start_ms != core->cnc->header->start_ms || other.header->pid != core->cnc->header->pid;
    const int64_t heartbeat_ms = apy_load_acquire_i64(other.ring.heartbeat_ms);
    const bool is_live =
        heartbeat_ms > 0 && apy_epoch_ms(&core->clock) - heartbeat_ms <= core->params.driver_timeout_ms;
    apy_cnc_close(&other);
    return is_other && is_live;
}

static void check_driver(apy_client_core_t *core)
{
    const int64_t heartbeat_ms = apy_load_acquire_i64(core->cnc->ring.heartbeat_ms);
    if (heartbeat_ms == -1) {
        terminate(core, APY_CLIENT_ENDED_DRIVER_SHUTDOWN, "the media driver in %s has been shutdown", core->directory);
        return;
    }
    const int64_t age_ms = apy_epoch_ms(&core->clock) - heartbeat_ms;
    if (age_ms > core->params.driver_timeout_ms / SUSPECT_PARTS && is_replaced(core)) {
        terminate(core, APY_CLIENT_ENDED_DRIVER_REPLACED,
                  "the media driver in %s gave its last heartbeat %lld ms ago, and another one was started there",
                  core->directory, (long long)age_ms);
    } else if (age_ms > core->params.driver_timeout_ms) {
        terminate(core, APY_CLIENT_ENDED_DRIVER_TIMEOUT,
                  "the media driver in %s gave its last heartbeat %lld ms ago: the limit is %lld ms", core->directory,
                  (long long)age_ms, (long long)core->params.driver_timeout_ms);
    }
}

static void check_timeouts(apy_client_core_t *core, int64_t now_ns)
{
    const int64_t gap_ns = now_ns - core->last_service_ns;
    core->last_service_ns = now_ns;
    if (gap_ns > core->params.inter_service_timeout_ns) {
        terminate(core, APY_CLIENT_ENDED_SERVICE_TIMEOUT,
                  "the client was not serviced for %lld ms: the limit is %lld ms", (long long)(gap_ns / 1000000),
                  (long long)(core->params.inter_service_timeout_ns / 1000000));
        return;
    }
    if (now_ns - core->last_keepalive_ns >= core->params.keepalive_interval_ns) {
        check_driver(core);
        if (!core->is_terminated) {
            check_heartbeat_counter(core, now_ns);
        }
    }
}

int apy_client_core_do_work(void *state)
{
    apy_client_core_t *core = state;
    if (apy_load_acquire_i32(&core->is_terminated)) {
        return 0;
    }
    const int64_t now_ns = apy_nano_time(&core->clock);
    if (now_ns - core->last_check_ns >= core->params.idle_sleep_ns) {
        core->last_check_ns = now_ns;
        check_timeouts(core, now_ns);
        if (apy_load_acquire_i32(&core->is_terminated)) {
            return 1;
        }
    }
    return receive_events(core);
}

/* --- life --- */

static int fail_init(apy_client_core_t *core, int rc)
{
    free(core->last_event);
    free(core->directory);
    return rc;
}

int apy_client_core_init(apy_client_core_t *core, apy_cnc_t *cnc, const apy_client_params_t *params, apy_clock_t clock)
{
    if (params->inter_service_timeout_ns <= params->keepalive_interval_ns) {
        return apy_fail(APY_E_ARGUMENT, "inter_service_timeout of %lld ns must exceed the keepalive interval of %lld",
                        (long long)params->inter_service_timeout_ns, (long long)params->keepalive_interval_ns);
    }
    if (strlen(params->client_name) > APY_CLIENT_NAME_MAX) {
        return apy_fail(APY_E_ARGUMENT, "a client name of %zu characters: at most %d", strlen(params->client_name),
                        APY_CLIENT_NAME_MAX);
    }
    memset(core, 0, sizeof(*core));
    core->last_event = malloc(sizeof(*core->last_event));
    core->directory = strdup(params->directory);
    if (core->last_event == NULL || core->directory == NULL) {
        return fail_init(core, apy_fail(APY_E_MEMORY, "no memory for a client"));
    }
    core->cnc = cnc;
    core->clock = clock;
    core->params = *params;
    if (core->params.woken_sleep_ns == 0) {
        core->params.woken_sleep_ns = params->idle_sleep_ns;
    }
    core->heartbeat_id = -1;
    const int rc = apy_broadcast_receiver_init(&core->receiver, cnc->to_clients, cnc->header->to_clients_length);
    if (rc < 0) {
        return fail_init(core, rc);
    }
    snprintf(core->label, sizeof(core->label), " name=%s version=%s commit=%s", params->client_name, params->version,
             params->commit);
    core->client_id = apy_mpsc_ring_next_correlation_id(&cnc->ring);
    core->last_service_ns = apy_nano_time(&clock);
    core->last_check_ns = core->last_service_ns;
    core->last_keepalive_ns = core->last_service_ns - params->keepalive_interval_ns; /* look at the first check */
    apy_wake_init(&core->nudge);
    apy_wake_init(&core->events);
    pthread_mutex_init(&core->lock, NULL);
    return APY_OK;
}

void apy_client_core_free(apy_client_core_t *core)
{
    apy_client_core_stop(core);
    apy_client_event_t *event;
    while ((event = apy_client_core_next_event(core)) != NULL) {
        free(event);
    }
    free(core->last_event);
    free(core->directory);
    free(core->watched);
    apy_broadcast_receiver_free(&core->receiver);
    pthread_mutex_destroy(&core->lock);
}

/* A duty cycle and the sleep behind it, from which a driver of ours wakes the thread, or those who wait for another. */
static int work_and_sleep(void *state)
{
    apy_client_core_t *core = state;
    const int work = apy_client_core_do_work(core);
    if (work == 0 && apy_broadcast_sleep_begin(&core->receiver)) {
        if (!apy_load_acquire_i32(&core->is_stopping)) {
            apy_broadcast_sleep(&core->receiver, core->params.woken_sleep_ns);
        }
    } else if (work == 0 && !apy_load_acquire_i32(&core->is_stopping)) {
        const bool is_awaited = apy_load_acquire_i32(&core->awaited_count) > 0;
        (void)apy_wake_wait(&core->nudge, is_awaited ? AWAITING_SLEEP_NS : core->params.idle_sleep_ns);
    }
    return work;
}

int apy_client_core_start(apy_client_core_t *core, const apy_idle_t *idle)
{
    apy_agent_t agent = {.role_name = "aeron-client", .do_work = apy_client_core_do_work, .state = core};
    apy_idle_t none;
    if (idle == NULL) {
        const int rc = apy_idle_init(&none, "noop", NULL);
        if (rc < 0) {
            return rc;
        }
        agent.do_work = work_and_sleep;
        idle = &none;
    }
    core->last_service_ns = core->last_check_ns = apy_nano_time(&core->clock);
    return apy_agent_runner_start(&core->runner, &agent, 1, idle, "aeron-client", -1);
}

void apy_client_core_stop(apy_client_core_t *core)
{
    apy_store_release_i32(&core->is_stopping, 1);
    if (core->runner.is_started) { /* else the driver's file may be unmapped already */
        apy_broadcast_wake(&core->receiver);
    }
    apy_wake_signal(&core->nudge);
    apy_agent_runner_stop(&core->runner);
}

int apy_client_core_command(apy_client_core_t *core, int32_t type, const void *body, int32_t length)
{
    if (apy_load_acquire_i32(&core->is_terminated)) {
        return apy_fail(APY_E_STATE, "the client conductor is closed or terminating");
    }
    const int rc = apy_mpsc_ring_write(&core->cnc->ring, type, body, length);
    if (rc >= 0) {
        apy_doorbell_wake(core->cnc->ring.bell, core->ringer);
    }
    return rc;
}

void apy_client_core_await(apy_client_core_t *core, int32_t delta)
{
    apy_fetch_add_i32(&core->awaited_count, delta);
    apy_wake_signal(&core->nudge);
}
