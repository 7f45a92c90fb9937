#include "apy/receiver.h"

#include <stdlib.h>

#include "apy/channel_status.h"
#include "apy/cycle_tracker.h"
#include "apy/error.h"
#include "apy/receive_dispatch.h"
#include "receiver_fields.h"

#define COMMANDS_MAX 1024
#define COMMANDS_PER_CYCLE 16

typedef enum command_type {
    ADD_ENDPOINT,
    REMOVE_ENDPOINT,
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
    apy_image_t *image;
} command_t;

int apy_receiver_create(apy_driver_context_t *context, apy_receiver_t **receiver)
{
    apy_receiver_t *created = aligned_alloc(_Alignof(apy_receiver_t), sizeof(*created));
    if (created == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for the receiver");
    }
    *created = (apy_receiver_t){.context = context, .now_ns = apy_nano_time(&context->clock)};
    int rc = apy_spsc_queue_init(&created->commands, sizeof(command_t), COMMANDS_MAX);
    if (rc == APY_OK) {
        apy_loss_interceptor_t loss;
        apy_loss_interceptor_init(&loss, &context->config.loss);
        rc = apy_transport_poller_init(&created->poller, context->config.receiver_io_vector, &loss);
        if (rc != APY_OK) {
            apy_spsc_queue_free(&created->commands);
        }
    }
    if (rc != APY_OK) {
        free(created);
        return rc;
    }
    *receiver = created;
    return APY_OK;
}

void apy_receiver_free(apy_receiver_t *receiver)
{
    if (receiver != NULL) {
        apy_spsc_queue_free(&receiver->commands);
        apy_transport_poller_free(&receiver->poller);
        free(receiver->images);
        free(receiver);
    }
}

/* --- images --- */

static int add_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, apy_image_t *image)
{
    const int32_t stream_id = image->params.stream_id, session_id = image->params.session_id;
    if (receiver->image_count == receiver->image_capacity) {
        const int32_t capacity = receiver->image_capacity == 0 ? 16 : 2 * receiver->image_capacity;
        apy_image_t **grown = realloc(receiver->images, (size_t)capacity * sizeof(*grown));
        if (grown == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory to receive %d images", capacity);
        }
        receiver->images = grown;
        receiver->image_capacity = capacity;
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
    receiver->images[receiver->image_count++] = image;
    return apy_dispatcher_add_image(apy_receive_endpoint_dispatcher(endpoint), stream_id, session_id, image);
}

static void remove_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, const apy_image_t *image)
{
    apy_dispatcher_remove_image(apy_receive_endpoint_dispatcher(endpoint), image->params.stream_id,
                                image->params.session_id, image, apy_image_is_end_of_stream(image));
    for (int32_t i = 0; i < receiver->image_count; i++) {
        if (receiver->images[i] == image) {
            receiver->images[i] = receiver->images[--receiver->image_count];
            break;
        }
    }
}

/* --- commands --- */

static void answer(apy_receiver_t *receiver)
{
    if (apy_mpsc_ring_write(receiver->context->conductor_inbox, receiver->answer_type, &receiver->answer,
                            sizeof(receiver->answer)) == APY_OK) {
        receiver->answer_type = 0;
    } else {
        apy_count(receiver->context, APY_SC_CONDUCTOR_PROXY_FAILS, 1);
    }
}

static void released(apy_receiver_t *receiver, int32_t type, void *resource, int64_t id)
{
    receiver->answer_type = type;
    receiver->answer = (apy_inbox_released_t){resource, id};
    answer(receiver);
}

static int execute(apy_receiver_t *receiver, const command_t *command)
{
    apy_receive_endpoint_t *endpoint = command->endpoint;
    apy_dispatcher_t *dispatcher = apy_receive_endpoint_dispatcher(endpoint);
    const int32_t stream_id = command->stream_id, session_id = command->session_id;
    switch (command->type) {
    case ADD_ENDPOINT:
        return apy_receive_endpoint_register(endpoint, &receiver->poller);
    case REMOVE_ENDPOINT:
        apy_receive_endpoint_unregister(endpoint, &receiver->poller);
        apy_receiver_forget_pending(receiver, endpoint);
        released(receiver, APY_INBOX_RECEIVE_ENDPOINT_RELEASED, endpoint, apy_receive_endpoint_id(endpoint));
        break;
    case ADD_STREAM:
        return apy_dispatcher_add_stream(dispatcher, stream_id);
    case REMOVE_STREAM:
        apy_dispatcher_remove_stream(dispatcher, stream_id);
        break;
    case ADD_SESSION:
        return apy_dispatcher_add_session(dispatcher, stream_id, session_id);
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

static int drain_commands(apy_receiver_t *receiver)
{
    command_t command;
    int count = 0;
    if (receiver->answer_type != 0) {
        answer(receiver);
    }
    while (count < COMMANDS_PER_CYCLE && receiver->answer_type == 0 &&
           apy_spsc_queue_poll(&receiver->commands, &command)) {
        const int rc = execute(receiver, &command);
        if (rc != APY_OK) {
            apy_driver_report_error(receiver->context, rc);
        }
        count++;
    }
    return count;
}

/* --- the duty cycle --- */

static void on_datagram(void *context, void *owner, uint8_t *datagram, size_t length,
                        const struct sockaddr_storage *source)
{
    apy_receiver_on_datagram(context, owner, datagram, length, source);
}

static int poll_data(apy_receiver_t *receiver)
{
    int64_t bytes = 0;
    const int handled = apy_transport_poller_poll(&receiver->poller, on_datagram, receiver, &bytes);
    if (bytes > 0) {
        apy_count(receiver->context, APY_SC_BYTES_RECEIVED, bytes);
    }
    if (handled < 0) {
        apy_driver_report_error(receiver->context, handled);
        return 0;
    }
    return handled;
}

int apy_receiver_do_work(void *state)
{
    apy_receiver_t *receiver = state;
    const int64_t now_ns = apy_nano_time(&receiver->context->clock);
    apy_cycle_track(receiver->context, &receiver->now_ns, now_ns, receiver->context->config.receiver_threshold_ns,
                    APY_SC_RECEIVER_MAX_CYCLE, APY_SC_RECEIVER_CYCLES_EXCEEDED);

    int work = drain_commands(receiver);
    work += poll_data(receiver);
    for (int32_t i = 0; i < receiver->image_count; i++) {
        work += apy_image_answer(receiver->images[i], now_ns);
    }
    apy_receiver_check_pending(receiver);
    return work;
}

/* --- the core's --- */

static int offer(apy_receiver_t *receiver, const command_t *command)
{
    if (apy_spsc_queue_offer(&receiver->commands, command)) {
        return APY_OK;
    }
    apy_count(receiver->context, APY_SC_RECEIVER_PROXY_FAILS, 1);
    return apy_fail(APY_E_FULL, "%d commands wait for the receiver", COMMANDS_MAX);
}

int apy_receiver_add_endpoint(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint)
{
    return offer(receiver, &(command_t){.type = ADD_ENDPOINT, .endpoint = endpoint});
}

int apy_receiver_remove_endpoint(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint)
{
    const int rc = offer(receiver, &(command_t){.type = REMOVE_ENDPOINT, .endpoint = endpoint});
    if (rc == APY_OK) {
        apy_receive_endpoint_set_status(endpoint, APY_CHANNEL_CLOSING);
    }
    return rc;
}

int apy_receiver_add_stream(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id)
{
    return offer(receiver, &(command_t){.type = ADD_STREAM, .endpoint = endpoint, .stream_id = stream_id});
}

int apy_receiver_remove_stream(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id)
{
    return offer(receiver, &(command_t){.type = REMOVE_STREAM, .endpoint = endpoint, .stream_id = stream_id});
}

int apy_receiver_add_session(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                             int32_t session_id)
{
    return offer(receiver, &(command_t){ADD_SESSION, stream_id, session_id, endpoint, NULL});
}

int apy_receiver_remove_session(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                int32_t session_id)
{
    return offer(receiver, &(command_t){REMOVE_SESSION, stream_id, session_id, endpoint, NULL});
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
    return offer(receiver, &(command_t){REFUSE_IMAGE, stream_id, session_id, endpoint, NULL});
}

int apy_receiver_remove_cool_down(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                  int32_t session_id)
{
    return offer(receiver, &(command_t){REMOVE_COOL_DOWN, stream_id, session_id, endpoint, NULL});
}
