#include "conductor_core.h"

#include <string.h>

#include "apy/atomic.h"
#include "apy/error.h"

/* Decisions: each packs its arguments, and a static function runs them on the core's thread. */

static int call(apy_conductor_t *conductor, apy_call_fn function, void *argument)
{
    return apy_call_slot_call(&conductor->calls, function, conductor, argument);
}

/* --- clients --- */

static int add_client(void *owner, void *argument)
{
    apy_conductor_t *conductor = owner;
    apy_core_client_t *client = apy_core_list_add(&conductor->clients);
    if (client == NULL) {
        return APY_E_MEMORY;
    }
    *client = *(const apy_core_client_t *)argument;
    return APY_OK;
}

int apy_conductor_add_client(apy_conductor_t *conductor, int64_t client_id, int64_t *heartbeat)
{
    apy_core_client_t client = {client_id, heartbeat, false};
    return call(conductor, add_client, &client);
}

static int remove_client(void *owner, void *argument)
{
    apy_conductor_t *conductor = owner;
    const int64_t client_id = *(const int64_t *)argument;
    for (int32_t i = 0; i < conductor->clients.count; i++) {
        if (((apy_core_client_t *)apy_core_at(&conductor->clients, i))->client_id == client_id) {
            apy_core_list_remove(&conductor->clients, i);
            return 1;
        }
    }
    return 0;
}

int apy_conductor_remove_client(apy_conductor_t *conductor, int64_t client_id)
{
    return call(conductor, remove_client, &client_id);
}

/* --- subscribers of any resource --- */

typedef struct apy_joining {
    void *resource;
    const apy_subscriber_t *subscriber;
    int64_t *join_position;
    int64_t registration_id;
} apy_joining_t;

/* --- IPC publications --- */

static int add_ipc(void *owner, void *argument)
{
    apy_conductor_t *conductor = owner;
    apy_ipc_publication_t **item = apy_core_list_add(&conductor->ipc_publications);
    if (item == NULL) {
        return APY_E_MEMORY;
    }
    *item = argument;
    return APY_OK;
}

static int close_ipc(void *owner, void *argument)
{
    (void)owner;
    apy_ipc_publication_close(argument);
    return APY_OK;
}

static int revoke_ipc(void *owner, void *argument)
{
    (void)owner;
    apy_ipc_publication_revoke(argument);
    return APY_OK;
}

static int reject_ipc(void *owner, void *argument)
{
    const apy_conductor_t *conductor = owner;
    apy_ipc_publication_reject(argument, apy_nano_time(&conductor->context->clock));
    return APY_OK;
}

static int join_ipc(void *owner, void *argument)
{
    (void)owner;
    apy_joining_t *joining = argument;
    return apy_ipc_publication_add_subscriber(joining->resource, joining->subscriber, joining->join_position);
}

static int leave_ipc(void *owner, void *argument)
{
    (void)owner;
    const apy_joining_t *leaving = argument;
    apy_subscriber_t removed;
    return apy_ipc_publication_remove_subscriber(leaving->resource, leaving->registration_id, &removed);
}

int apy_conductor_add_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
{
    return call(conductor, add_ipc, publication);
}

int apy_conductor_close_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
{
    return call(conductor, close_ipc, publication);
}

int apy_conductor_revoke_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
{
    return call(conductor, revoke_ipc, publication);
}

int apy_conductor_reject_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
{
    return call(conductor, reject_ipc, publication);
}

int apy_conductor_join_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication,
                           const apy_subscriber_t *subscriber, int64_t *join_position)
{
    apy_joining_t joining = {publication, subscriber, join_position, 0};
    return call(conductor, join_ipc, &joining);
}

int apy_conductor_leave_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication, int64_t registration_id)
{
    apy_joining_t leaving = {publication, NULL, NULL, registration_id};
    return call(conductor, leave_ipc, &leaving);
}

/* --- network publications --- */

static int add_send_endpoint(void *owner, void *argument)
{
    return apy_sender_add_endpoint(((apy_conductor_t *)owner)->sender, argument);
}

static int remove_send_endpoint(void *owner, void *argument)
{
    return apy_sender_remove_endpoint(((apy_conductor_t *)owner)->sender, argument);
}

static int add_publication(void *owner, void *argument)
{
    apy_conductor_t *conductor = owner;
    apy_core_publication_t *entry = apy_core_list_add(&conductor->publications);
    if (entry == NULL) {
        return APY_E_MEMORY;
    }
    entry->publication = argument;
    const int rc = apy_sender_add_publication(conductor->sender, argument);
    if (rc < 0) {
        apy_core_list_remove(&conductor->publications, conductor->publications.count - 1);
    }
    return rc;
}

static int close_publication(void *owner, void *argument)
{
    const apy_conductor_t *conductor = owner;
    apy_network_publication_close(argument, apy_nano_time(&conductor->context->clock));
    return APY_OK;
}

static int revoke_publication(void *owner, void *argument)
{
    (void)owner;
    apy_network_publication_revoke(argument);
    return APY_OK;
}

/* A draining one takes more while it has some: they hold it open. */
static bool takes_spies(const apy_network_publication_t *publication)
{
    int64_t least, most;
    const apy_publication_state_t state = apy_network_publication_state(publication);
    return state == APY_PUBLICATION_ACTIVE ||
           (state == APY_PUBLICATION_DRAINING &&
            apy_subscribers_range(apy_network_publication_spies(publication), &least, &most) > 0);
}

static int join_publication(void *owner, void *argument)
{
    (void)owner;
    apy_joining_t *joining = argument;
    int64_t join_position;
    if (!takes_spies(joining->resource)) {
        return 0;
    }
    const int rc = apy_network_publication_add_spy(joining->resource, joining->subscriber, &join_position);
    if (rc < 0) {
        return rc;
    }
    *joining->join_position = join_position;
    return 1;
}

static int leave_publication(void *owner, void *argument)
{
    (void)owner;
    const apy_joining_t *leaving = argument;
    apy_subscriber_t removed;
    return apy_network_publication_remove_spy(leaving->resource, leaving->registration_id, &removed);
}

int apy_conductor_add_send_endpoint(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint)
{
    return call(conductor, add_send_endpoint, endpoint);
}

int apy_conductor_remove_send_endpoint(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint)
{
    return call(conductor, remove_send_endpoint, endpoint);
}

int apy_conductor_add_publication(apy_conductor_t *conductor, apy_network_publication_t *publication)
{
    return call(conductor, add_publication, publication);
}

int apy_conductor_close_publication(apy_conductor_t *conductor, apy_network_publication_t *publication)
{
    return call(conductor, close_publication, publication);
}

int apy_conductor_revoke_publication(apy_conductor_t *conductor, apy_network_publication_t *publication)
{
    return call(conductor, revoke_publication, publication);
}

int apy_conductor_join_publication(apy_conductor_t *conductor, apy_network_publication_t *publication,
                                   const apy_subscriber_t *spy, int64_t *join_position)
{
    apy_joining_t joining = {publication, spy, join_position, 0};
    return call(conductor, join_publication, &joining);
}

int apy_conductor_leave_publication(apy_conductor_t *conductor, apy_network_publication_t *publication,
                                    int64_t registration_id)
{
    apy_joining_t leaving = {publication, NULL, NULL, registration_id};
    return call(conductor, leave_publication, &leaving);
}

/* --- receive endpoints and their streams --- */

typedef struct apy_stream_wanted {
    apy_receive_endpoint_t *endpoint;
    int32_t stream_id;
    const int32_t *session_id;
} apy_stream_wanted_t;

static int add_receive_endpoint(void *owner, void *argument)
{
    return apy_receiver_add_endpoint(((apy_conductor_t *)owner)->receiver, argument);
}

static int remove_receive_endpoint(void *owner, void *argument)
{
    return apy_receiver_remove_endpoint(((apy_conductor_t *)owner)->receiver, argument);
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

int apy_conductor_add_receive_endpoint(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint)
{
    return call(conductor, add_receive_endpoint, endpoint);
}

int apy_conductor_remove_receive_endpoint(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint)
{
    return call(conductor, remove_receive_endpoint, endpoint);
}

int apy_conductor_add_stream(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                             const int32_t *session_id)
{
    apy_stream_wanted_t wanted = {endpoint, stream_id, session_id};
    return call(conductor, add_stream, &wanted);
}

int apy_conductor_remove_stream(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                const int32_t *session_id)
{
    apy_stream_wanted_t wanted = {endpoint, stream_id, session_id};
    return call(conductor, remove_stream, &wanted);
}

int apy_conductor_refuse_image(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                               int32_t session_id)
{
    apy_stream_wanted_t refused = {endpoint, stream_id, &session_id};
    return call(conductor, refuse_image, &refused);
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

int apy_conductor_add_image(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, apy_image_t *image,
                            int32_t stream_id, int32_t session_id)
{
    apy_core_image_t entry = {.image = image, .endpoint = endpoint, .stream_id = stream_id, .session_id = session_id};
    return call(conductor, add_image, &entry);
}

int apy_conductor_join_image(apy_conductor_t *conductor, apy_image_t *image, const apy_subscriber_t *subscriber,
                             int64_t *join_position)
{
    apy_joining_t joining = {image, subscriber, join_position, 0};
    return call(conductor, join_image, &joining);
}

int apy_conductor_leave_image(apy_conductor_t *conductor, apy_image_t *image, int64_t registration_id)
{
    apy_joining_t leaving = {image, NULL, NULL, registration_id};
    return call(conductor, leave_image, &leaving);
}

int apy_conductor_reject_image(apy_conductor_t *conductor, apy_image_t *image, const char *reason, int32_t length)
{
    apy_rejection_t rejection = {image, reason, length};
    return call(conductor, reject_image, &rejection);
}
