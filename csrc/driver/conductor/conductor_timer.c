#include "conductor_core.h"

#include <stdlib.h>
#include <string.h>

#include "apy/atomic.h"
#include "apy/conductor_event.h"
#include "apy/error.h"

/* --- clients and their ring --- */

static void check_clients(apy_conductor_t *conductor)
{
    /* the client writes its heartbeat, so no sum with it is safe */
    const int64_t oldest_ms =
        apy_epoch_ms(&conductor->context->clock) - conductor->context->config.client_liveness_timeout_ns / 1000000;

    for (int32_t i = 0; i < conductor->clients.count && apy_core_has_room(conductor); i++) {
        apy_core_client_t *client = apy_core_at(&conductor->clients, i);
        if (!client->is_expired && apy_load_acquire_i64(client->heartbeat) < oldest_ms) {
            client->is_expired = true;
            apy_core_tell_resource(conductor, APY_EVENT_CLIENT_EXPIRED, client->client_id);
        }
    }
}

/* A client that died between claim and commit of a command would stop all others. */
static void check_blocked_ring(apy_conductor_t *conductor, int64_t now_ns)
{
    const int64_t consumer = apy_mpsc_ring_consumer_position(conductor->commands);
    const bool has_moved = consumer != conductor->command_position;
    const bool is_waiting_for_room = !apy_core_has_room(conductor);
    const bool is_empty = apy_mpsc_ring_producer_position(conductor->commands) <= consumer;

    if (has_moved || is_waiting_for_room || is_empty) {
        conductor->command_position = consumer;
        conductor->time_of_last_command_ns = now_ns;
    } else if (now_ns - conductor->time_of_last_command_ns > conductor->context->config.client_liveness_timeout_ns) {
        if (apy_mpsc_ring_unblock(conductor->commands)) {
            apy_count(conductor->context, APY_SC_UNBLOCKED_COMMANDS, 1);
        }
        conductor->time_of_last_command_ns = now_ns;
    }
}

/* --- untethered subscribers: what a resource's tick changed in their states --- */

static bool remember_states(apy_conductor_t *conductor, const apy_subscribers_t *subscribers)
{
    if (subscribers->count > conductor->states_capacity) {
        const int32_t capacity = 2 * subscribers->count;
        apy_subscriber_state_t *states = realloc(conductor->states, (size_t)capacity * sizeof *states);
        if (states == NULL) {
            return false;
        }
        conductor->states = states;
        conductor->states_capacity = capacity;
    }
    for (int32_t i = 0; i < subscribers->count; i++) {
        conductor->states[i] = subscribers->items[i].state;
    }
    return true;
}

static void tell_changes(apy_conductor_t *conductor, const apy_subscribers_t *subscribers, int64_t resource_id)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        const apy_subscriber_t *subscriber = &subscribers->items[i];
        if (subscriber->state == conductor->states[i]) {
            continue;
        }
        const apy_event_subscriber_t change = {resource_id, subscriber->registration_id};
        int32_t event = subscriber->rejoin ? APY_EVENT_SUBSCRIBER_RESTING : APY_EVENT_SUBSCRIBER_CLOSED;
        if (subscriber->state == APY_SUBSCRIBER_LINGER) {
            event = APY_EVENT_SUBSCRIBER_UNAVAILABLE;
        } else if (subscriber->state == APY_SUBSCRIBER_ACTIVE) {
            event = APY_EVENT_SUBSCRIBER_AVAILABLE;
        }
        apy_core_tell(conductor, event, &change, (int32_t)sizeof change, NULL, 0);
    }
}

/* --- resources: one tick each, only while there is room to tell what it did --- */

static void tick_ipc(apy_conductor_t *conductor, int64_t now_ns)
{
    for (int32_t i = conductor->ipc_publications.count - 1; i >= 0 && apy_core_has_room(conductor); i--) {
        apy_ipc_publication_t *publication = *(apy_ipc_publication_t **)apy_core_at(&conductor->ipc_publications, i);
        const int64_t id = apy_ipc_publication_id(publication);
        const apy_subscribers_t *subscribers = apy_ipc_publication_subscribers(publication);
        if (!remember_states(conductor, subscribers)) {
            continue;
        }
        const int changes = apy_ipc_publication_on_timer(publication, now_ns);
        tell_changes(conductor, subscribers, id);
        if (changes & APY_IPC_TICK_UNAVAILABLE) {
            apy_core_tell_resource(conductor, APY_EVENT_IPC_UNAVAILABLE, id);
        }
        if (changes & APY_IPC_TICK_COOLED_DOWN) {
            apy_core_tell_resource(conductor, APY_EVENT_IPC_COOLED_DOWN, id);
        }
        if (changes & APY_IPC_TICK_RELEASE) {
            apy_core_list_remove(&conductor->ipc_publications, i);
            apy_core_tell_resource(conductor, APY_EVENT_IPC_GONE, id);
        }
    }
}

static void tick_publications(apy_conductor_t *conductor, int64_t now_ns)
{
    for (int32_t i = 0; i < conductor->publications.count && apy_core_has_room(conductor); i++) {
        apy_core_publication_t *entry = apy_core_at(&conductor->publications, i);
        const int64_t id = apy_network_publication_id(entry->publication);
        const apy_subscribers_t *spies = apy_network_publication_spies(entry->publication);
        if (!remember_states(conductor, spies)) {
            continue;
        }
        const int changes = apy_network_publication_on_timer(entry->publication, now_ns);
        tell_changes(conductor, spies, id);
        if (changes & APY_TICK_SPIES_DRAINED) {
            apy_core_tell_resource(conductor, APY_EVENT_SPIES_DRAINED, id);
        }
        if (changes & APY_TICK_RELEASE) {
            entry->is_over = true;
        }
    }
}

static void tick_images(apy_conductor_t *conductor, int64_t now_ns)
{
    for (int32_t i = 0; i < conductor->images.count && apy_core_has_room(conductor); i++) {
        apy_core_image_t *entry = apy_core_at(&conductor->images, i);
        const int64_t id = apy_image_id(entry->image);
        const apy_subscribers_t *subscribers = apy_image_subscribers(entry->image);
        if (!remember_states(conductor, subscribers)) {
            continue;
        }
        const int changes = apy_image_on_timer(entry->image, now_ns);
        tell_changes(conductor, subscribers, id);
        if (changes & APY_IMAGE_TICK_UNAVAILABLE) {
            entry->is_unavailable = true;
            entry->may_rejoin = subscribers->count == 0 || subscribers->items[subscribers->count - 1].rejoin;
            apy_core_tell_resource(conductor, APY_EVENT_IMAGE_UNAVAILABLE, id);
        }
        if (changes & APY_IMAGE_TICK_RELEASE) {
            entry->is_over = true;
        }
    }
}

int apy_core_on_timer(apy_conductor_t *conductor, int64_t now_ns)
{
    apy_store_release_i64(conductor->commands->heartbeat_ms, apy_epoch_ms(&conductor->context->clock));
    check_clients(conductor);
    tick_ipc(conductor, now_ns);
    tick_publications(conductor, now_ns);
    tick_images(conductor, now_ns);
    check_blocked_ring(conductor, now_ns);
    return 1;
}

/* --- letting go --- */

static int let_go_of_image(apy_conductor_t *conductor, int32_t index)
{
    apy_core_image_t *entry = apy_core_at(&conductor->images, index);
    int work = 0;
    if (entry->is_unavailable && !entry->is_removal_asked) {
        entry->is_removal_asked =
            apy_receiver_remove_image(conductor->receiver, entry->endpoint, entry->image) == APY_OK;
        work += entry->is_removal_asked;
    }
    /* In the order of the receiver's queue the cool-down that the removal starts ends right after it. */
    if (entry->is_removal_asked && entry->may_rejoin && !entry->is_cool_down_removed) {
        entry->is_cool_down_removed = apy_receiver_remove_cool_down(conductor->receiver, entry->endpoint,
                                                                    entry->stream_id, entry->session_id) == APY_OK;
        work += entry->is_cool_down_removed;
    }
    const bool is_quiet = !entry->may_rejoin || entry->is_cool_down_removed;
    if (entry->is_over && entry->is_released && is_quiet && apy_core_has_room(conductor)) {
        apy_core_tell_resource(conductor, APY_EVENT_IMAGE_GONE, apy_image_id(entry->image));
        apy_core_list_remove(&conductor->images, index);
        work++;
    }
    return work;
}

int apy_core_ask_removals(apy_conductor_t *conductor)
{
    int work = 0;
    for (int32_t i = 0; i < conductor->publications.count; i++) {
        apy_core_publication_t *entry = apy_core_at(&conductor->publications, i);
        if (entry->is_over && !entry->is_removal_asked) {
            entry->is_removal_asked = apy_sender_remove_publication(conductor->sender, entry->publication) == APY_OK;
            work += entry->is_removal_asked;
        }
    }
    for (int32_t i = conductor->images.count - 1; i >= 0; i--) {
        work += let_go_of_image(conductor, i);
    }
    return work;
}
