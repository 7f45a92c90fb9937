#include <stdlib.h>

#include "apy/channel_status.h"
#include "apy/error.h"
#include "receiver_fields.h"

#define COMMANDS_MAX 1024
#define COMMANDS_PER_CYCLE 16

typedef enum command_type {
    REMOVE_ENDPOINT,
    ADD_DESTINATION,
    REMOVE_DESTINATION,
    SET_CONTROL,
    ADD_STREAM,
    REMOVE_STREAM,
    ADD_SESSION,
    REMOVE_SESSION,
    ADD_IMAGE,
    REMOVE_IMAGE,
    REFUSE_IMAGE,
    REMOVE_COOL_DOWN
} command_type_t;

typedef struct command {
    command_type_t type;
    int32_t stream_id, session_id;
    apy_receive_endpoint_t *endpoint;
    apy_receive_destination_t *destination;
    apy_image_t *image;
    struct sockaddr_storage control;
} command_t;

int apy_receiver_init_commands(apy_receiver_t *receiver)
{
    return apy_spsc_queue_init(&receiver->commands, sizeof(command_t), COMMANDS_MAX);
}

/* --- destinations --- */

static int reserve_connections(apy_receiver_t *receiver, const apy_receive_endpoint_t *endpoint)
{
    for (int32_t i = 0; i < receiver->image_count; i++) {
        if (receiver->images[i]->endpoint == endpoint) {
            const int rc = apy_image_reserve_connections(receiver->images[i], endpoint->slot_count);
            if (rc != APY_OK) {
                return rc;
            }
        }
    }
    return APY_OK;
}

static int add_destination(apy_receiver_t *receiver, apy_receive_destination_t *destination)
{
    apy_receive_endpoint_t *endpoint = destination->endpoint;
    int32_t index = -1;
    int rc = apy_receive_endpoint_reserve(endpoint, &index);
    if (rc == APY_OK) {
        rc = reserve_connections(receiver, endpoint);
    }
    if (rc == APY_OK) {
        rc = apy_transport_poller_add(&receiver->poller, &destination->transport, destination);
    }
    if (rc != APY_OK) {
        return rc;
    }
    endpoint->destinations[index] = destination;
    destination->index = index;
    destination->time_of_last_activity_ns = receiver->now_ns;
    for (int32_t i = 0; i < receiver->image_count; i++) {
        if (receiver->images[i]->endpoint == endpoint) {
            apy_image_connect(receiver->images[i], destination, NULL, receiver->now_ns);
        }
    }
    return apy_receiver_start_eliciting(receiver, destination);
}

static void remove_destination(apy_receiver_t *receiver, apy_receive_destination_t *destination)
{
    apy_receive_endpoint_t *endpoint = destination->endpoint;
    if (destination->index < 0) {
        return; /* it could not be added */
    }
    apy_transport_poller_remove(&receiver->poller, &destination->transport);
    apy_receiver_stop_eliciting(receiver, destination);
    for (int32_t i = 0; i < receiver->image_count; i++) {
        if (receiver->images[i]->endpoint == endpoint) {
            apy_image_disconnect(receiver->images[i], destination);
        }
    }
    endpoint->destinations[destination->index] = NULL;
    destination->index = -1;
}

static void set_control(apy_receiver_t *receiver, apy_receive_destination_t *destination,
                        const struct sockaddr_storage *control)
{
    destination->control = *control;
    for (int32_t i = 0; i < receiver->image_count; i++) {
        if (destination->index >= 0 && receiver->images[i]->endpoint == destination->endpoint) {
            apy_image_redirect(receiver->images[i], destination);
        }
    }
}

static void remove_endpoint(apy_receiver_t *receiver, const apy_receive_endpoint_t *endpoint)
{
    for (int32_t i = 0; i < endpoint->slot_count; i++) {
        if (endpoint->destinations[i] != NULL) {
            remove_destination(receiver, endpoint->destinations[i]);
        }
    }
}

/* --- images --- */

static int make_room_for_image(apy_receiver_t *receiver)
{
    if (receiver->image_count < receiver->image_capacity) {
        return APY_OK;
    }
    const int32_t capacity = receiver->image_capacity == 0 ? 16 : 2 * receiver->image_capacity;
    apy_image_t **grown = realloc(receiver->images, (size_t)capacity * sizeof(*grown));
    if (grown == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory to receive %d images", capacity);
    }
    receiver->images = grown;
    receiver->image_capacity = capacity;
    return APY_OK;
}

static void connect_first(apy_receiver_t *receiver, apy_image_t *image)
{
    const apy_receive_endpoint_t *endpoint = image->endpoint;
    for (int32_t i = 0; i < endpoint->slot_count; i++) {
        apy_receive_destination_t *destination = endpoint->destinations[i];
        if (destination != NULL && destination->id == image->params.destination_id) {
            apy_image_connect(image, destination, &image->params.source, receiver->now_ns);
            image->receiver.connections[i].time_of_last_frame_ns = receiver->now_ns;
        }
    }
}

static int add_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, apy_image_t *image)
{
    const int32_t stream_id = image->params.stream_id, session_id = image->params.session_id;
    int rc = make_room_for_image(receiver);
    if (rc == APY_OK) {
        rc = apy_image_reserve_connections(image, endpoint->slot_count);
    }
    if (rc != APY_OK) {
        return rc;
    }
    /* One image speaks for a stream: an older one that is on its way out falls silent. */
    for (int32_t i = 0; i < receiver->image_count; i++) {
        apy_image_t *other = receiver->images[i];
        if (other->endpoint == endpoint && other->params.stream_id == stream_id &&
            other->params.session_id == session_id &&
            apy_load_acquire_i32(&other->from_core.state) != APY_IMAGE_ACTIVE) {
            apy_image_stop_sms(other);
        }
    }
    connect_first(receiver, image);
    receiver->images[receiver->image_count++] = image;
    return apy_dispatcher_add_image(&endpoint->dispatcher, stream_id, session_id, image);
}

static void remove_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, const apy_image_t *image)
{
    apy_dispatcher_remove_image(&endpoint->dispatcher, image->params.stream_id, image->params.session_id, image,
                                apy_image_is_end_of_stream(image));
    for (int32_t i = 0; i < receiver->image_count; i++) {
        if (receiver->images[i] == image) {
            receiver->images[i] = receiver->images[--receiver->image_count];
            break;
        }
    }
}

/* --- the queue's end: the receiver's --- */

static void released(apy_receiver_t *receiver, int32_t type, void *resource, int64_t id)
{
    apy_answer_released(&receiver->answer, receiver->context, type, resource, id);
}

static int add_session(apy_receiver_t *receiver, const command_t *command)
{
    const int rc = apy_dispatcher_add_session(&command->endpoint->dispatcher, command->stream_id, command->session_id);
    if (rc == APY_OK) {
        apy_receiver_elicit_session(receiver, command->endpoint, command->stream_id, command->session_id);
    }
    return rc;
}

static int execute(apy_receiver_t *receiver, const command_t *command)
{
    apy_receive_endpoint_t *endpoint = command->endpoint;
    apy_dispatcher_t *dispatcher = &endpoint->dispatcher;
    const int32_t stream_id = command->stream_id, session_id = command->session_id;
    switch (command->type) {
    case REMOVE_ENDPOINT:
        remove_endpoint(receiver, endpoint);
        released(receiver, APY_INBOX_RECEIVE_ENDPOINT_RELEASED, endpoint, endpoint->id);
        break;
    case ADD_DESTINATION:
        return add_destination(receiver, command->destination);
    case REMOVE_DESTINATION:
        remove_destination(receiver, command->destination);
        released(receiver, APY_INBOX_RECEIVE_DESTINATION_RELEASED, command->destination, command->destination->id);
        break;
    case SET_CONTROL:
        set_control(receiver, command->destination, &command->control);
        break;
    case ADD_STREAM:
        return apy_dispatcher_add_stream(dispatcher, stream_id);
    case REMOVE_STREAM:
        apy_dispatcher_remove_stream(dispatcher, stream_id);
        break;
    case ADD_SESSION:
        return add_session(receiver, command);
    case REMOVE_SESSION:
        apy_dispatcher_remove_session(dispatcher, stream_id, session_id);
        break;
    case ADD_IMAGE:
        return add_image(receiver, endpoint, command->image);
    case REMOVE_IMAGE:
        remove_image(receiver, endpoint, command->image);
        released(receiver, APY_INBOX_IMAGE_RELEASED, command->image, apy_image_id(command->image));
        break;
    case REFUSE_IMAGE:
        apy_dispatcher_clear(dispatcher, stream_id, session_id, APY_SESSION_INIT);
        break;
    case REMOVE_COOL_DOWN:
        apy_dispatcher_clear(dispatcher, stream_id, session_id, APY_SESSION_COOL_DOWN);
        break;
    }
    return APY_OK;
}

int apy_receiver_drain_commands(apy_receiver_t *receiver)
{
    command_t command;
    int count = 0;
    while (count < COMMANDS_PER_CYCLE && apy_answer_give(&receiver->answer, receiver->context) &&
           apy_spsc_queue_poll(&receiver->commands, &command)) {
        const int rc = execute(receiver, &command);
        if (rc != APY_OK) {
            apy_driver_report_error(receiver->context, rc);
        }
        count++;
    }
    return count;
}

/* --- the queue's begin: the core's --- */

static int offer(apy_receiver_t *receiver, const command_t *command)
{
    if (apy_spsc_queue_offer(&receiver->commands, command)) {
        return APY_OK;
    }
    apy_count(receiver->context, APY_SC_RECEIVER_PROXY_FAILS, 1);
    return apy_fail(APY_E_FULL, "%d commands wait for the receiver", COMMANDS_MAX);
}

static int offer_stream(apy_receiver_t *receiver, command_type_t type, apy_receive_endpoint_t *endpoint,
                        int32_t stream_id, int32_t session_id)
{
    return offer(receiver,
                 &(command_t){.type = type, .endpoint = endpoint, .stream_id = stream_id, .session_id = session_id});
}

int apy_receiver_remove_endpoint(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint)
{
    const int rc = offer(receiver, &(command_t){.type = REMOVE_ENDPOINT, .endpoint = endpoint});
    if (rc == APY_OK) {
        apy_receive_endpoint_set_status(endpoint, APY_CHANNEL_CLOSING);
    }
    return rc;
}

int apy_receiver_add_destination(apy_receiver_t *receiver, apy_receive_destination_t *destination)
{
    return offer(receiver,
                 &(command_t){.type = ADD_DESTINATION, .endpoint = destination->endpoint, .destination = destination});
}

int apy_receiver_remove_destination(apy_receiver_t *receiver, apy_receive_destination_t *destination)
{
    return offer(
        receiver,
        &(command_t){.type = REMOVE_DESTINATION, .endpoint = destination->endpoint, .destination = destination});
}

int apy_receiver_set_control(apy_receiver_t *receiver, apy_receive_destination_t *destination,
                             const struct sockaddr_storage *control)
{
    return offer(receiver, &(command_t){.type = SET_CONTROL,
                                        .endpoint = destination->endpoint,
                                        .destination = destination,
                                        .control = *control});
}

int apy_receiver_add_stream(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id)
{
    return offer_stream(receiver, ADD_STREAM, endpoint, stream_id, 0);
}

int apy_receiver_remove_stream(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id)
{
    return offer_stream(receiver, REMOVE_STREAM, endpoint, stream_id, 0);
}

int apy_receiver_add_session(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                             int32_t session_id)
{
    return offer_stream(receiver, ADD_SESSION, endpoint, stream_id, session_id);
}

int apy_receiver_remove_session(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                int32_t session_id)
{
    return offer_stream(receiver, REMOVE_SESSION, endpoint, stream_id, session_id);
}

int apy_receiver_add_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, apy_image_t *image)
{
    return offer(receiver, &(command_t){.type = ADD_IMAGE, .endpoint = endpoint, .image = image});
}

int apy_receiver_remove_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, apy_image_t *image)
{
    return offer(receiver, &(command_t){.type = REMOVE_IMAGE, .endpoint = endpoint, .image = image});
}

int apy_receiver_refuse_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                              int32_t session_id)
{
    return offer_stream(receiver, REFUSE_IMAGE, endpoint, stream_id, session_id);
}

int apy_receiver_remove_cool_down(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                  int32_t session_id)
{
    return offer_stream(receiver, REMOVE_COOL_DOWN, endpoint, stream_id, session_id);
}
