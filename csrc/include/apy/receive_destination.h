#ifndef APY_RECEIVE_DESTINATION_H
#define APY_RECEIVE_DESTINATION_H

#include <stdint.h>

#include "apy/receive_endpoint.h"
#include "apy/udp_channel.h"

/*
 * receive_destination is one socket of a receive endpoint, and where answers to what it brings are sent.
 *
 * Threads: open, bound_address and free by the decision thread, while the receiver does not know it; the rest
 * belongs to the receiver.  Allocates: in open.  Blocks: never.
 */

typedef struct apy_receive_destination apy_receive_destination_t;

/* Timestamps go where the channel says, or else where the endpoint's does. */
int apy_receive_destination_open(apy_receive_endpoint_t *endpoint, const apy_udp_channel_t *channel, int64_t id,
                                 apy_receive_destination_t **destination);
const struct sockaddr_storage *apy_receive_destination_bound_address(const apy_receive_destination_t *destination);
int64_t apy_receive_destination_id(const apy_receive_destination_t *destination);
void apy_receive_destination_free(apy_receive_destination_t *destination);

#endif
