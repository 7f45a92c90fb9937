#ifndef APY_NETWORK_PUBLICATION_H
#define APY_NETWORK_PUBLICATION_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/driver_context.h"
#include "apy/flow_control.h"
#include "apy/log_buffer.h"
#include "apy/send_endpoint.h"
#include "apy/subscribers.h"

/*
 * network_publication drains one log to the wire (sender) and lives through its states (conductor core).
 *
 * Threads: create and free by the decision thread, while no agent knows it; functions say whose they are.
 * Fields of the two agents lie on cache lines of their own.  Allocates: in create.  Blocks: never.
 */

typedef struct apy_network_publication apy_network_publication_t;

typedef enum apy_publication_state {
    APY_PUBLICATION_ACTIVE,
    APY_PUBLICATION_DRAINING,
    APY_PUBLICATION_LINGER,
    APY_PUBLICATION_DONE
} apy_publication_state_t;

typedef struct apy_network_publication_params {
    int64_t registration_id;
    int32_t session_id, stream_id;
    int32_t initial_term_id;
    int64_t start_position;
    int32_t window_length;
    int64_t linger_ns;
    int32_t max_resend;
    bool exclusive, signal_eos, spies_simulate_connection, send_response_setup;
    int64_t untethered_window_limit_ns, untethered_linger_ns, untethered_resting_ns;
    int32_t ttl;
    apy_flow_control_params_t flow_control;
    int64_t *pub_pos, *pub_lmt, *snd_pos, *snd_lmt, *snd_bpe, *naks_received; /* counter values */
} apy_network_publication_params_t;

/* Takes the log over: closed in free, but the file is the caller's to delete. */
int apy_network_publication_create(apy_driver_context_t *context, apy_send_endpoint_t *endpoint, apy_log_t *log,
                                   const apy_network_publication_params_t *params,
                                   apy_network_publication_t **publication);
void apy_network_publication_free(apy_network_publication_t *publication);

/* --- the core's --- */

/* What a timer tick changed, for the conductor to tell Python. */
enum {
    APY_TICK_NOTHING = 0,
    APY_TICK_SPIES_DRAINED = 1, /* each spy gets "unavailable image" and is unlinked */
    APY_TICK_RELEASE = 2        /* over: remove it from the sender, then free it */
};

/* Every cycle: pub-pos, pub-lmt, cleaning. Returns work done. */
int apy_network_publication_update(apy_network_publication_t *publication, int64_t now_ns);
/* Bytes that came into the log since this was last asked, and the window that they use up: see pace.h. */
int64_t apy_network_publication_moved(apy_network_publication_t *publication, int64_t *window);
/* Every timer interval: the state machine of 30 section 3.12. Returns APY_TICK_* bits. */
int apy_network_publication_on_timer(apy_network_publication_t *publication, int64_t now_ns);
/* The last client reference is gone. */
void apy_network_publication_close(apy_network_publication_t *publication, int64_t now_ns);
void apy_network_publication_revoke(apy_network_publication_t *publication);
apy_publication_state_t apy_network_publication_state(const apy_network_publication_t *publication);
int64_t apy_network_publication_id(const apy_network_publication_t *publication);
/* Spies hold back the limit; the join position is returned in *join_position. */
int apy_network_publication_add_spy(apy_network_publication_t *publication, const apy_subscriber_t *spy,
                                    int64_t *join_position);
int apy_network_publication_remove_spy(apy_network_publication_t *publication, int64_t registration_id,
                                       apy_subscriber_t *removed);
const apy_subscribers_t *apy_network_publication_spies(const apy_network_publication_t *publication);

#endif
