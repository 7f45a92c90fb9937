#include "apy/sender.h"

#include <stdlib.h>

#include "apy/agent_answer.h"
#include "apy/channel_status.h"
#include "apy/cycle_tracker.h"
#include "apy/doze.h"
#include "apy/error.h"
#include "apy/send_dispatch.h"
#include "apy/spsc_queue.h"
#include "apy/transport_poller.h"
#include "apy/waiter.h"
#include "publication_fields.h"

#define COMMANDS_MAX 1024
#define COMMANDS_PER_CYCLE 16

typedef enum command_type {
    ADD_ENDPOINT,
    REMOVE_ENDPOINT,
    ADD_DESTINATION,
    REMOVE_DESTINATION,
    MOVE,
    ADD_PUBLICATION,
    REMOVE_PUBLICATION
} command_type_t;

typedef struct command {
    command_type_t type;
    void *resource;
    int64_t destination_id;
    struct sockaddr_storage address;
} command_t;

typedef struct resources { /* endpoints or publications */
    void **items;
    int32_t count, capacity;
} resources_t;

struct apy_sender {
    apy_driver_context_t *context;
    apy_spsc_queue_t commands;
    apy_transport_poller_t poller;
    resources_t endpoints, publications;
    int32_t next_publication;
    int32_t cycles_since_poll;
    int64_t poll_deadline_ns;
    int64_t cycle_start_ns;
    int64_t silence_check_ns; /* the next one */
    int64_t bell_id;
    apy_answer_t answer;
};

int apy_sender_create(apy_driver_context_t *context, apy_sender_t **sender)
{
    apy_sender_t *created = aligned_alloc(_Alignof(apy_sender_t), sizeof(*created));
    if (created == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for the sender");
    }
    const int64_t now_ns = apy_nano_time(&context->clock);
    *created =
        (apy_sender_t){.context = context,
                       .cycle_start_ns = now_ns,
                       .silence_check_ns = apy_time_after(now_ns, context->config.reresolution_check_interval_ns)};
    int rc = apy_spsc_queue_init(&created->commands, sizeof(command_t), COMMANDS_MAX);
    if (rc == APY_OK) {
        apy_loss_interceptor_t loss;
        apy_loss_interceptor_init(&loss, &context->config.loss);
        rc = apy_transport_poller_init(&created->poller, context->config.sender_io_vector, &loss);
        if (rc != APY_OK) {
            apy_spsc_queue_free(&created->commands);
        }
    }
    if (rc != APY_OK) {
        free(created);
        return rc;
    }
    *sender = created;
    return APY_OK;
}

void apy_sender_free(apy_sender_t *sender)
{
    if (sender != NULL) {
        apy_spsc_queue_free(&sender->commands);
        apy_transport_poller_free(&sender->poller);
        free(sender->endpoints.items);
        free(sender->publications.items);
        free(sender);
    }
}

/* --- commands --- */

static int keep(resources_t *resources, void *resource)
{
    if (resources->count == resources->capacity) {
        const int32_t capacity = resources->capacity == 0 ? 16 : 2 * resources->capacity;
        void **grown = realloc(resources->items, (size_t)capacity * sizeof(*grown));
        if (grown == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory to send from %d publications", capacity);
        }
        resources->items = grown;
        resources->capacity = capacity;
    }
    resources->items[resources->count++] = resource;
    return APY_OK;
}

static void forget(resources_t *resources, const void *resource)
{
    for (int32_t i = 0; i < resources->count; i++) {
        if (resources->items[i] == resource) {
            resources->items[i] = resources->items[--resources->count];
            return;
        }
    }
}

static int add_endpoint(apy_sender_t *sender, apy_send_endpoint_t *endpoint)
{
    const int rc = keep(&sender->endpoints, endpoint);
    return rc == APY_OK ? apy_send_endpoint_register(endpoint, &sender->poller) : rc;
}

static void remove_endpoint(apy_sender_t *sender, apy_send_endpoint_t *endpoint)
{
    forget(&sender->endpoints, endpoint);
    apy_send_endpoint_unregister(endpoint, &sender->poller);
}

static int add_publication(apy_sender_t *sender, apy_network_publication_t *publication)
{
    const int rc = apy_send_endpoint_add_publication(publication->endpoint, publication);
    return rc == APY_OK ? keep(&sender->publications, publication) : rc;
}

static void remove_publication(apy_sender_t *sender, apy_network_publication_t *publication)
{
    apy_send_endpoint_remove_publication(publication->endpoint, publication);
    apy_seat_leave(&publication->sender.seat);
    forget(&sender->publications, publication);
}

static void released(apy_sender_t *sender, int32_t type, void *resource, int64_t id)
{
    apy_answer_released(&sender->answer, sender->context, type, resource, id);
}

static void execute(apy_sender_t *sender, const command_t *command)
{
    int rc = APY_OK;
    switch (command->type) {
    case ADD_ENDPOINT:
        rc = add_endpoint(sender, command->resource);
        break;
    case REMOVE_ENDPOINT:
        remove_endpoint(sender, command->resource);
        released(sender, APY_INBOX_SEND_ENDPOINT_RELEASED, command->resource, apy_send_endpoint_id(command->resource));
        break;
    case ADD_DESTINATION:
        rc = apy_send_endpoint_add_destination(command->resource, command->destination_id, &command->address,
                                               sender->cycle_start_ns);
        break;
    case REMOVE_DESTINATION:
        apy_send_endpoint_remove_destination(command->resource, command->destination_id);
        break;
    case MOVE:
        rc = apy_send_endpoint_move(command->resource, command->destination_id, &command->address);
        break;
    case ADD_PUBLICATION:
        rc = add_publication(sender, command->resource);
        break;
    case REMOVE_PUBLICATION:
        remove_publication(sender, command->resource);
        released(sender, APY_INBOX_PUBLICATION_RELEASED, command->resource,
                 apy_network_publication_id(command->resource));
        break;
    }
    if (rc != APY_OK) {
        apy_driver_report_error(sender->context, rc);
    }
}

static int drain_commands(apy_sender_t *sender)
{
    command_t command;
    int count = 0;
    while (count < COMMANDS_PER_CYCLE && apy_answer_give(&sender->answer, sender->context) &&
           apy_spsc_queue_poll(&sender->commands, &command)) {
        execute(sender, &command);
        count++;
    }
    return count;
}

/* --- the duty cycle --- */

static int64_t send_all(apy_sender_t *sender, int64_t now_ns)
{
    const int32_t count = sender->publications.count;
    int64_t bytes = 0;
    if (sender->next_publication >= count) {
        sender->next_publication = 0;
    }
    const int32_t first = sender->next_publication++;
    for (int32_t i = 0; i < count; i++) {
        const int32_t at = first + i < count ? first + i : first + i - count;
        bytes += apy_network_publication_send(sender->publications.items[at], now_ns);
    }
    if (bytes > 0) {
        apy_count(sender->context, APY_SC_BYTES_SENT, bytes);
    }
    return bytes;
}

static void on_datagram(void *context, void *owner, const apy_datagram_t *datagram)
{
    const apy_sender_t *sender = context;
    apy_send_endpoint_on_datagram(owner, datagram->data, datagram->length, datagram->source, sender->cycle_start_ns);
}

static int poll_control(apy_sender_t *sender, int64_t now_ns)
{
    int64_t bytes = 0; /* the counter of bytes received is the receiver's */
    const int handled = apy_transport_poller_poll(&sender->poller, on_datagram, sender, &bytes);
    sender->cycles_since_poll = 0;
    sender->poll_deadline_ns = now_ns + sender->context->config.status_message_timeout_ns / 2;
    if (handled < 0) {
        apy_driver_report_error(sender->context, handled);
        return 0;
    }
    return handled;
}

static void check_silence(apy_sender_t *sender, int64_t now_ns)
{
    const int64_t interval_ns = sender->context->config.reresolution_check_interval_ns;
    if (interval_ns <= 0 || now_ns < sender->silence_check_ns) {
        return;
    }
    sender->silence_check_ns = apy_time_after(now_ns, interval_ns);
    for (int32_t i = 0; i < sender->endpoints.count; i++) {
        apy_send_endpoint_check_silence(sender->endpoints.items[i], now_ns);
    }
}

int apy_sender_do_work(void *state)
{
    apy_sender_t *sender = state;
    const apy_driver_config_t *config = &sender->context->config;
    const int64_t now_ns = apy_nano_time(&sender->context->clock);
    const int64_t *short_sends = sender->context->system_counters[APY_SC_SHORT_SENDS];
    apy_cycle_track(sender->context, &sender->cycle_start_ns, now_ns, sender->context->config.sender_threshold_ns,
                    APY_SC_SENDER_MAX_CYCLE, APY_SC_SENDER_CYCLES_EXCEEDED);

    int work = drain_commands(sender);
    const int64_t short_before = apy_load_relaxed_i64(short_sends);
    const int64_t bytes = send_all(sender, now_ns);
    work += bytes > 0;
    if (bytes == 0 || ++sender->cycles_since_poll >= config->send_to_status_poll_ratio ||
        now_ns > sender->poll_deadline_ns || apy_load_relaxed_i64(short_sends) > short_before) {
        work += poll_control(sender, now_ns);
    }
    check_silence(sender, now_ns);
    return work;
}

/* --- sleeping --- */

void apy_sender_set_bell(apy_sender_t *sender, int64_t id)
{
    sender->bell_id = id;
}

int apy_sender_fd(const apy_sender_t *sender)
{
    return sender->poller.epoll_fd;
}

int64_t apy_sender_lie_down(void *state)
{
    apy_sender_t *sender = state;
    bool is_rung = true, is_new = false;
    for (int32_t i = 0; i < sender->publications.count; i++) {
        is_rung &= apy_network_publication_lie_down(sender->publications.items[i], sender->bell_id, &is_new);
    }
    if (is_new) { /* what was announced before an earlier sleep, and not rung since, is in order already */
        is_rung &= apy_waiter_order();
    }
    return is_rung ? INT64_MAX : APY_DOZE_UNRUNG_NS;
}

/* --- the core's --- */

static int offer(apy_sender_t *sender, const command_t *command)
{
    if (apy_spsc_queue_offer(&sender->commands, command)) {
        return APY_OK;
    }
    apy_count(sender->context, APY_SC_SENDER_PROXY_FAILS, 1);
    return apy_fail(APY_E_FULL, "%d commands wait for the sender", COMMANDS_MAX);
}

static int offer_resource(apy_sender_t *sender, command_type_t type, void *resource)
{
    const command_t command = {.type = type, .resource = resource};
    return offer(sender, &command);
}

int apy_sender_add_endpoint(apy_sender_t *sender, apy_send_endpoint_t *endpoint)
{
    return offer_resource(sender, ADD_ENDPOINT, endpoint);
}

int apy_sender_remove_endpoint(apy_sender_t *sender, apy_send_endpoint_t *endpoint)
{
    const int rc = offer_resource(sender, REMOVE_ENDPOINT, endpoint);
    if (rc == APY_OK) {
        apy_send_endpoint_set_status(endpoint, APY_CHANNEL_CLOSING);
    }
    return rc;
}

int apy_sender_add_destination(apy_sender_t *sender, apy_send_endpoint_t *endpoint, int64_t id,
                               const struct sockaddr_storage *address)
{
    const command_t command = {ADD_DESTINATION, endpoint, id, *address};
    return offer(sender, &command);
}

int apy_sender_remove_destination(apy_sender_t *sender, apy_send_endpoint_t *endpoint, int64_t id)
{
    const command_t command = {.type = REMOVE_DESTINATION, .resource = endpoint, .destination_id = id};
    return offer(sender, &command);
}

int apy_sender_move(apy_sender_t *sender, apy_send_endpoint_t *endpoint, int64_t destination_id,
                    const struct sockaddr_storage *address)
{
    const command_t command = {MOVE, endpoint, destination_id, *address};
    return offer(sender, &command);
}

int apy_sender_add_publication(apy_sender_t *sender, apy_network_publication_t *publication)
{
    return offer_resource(sender, ADD_PUBLICATION, publication);
}

int apy_sender_remove_publication(apy_sender_t *sender, apy_network_publication_t *publication)
{
    return offer_resource(sender, REMOVE_PUBLICATION, publication);
}
