#include "apy/conductor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "apy/atomic.h"
#include "apy/conductor_event.h"
#include "apy/cycle_tracker.h"
#include "apy/doze.h"
#include "apy/error.h"
#include "conductor_core.h"

#define EVENT_CAPACITY_MIN (4 * 1024 * 1024)
#define COMMANDS_PER_CYCLE 16
#define COMMAND_KEEPALIVE 0x06
#define FOREIGN_CLIENT_NS INT64_C(10000000000) /* such clients say something at least so often */

static int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int apy_conductor_create(apy_driver_context_t *context, apy_mpsc_ring_t *ring, apy_sender_t *sender,
                         apy_receiver_t *receiver, apy_conductor_t **conductor)
{
    /* An event holds a command and little more, so the ring of events is some times that of commands. */
    const int64_t length = max_i64(EVENT_CAPACITY_MIN, 4 * ring->capacity) + APY_RING_TRAILER;
    apy_conductor_t *made = calloc(1, sizeof *made);
    uint8_t *memory = calloc(1, (size_t)length);
    if (made == NULL || memory == NULL) {
        free(made);
        free(memory);
        return apy_fail(APY_E_MEMORY, "no memory for a conductor's event ring of %lld bytes", (long long)length);
    }
    const int rc = apy_mpsc_ring_init(&made->events, memory, length);
    if (rc < 0) {
        free(made);
        free(memory);
        return rc;
    }
    made->context = context;
    made->commands = ring;
    made->sender = sender;
    made->receiver = receiver;
    made->event_memory = memory;
    made->clients.item_size = sizeof(apy_core_client_t);
    made->ipc_publications.item_size = sizeof(apy_ipc_publication_t *);
    made->publications.item_size = sizeof(apy_core_publication_t);
    made->images.item_size = sizeof(apy_core_image_t);
    made->cycle_start_ns = apy_nano_time(&context->clock);
    made->timer_deadline_ns = made->cycle_start_ns;
    apy_pace_init(&made->pace, made->cycle_start_ns);
    made->time_of_last_command_ns = made->cycle_start_ns;
    apy_wake_init(&made->wake);
    apy_call_slot_init(&made->calls);
    made->calls.bell = ring->bell;
    made->calls.ringer = &context->ringer;
    *conductor = made;
    return APY_OK;
}

void apy_conductor_free(apy_conductor_t *conductor)
{
    if (conductor == NULL) {
        return;
    }
    free(conductor->clients.items);
    free(conductor->ipc_publications.items);
    free(conductor->publications.items);
    free(conductor->images.items);
    free(conductor->states);
    free(conductor->event_memory);
    free(conductor);
}

void apy_conductor_set_threaded(apy_conductor_t *conductor, bool is_threaded)
{
    apy_call_slot_set_direct(&conductor->calls, !is_threaded);
}

/* --- lists --- */

void *apy_core_list_add(apy_core_list_t *list)
{
    if (list->count == list->capacity) {
        const int32_t capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        uint8_t *items = realloc(list->items, (size_t)capacity * (size_t)list->item_size);
        if (items == NULL) {
            apy_fail(APY_E_MEMORY, "no memory for %d resources", capacity);
            return NULL;
        }
        list->items = items;
        list->capacity = capacity;
    }
    void *item = apy_core_at(list, list->count++);
    memset(item, 0, (size_t)list->item_size);
    return item;
}

void apy_core_list_remove(apy_core_list_t *list, int32_t index)
{
    assert(index >= 0 && index < list->count);
    list->count--;
    if (index < list->count) {
        memcpy(apy_core_at(list, index), apy_core_at(list, list->count), (size_t)list->item_size);
    }
}

/* --- events --- */

bool apy_core_has_room(const apy_conductor_t *conductor)
{
    /* Twice the longest: a record that does not fit at the end of the ring starts at its begin. */
    const int64_t needed = 2 * ((int64_t)conductor->commands->message_max + 4096);
    return conductor->events.capacity - apy_mpsc_ring_size(&conductor->events) >= needed;
}

void apy_core_tell(apy_conductor_t *conductor, int32_t event, const void *head, int32_t head_length, const void *body,
                   int32_t body_length)
{
    const int rc = apy_mpsc_ring_write_two(&conductor->events, event, head, head_length, body, body_length);
    assert(rc == APY_OK); /* whoever tells asked for room first */
    (void)rc;
    conductor->has_new_events = true;
}

void apy_core_tell_resource(apy_conductor_t *conductor, int32_t event, int64_t id)
{
    const apy_event_resource_t resource = {id};
    apy_core_tell(conductor, event, &resource, (int32_t)sizeof resource, NULL, 0);
}

bool apy_conductor_wait(apy_conductor_t *conductor, int64_t timeout_ns)
{
    return apy_wake_wait(&conductor->wake, timeout_ns);
}

void apy_conductor_wake(apy_conductor_t *conductor)
{
    apy_wake_signal(&conductor->wake);
}

int apy_conductor_read(apy_conductor_t *conductor, apy_ring_handler handler, void *context, int limit)
{
    /* One read ends at the ring's end: what goes on at its begin must not wait for another wake-up. */
    const int count = apy_mpsc_ring_read(&conductor->events, handler, context, limit);
    return count < limit ? count + apy_mpsc_ring_read(&conductor->events, handler, context, limit - count) : count;
}

/* --- commands --- */

/* The one command that is not a decision, so that a stalled interpreter costs no client its life. */
static void on_keepalive(apy_conductor_t *conductor, const uint8_t *message)
{
    int64_t client_id;
    memcpy(&client_id, message, sizeof client_id);
    for (int32_t i = 0; i < conductor->clients.count; i++) {
        const apy_core_client_t *client = apy_core_at(&conductor->clients, i);
        if (client->client_id == client_id && apy_load_acquire_i64(client->heartbeat) != 0) {
            apy_store_release_i64(client->heartbeat, apy_epoch_ms(&conductor->context->clock));
        }
    }
}

static void on_command(void *context, int32_t type, const uint8_t *message, int32_t length)
{
    apy_conductor_t *conductor = context;
    if (type == COMMAND_KEEPALIVE && length >= 16) {
        if (apy_traces(conductor->context->trace, APY_TRACE_KEEPALIVE)) {
            apy_event_trace_write(conductor->context->trace, APY_TRACE_KEEPALIVE, NULL, 0, message, 16);
        }
        on_keepalive(conductor, message);
        return;
    }
    const apy_event_command_t head = {conductor->cycle_start_ns, type, 0};
    apy_core_tell(conductor, APY_EVENT_COMMAND, &head, (int32_t)sizeof head, message, length);
}

static int read_commands(apy_conductor_t *conductor)
{
    int work = 0;
    while (work < COMMANDS_PER_CYCLE && apy_core_has_room(conductor)) {
        if (apy_mpsc_ring_read(conductor->commands, on_command, conductor, 1) <= 0) {
            break; /* nothing there, or bytes that are no record */
        }
        work++;
    }
    return work;
}

/* --- the cycle --- */

static int update_resources(apy_conductor_t *conductor, int64_t now_ns)
{
    int work = 0;
    for (int32_t i = 0; i < conductor->images.count; i++) {
        const apy_core_image_t *entry = apy_core_at(&conductor->images, i);
        work += apy_image_track_rebuild(entry->image, now_ns);
    }
    for (int32_t i = 0; i < conductor->publications.count; i++) {
        const apy_core_publication_t *entry = apy_core_at(&conductor->publications, i);
        work += apy_network_publication_update(entry->publication, now_ns);
    }
    for (int32_t i = 0; i < conductor->ipc_publications.count; i++) {
        work += apy_ipc_publication_update(*(apy_ipc_publication_t **)apy_core_at(&conductor->ipc_publications, i));
    }
    return work;
}

/* Tell all agents how long they may sleep before a stream would have to wait for one of them. */
static void keep_pace(apy_conductor_t *conductor, int64_t now_ns)
{
    apy_pace_t *pace = &conductor->pace;
    if (apy_doorbell_take(conductor->commands->bell)) {
        apy_store_release_i64(&conductor->context->park_max_ns, apy_pace_hurry(pace));
    }
    if (!apy_pace_is_due(pace, now_ns)) {
        return;
    }
    int64_t window = 0;
    for (int32_t i = 0; i < conductor->images.count; i++) {
        const apy_core_image_t *entry = apy_core_at(&conductor->images, i);
        const int64_t moved = apy_image_moved(entry->image, &window);
        apy_pace_moved(pace, moved, window);
    }
    for (int32_t i = 0; i < conductor->publications.count; i++) {
        const apy_core_publication_t *entry = apy_core_at(&conductor->publications, i);
        const int64_t moved = apy_network_publication_moved(entry->publication, &window);
        apy_pace_moved(pace, moved, window);
    }
    for (int32_t i = 0; i < conductor->ipc_publications.count; i++) {
        const int64_t moved =
            apy_ipc_publication_moved(*(apy_ipc_publication_t **)apy_core_at(&conductor->ipc_publications, i), &window);
        apy_pace_moved(pace, moved, window);
    }
    apy_store_release_i64(&conductor->context->park_max_ns, apy_pace_end(pace));
}

int apy_conductor_do_work(void *state)
{
    apy_conductor_t *conductor = state;
    const int64_t now_ns = apy_nano_time(&conductor->context->clock);
    apy_cycle_track(conductor->context, &conductor->cycle_start_ns, now_ns,
                    conductor->context->config.conductor_threshold_ns, APY_SC_CONDUCTOR_MAX_CYCLE,
                    APY_SC_CONDUCTOR_CYCLES_EXCEEDED);

    int work = 0;
    if (now_ns - conductor->timer_deadline_ns >= 0) {
        conductor->timer_deadline_ns = apy_time_after(now_ns, conductor->context->config.timer_interval_ns);
        work += apy_core_on_timer(conductor, now_ns);
    }
    const int commands = read_commands(conductor);
    if (commands > 0 && conductor->was_unrung) {
        conductor->time_of_foreign_command_ns = now_ns; /* of a client that does not ring */
    }
    conductor->was_unrung = false;
    work += commands;
    work += apy_core_read_inbox(conductor);
    work += apy_core_ask_removals(conductor);
    work += apy_call_slot_serve(&conductor->calls, conductor);
    work += update_resources(conductor, now_ns);
    keep_pace(conductor, now_ns);

    const apy_event_trace_t *trace = conductor->context->trace;
    if (conductor->has_new_events || (trace != NULL && apy_mpsc_ring_size(&trace->ring) > 0)) {
        conductor->has_new_events = false;
        apy_wake_signal(&conductor->wake);
    }
    return work;
}

int64_t apy_conductor_lie_down(void *state)
{
    const apy_conductor_t *conductor = state;
    apy_doorbell_doze(conductor->commands->bell);
    const bool has_foreign = conductor->time_of_foreign_command_ns != 0 &&
                             conductor->cycle_start_ns - conductor->time_of_foreign_command_ns < FOREIGN_CLIENT_NS;
    return has_foreign ? APY_DOZE_UNRUNG_NS : INT64_MAX;
}

void apy_conductor_get_up(void *state)
{
    apy_conductor_t *conductor = state;
    conductor->was_unrung = !apy_doorbell_get_up(conductor->commands->bell);
}
