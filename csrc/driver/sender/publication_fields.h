#ifndef APY_PUBLICATION_FIELDS_H
#define APY_PUBLICATION_FIELDS_H

#include "apy/atomic.h"
#include "apy/flow_control.h"
#include "apy/frame.h"
#include "apy/network_publication.h"
#include "apy/retransmit.h"
#include "apy/untethered.h"

/*
 * publication_fields is one network publication as its two agents share it: the sender (network_publication.c)
 * and the conductor core (network_publication_conductor.c) each write their own lines only.
 */

#define APY_RECEIVERS_MAX 1024 /* that one publication keeps alive; ids come from the network */

/* A receiver that sent a status message. */
typedef struct apy_live_receiver {
    int64_t receiver_id;
    int64_t time_of_last_sm_ns;
} apy_live_receiver_t;

struct apy_network_publication {
    /* constant */
    apy_driver_context_t *context;
    apy_send_endpoint_t *endpoint;
    apy_log_t log;
    apy_network_publication_params_t params;
    bool is_unicast;
    uint8_t setup_flags;

    /* the sender's */
    _Alignas(2 * APY_CACHE_LINE) struct {
        int64_t position, limit;
        int64_t time_of_last_setup_ns, time_of_last_send_ns;
        bool has_initial_connection, is_setup_elicited;
        bool tracks_limits; /* count the next time that flow control stops it */
        apy_live_receiver_t *receivers;
        int32_t receiver_count, receiver_capacity;
        apy_flow_control_t flow_control;
        apy_retransmit_t retransmit;
    } sender;

    /* what the sender tells the core */
    _Alignas(2 * APY_CACHE_LINE) struct {
        int32_t has_receivers;
        int32_t has_unicast_eos; /* the receiver confirmed the end */
    } from_sender;

    /* what the core tells the sender */
    _Alignas(2 * APY_CACHE_LINE) struct {
        int32_t is_end_of_stream, is_revoked, has_spies;
        int64_t max_spy_position;
    } from_core;

    /* the core's */
    _Alignas(2 * APY_CACHE_LINE) struct {
        apy_publication_state_t state;
        bool is_closed; /* no client holds it */
        apy_subscribers_t spies;
        apy_untethered_t untethered;
        int64_t clean_position;
        int64_t paced_position;
        int64_t sender_position_seen, time_of_last_progress_ns;
        int64_t time_of_linger_ns;
    } core;
};

/* May publishers append? Asked by both agents. */
static inline bool apy_publication_has_subscribers(const apy_network_publication_t *publication)
{
    const apy_flow_control_t *flow_control = &publication->sender.flow_control;
    return (apy_load_acquire_i32(&publication->from_sender.has_receivers) != 0 &&
            flow_control->strategy->has_required_receivers(flow_control->state)) ||
           (publication->params.spies_simulate_connection &&
            apy_load_acquire_i32(&publication->from_core.has_spies) != 0);
}

/* --- the sender's --- */

/* One turn: returns the bytes that went out. */
int64_t apy_network_publication_send(apy_network_publication_t *publication, int64_t now_ns);
/* The frames were checked against the publication's lengths; now_ns is the cycle's. */
void apy_network_publication_on_sm(apy_network_publication_t *publication, const apy_sm_t *sm, int64_t now_ns);
void apy_network_publication_on_nak(apy_network_publication_t *publication, const apy_nak_t *nak, int64_t now_ns);
void apy_network_publication_on_rttm(apy_network_publication_t *publication, const apy_rttm_t *rttm);
void apy_network_publication_on_err(apy_network_publication_t *publication, const apy_err_t *err, const char *text,
                                    const struct sockaddr_storage *source);

#endif
