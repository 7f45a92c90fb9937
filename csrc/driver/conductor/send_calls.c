#include "apy/atomic.h"
#include "apy/error.h"
#include "conductor_call.h"

/* Decisions about send endpoints and network publications. */

static int add_send_endpoint(void *owner, void *argument)
{
    return apy_sender_add_endpoint(((apy_conductor_t *)owner)->sender, argument);
}

static int remove_send_endpoint(void *owner, void *argument)
{
    return apy_sender_remove_endpoint(((apy_conductor_t *)owner)->sender, argument);
}

typedef struct apy_send_destination_call {
    apy_send_endpoint_t *endpoint;
    int64_t id;
    const struct sockaddr_storage *address;
} apy_send_destination_call_t;

static int add_send_destination(void *owner, void *argument)
{
    const apy_send_destination_call_t *added = argument;
    return apy_sender_add_destination(((apy_conductor_t *)owner)->sender, added->endpoint, added->id, added->address);
}

static int remove_send_destination(void *owner, void *argument)
{
    const apy_send_destination_call_t *removed = argument;
    return apy_sender_remove_destination(((apy_conductor_t *)owner)->sender, removed->endpoint, removed->id);
}

static int move_send_endpoint(void *owner, void *argument)
{
    const apy_send_destination_call_t *moved = argument;
    return apy_sender_move(((apy_conductor_t *)owner)->sender, moved->endpoint, moved->id, moved->address);
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
    return apy_core_call(conductor, add_send_endpoint, endpoint);
}

int apy_conductor_remove_send_endpoint(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint)
{
    return apy_core_call(conductor, remove_send_endpoint, endpoint);
}

int apy_conductor_add_send_destination(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint, int64_t id,
                                       const struct sockaddr_storage *address)
{
    apy_send_destination_call_t added = {endpoint, id, address};
    return apy_core_call(conductor, add_send_destination, &added);
}

int apy_conductor_remove_send_destination(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint, int64_t id)
{
    apy_send_destination_call_t removed = {endpoint, id, NULL};
    return apy_core_call(conductor, remove_send_destination, &removed);
}

int apy_conductor_move_send_endpoint(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint, int64_t destination_id,
                                     const struct sockaddr_storage *address)
{
    apy_send_destination_call_t moved = {endpoint, destination_id, address};
    return apy_core_call(conductor, move_send_endpoint, &moved);
}

int apy_conductor_add_publication(apy_conductor_t *conductor, apy_network_publication_t *publication)
{
    return apy_core_call(conductor, add_publication, publication);
}

int apy_conductor_close_publication(apy_conductor_t *conductor, apy_network_publication_t *publication)
{
    return apy_core_call(conductor, close_publication, publication);
}

int apy_conductor_revoke_publication(apy_conductor_t *conductor, apy_network_publication_t *publication)
{
    return apy_core_call(conductor, revoke_publication, publication);
}

int apy_conductor_join_publication(apy_conductor_t *conductor, apy_network_publication_t *publication,
                                   const apy_subscriber_t *spy, int64_t *join_position)
{
    apy_joining_t joining = {publication, spy, join_position, 0};
    return apy_core_call(conductor, join_publication, &joining);
}

int apy_conductor_leave_publication(apy_conductor_t *conductor, apy_network_publication_t *publication,
                                    int64_t registration_id)
{
    apy_joining_t leaving = {publication, NULL, NULL, registration_id};
    return apy_core_call(conductor, leave_publication, &leaving);
}
