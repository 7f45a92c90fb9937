#ifndef APY_RECEIVE_ENDPOINT_H
#define APY_RECEIVE_ENDPOINT_H

#include <stdint.h>

#include "apy/driver_context.h"
#include "apy/udp_channel.h"

/*
 * receive_endpoint owns the socket that the subscriptions of one channel receive on, and the dispatcher
 * that knows which streams are wanted.
 *
 * Threads: as send_endpoint, with the receiver.  Allocates: in open, and when streams are added.
 * Blocks: never.
 */

typedef struct apy_receive_endpoint apy_receive_endpoint_t;

int apy_receive_endpoint_open(apy_driver_context_t *context, const apy_udp_channel_t *channel, int64_t id,
                              int64_t *status, apy_receive_endpoint_t **endpoint);
const struct sockaddr_storage *apy_receive_endpoint_bound_address(const apy_receive_endpoint_t *endpoint);
int64_t apy_receive_endpoint_id(const apy_receive_endpoint_t *endpoint);
void apy_receive_endpoint_free(apy_receive_endpoint_t *endpoint);

#endif
