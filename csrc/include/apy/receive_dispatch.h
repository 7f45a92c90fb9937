#ifndef APY_RECEIVE_DISPATCH_H
#define APY_RECEIVE_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apy/dispatcher.h"
#include "apy/receive_endpoint.h"
#include "apy/receiver.h"
#include "apy/transport_poller.h"

/*
 * receive_dispatch is what the receiver does with a receive endpoint: datagrams in to the image that they belong
 * to, or to the handshake that makes one, and answers out.
 *
 * Threads: the receiver; receiver_id any.  Allocates: for new sessions.  Blocks: never.
 */

/* Any bytes whatever: checked, counted when refused. */
void apy_receiver_on_datagram(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, const uint8_t *datagram,
                              size_t length, const struct sockaddr_storage *source);

/* False when the socket was full or failed, which is counted and reported here. */
bool apy_receive_endpoint_send(apy_receive_endpoint_t *endpoint, const struct sockaddr_storage *to, const void *frame,
                               size_t length);
int64_t apy_receive_endpoint_receiver_id(const apy_receive_endpoint_t *endpoint);
const apy_udp_channel_t *apy_receive_endpoint_channel(const apy_receive_endpoint_t *endpoint);
apy_dispatcher_t *apy_receive_endpoint_dispatcher(apy_receive_endpoint_t *endpoint);
/* Where answers to a stream from this source go. */
const struct sockaddr_storage *apy_receive_endpoint_control(const apy_receive_endpoint_t *endpoint,
                                                            const struct sockaddr_storage *source);
int apy_receive_endpoint_register(apy_receive_endpoint_t *endpoint, apy_transport_poller_t *poller);
void apy_receive_endpoint_unregister(apy_receive_endpoint_t *endpoint, apy_transport_poller_t *poller);
void apy_receive_endpoint_set_status(apy_receive_endpoint_t *endpoint, int64_t status);

#endif
