#ifndef APY_RECEIVER_H
#define APY_RECEIVER_H

#include "apy/driver_context.h"
#include "apy/image.h"
#include "apy/receive_destination.h"
#include "apy/receive_endpoint.h"

/*
 * receiver is the agent that takes datagrams, gives them to images, and answers with status messages and NAKs.
 *
 * Threads: create and free while it does not run; do_work by its thread; everything else by the conductor core, and
 * done in a later cycle (APY_E_FULL: the queue has no room now).  Allocates: when lists grow.  Blocks: never.
 */

typedef struct apy_receiver apy_receiver_t;

int apy_receiver_create(apy_driver_context_t *context, apy_receiver_t **receiver);
void apy_receiver_free(apy_receiver_t *receiver);
int apy_receiver_do_work(void *receiver);
/* Readable when there are datagrams to take. */
int apy_receiver_fd(const apy_receiver_t *receiver);

/* With the destinations that it still has; answered: released. */
int apy_receiver_remove_endpoint(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint);
int apy_receiver_add_destination(apy_receiver_t *receiver, apy_receive_destination_t *destination);
int apy_receiver_remove_destination(apy_receiver_t *receiver, apy_receive_destination_t *destination); /* answered */
/* The name of its explicit control address stands for this one now. */
int apy_receiver_set_control(apy_receiver_t *receiver, apy_receive_destination_t *destination,
                             const struct sockaddr_storage *control);

int apy_receiver_add_stream(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id);
int apy_receiver_remove_stream(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id);
/* Asks for it at once where the publisher's address is known, each time. */
int apy_receiver_add_session(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                             int32_t session_id);
int apy_receiver_remove_session(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                int32_t session_id);

int apy_receiver_add_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, apy_image_t *image);
int apy_receiver_remove_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint,
                              apy_image_t *image); /* answered */
/* The conductor made no image for a SETUP: the next one may ask again. */
int apy_receiver_refuse_image(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                              int32_t session_id);
int apy_receiver_remove_cool_down(apy_receiver_t *receiver, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                  int32_t session_id);

#endif
