/* One client's core while threads ask through it, one decides, and a driver answers: each answer comes once. */

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "apy/atomic.h"
#include "apy/client_core.h"
#include "apy/client_events.h"
#include "check.h"

enum { MS = 1000000, ASKERS = 3, QUESTIONS = 400, COMMAND = 0x0C };

#define LIMIT_NS (INT64_C(120000) * MS)
#define IDS_MAX (16 + ASKERS * QUESTIONS)

static apy_cnc_t cnc;
static apy_client_core_t *core;
static int64_t answered[IDS_MAX]; /* by id */
static int32_t is_over;
static int64_t deadline_ns;

static void check_time(void)
{
    CHECK(apy_nano_time(&core->clock) < deadline_ns);
}

/* --- the driver: answers each command to its id, and says things that concern nobody --- */

typedef struct answering {
    apy_broadcast_transmitter_t transmitter;
    int taken;
} answering_t;

static void on_command(void *context, int32_t type, const uint8_t *message, int32_t length)
{
    answering_t *answering = context;
    const int64_t nobody = -7;
    CHECK_EQ(type, COMMAND);
    CHECK_EQ(length, 8);
    CHECK_EQ(apy_broadcast_transmit(&answering->transmitter, APY_EVENT_OPERATION_SUCCESS, message, 8), APY_OK);
    CHECK_EQ(apy_broadcast_transmit(&answering->transmitter, APY_EVENT_OPERATION_SUCCESS, &nobody, 8), APY_OK);
    answering->taken++;
}

static void *run_driver(void *argument)
{
    answering_t *answering = argument;
    while (!apy_load_acquire_i32(&is_over)) {
        apy_store_release_i64(cnc.ring.heartbeat_ms, apy_epoch_ms(&core->clock));
        if (apy_mpsc_ring_read(&cnc.ring, on_command, answering, 4) <= 0) {
            sched_yield();
        }
    }
    return NULL;
}

/* --- the thread that decides --- */

static void *run_decider(void *unused)
{
    (void)unused;
    while (!apy_load_acquire_i32(&is_over)) {
        apy_client_event_t *event = apy_client_core_next_event(core);
        int64_t id;
        if (event == NULL) {
            apy_client_core_wait(core, INT64_C(5) * MS);
            continue;
        }
        CHECK_EQ(event->type, APY_EVENT_OPERATION_SUCCESS);
        CHECK(apy_event_i64(event->body, event->length, 0, &id));
        CHECK(id > 0 && id < IDS_MAX);
        apy_fetch_add_i64(&answered[id], 1);
        free(event);
    }
    return NULL;
}

/* --- those who ask: one question at a time each, so that the driver laps nobody --- */

static void *run_asker(void *unused)
{
    (void)unused;
    for (int i = 0; i < QUESTIONS; i++) {
        const int64_t id = apy_mpsc_ring_next_correlation_id(&cnc.ring);
        int rc;
        CHECK_EQ(apy_client_core_watch(core, id), APY_OK);
        apy_client_core_await(core, 1);
        while ((rc = apy_client_core_command(core, COMMAND, &id, 8)) == APY_E_FULL) {
            check_time();
        }
        CHECK_EQ(rc, APY_OK);
        while (apy_load_acquire_i64(&answered[id]) == 0) {
            check_time();
            sched_yield();
        }
        apy_client_core_await(core, -1);
        apy_client_core_unwatch(core, id);
        apy_client_core_wake(core);
    }
    return NULL;
}

static void every_answer_reaches_the_decider_once(void)
{
    char directory[64], path[128];
    pthread_t askers[ASKERS], driver, decider;
    static answering_t answering;
    strcpy(directory, "/dev/shm/apy-client-threads-XXXXXX");
    CHECK(mkdtemp(directory) != NULL);
    const apy_cnc_params_t cnc_params = {.to_driver_length = 4096 + APY_RING_TRAILER,
                                         .to_clients_length = 4096 + APY_BROADCAST_TRAILER,
                                         .counters_values_length = 128 * 64,
                                         .error_log_length = 65536,
                                         .file_page_size = 4096};
    CHECK_EQ(apy_cnc_create(&cnc, directory, &cnc_params), APY_OK);
    apy_cnc_ready(&cnc);
    CHECK_EQ(apy_broadcast_transmitter_init(&answering.transmitter, cnc.to_clients, cnc.header->to_clients_length),
             APY_OK);
    const apy_clock_t clock = apy_clock_system();
    apy_store_release_i64(cnc.ring.heartbeat_ms, apy_epoch_ms(&clock));
    const apy_client_params_t params = {.driver_timeout_ms = 60000,
                                        .keepalive_interval_ns = INT64_C(5) * MS,
                                        .inter_service_timeout_ns = LIMIT_NS,
                                        .idle_sleep_ns = INT64_C(2) * MS,
                                        .directory = directory,
                                        .client_name = "asker",
                                        .version = "1",
                                        .commit = "1"};
    core = aligned_alloc(64, sizeof(*core));
    CHECK(core != NULL);
    CHECK_EQ(apy_client_core_init(core, &cnc, &params, clock), APY_OK);
    deadline_ns = apy_nano_time(&clock) + LIMIT_NS;
    CHECK_EQ(apy_client_core_start(core, NULL), APY_OK);
    CHECK_EQ(pthread_create(&driver, NULL, run_driver, &answering), 0);
    CHECK_EQ(pthread_create(&decider, NULL, run_decider, NULL), 0);
    for (int i = 0; i < ASKERS; i++) {
        CHECK_EQ(pthread_create(&askers[i], NULL, run_asker, NULL), 0);
    }
    for (int i = 0; i < ASKERS; i++) {
        CHECK_EQ(pthread_join(askers[i], NULL), 0);
    }
    apy_store_release_i32(&is_over, 1);
    apy_client_core_wake(core);
    CHECK_EQ(pthread_join(decider, NULL), 0);
    CHECK_EQ(pthread_join(driver, NULL), 0);

    CHECK_EQ(answering.taken, ASKERS * QUESTIONS);
    int64_t once = 0;
    for (int id = 0; id < IDS_MAX; id++) {
        CHECK(answered[id] <= 1);
        once += answered[id];
    }
    CHECK_EQ(once, ASKERS * QUESTIONS);
    CHECK_EQ(core->is_terminated, 0);
    apy_client_core_free(core);
    free(core);
    apy_cnc_close(&cnc);
    snprintf(path, sizeof(path), "%s/%s", directory, APY_CNC_FILE);
    unlink(path);
    CHECK_EQ(rmdir(directory), 0);
}

int main(void)
{
    RUN(every_answer_reaches_the_decider_once);
    return 0;
}
