/* How a client stays alive, notices the end, and keeps the events that concern it. */
#include "apy/client_core.h"

#include <pthread.h>
#include <unistd.h>

#include "apy/atomic.h"
#include "apy/client_events.h"
#include "check.h"

enum { MS = 1000000 };

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAN_FAIL_MALLOC
static int fails_malloc;

/* The C library's own allocator stays reachable beside one of the program's. */
extern void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
    return fails_malloc ? NULL : __libc_malloc(size);
}
#endif

static char directory[64];
static apy_cnc_t cnc;
static apy_hand_clock_t hand;
static apy_client_core_t *core;
static apy_broadcast_transmitter_t transmitter;
static apy_counters_manager_t counters;

static void open_driver(void)
{
    snprintf(directory, sizeof(directory), "/dev/shm/apy-test-client-%d-XXXXXX", (int)getpid());
    CHECK(mkdtemp(directory) != NULL);
    const apy_cnc_params_t params = {.to_driver_length = 65536 + APY_RING_TRAILER,
                                     .to_clients_length = 4096 + APY_BROADCAST_TRAILER,
                                     .counters_values_length = 128 * 64,
                                     .error_log_length = 65536,
                                     .file_page_size = 4096,
                                     .client_liveness_timeout_ns = INT64_C(10000) * MS};
    CHECK_EQ(apy_cnc_create(&cnc, directory, &params), APY_OK);
    apy_cnc_ready(&cnc);
    hand = (apy_hand_clock_t){.nano_time = INT64_C(1000) * MS, .epoch_ms = 1000000};
    apy_store_release_i64(cnc.ring.heartbeat_ms, hand.epoch_ms);
    CHECK_EQ(apy_broadcast_transmitter_init(&transmitter, cnc.to_clients, cnc.header->to_clients_length), APY_OK);
    CHECK_EQ(apy_counters_manager_init(&counters, cnc.counters_metadata, cnc.header->counters_metadata_length,
                                       cnc.counters_values, cnc.header->counters_values_length,
                                       apy_clock_by_hand(&hand), 1000),
             APY_OK);
}

static void open_client(apy_clock_t clock)
{
    open_driver();
    const apy_client_params_t params = {.driver_timeout_ms = 10000,
                                        .keepalive_interval_ns = INT64_C(500) * MS,
                                        .inter_service_timeout_ns = INT64_C(10000) * MS,
                                        .idle_sleep_ns = INT64_C(16) * MS,
                                        .directory = directory,
                                        .client_name = "tester",
                                        .version = "1.2.3",
                                        .commit = "abc"};
    core = aligned_alloc(64, sizeof(*core));
    CHECK(core != NULL);
    CHECK_EQ(apy_client_core_init(core, &cnc, &params, clock), APY_OK);
}

static void close_client(void)
{
    apy_client_core_free(core);
    free(core);
    apy_counters_manager_close(&counters);
    apy_cnc_close(&cnc);
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, APY_CNC_FILE);
    unlink(path);
    rmdir(directory);
}

static void advance(int64_t ms)
{
    apy_hand_clock_advance_ns(&hand, ms * MS);
    hand.epoch_ms = 1000000 + hand.nano_time / MS - 1000; /* whether or not the clock moves both */
}

static int32_t heartbeat_counter(void)
{
    return apy_counters_allocate(&counters, APY_CLIENT_HEARTBEAT_TYPE, &core->client_id, 8, "client-heartbeat: id=1",
                                 22, core->client_id, core->client_id, 0, hand.epoch_ms);
}

/* Take the event that must be there, and check what it is. */
static void expect_event(int32_t type, int64_t id)
{
    apy_client_event_t *event = apy_client_core_next_event(core);
    CHECK(event != NULL);
    CHECK_EQ(event->type, type);
    int64_t found;
    CHECK(apy_event_i64(event->body, event->length, 0, &found));
    CHECK_EQ(found, id);
    free(event);
}

static void expect_end(int32_t reason, const char *phrase)
{
    CHECK_EQ(core->is_terminated, 1);
    apy_client_event_t *event = apy_client_core_next_event(core);
    CHECK(event != NULL);
    CHECK_EQ(event->type, APY_CLIENT_TERMINATED);
    CHECK_EQ(core->ended_reason, reason);
    CHECK(strstr(core->ended_text, phrase) != NULL);
    free(event);
    CHECK(apy_client_core_next_event(core) == NULL);
    CHECK_EQ(apy_client_core_command(core, 4, "0123456789abcdef", 16), APY_E_STATE);
    CHECK_EQ(apy_client_core_do_work(core), 0);
}

static void the_heartbeat_is_given_in_its_interval_once_the_driver_made_its_counter(void)
{
    open_client(apy_clock_by_hand(&hand));
    advance(20);
    apy_client_core_do_work(core);
    CHECK_EQ(core->heartbeat_id, -1);
    const int32_t id = heartbeat_counter();
    CHECK(id >= 0);
    advance(20);
    apy_client_core_do_work(core);
    CHECK_EQ(core->heartbeat_id, id);
    int64_t *value = apy_counter_address(&cnc.counters, id);
    CHECK_EQ(*value, hand.epoch_ms);
    apy_counter_info_t info;
    CHECK_EQ(apy_counters_get(&cnc.counters, id, &info), 1);
    CHECK(strcmp(info.label, "client-heartbeat: id=1 name=tester version=1.2.3 commit=abc") == 0);

    const int64_t first = *value;
    for (int i = 0; i < 24; i++) {
        advance(20);
        apy_client_core_do_work(core);
    }
    CHECK_EQ(*value, first); /* 480 ms later */
    advance(20);
    apy_client_core_do_work(core);
    CHECK_EQ(*value, first + 500);
    CHECK_EQ(apy_counters_get(&cnc.counters, id, &info), 1);
    CHECK(strcmp(info.label, "client-heartbeat: id=1 name=tester version=1.2.3 commit=abc") == 0);
    close_client();
}

static void a_driver_that_shut_down_ends_the_client(void)
{
    open_client(apy_clock_by_hand(&hand));
    apy_store_release_i64(cnc.ring.heartbeat_ms, -1);
    advance(20);
    apy_client_core_do_work(core);
    expect_end(APY_CLIENT_ENDED_DRIVER_SHUTDOWN, "has been shutdown");
    close_client();
}

static void a_driver_without_a_heartbeat_ends_the_client_after_its_timeout(void)
{
    open_client(apy_clock_by_hand(&hand));
    for (int i = 0; i < 20; i++) {
        advance(500);
        apy_client_core_do_work(core);
        CHECK_EQ(core->is_terminated, 0); /* up to 10 s */
    }
    advance(500);
    apy_client_core_do_work(core);
    expect_end(APY_CLIENT_ENDED_DRIVER_TIMEOUT, "10500 ms ago");
    close_client();
}

/* Another driver's file in place of the one that the client has mapped, as a restart leaves it. */
static void replace_driver(apy_cnc_t *other, int64_t start_ms, int32_t version, int64_t heartbeat_ms)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", directory, APY_CNC_FILE);
    unlink(path);
    const apy_cnc_params_t params = {.to_driver_length = 65536 + APY_RING_TRAILER,
                                     .to_clients_length = 4096 + APY_BROADCAST_TRAILER,
                                     .counters_values_length = 128 * 64,
                                     .error_log_length = 65536,
                                     .file_page_size = 4096,
                                     .client_liveness_timeout_ns = INT64_C(10000) * MS,
                                     .start_ms = start_ms};
    CHECK_EQ(apy_cnc_create(other, directory, &params), APY_OK);
    apy_store_release_i64(other->ring.heartbeat_ms, heartbeat_ms);
    apy_store_release_i32(&other->header->version, version);
}

static void advance_and_work(int64_t ms)
{
    for (int64_t done = 0; done < ms; done += 500) {
        advance(500);
        apy_client_core_do_work(core);
    }
}

static void a_driver_that_was_replaced_ends_the_client_before_its_timeout(void)
{
    open_client(apy_clock_by_hand(&hand));
    apy_cnc_t other;
    replace_driver(&other, 5, APY_CNC_VERSION, hand.epoch_ms);
    advance_and_work(2500);
    CHECK_EQ(core->is_terminated, 0); /* a quarter of the time-out: nobody looks yet */
    advance_and_work(500);
    expect_end(APY_CLIENT_ENDED_DRIVER_REPLACED, "another one was started there");
    apy_cnc_close(&other);
    close_client();

    open_client(apy_clock_by_hand(&hand));
    replace_driver(&other, 5, 1 << 16, hand.epoch_ms);
    advance_and_work(3000);
    expect_end(APY_CLIENT_ENDED_DRIVER_REPLACED, directory);
    apy_cnc_close(&other);
    close_client();
}

static void a_file_that_is_nobodys_replaces_no_driver(void)
{
    open_client(apy_clock_by_hand(&hand));
    apy_cnc_t other;
    replace_driver(&other, 5, APY_CNC_VERSION, -1);
    advance_and_work(10000);
    CHECK_EQ(core->is_terminated, 0);
    advance_and_work(500);
    expect_end(APY_CLIENT_ENDED_DRIVER_TIMEOUT, "10500 ms ago");
    apy_cnc_close(&other);
    close_client();
}

#ifdef CAN_FAIL_MALLOC
static void an_event_that_cannot_be_kept_ends_the_client(void)
{
    open_client(apy_clock_by_hand(&hand));
    const int64_t id = 5;
    CHECK_EQ(apy_client_core_watch(core, id), APY_OK);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_OPERATION_SUCCESS, &id, 8), APY_OK);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_OPERATION_SUCCESS, &id, 8), APY_OK);
    fails_malloc = 1;
    apy_client_core_do_work(core);
    fails_malloc = 0;
    expect_end(APY_CLIENT_ENDED_MEMORY, "no memory to keep an event 0xf04 of 8 bytes");
    close_client();
}
#endif

static void a_client_that_was_not_serviced_ends_itself(void)
{
    open_client(apy_clock_by_hand(&hand));
    advance(10001);
    apy_store_release_i64(cnc.ring.heartbeat_ms, hand.epoch_ms);
    apy_client_core_do_work(core);
    expect_end(APY_CLIENT_ENDED_SERVICE_TIMEOUT, "not serviced for 10001 ms");
    close_client();
}

static void a_thread_that_starts_late_has_missed_no_service(void)
{
    open_client(apy_clock_by_hand(&hand));
    advance(10001); /* between init and start: a process that does not get its CPU */
    apy_store_release_i64(cnc.ring.heartbeat_ms, hand.epoch_ms);
    const int64_t *value = apy_counter_address(&cnc.counters, heartbeat_counter());
    const int64_t before = apy_load_acquire_i64(value);
    CHECK_EQ(apy_client_core_start(core, NULL), APY_OK);
    apy_hand_clock_advance_ns(&hand, INT64_C(20) * MS);
    for (int i = 0; i < 10000 && apy_load_acquire_i64(value) == before; i++) {
        usleep(1000);
    }
    CHECK_EQ(apy_load_acquire_i64(value), before + 20);
    CHECK_EQ(apy_load_acquire_i32(&core->is_terminated), 0);
    close_client();
}

static void losing_the_heartbeat_counter_ends_the_client(void)
{
    open_client(apy_clock_by_hand(&hand));
    const int32_t id = heartbeat_counter();
    advance(20);
    apy_client_core_do_work(core);
    CHECK_EQ(core->heartbeat_id, id);
    CHECK_EQ(apy_counters_free(&counters, id), APY_OK);
    advance(500);
    apy_client_core_do_work(core);
    expect_end(APY_CLIENT_ENDED_HEARTBEAT_LOST, "unexpected close of heartbeat timestamp counter");
    close_client();
}

static void the_drivers_time_out_of_this_client_ends_it_and_of_others_does_not(void)
{
    open_client(apy_clock_by_hand(&hand));
    int64_t id = core->client_id + 1;
    CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_CLIENT_TIMEOUT, &id, 8), APY_OK);
    apy_client_core_do_work(core);
    CHECK_EQ(core->is_terminated, 0);
    id = core->client_id;
    CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_CLIENT_TIMEOUT, &id, 8), APY_OK);
    apy_client_core_do_work(core);
    expect_end(APY_CLIENT_ENDED_CLIENT_TIMEOUT, "gave up on client");
    close_client();
}

static void being_lapped_ends_the_client(void)
{
    open_client(apy_clock_by_hand(&hand));
    const uint8_t body[256] = {0};
    for (int i = 0; i < 40; i++) {
        CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_OPERATION_SUCCESS, body, sizeof(body)), APY_OK);
    }
    apy_client_core_do_work(core);
    expect_end(APY_CLIENT_ENDED_LAPPED, "events of the driver were lost");
    close_client();
}

static void only_events_that_concern_the_client_are_kept_in_order(void)
{
    open_client(apy_clock_by_hand(&hand));
    for (int64_t id = 50; id > 0; id -= 7) {
        CHECK_EQ(apy_client_core_watch(core, id), APY_OK);
    }
    for (int64_t id = 0; id <= 50; id++) {
        CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_OPERATION_SUCCESS, &id, 8), APY_OK);
        apy_client_core_do_work(core);
    }
    for (int64_t id = 1; id <= 50; id += 7) {
        expect_event(APY_EVENT_OPERATION_SUCCESS, id);
    }
    CHECK(apy_client_core_next_event(core) == NULL);

    apy_client_core_unwatch(core, 8);
    struct {
        int64_t image, subscription;
    } gone = {99, 8};
    CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_UNAVAILABLE_IMAGE, &gone, sizeof(gone)), APY_OK);
    gone.subscription = 15;
    CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_UNAVAILABLE_IMAGE, &gone, sizeof(gone)), APY_OK);
    const int64_t short_body = 15;
    CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_AVAILABLE_IMAGE, &short_body, 8), APY_OK);
    apy_client_core_do_work(core);
    expect_event(APY_EVENT_UNAVAILABLE_IMAGE, 99);
    CHECK(apy_client_core_next_event(core) == NULL);
    close_client();
}

static void counters_of_others_are_told_only_when_wanted(void)
{
    open_client(apy_clock_by_hand(&hand));
    const uint8_t body[12] = {77};
    CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_COUNTER_READY, body, sizeof(body)), APY_OK);
    apy_client_core_do_work(core);
    CHECK(apy_client_core_next_event(core) == NULL);
    apy_store_release_i32(&core->wants_counters, 1);
    CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_UNAVAILABLE_COUNTER, body, sizeof(body)), APY_OK);
    apy_client_core_do_work(core);
    expect_event(APY_EVENT_UNAVAILABLE_COUNTER, 77);
    close_client();
}

static void its_own_thread_hands_events_over_through_many_laps_of_the_buffer(void)
{
    open_client(apy_clock_system());
    apy_store_release_i64(cnc.ring.heartbeat_ms, apy_epoch_ms(&core->clock));
    CHECK_EQ(apy_client_core_watch(core, 5), APY_OK);
    CHECK_EQ(apy_client_core_start(core, NULL), APY_OK);
    const int64_t id = 5;
    for (int i = 0; i < 1000; i++) {
        apy_client_core_await(core, i % 2 == 0 ? 1 : -1); /* a command would nudge it as well */
        CHECK_EQ(apy_broadcast_transmit(&transmitter, APY_EVENT_OPERATION_SUCCESS, &id, 8), APY_OK);
        if (i % 100 == 99) {
            for (int taken = 0; taken < 100; taken++) {
                apy_client_event_t *event;
                while ((event = apy_client_core_next_event(core)) == NULL) {
                    apy_client_core_wait(core, INT64_C(10) * MS);
                }
                CHECK_EQ(event->type, APY_EVENT_OPERATION_SUCCESS);
                free(event);
            }
        }
    }
    CHECK_EQ(core->is_terminated, 0);
    apy_client_core_stop(core);
    apy_client_core_stop(core);
    close_client();
}

int main(void)
{
    RUN(the_heartbeat_is_given_in_its_interval_once_the_driver_made_its_counter);
    RUN(a_driver_that_shut_down_ends_the_client);
    RUN(a_driver_without_a_heartbeat_ends_the_client_after_its_timeout);
    RUN(a_driver_that_was_replaced_ends_the_client_before_its_timeout);
    RUN(a_file_that_is_nobodys_replaces_no_driver);
#ifdef CAN_FAIL_MALLOC
    RUN(an_event_that_cannot_be_kept_ends_the_client);
#endif
    RUN(a_client_that_was_not_serviced_ends_itself);
    RUN(a_thread_that_starts_late_has_missed_no_service);
    RUN(losing_the_heartbeat_counter_ends_the_client);
    RUN(the_drivers_time_out_of_this_client_ends_it_and_of_others_does_not);
    RUN(being_lapped_ends_the_client);
    RUN(only_events_that_concern_the_client_are_kept_in_order);
    RUN(counters_of_others_are_told_only_when_wanted);
    RUN(its_own_thread_hands_events_over_through_many_laps_of_the_buffer);
    return 0;
}
