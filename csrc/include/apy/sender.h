#ifndef APY_SENDER_H
#define APY_SENDER_H

#include "apy/driver_context.h"
#include "apy/network_publication.h"
#include "apy/send_endpoint.h"

/*
 * sender is the agent that drains publications to the wire and hears what receivers answer.
 *
 * Threads: create and free while it does not run; do_work by its thread; the rest by the conductor core,
 * which alone fills the command queue. APY_E_FULL: try again on the next cycle.
 * Allocates: when lists grow.  Blocks: never.
 */

typedef struct apy_sender apy_sender_t;

int apy_sender_create(apy_driver_context_t *context, apy_sender_t **sender);
void apy_sender_free(apy_sender_t *sender);
int apy_sender_do_work(void *sender);
/* Its thread is about to sleep, and is rung by this id: let publishers know; returns how long it may last. */
int64_t apy_sender_lie_down(void *sender);
void apy_sender_set_bell(apy_sender_t *sender, int64_t id);
/* Readable when there are datagrams to take. */
int apy_sender_fd(const apy_sender_t *sender);

int apy_sender_add_endpoint(apy_sender_t *sender, apy_send_endpoint_t *endpoint);
int apy_sender_remove_endpoint(apy_sender_t *sender, apy_send_endpoint_t *endpoint); /* answered: released */
/* Destinations of a channel with control mode manual, by the ids of their adds. */
int apy_sender_add_destination(apy_sender_t *sender, apy_send_endpoint_t *endpoint, int64_t id,
                               const struct sockaddr_storage *address);
int apy_sender_remove_destination(apy_sender_t *sender, apy_send_endpoint_t *endpoint, int64_t id);
/* A name has another address by now: of a destination, or with -1 the channel's own. */
int apy_sender_move(apy_sender_t *sender, apy_send_endpoint_t *endpoint, int64_t destination_id,
                    const struct sockaddr_storage *address);
int apy_sender_add_publication(apy_sender_t *sender, apy_network_publication_t *publication);
int apy_sender_remove_publication(apy_sender_t *sender, apy_network_publication_t *publication); /* answered */

#endif
