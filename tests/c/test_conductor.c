/* The conductor's core: commands to events, room, heartbeats, deadlines, decisions from another thread. */

#include <pthread.h>

#include "apy/conductor.h"
#include "apy/conductor_event.h"
#include "apy/pace.h"
#include "driver_rig.h"

#define COMMANDS_LENGTH (65536 + APY_RING_TRAILER)
#define ADD_COUNTER 0x09
#define KEEPALIVE 0x06

typedef struct core_rig {
    rig_t *rig;
    _Alignas(64) uint8_t memory[COMMANDS_LENGTH];
    apy_mpsc_ring_t commands;
    apy_sender_t *sender;
    apy_receiver_t *receiver;
    apy_conductor_t *conductor;
    int64_t heartbeat;
    int32_t stop;
} core_rig_t;

typedef struct event {
    int32_t type, length; /* type 0: none */
    uint8_t bytes[16384];
} event_t;

static core_rig_t *open_rig(void)
{
    core_rig_t *c = aligned_alloc(64, (sizeof(core_rig_t) + 63) / 64 * 64);
    CHECK(c != NULL);
    memset(c, 0, sizeof(*c));
    c->rig = rig_open();
    CHECK_EQ(apy_mpsc_ring_init(&c->commands, c->memory, COMMANDS_LENGTH), APY_OK);
    CHECK_EQ(apy_sender_create(&c->rig->context, &c->sender), APY_OK);
    CHECK_EQ(apy_receiver_create(&c->rig->context, &c->receiver), APY_OK);
    CHECK_EQ(apy_conductor_create(&c->rig->context, &c->commands, c->sender, c->receiver, &c->conductor), APY_OK);
    apy_conductor_do_work(c->conductor); /* its first cycle is a tick */
    return c;
}

static void close_rig(core_rig_t *c)
{
    apy_conductor_free(c->conductor);
    apy_receiver_free(c->receiver);
    apy_sender_free(c->sender);
    rig_close(c->rig);
    free(c);
}

static void keep(void *context, int32_t type, const uint8_t *message, int32_t length)
{
    event_t *event = context;
    CHECK(length <= (int32_t)sizeof(event->bytes));
    event->type = type;
    event->length = length;
    memcpy(event->bytes, message, (size_t)length);
}

static event_t next_event(core_rig_t *c)
{
    event_t event = {0};
    apy_conductor_read(c->conductor, keep, &event, 1);
    return event;
}

static void work_after(core_rig_t *c, int64_t delta_ns)
{
    rig_advance(c->rig, delta_ns);
    apy_conductor_do_work(c->conductor);
}

static int64_t id_of(const event_t *event)
{
    int64_t id;
    memcpy(&id, event->bytes, sizeof id);
    return id;
}

static void commands_become_events_with_their_time_and_bytes(void)
{
    core_rig_t *c = open_rig();
    CHECK_EQ(apy_mpsc_ring_write(&c->commands, ADD_COUNTER, "0123456789abcdefXYZ", 19), APY_OK);
    CHECK(!apy_conductor_wait(c->conductor, 0));
    work_after(c, 5);
    CHECK(apy_conductor_wait(c->conductor, RIG_SECOND));

    const event_t event = next_event(c);
    const apy_event_command_t *head = (const apy_event_command_t *)(const void *)event.bytes;
    CHECK_EQ(event.type, APY_EVENT_COMMAND);
    CHECK_EQ(event.length, (int)sizeof(*head) + 19);
    CHECK_EQ(head->type, ADD_COUNTER);
    CHECK_EQ(head->taken_ns, c->rig->hand.nano_time);
    CHECK_EQ(memcmp(event.bytes + sizeof(*head), "0123456789abcdefXYZ", 19), 0);
    CHECK_EQ(next_event(c).type, 0);
    close_rig(c);
}

static void commands_wait_in_their_ring_while_nobody_decides(void)
{
    core_rig_t *c = open_rig();
    uint8_t command[8000];
    int written = 0, read = 0;
    for (int cycle = 0; cycle < 2000; cycle++) {
        memset(command, 0, sizeof(command));
        memcpy(command, &written, sizeof(written));
        written += apy_mpsc_ring_write(&c->commands, ADD_COUNTER, command, sizeof(command)) == APY_OK;
        apy_conductor_do_work(c->conductor);
    }
    CHECK(apy_mpsc_ring_size(&c->commands) > 0);
    CHECK(written > 400); /* 4 MiB of events */

    for (int idle = 0; idle < 3 && read < written;) {
        const event_t event = next_event(c);
        if (event.type == 0) {
            apy_conductor_do_work(c->conductor);
            idle++;
            continue;
        }
        int number;
        memcpy(&number, event.bytes + sizeof(apy_event_command_t), sizeof(number));
        CHECK_EQ(number, read++);
        idle = 0;
    }
    CHECK_EQ(read, written);
    close_rig(c);
}

static void the_drivers_heartbeat_is_of_each_interval(void)
{
    core_rig_t *c = open_rig();
    CHECK_EQ(*c->commands.heartbeat_ms, c->rig->hand.epoch_ms);
    const int64_t first = *c->commands.heartbeat_ms;
    work_after(c, RIG_SECOND - 1);
    CHECK_EQ(*c->commands.heartbeat_ms, first);
    work_after(c, 1);
    CHECK_EQ(*c->commands.heartbeat_ms, first + 1000);
    close_rig(c);
}

static void a_silent_client_expires_once(void)
{
    core_rig_t *c = open_rig();
    c->heartbeat = c->rig->hand.epoch_ms;
    CHECK_EQ(apy_conductor_add_client(c->conductor, 9, &c->heartbeat), APY_OK);
    work_after(c, 10 * RIG_SECOND);
    CHECK_EQ(next_event(c).type, 0);
    work_after(c, RIG_SECOND);
    const event_t event = next_event(c);
    CHECK_EQ(event.type, APY_EVENT_CLIENT_EXPIRED);
    CHECK_EQ(id_of(&event), 9);
    work_after(c, RIG_SECOND);
    CHECK_EQ(next_event(c).type, 0);
    CHECK_EQ(apy_conductor_remove_client(c->conductor, 9), 1);
    CHECK_EQ(apy_conductor_remove_client(c->conductor, 9), 0);
    close_rig(c);
}

static void a_heartbeat_may_be_any_number(void)
{
    core_rig_t *c = open_rig();
    c->heartbeat = INT64_MAX; /* clients write it */
    CHECK_EQ(apy_conductor_add_client(c->conductor, 9, &c->heartbeat), APY_OK);
    work_after(c, RIG_SECOND);
    CHECK_EQ(next_event(c).type, 0);
    c->heartbeat = INT64_MIN;
    work_after(c, RIG_SECOND);
    CHECK_EQ(next_event(c).type, APY_EVENT_CLIENT_EXPIRED);
    CHECK_EQ(apy_conductor_remove_client(c->conductor, 9), 1);
    close_rig(c);
}

static void a_keepalive_needs_no_decision(void)
{
    core_rig_t *c = open_rig();
    const int64_t prefix[2] = {9, -1};
    c->heartbeat = c->rig->hand.epoch_ms;
    CHECK_EQ(apy_conductor_add_client(c->conductor, 9, &c->heartbeat), APY_OK);
    rig_advance(c->rig, 9 * RIG_SECOND);
    CHECK_EQ(apy_mpsc_ring_write(&c->commands, KEEPALIVE, prefix, sizeof(prefix)), APY_OK);
    work_after(c, 0);
    CHECK_EQ(c->heartbeat, c->rig->hand.epoch_ms);
    CHECK_EQ(next_event(c).type, 0);

    c->heartbeat = 0; /* closed: it stays so */
    CHECK_EQ(apy_mpsc_ring_write(&c->commands, KEEPALIVE, prefix, sizeof(prefix)), APY_OK);
    work_after(c, 0);
    CHECK_EQ(c->heartbeat, 0);
    close_rig(c);
}

static void an_unfinished_command_is_unblocked_in_time(void)
{
    core_rig_t *c = open_rig();
    uint8_t *message;
    CHECK_EQ(apy_mpsc_ring_claim(&c->commands, ADD_COUNTER, 64, &message), APY_OK);
    CHECK_EQ(apy_mpsc_ring_write(&c->commands, ADD_COUNTER, "0123456789abcdef", 16), APY_OK);
    for (int i = 0; i < 10; i++) {
        work_after(c, RIG_SECOND);
    }
    CHECK_EQ(c->rig->counters[APY_SC_UNBLOCKED_COMMANDS], 0);
    work_after(c, RIG_SECOND);
    CHECK_EQ(c->rig->counters[APY_SC_UNBLOCKED_COMMANDS], 1);
    work_after(c, 1);
    work_after(c, 1);
    CHECK_EQ(next_event(c).type, APY_EVENT_COMMAND);
    close_rig(c);
}

static void long_cycles_are_counted(void)
{
    core_rig_t *c = open_rig();
    work_after(c, 100 * RIG_MS);
    CHECK_EQ(c->rig->counters[APY_SC_CONDUCTOR_CYCLES_EXCEEDED], 0);
    work_after(c, 101 * RIG_MS);
    CHECK_EQ(c->rig->counters[APY_SC_CONDUCTOR_CYCLES_EXCEEDED], 1);
    CHECK_EQ(c->rig->counters[APY_SC_CONDUCTOR_MAX_CYCLE], 101 * RIG_MS);
    close_rig(c);
}

static void setups_and_errors_of_the_network_become_events(void)
{
    core_rig_t *c = open_rig();
    apy_inbox_setup_t setup = {.endpoint_id = 3, .setup = {.session_id = 5, .stream_id = 6, .flags = 0x40}};
    setup.source = rig_address(4000);
    struct {
        apy_inbox_publication_error_t head;
        char text[8];
    } error = {.head = {.registration_id = 8, .receiver_id = 9, .error_code = 13, .text_length = 7}, .text = "no more"};
    CHECK_EQ(apy_mpsc_ring_write(&c->rig->inbox, APY_INBOX_SETUP, &setup, sizeof(setup)), APY_OK);
    CHECK_EQ(apy_mpsc_ring_write(&c->rig->inbox, APY_INBOX_PUBLICATION_ERROR, &error, sizeof(error.head) + 7), APY_OK);
    work_after(c, 1);

    const event_t first = next_event(c);
    const apy_event_setup_t *told = (const apy_event_setup_t *)(const void *)first.bytes;
    CHECK_EQ(first.type, APY_EVENT_SETUP);
    CHECK_EQ(told->endpoint_id, 3);
    CHECK_EQ(told->session_id, 5);
    CHECK_EQ(told->stream_id, 6);
    CHECK_EQ(told->flags, 0x40);
    CHECK_EQ(memcmp(told->source, &setup.source, 128), 0);
    const event_t second = next_event(c);
    const apy_event_publication_error_t *refused = (const apy_event_publication_error_t *)(const void *)second.bytes;
    CHECK_EQ(second.type, APY_EVENT_PUBLICATION_ERROR);
    CHECK_EQ(refused->registration_id, 8);
    CHECK_EQ(refused->error_code, 13);
    CHECK_EQ(memcmp(second.bytes + sizeof(*refused), "no more", 7), 0);
    close_rig(c);
}

/* --- decisions while a thread runs the core --- */

static void *run_core(void *argument)
{
    core_rig_t *c = argument;
    while (!apy_load_acquire_i32(&c->stop)) {
        apy_conductor_do_work(c->conductor);
    }
    return NULL;
}

static void decisions_reach_a_running_core(void)
{
    core_rig_t *c = open_rig();
    int64_t pub_pos = 0, pub_lmt = 0, position = 0, join = -1;
    apy_log_t log = rig_log(c->rig, APY_LOG_CONCURRENT, 5, 1001, 7, 65536);
    const apy_ipc_publication_params_t params = {
        .registration_id = 42, .window_length = 32768, .pub_pos = &pub_pos, .pub_lmt = &pub_lmt};
    apy_ipc_publication_t *publication;
    CHECK_EQ(apy_ipc_publication_create(&c->rig->context, &log, &params, &publication), APY_OK);
    const apy_subscriber_t reader = {.registration_id = 100, .position = &position, .tether = true};
    pthread_t thread;
    apy_conductor_set_threaded(c->conductor, true);
    CHECK_EQ(pthread_create(&thread, NULL, run_core, c), 0);

    CHECK_EQ(apy_conductor_add_ipc(c->conductor, publication), APY_OK);
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(apy_conductor_join_ipc(c->conductor, publication, &reader, &join), 1);
        CHECK_EQ(join, 0);
        while (apy_load_acquire_i64(&pub_lmt) != 32768) {
            apy_cpu_pause();
        }
        CHECK_EQ(apy_conductor_leave_ipc(c->conductor, publication, 100), 1);
        while (apy_load_acquire_i64(&pub_lmt) != 0) {
            apy_cpu_pause();
        }
    }
    CHECK_EQ(apy_conductor_close_ipc(c->conductor, publication), APY_OK);

    apy_store_release_i32(&c->stop, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    apy_conductor_set_threaded(c->conductor, false);
    work_after(c, RIG_SECOND);
    const event_t drained = next_event(c);
    CHECK_EQ(drained.type, APY_EVENT_IPC_UNAVAILABLE);
    CHECK_EQ(id_of(&drained), 42);
    work_after(c, RIG_SECOND);
    CHECK_EQ(next_event(c).type, APY_EVENT_IPC_GONE);
    apy_ipc_publication_free(publication);
    close_rig(c);
}

static void agents_sleep_no_longer_than_the_fastest_stream_lets_them(void)
{
    core_rig_t *c = open_rig();
    int64_t pub_pos = 0, pub_lmt = 0, sub_pos = 0, join = -1;
    apy_log_t log = rig_log(c->rig, APY_LOG_EXCLUSIVE, 7, 1001, 0, 65536);
    const apy_ipc_publication_params_t params = {
        .registration_id = 42, .window_length = 32768, .exclusive = true, .pub_pos = &pub_pos, .pub_lmt = &pub_lmt};
    const apy_subscriber_t reader = {.registration_id = 100, .position = &sub_pos, .tether = true};
    apy_ipc_publication_t *publication;
    CHECK_EQ(apy_ipc_publication_create(&c->rig->context, &log, &params, &publication), APY_OK);
    CHECK_EQ(apy_conductor_add_ipc(c->conductor, publication), APY_OK);
    CHECK_EQ(apy_conductor_join_ipc(c->conductor, publication, &reader, &join), 1);
    work_after(c, RIG_MS);
    CHECK_EQ(c->rig->context.park_max_ns, APY_PACE_NO_BOUND);

    apy_exclusive_t append;
    apy_exclusive_init(&append, &log, &pub_lmt);
    uint8_t payload[1024 - APY_FRAME_HEADER] = {0};
    const struct iovec part = {payload, sizeof(payload)};
    for (int cycle = 0; cycle < 4; cycle++) { /* a quarter of the window in a millisecond */
        for (int i = 0; i < 8; i++) {
            const int64_t position = apy_exclusive_offer(&append, &part, 1, NULL, NULL);
            CHECK(position > 0);
            sub_pos = position;
        }
        work_after(c, RIG_MS);
    }
    CHECK_EQ(c->rig->context.park_max_ns, 4 * RIG_MS / 8);

    for (int cycle = 0; cycle < 300; cycle++) {
        work_after(c, RIG_MS);
    }
    CHECK_EQ(c->rig->context.park_max_ns, APY_PACE_NO_BOUND);
    CHECK_EQ(apy_conductor_close_ipc(c->conductor, publication), APY_OK);
    work_after(c, RIG_SECOND);
    work_after(c, RIG_SECOND);
    apy_ipc_publication_free(publication);
    close_rig(c);
}

int main(void)
{
    RUN(commands_become_events_with_their_time_and_bytes);
    RUN(commands_wait_in_their_ring_while_nobody_decides);
    RUN(the_drivers_heartbeat_is_of_each_interval);
    RUN(a_silent_client_expires_once);
    RUN(a_heartbeat_may_be_any_number);
    RUN(a_keepalive_needs_no_decision);
    RUN(an_unfinished_command_is_unblocked_in_time);
    RUN(long_cycles_are_counted);
    RUN(setups_and_errors_of_the_network_become_events);
    RUN(agents_sleep_no_longer_than_the_fastest_stream_lets_them);
    RUN(decisions_reach_a_running_core);
    return 0;
}
