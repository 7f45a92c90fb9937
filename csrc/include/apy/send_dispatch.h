#ifndef APY_SEND_DISPATCH_H
#define APY_SEND_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "apy/network_publication.h"
#include "apy/send_endpoint.h"
#include "apy/transport_poller.h"

/*
 * send_dispatch is what the sender does with a send endpoint: datagrams out to all that listen, control frames
 * in to the publication that they name.
 *
 * Threads: the sender; is_group and is_response any.  Allocates: when there are more publications or destinations.  Blocks: never.
 */

/* Group semantics: several receivers may listen. */
bool apy_send_endpoint_is_group(const apy_send_endpoint_t *endpoint);
/* Does each of its publications answer one who asked? */
bool apy_send_endpoint_is_response(const apy_send_endpoint_t *endpoint);

/*
 * How many of the datagrams went out, in order; failures are reported here and count as 0. To the channel's
 * destinations when to is NULL. Data frames may get a time stamp, in place.
 */
int apy_send_endpoint_send(apy_send_endpoint_t *endpoint, const struct sockaddr_storage *to,
                           const struct iovec *datagrams, int count, int64_t now_ns, int64_t *bytes);

/* May datagrams to there travel in trains? As for send; of many destinations each is asked when it is sent to. */
bool apy_send_endpoint_couples(const apy_send_endpoint_t *endpoint, const struct sockaddr_storage *to);

/* Any bytes whatever: checked, counted when refused. */
void apy_send_endpoint_on_datagram(apy_send_endpoint_t *endpoint, const uint8_t *datagram, size_t length,
                                   const struct sockaddr_storage *source, int64_t now_ns);

int apy_send_endpoint_add_publication(apy_send_endpoint_t *endpoint, apy_network_publication_t *publication);
void apy_send_endpoint_remove_publication(apy_send_endpoint_t *endpoint, const apy_network_publication_t *publication);
int apy_send_endpoint_register(apy_send_endpoint_t *endpoint, apy_transport_poller_t *poller);
void apy_send_endpoint_unregister(apy_send_endpoint_t *endpoint, apy_transport_poller_t *poller);

/* Tell the core whose names to look up, since nothing is heard of them. */
void apy_send_endpoint_check_silence(apy_send_endpoint_t *endpoint, int64_t now_ns);
/* Manual destinations; an address of ss_family 0 is not known yet. */
int apy_send_endpoint_add_destination(apy_send_endpoint_t *endpoint, int64_t id, const struct sockaddr_storage *address,
                                      int64_t now_ns);
void apy_send_endpoint_remove_destination(apy_send_endpoint_t *endpoint, int64_t id);
/* A name has another address by now: of a destination, or with -1 the channel's own. */
int apy_send_endpoint_move(apy_send_endpoint_t *endpoint, int64_t destination_id,
                           const struct sockaddr_storage *address);

void apy_send_endpoint_set_status(apy_send_endpoint_t *endpoint, int64_t status);

#endif
