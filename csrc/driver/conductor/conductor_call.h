#ifndef APY_CONDUCTOR_CALL_H
#define APY_CONDUCTOR_CALL_H

#include "conductor_core.h"

/*
 * conductor_call is how a decision reaches the core: each packs its arguments, and a static function runs them on
 * the core's thread. Those of clients and IPC are in conductor_calls.c, of the sending side in send_calls.c, of the
 * receiving side in receive_calls.c.
 *
 * Threads: the decision thread.  Allocates: never.  Blocks: for at most a cycle of the core.
 */

static inline int apy_core_call(apy_conductor_t *conductor, apy_call_fn function, void *argument)
{
    return apy_call_slot_call(&conductor->calls, function, conductor, argument);
}

/* A subscriber of any resource that comes or goes. */
typedef struct apy_joining {
    void *resource;
    const apy_subscriber_t *subscriber;
    int64_t *join_position;
    int64_t registration_id;
} apy_joining_t;

#endif
