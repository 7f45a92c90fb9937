#include "apy/receive_endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "apy/channel_status.h"
#include "apy/error.h"
#include "endpoint_fields.h"

int apy_receive_endpoint_create(apy_driver_context_t *context, const apy_udp_channel_t *channel, int64_t id,
                                int64_t *status, apy_receive_endpoint_t **endpoint)
{
    apy_receive_endpoint_t *created = calloc(1, sizeof(*created));
    if (created == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for a receive endpoint");
    }
    created->context = context;
    created->channel = *channel;
    created->id = id;
    created->status = status;
    created->receiver_id = apy_fetch_add_i64(&context->next_receiver_id, 1);
    *endpoint = created;
    return APY_OK;
}

void apy_receive_endpoint_free(apy_receive_endpoint_t *endpoint)
{
    if (endpoint != NULL) {
        apy_dispatcher_free(&endpoint->dispatcher);
        free(endpoint->destinations);
        free(endpoint);
    }
}

int64_t apy_receive_endpoint_id(const apy_receive_endpoint_t *endpoint)
{
    return endpoint->id;
}

void apy_receive_endpoint_set_status(apy_receive_endpoint_t *endpoint, int64_t status)
{
    apy_store_release_i64(endpoint->status, status);
}

int apy_receive_endpoint_reserve(apy_receive_endpoint_t *endpoint, int32_t *index)
{
    for (int32_t i = 0; i < endpoint->slot_count; i++) {
        if (endpoint->destinations[i] == NULL) {
            *index = i;
            return APY_OK;
        }
    }
    const int32_t count = endpoint->slot_count + 1;
    apy_receive_destination_t **grown = realloc(endpoint->destinations, (size_t)count * sizeof(*grown));
    if (grown == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for %d destinations of a receive endpoint", count);
    }
    grown[endpoint->slot_count] = NULL;
    endpoint->destinations = grown;
    *index = endpoint->slot_count;
    endpoint->slot_count = count;
    return APY_OK;
}

void apy_receive_endpoint_begin_sm(const apy_receive_endpoint_t *endpoint, apy_tagged_sm_t *frame)
{
    const bool has_tag = endpoint->channel.has_group_tag;
    frame->sm = (apy_sm_t){
        .length = (int32_t)(has_tag ? sizeof(*frame) : sizeof(frame->sm)),
        .type = APY_FRAME_SM,
        .receiver_id = endpoint->receiver_id,
    };
    memcpy(frame->group_tag, &endpoint->channel.group_tag, sizeof(frame->group_tag));
}
