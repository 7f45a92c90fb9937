#ifndef APY_SEND_ENDPOINT_H
#define APY_SEND_ENDPOINT_H

#include <stdint.h>

#include "apy/driver_context.h"
#include "apy/udp_channel.h"

/*
 * send_endpoint owns the socket that the publications of one channel send from and hear control frames on.
 *
 * Threads: open and free by the decision thread, before the sender knows it and after it was released;
 * the sender in between.  Allocates: in open.  Blocks: never.
 */

typedef struct apy_send_endpoint apy_send_endpoint_t;

/*
 * status is the value of the channel's status counter, destination_count that of the counter of destinations, which
 * a channel with control mode dynamic or manual has.
 */
int apy_send_endpoint_open(apy_driver_context_t *context, const apy_udp_channel_t *channel, int64_t id, int64_t *status,
                           int64_t *destination_count, apy_send_endpoint_t **endpoint);
const struct sockaddr_storage *apy_send_endpoint_bound_address(const apy_send_endpoint_t *endpoint);
int64_t apy_send_endpoint_id(const apy_send_endpoint_t *endpoint);
void apy_send_endpoint_free(apy_send_endpoint_t *endpoint);

#endif
