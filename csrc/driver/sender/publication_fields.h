#ifndef APY_PUBLICATION_FIELDS_H
#define APY_PUBLICATION_FIELDS_H

#include "apy/atomic.h"
#include "apy/flow_control.h"
#include "apy/frame.h"
#include "apy/network_publication.h"
#include "apy/retransmit.h"
#include "apy/untethered.h"
#include "live_receivers.h"

/*
 * publication_fields is one network publication as its two agents share it: the sender (network_publication.c)
 * and the conductor core (network_publication_conductor.c) each write their own lines only.
 */

struct apy_network_publication {
    /* constant */
    apy_driver_context_t *context;
    apy_send_endpoint_t *endpoint;
    apy_log_t log;
    apy_network_publication_params_t params;
    bool is_unicast, is_response;
    uint8_t setup_flags;

    /* the sender's */
    _Alignas(2 * APY_CACHE_LINE) struct {
        int64_t position, limit;
        int64_t time_of_last_setup_ns, time_of_last_send_ns;
        bool has_initial_connection, is_setup_elicited;
        bool tracks_limits; /* count the next time that flow control stops it */
        apy_live_receivers_t receivers;
        apy_flow_control_t flow_control;
        apy_retransmit_t retransmit;
        struct sockaddr_storage response_address; /* who asked, with is_response; ss_family 0: nobody yet */
        bool owes_connected;                      /* the inbox had no room for it */
        apy_seat_t seat;                          /* where the sender says that it sleeps */
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
    return (apy_load_acquire_i32(&publication->from_sender.has_receivers) != 0 &&
            apy_flow_control_has_required_receivers(&publication->sender.flow_control)) ||
           (publication->params.spies_simulate_connection &&
            apy_load_acquire_i32(&publication->from_core.has_spies) != 0);
}

/* Tell publishers, and wake those that sleep until this changes. Both agents do. */
static inline void apy_publication_set_connected(apy_network_publication_t *publication, bool is_connected)
{
    apy_log_meta_t *meta = publication->log.meta;
    if (apy_load_relaxed_i32(&meta->is_connected) != (int32_t)is_connected) {
        apy_store_release_i32(&meta->is_connected, is_connected);
        apy_waiters_ring_if_armed(&meta->writers, &publication->context->ringer);
    }
}

/* --- the sender's --- */

/* One turn: returns the bytes that went out. */
int64_t apy_network_publication_send(apy_network_publication_t *publication, int64_t now_ns);
/* The sender is about to sleep: let publishers ring this id. False where they may not; *is_new when announced anew. */
bool apy_network_publication_lie_down(apy_network_publication_t *publication, int64_t id, bool *is_new);
/* Is this where a receiver can be? */
bool apy_network_publication_is_near(const apy_network_publication_t *publication, int64_t position);
/* The frames were checked against the publication's lengths; now_ns is the cycle's. */
void apy_network_publication_on_sm(apy_network_publication_t *publication, const apy_allowance_t *allowance,
                                   int64_t now_ns);
void apy_network_publication_on_setup_wanted(apy_network_publication_t *publication, const apy_allowance_t *allowance,
                                             const struct sockaddr_storage *source);
void apy_network_publication_on_nak(apy_network_publication_t *publication, const apy_nak_t *nak, int64_t now_ns);
void apy_network_publication_on_rttm(apy_network_publication_t *publication, const apy_rttm_t *rttm, int64_t now_ns);
void apy_network_publication_on_rsp_setup(apy_network_publication_t *publication, int32_t response_session_id);
void apy_network_publication_on_err(apy_network_publication_t *publication, const apy_err_t *err, const char *text,
                                    const struct sockaddr_storage *source, int64_t destination_id);

/* --- publication_resend.c --- */

/* As apy_resend_fn: the context is the publication. */
void apy_network_publication_resend(void *context, int32_t term_id, int32_t term_offset, int32_t length,
                                    int64_t now_ns);
/* To whom it sends: as apy_send_endpoint_send. */
int apy_network_publication_transmit(apy_network_publication_t *publication, const struct iovec *datagrams, int count,
                                     int64_t now_ns, int64_t *bytes);

#endif
