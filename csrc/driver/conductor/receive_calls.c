#include "apy/atomic.h"
#include "apy/error.h"
#include "conductor_call.h"

/* Decisions about receive endpoints, their streams, and images. */

/* --- receive endpoints and their streams --- */

typedef struct apy_stream_wanted {
    apy_receive_endpoint_t *endpoint;
    int32_t stream_id;
    const int32_t *session_id;
} apy_stream_wanted_t;

static int remove_receive_endpoint(void *owner, void *argument)
{
    return apy_receiver_remove_endpoint(((apy_conductor_t *)owner)->receiver, argument);
}

static int add_destination(void *owner, void *argument)
{
    return apy_receiver_add_destination(((apy_conductor_t *)owner)->receiver, argument);
}

static int remove_destination(void *owner, void *argument)
{
    return apy_receiver_remove_destination(((apy_conductor_t *)owner)->receiver, argument);
}

typedef struct apy_control_change {
    apy_receive_destination_t *destination;
    const struct sockaddr_storage *control;
} apy_control_change_t;

static int set_control(void *owner, void *argument)
{
    const apy_control_change_t *change = argument;
    return apy_receiver_set_control(((apy_conductor_t *)owner)->receiver, change->destination, change->control);
}

static int add_stream(void *owner, void *argument)
{
    apy_receiver_t *receiver = ((apy_conductor_t *)owner)->receiver;
    const apy_stream_wanted_t *wanted = argument;
    if (wanted->session_id == NULL) {
        return apy_receiver_add_stream(receiver, wanted->endpoint, wanted->stream_id);
    }
    return apy_receiver_add_session(receiver, wanted->endpoint, wanted->stream_id, *wanted->session_id);
}

static int remove_stream(void *owner, void *argument)
{
    apy_receiver_t *receiver = ((apy_conductor_t *)owner)->receiver;
    const apy_stream_wanted_t *wanted = argument;
    if (wanted->session_id == NULL) {
        return apy_receiver_remove_stream(receiver, wanted->endpoint, wanted->stream_id);
    }
    return apy_receiver_remove_session(receiver, wanted->endpoint, wanted->stream_id, *wanted->session_id);
}

static int refuse_image(void *owner, void *argument)
{
    const apy_stream_wanted_t *refused = argument;
    return apy_receiver_refuse_image(((apy_conductor_t *)owner)->receiver, refused->endpoint, refused->stream_id,
                                     *refused->session_id);
}

int apy_conductor_remove_receive_endpoint(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint)
{
    return apy_core_call(conductor, remove_receive_endpoint, endpoint);
}

int apy_conductor_add_receive_destination(apy_conductor_t *conductor, apy_receive_destination_t *destination)
{
    return apy_core_call(conductor, add_destination, destination);
}

int apy_conductor_remove_receive_destination(apy_conductor_t *conductor, apy_receive_destination_t *destination)
{
    return apy_core_call(conductor, remove_destination, destination);
}

int apy_conductor_set_receive_control(apy_conductor_t *conductor, apy_receive_destination_t *destination,
                                      const struct sockaddr_storage *control)
{
    apy_control_change_t change = {destination, control};
    return apy_core_call(conductor, set_control, &change);
}

int apy_conductor_add_stream(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                             const int32_t *session_id)
{
    apy_stream_wanted_t wanted = {endpoint, stream_id, session_id};
    return apy_core_call(conductor, add_stream, &wanted);
}

int apy_conductor_remove_stream(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                const int32_t *session_id)
{
    apy_stream_wanted_t wanted = {endpoint, stream_id, session_id};
    return apy_core_call(conductor, remove_stream, &wanted);
}

int apy_conductor_refuse_image(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                               int32_t session_id)
{
    apy_stream_wanted_t refused = {endpoint, stream_id, &session_id};
    return apy_core_call(conductor, refuse_image, &refused);
}

/* --- images --- */

static int add_image(void *owner, void *argument)
{
    apy_conductor_t *conductor = owner;
    const apy_core_image_t *image = argument;
    apy_core_image_t *entry = apy_core_list_add(&conductor->images);
    if (entry == NULL) {
        return APY_E_MEMORY;
    }
    *entry = *image;
    const int rc = apy_receiver_add_image(conductor->receiver, image->endpoint, image->image);
    if (rc < 0) {
        apy_core_list_remove(&conductor->images, conductor->images.count - 1);
    }
    return rc;
}

static int join_image(void *owner, void *argument)
{
    (void)owner;
    apy_joining_t *joining = argument;
    if (!apy_image_is_accepting(joining->resource)) {
        return 0;
    }
    const int64_t join_position = apy_image_join_position(joining->resource);
    apy_store_release_i64(joining->subscriber->position, join_position);
    const int rc = apy_image_add_subscriber(joining->resource, joining->subscriber);
    if (rc < 0) {
        return rc;
    }
    *joining->join_position = join_position;
    return 1;
}

static int leave_image(void *owner, void *argument)
{
    (void)owner;
    const apy_joining_t *leaving = argument;
    apy_subscriber_t removed;
    return apy_image_remove_subscriber(leaving->resource, leaving->registration_id, &removed);
}

typedef struct apy_rejection {
    apy_image_t *image;
    const char *reason;
    int32_t length;
} apy_rejection_t;

static int reject_image(void *owner, void *argument)
{
    (void)owner;
    const apy_rejection_t *rejection = argument;
    apy_image_reject(rejection->image, rejection->reason, rejection->length);
    return APY_OK;
}

typedef struct apy_response {
    apy_image_t *image;
    const int32_t *session_id;
} apy_response_t;

static int set_response(void *owner, void *argument)
{
    (void)owner;
    const apy_response_t *response = argument;
    apy_image_set_response(response->image, response->session_id);
    return APY_OK;
}

int apy_conductor_add_image(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, apy_image_t *image,
                            int32_t stream_id, int32_t session_id)
{
    apy_core_image_t entry = {.image = image, .endpoint = endpoint, .stream_id = stream_id, .session_id = session_id};
    return apy_core_call(conductor, add_image, &entry);
}

int apy_conductor_join_image(apy_conductor_t *conductor, apy_image_t *image, const apy_subscriber_t *subscriber,
                             int64_t *join_position)
{
    apy_joining_t joining = {image, subscriber, join_position, 0};
    return apy_core_call(conductor, join_image, &joining);
}

int apy_conductor_leave_image(apy_conductor_t *conductor, apy_image_t *image, int64_t registration_id)
{
    apy_joining_t leaving = {image, NULL, NULL, registration_id};
    return apy_core_call(conductor, leave_image, &leaving);
}

int apy_conductor_set_response(apy_conductor_t *conductor, apy_image_t *image, const int32_t *session_id)
{
    apy_response_t response = {image, session_id};
    return apy_core_call(conductor, set_response, &response);
}

int apy_conductor_reject_image(apy_conductor_t *conductor, apy_image_t *image, const char *reason, int32_t length)
{
    apy_rejection_t rejection = {image, reason, length};
    return apy_core_call(conductor, reject_image, &rejection);
}
