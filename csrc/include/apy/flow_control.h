#ifndef APY_FLOW_CONTROL_H
#define APY_FLOW_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * flow_control says how far a publication may send, from what its receivers tell.
 *
 * UNICAST and MAX follow the receiver that allows most; MIN the one that allows least; TAGGED the least of those
 * that carry the group's tag. MIN and TAGGED remember receivers until these are silent for the time-out.
 *
 * Threads: init and free while no agent uses it; the sender, but for has_required_receivers: sender and conductor
 * core.  Allocates: when more receivers than ever are remembered.  Blocks: never.
 */

typedef enum apy_flow_control_kind {
    APY_FLOW_UNICAST,
    APY_FLOW_MAX,
    APY_FLOW_MIN,
    APY_FLOW_TAGGED
} apy_flow_control_kind_t;

/* A receiver is waited for from now on, or no more; count of them then. */
typedef void (*apy_flow_change_fn)(void *context, bool is_added, int64_t receiver_id, int32_t count);

typedef struct apy_flow_control_params {
    apy_flow_control_kind_t kind;
    int32_t retransmit_windows; /* that one NAK may ask for */
    int32_t group_min;          /* receivers without which there is no connection */
    int64_t group_tag;
    int64_t receiver_timeout_ns;
    int64_t *receiver_count;      /* value of the counter, or NULL */
    apy_flow_change_fn on_change; /* NULL: nobody is told */
    void *change_context;
} apy_flow_control_params_t;

/* What of a status message counts. */
typedef struct apy_allowance {
    int64_t receiver_id;
    int64_t position;
    int32_t window;
    bool is_end, has_tag;
    int64_t tag;
} apy_allowance_t;

typedef struct apy_flow_receiver {
    int64_t receiver_id;
    int64_t last_position, edge; /* edge: as far as it allows */
    int64_t time_of_last_sm_ns;
    bool is_gone; /* it said so */
} apy_flow_receiver_t;

typedef struct apy_flow_control {
    apy_flow_control_params_t params;
    apy_flow_receiver_t *receivers;
    int32_t receiver_count, receiver_capacity;
    int32_t shared_count; /* receiver_count, for the other agent */
    bool is_setup_awaited;
    int64_t setup_cap; /* the group waits here while a receiver joins; -1: it does not */
    int64_t time_of_setup_ns;
} apy_flow_control_t;

void apy_flow_control_init(apy_flow_control_t *flow_control, const apy_flow_control_params_t *params);
void apy_flow_control_free(apy_flow_control_t *flow_control);

/* Each returns the new limit, given the old one. */
int64_t apy_flow_control_on_sm(apy_flow_control_t *flow_control, const apy_allowance_t *allowance, int64_t limit,
                               int64_t now_ns);
int64_t apy_flow_control_on_idle(apy_flow_control_t *flow_control, int64_t limit, int64_t now_ns);

/* A receiver asked for a SETUP; then one goes out. */
void apy_flow_control_on_setup_wanted(apy_flow_control_t *flow_control, const apy_allowance_t *allowance);
void apy_flow_control_on_setup(apy_flow_control_t *flow_control, int64_t limit, int64_t now_ns);
/* A receiver refused the stream. */
void apy_flow_control_on_error(apy_flow_control_t *flow_control, int64_t receiver_id);

bool apy_flow_control_has_required_receivers(const apy_flow_control_t *flow_control);

/* How much of a missing range is resent at once. */
int32_t apy_flow_control_retransmit_length(const apy_flow_control_t *flow_control, int32_t term_length,
                                           int32_t term_offset, int32_t length);

#endif
