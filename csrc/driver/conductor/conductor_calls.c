#include "apy/atomic.h"
#include "apy/error.h"
#include "conductor_call.h"

/* Decisions about clients and IPC publications. */

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
    return apy_core_call(conductor, add_client, &client);
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
    return apy_core_call(conductor, remove_client, &client_id);
}

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
    return apy_core_call(conductor, add_ipc, publication);
}

int apy_conductor_close_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
{
    return apy_core_call(conductor, close_ipc, publication);
}

int apy_conductor_revoke_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
{
    return apy_core_call(conductor, revoke_ipc, publication);
}

int apy_conductor_reject_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication)
{
    return apy_core_call(conductor, reject_ipc, publication);
}

int apy_conductor_join_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication,
                           const apy_subscriber_t *subscriber, int64_t *join_position)
{
    apy_joining_t joining = {publication, subscriber, join_position, 0};
    return apy_core_call(conductor, join_ipc, &joining);
}

int apy_conductor_leave_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication, int64_t registration_id)
{
    apy_joining_t leaving = {publication, NULL, NULL, registration_id};
    return apy_core_call(conductor, leave_ipc, &leaving);
}
