#include "apy/flow_control.h"

#include <stddef.h>

#define INITIAL_WINDOW_LENGTH 131072 /* the protocol's default, whatever is configured */

static int64_t furthest(void *state, int64_t limit, int64_t position, int32_t window, int64_t now_ns)
{
    (void)state;
    (void)now_ns;
    return position + window > limit ? position + window : limit;
}

static int64_t unchanged(void *state, int64_t limit, int64_t now_ns)
{
    (void)state;
    (void)now_ns;
    return limit;
}

static bool none_required(const void *state)
{
    (void)state;
    return true;
}

static const apy_flow_control_strategy_t unicast = {furthest, unchanged, none_required, 16};
static const apy_flow_control_strategy_t multicast_max = {furthest, unchanged, none_required, 4};

void apy_flow_control_unicast(apy_flow_control_t *flow_control)
{
    *flow_control = (apy_flow_control_t){&unicast, NULL};
}

void apy_flow_control_max(apy_flow_control_t *flow_control)
{
    *flow_control = (apy_flow_control_t){&multicast_max, NULL};
}

int32_t apy_flow_control_retransmit_length(const apy_flow_control_t *flow_control, int32_t term_length,
                                           int32_t term_offset, int32_t length)
{
    const int32_t window = term_length / 2 < INITIAL_WINDOW_LENGTH ? term_length / 2 : INITIAL_WINDOW_LENGTH;
    const int32_t length_max = window * flow_control->strategy->retransmit_window_multiple;
    const int32_t term_left = term_length - term_offset;
    const int32_t capped = length < length_max ? length : length_max;
    return capped < term_left ? capped : term_left;
}
