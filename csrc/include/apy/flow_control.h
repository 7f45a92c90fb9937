#ifndef APY_FLOW_CONTROL_H
#define APY_FLOW_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * flow_control says how far a publication may send, from what its receivers tell.
 *
 * A strategy is a table of functions over its own state; the sender asks, and keeps the limit.
 *
 * Threads: the sender.  Allocates: never.  Blocks: never.
 */

typedef struct apy_flow_control_strategy {
    /* The limit after a status message that allows window bytes from position on. */
    int64_t (*on_status_message)(void *state, int64_t limit, int64_t position, int32_t window, int64_t now_ns);
    /* The limit after a cycle in which nothing was sent. */
    int64_t (*on_idle)(void *state, int64_t limit, int64_t now_ns);
    bool (*has_required_receivers)(const void *state);
    int32_t retransmit_window_multiple;
} apy_flow_control_strategy_t;

typedef struct apy_flow_control {
    const apy_flow_control_strategy_t *strategy;
    void *state;
} apy_flow_control_t;

/* The furthest that any receiver allows; for one receiver that is what it allows. Never goes back. */
void apy_flow_control_unicast(apy_flow_control_t *flow_control);
void apy_flow_control_max(apy_flow_control_t *flow_control); /* for multicast: resends less at once */

/* How much of a missing range is resent at once. */
int32_t apy_flow_control_retransmit_length(const apy_flow_control_t *flow_control, int32_t term_length,
                                           int32_t term_offset, int32_t length);

#endif
