#ifndef APY_CONDUCTOR_H
#define APY_CONDUCTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/driver_context.h"
#include "apy/image.h"
#include "apy/ipc_publication.h"
#include "apy/mpsc_ring.h"
#include "apy/network_publication.h"
#include "apy/receiver.h"
#include "apy/sender.h"

/*
 * conductor is the native half of the driver's conductor: heartbeats, deadlines, limits, rebuilding. What needs
 * a decision it puts into an event ring; decisions come back as calls that run between two of its cycles.
 *
 * It never waits for the decider: when the event ring has no room, clients' commands stay in their ring and
 * resources keep their state until there is room again, while streams flow on.
 *
 * Threads: do_work by the core's thread; create and free while it does not run; everything else by the one
 * decision thread.  Allocates: when lists grow.  Blocks: do_work never; calls for at most a cycle of the core.
 */

typedef struct apy_conductor apy_conductor_t;

/* ring: where clients' commands come in. */
int apy_conductor_create(apy_driver_context_t *context, apy_mpsc_ring_t *ring, apy_sender_t *sender,
                         apy_receiver_t *receiver, apy_conductor_t **conductor);
/* What it still knows is freed with it: publications, images and their endpoints go first. */
void apy_conductor_free(apy_conductor_t *conductor);
int apy_conductor_do_work(void *conductor);
/* Its thread is about to doze, or is up again: clients ring it through the bell of their command ring, but foreign ones. */
int64_t apy_conductor_lie_down(void *conductor);
void apy_conductor_get_up(void *conductor);

/* A thread runs do_work from now on, or does no more: how calls reach the core. */
void apy_conductor_set_threaded(apy_conductor_t *conductor, bool is_threaded);

/* --- events --- */

/* Sleep until there may be events, at most timeout_ns; true when woken. */
bool apy_conductor_wait(apy_conductor_t *conductor, int64_t timeout_ns);
void apy_conductor_wake(apy_conductor_t *conductor); /* any thread */
int apy_conductor_read(apy_conductor_t *conductor, apy_ring_handler handler, void *context, int limit);

/* --- decisions: each runs on the core's thread --- */

/* heartbeat: the value of the client's counter. */
int apy_conductor_add_client(apy_conductor_t *conductor, int64_t client_id, int64_t *heartbeat);
int apy_conductor_remove_client(apy_conductor_t *conductor, int64_t client_id);

int apy_conductor_add_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication);
int apy_conductor_close_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication);
int apy_conductor_revoke_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication);
int apy_conductor_reject_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication);
/* As the functions of ipc_publication.h: 1 or 0. */
int apy_conductor_join_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication,
                           const apy_subscriber_t *subscriber, int64_t *join_position);
int apy_conductor_leave_ipc(apy_conductor_t *conductor, apy_ipc_publication_t *publication, int64_t registration_id);

/* APY_E_FULL: the agent's queue has no room now, nothing was done, try again. */
int apy_conductor_add_send_endpoint(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint);
int apy_conductor_remove_send_endpoint(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint);
int apy_conductor_add_send_destination(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint, int64_t id,
                                       const struct sockaddr_storage *address);
int apy_conductor_remove_send_destination(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint, int64_t id);
/* A name has another address by now: of a destination, or with -1 the channel's own. */
int apy_conductor_move_send_endpoint(apy_conductor_t *conductor, apy_send_endpoint_t *endpoint, int64_t destination_id,
                                     const struct sockaddr_storage *address);
int apy_conductor_add_publication(apy_conductor_t *conductor, apy_network_publication_t *publication);
int apy_conductor_close_publication(apy_conductor_t *conductor, apy_network_publication_t *publication);
int apy_conductor_revoke_publication(apy_conductor_t *conductor, apy_network_publication_t *publication);
int apy_conductor_join_publication(apy_conductor_t *conductor, apy_network_publication_t *publication,
                                   const apy_subscriber_t *spy, int64_t *join_position);
int apy_conductor_leave_publication(apy_conductor_t *conductor, apy_network_publication_t *publication,
                                    int64_t registration_id);

/* With all its destinations. */
int apy_conductor_remove_receive_endpoint(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint);
int apy_conductor_add_receive_destination(apy_conductor_t *conductor, apy_receive_destination_t *destination);
int apy_conductor_remove_receive_destination(apy_conductor_t *conductor, apy_receive_destination_t *destination);
/* Its explicit control address is this one now. */
int apy_conductor_set_receive_control(apy_conductor_t *conductor, apy_receive_destination_t *destination,
                                      const struct sockaddr_storage *control);

/* Which streams of an endpoint are wanted: session_id NULL means all sessions. */
int apy_conductor_add_stream(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                             const int32_t *session_id);
int apy_conductor_remove_stream(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                                const int32_t *session_id);
int apy_conductor_add_image(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, apy_image_t *image,
                            int32_t stream_id, int32_t session_id);
int apy_conductor_refuse_image(apy_conductor_t *conductor, apy_receive_endpoint_t *endpoint, int32_t stream_id,
                               int32_t session_id);
int apy_conductor_join_image(apy_conductor_t *conductor, apy_image_t *image, const apy_subscriber_t *subscriber,
                             int64_t *join_position);
int apy_conductor_leave_image(apy_conductor_t *conductor, apy_image_t *image, int64_t registration_id);
/* The session that answers the stream; NULL: no more to be told. */
int apy_conductor_set_response(apy_conductor_t *conductor, apy_image_t *image, const int32_t *session_id);
int apy_conductor_reject_image(apy_conductor_t *conductor, apy_image_t *image, const char *reason, int32_t length);

#endif
