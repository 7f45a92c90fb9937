#ifndef APY_RECEIVE_DISPATCH_H
#define APY_RECEIVE_DISPATCH_H

#include "apy/receive_destination.h"
#include "apy/receiver.h"
#include "apy/transport_poller.h"

/*
 * receive_dispatch is what the receiver does with a datagram of a destination: it goes to the image that it belongs
 * to, or into the handshake that makes one.
 *
 * Threads: the receiver.  Allocates: for new sessions.  Blocks: never.
 */

/* Any bytes whatever: checked, counted when refused. The destination is one that the receiver knows. */
void apy_receiver_on_datagram(apy_receiver_t *receiver, apy_receive_destination_t *destination,
                              const apy_datagram_t *datagram);

#endif
