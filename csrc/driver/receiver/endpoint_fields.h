#ifndef APY_ENDPOINT_FIELDS_H
#define APY_ENDPOINT_FIELDS_H

#include "apy/dispatcher.h"
#include "apy/frame.h"
#include "apy/receive_destination.h"
#include "apy/receive_endpoint.h"
#include "apy/udp_transport.h"

/*
 * endpoint_fields is a receive endpoint and its destinations as the receiver's files share them.
 *
 * A destination has the index of its slot in the endpoint, and each image of the endpoint a connection of the same
 * index: from a datagram to its connection nothing is searched.
 */

struct apy_receive_endpoint {
    apy_driver_context_t *context;
    apy_udp_channel_t channel;
    int64_t id;
    int64_t *status;
    int64_t receiver_id;
    apy_dispatcher_t dispatcher;
    apy_receive_destination_t **destinations; /* slots: NULL where one was removed */
    int32_t slot_count;
};

struct apy_receive_destination {
    apy_receive_endpoint_t *endpoint;
    apy_udp_channel_t channel;
    int64_t id;
    apy_udp_transport_t transport;
    int32_t channel_timestamp_offset, media_timestamp_offset;
    bool has_timestamps;

    int32_t index;                   /* -1: not added yet */
    struct sockaddr_storage control; /* explicit or multicast: known without a datagram; else ss_family 0 */
    int64_t time_of_last_activity_ns;
    int64_t time_of_last_elicitation_ns;
};

/* A status message with room for the tag that those of a group carry. */
typedef struct apy_tagged_sm {
    apy_sm_t sm;
    uint8_t group_tag[sizeof(int64_t)];
} apy_tagged_sm_t;

/* Fill in what is the same for each of an endpoint: length, type, receiver id, tag. */
void apy_receive_endpoint_begin_sm(const apy_receive_endpoint_t *endpoint, apy_tagged_sm_t *frame);
void apy_receive_endpoint_set_status(apy_receive_endpoint_t *endpoint, int64_t status);

/* A slot for one more destination; *index untouched on failure. */
int apy_receive_endpoint_reserve(apy_receive_endpoint_t *endpoint, int32_t *index);

/* Where answers to a stream from this source go. */
const struct sockaddr_storage *apy_receive_destination_control(const apy_receive_destination_t *destination,
                                                               const struct sockaddr_storage *source);
/* False when the socket was full or failed, which is counted and reported here. */
bool apy_receive_destination_send(apy_receive_destination_t *destination, const struct sockaddr_storage *to,
                                  const void *frame, size_t length);

#endif
