#ifndef APY_IPC_PUBLICATION_H
#define APY_IPC_PUBLICATION_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/driver_context.h"
#include "apy/log_buffer.h"
#include "apy/network_publication.h"
#include "apy/subscribers.h"

/*
 * ipc_publication is a log whose readers map it themselves: no wire, only a limit that follows the readers.
 *
 * Threads: create and free by the decision thread, while the conductor core does not know it; the rest by
 * the core.  Allocates: in create, and when subscribers are added.  Blocks: never.
 */

typedef struct apy_ipc_publication apy_ipc_publication_t;

typedef struct apy_ipc_publication_params {
    int64_t registration_id;
    int64_t start_position;
    int32_t window_length;
    bool exclusive;
    int64_t untethered_window_limit_ns, untethered_linger_ns, untethered_resting_ns;
    int64_t *pub_pos, *pub_lmt; /* counter values, at the start position */
} apy_ipc_publication_params_t;

/* What a timer tick changed. */
enum {
    APY_IPC_TICK_NOTHING = 0,
    APY_IPC_TICK_UNAVAILABLE = 1, /* drained or revoked: each subscriber gets "unavailable image" */
    APY_IPC_TICK_RELEASE = 2,     /* over: free it */
    APY_IPC_TICK_COOLED_DOWN = 4  /* a rejection is over: who matches may join again */
};

/* Takes the log over: closed in free, but the file is the caller's to delete. */
int apy_ipc_publication_create(apy_driver_context_t *context, apy_log_t *log,
                               const apy_ipc_publication_params_t *params, apy_ipc_publication_t **publication);
void apy_ipc_publication_free(apy_ipc_publication_t *publication);

/* Every cycle: pub-pos, pub-lmt, cleaning. Returns work done. */
int apy_ipc_publication_update(apy_ipc_publication_t *publication);
/* Bytes that came into the log since this was last asked, and the window that they use up: see pace.h. */
int64_t apy_ipc_publication_moved(apy_ipc_publication_t *publication, int64_t *window);
/* Every timer interval: the state machine of 20 section 17.1. Returns APY_IPC_TICK_* bits. */
int apy_ipc_publication_on_timer(apy_ipc_publication_t *publication, int64_t now_ns);

/* The last client reference is gone. */
void apy_ipc_publication_close(apy_ipc_publication_t *publication);
void apy_ipc_publication_revoke(apy_ipc_publication_t *publication);
/* A subscriber refused the stream: nobody reads until the cool-down is over. The subscribers are dropped. */
void apy_ipc_publication_reject(apy_ipc_publication_t *publication, int64_t now_ns);

/* 1: joined, *join_position set and stored in the subscriber's counter; 0: takes no subscribers now. */
int apy_ipc_publication_add_subscriber(apy_ipc_publication_t *publication, const apy_subscriber_t *subscriber,
                                       int64_t *join_position);
/* 1: *removed filled; 0: it was not there. */
int apy_ipc_publication_remove_subscriber(apy_ipc_publication_t *publication, int64_t registration_id,
                                          apy_subscriber_t *removed);

apy_publication_state_t apy_ipc_publication_state(const apy_ipc_publication_t *publication);
int64_t apy_ipc_publication_id(const apy_ipc_publication_t *publication);
const apy_subscribers_t *apy_ipc_publication_subscribers(const apy_ipc_publication_t *publication);

#endif
