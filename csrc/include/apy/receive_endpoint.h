#ifndef APY_RECEIVE_ENDPOINT_H
#define APY_RECEIVE_ENDPOINT_H

#include <stdint.h>

#include "apy/driver_context.h"
#include "apy/udp_channel.h"

/*
 * receive_endpoint is what the subscriptions of one channel share: a receiver id, a group tag, the dispatcher that
 * knows which streams are wanted, and the destinations (receive_destination.h) that bring datagrams in. That of an
 * ordinary subscription has one for its life, that of a multi-destination one any number.
 *
 * Threads: create and free by the decision thread, while the receiver does not know it; the rest belongs to the
 * receiver.  Allocates: in create, and when streams and destinations are added.  Blocks: never.
 */

typedef struct apy_receive_endpoint apy_receive_endpoint_t;

int apy_receive_endpoint_create(apy_driver_context_t *context, const apy_udp_channel_t *channel, int64_t id,
                                int64_t *status, apy_receive_endpoint_t **endpoint);
int64_t apy_receive_endpoint_id(const apy_receive_endpoint_t *endpoint);
/* Its destinations are freed by who opened them. */
void apy_receive_endpoint_free(apy_receive_endpoint_t *endpoint);

#endif
