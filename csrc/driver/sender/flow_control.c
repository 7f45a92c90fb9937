#include "apy/flow_control.h"

#include <stdlib.h>

#include "apy/atomic.h"
#include "apy/clock.h"

#define INITIAL_WINDOW_LENGTH 131072 /* the protocol's default, whatever is configured */
#define RECEIVERS_MAX 1024           /* of one publication; ids come from the network */
#define NO_CAP (-1)

void apy_flow_control_init(apy_flow_control_t *flow_control, const apy_flow_control_params_t *params)
{
    *flow_control = (apy_flow_control_t){.params = *params, .setup_cap = NO_CAP};
}

void apy_flow_control_free(apy_flow_control_t *flow_control)
{
    free(flow_control->receivers);
    flow_control->receivers = NULL;
}

/* --- the group of those that are waited for --- */

static bool is_grouped(const apy_flow_control_t *flow_control)
{
    return flow_control->params.kind == APY_FLOW_MIN || flow_control->params.kind == APY_FLOW_TAGGED;
}

static bool matches(const apy_flow_control_t *flow_control, const apy_allowance_t *allowance)
{
    return flow_control->params.kind == APY_FLOW_MIN ||
           (allowance->has_tag && allowance->tag == flow_control->params.group_tag);
}

static void tell_change(apy_flow_control_t *flow_control, bool is_added, int64_t receiver_id)
{
    if (flow_control->params.on_change != NULL) {
        flow_control->params.on_change(flow_control->params.change_context, is_added, receiver_id,
                                       flow_control->receiver_count);
    }
}

static void tell_count(apy_flow_control_t *flow_control)
{
    apy_store_release_i32(&flow_control->shared_count, flow_control->receiver_count);
    if (flow_control->params.receiver_count != NULL) {
        apy_store_release_i64(flow_control->params.receiver_count, flow_control->receiver_count);
    }
}

static int64_t cap_of(apy_flow_control_t *flow_control, int64_t now_ns)
{
    if (flow_control->setup_cap != NO_CAP &&
        apy_time_after(flow_control->time_of_setup_ns, flow_control->params.receiver_timeout_ns) < now_ns) {
        flow_control->setup_cap = NO_CAP;
    }
    return flow_control->setup_cap == NO_CAP ? INT64_MAX : flow_control->setup_cap;
}

static void remember(apy_flow_control_t *flow_control, const apy_allowance_t *allowance, int64_t now_ns)
{
    if (flow_control->receiver_count == flow_control->receiver_capacity) {
        const int32_t capacity = flow_control->receiver_capacity == 0 ? 4 : 2 * flow_control->receiver_capacity;
        apy_flow_receiver_t *grown =
            capacity > RECEIVERS_MAX ? NULL : realloc(flow_control->receivers, (size_t)capacity * sizeof(*grown));
        if (grown == NULL) {
            return; /* it is not waited for, but hears what the others do */
        }
        flow_control->receivers = grown;
        flow_control->receiver_capacity = capacity;
    }
    flow_control->receivers[flow_control->receiver_count++] =
        (apy_flow_receiver_t){.receiver_id = allowance->receiver_id,
                              .last_position = allowance->position,
                              .edge = allowance->position + allowance->window,
                              .time_of_last_sm_ns = now_ns};
    flow_control->setup_cap = NO_CAP;
    tell_count(flow_control);
    tell_change(flow_control, true, allowance->receiver_id);
}

static int64_t on_group_sm(apy_flow_control_t *flow_control, const apy_allowance_t *allowance, int64_t limit,
                           int64_t now_ns)
{
    const bool is_matching = matches(flow_control, allowance);
    const int64_t edge = allowance->position + allowance->window;
    int64_t least = cap_of(flow_control, now_ns);
    bool is_known = false;

    for (int32_t i = 0; i < flow_control->receiver_count; i++) {
        apy_flow_receiver_t *receiver = &flow_control->receivers[i];
        if (is_matching && receiver->receiver_id == allowance->receiver_id) {
            receiver->is_gone = allowance->is_end;
            if (allowance->position > receiver->last_position) {
                receiver->last_position = allowance->position;
            }
            receiver->edge = edge;
            receiver->time_of_last_sm_ns = now_ns;
            is_known = true;
        }
        least = receiver->edge < least ? receiver->edge : least;
    }
    /* Who is too far behind the group does not hold it back. */
    if (!is_known && is_matching && !allowance->is_end &&
        (flow_control->receiver_count == 0 || edge >= least - allowance->window)) {
        remember(flow_control, allowance, now_ns);
        least = edge < least ? edge : least;
    }

    if (flow_control->receiver_count < flow_control->params.group_min) {
        return limit;
    }
    const int64_t allowed = flow_control->receiver_count == 0 ? edge : least;
    return allowed > limit ? allowed : limit;
}

static int64_t on_group_idle(apy_flow_control_t *flow_control, int64_t limit, int64_t now_ns)
{
    const int32_t count = flow_control->receiver_count;
    int64_t least = cap_of(flow_control, now_ns);
    for (int32_t i = count - 1; i >= 0; i--) {
        apy_flow_receiver_t *receiver = &flow_control->receivers[i];
        if (receiver->is_gone ||
            apy_time_after(receiver->time_of_last_sm_ns, flow_control->params.receiver_timeout_ns) < now_ns) {
            const int64_t receiver_id = receiver->receiver_id;
            *receiver = flow_control->receivers[--flow_control->receiver_count];
            tell_change(flow_control, false, receiver_id);
        } else if (receiver->edge < least) {
            least = receiver->edge;
        }
    }
    if (flow_control->receiver_count != count) {
        tell_count(flow_control);
    }
    const bool is_enough =
        flow_control->receiver_count > 0 && flow_control->receiver_count >= flow_control->params.group_min;
    return is_enough ? least : limit;
}

/* --- what the sender asks --- */

int64_t apy_flow_control_on_sm(apy_flow_control_t *flow_control, const apy_allowance_t *allowance, int64_t limit,
                               int64_t now_ns)
{
    if (is_grouped(flow_control)) {
        return on_group_sm(flow_control, allowance, limit, now_ns);
    }
    const int64_t edge = allowance->position + allowance->window;
    return edge > limit ? edge : limit;
}

int64_t apy_flow_control_on_idle(apy_flow_control_t *flow_control, int64_t limit, int64_t now_ns)
{
    return is_grouped(flow_control) ? on_group_idle(flow_control, limit, now_ns) : limit;
}

void apy_flow_control_on_setup_wanted(apy_flow_control_t *flow_control, const apy_allowance_t *allowance)
{
    if (is_grouped(flow_control) && matches(flow_control, allowance)) {
        flow_control->is_setup_awaited = true;
    }
}

void apy_flow_control_on_setup(apy_flow_control_t *flow_control, int64_t limit, int64_t now_ns)
{
    if (flow_control->is_setup_awaited && flow_control->receiver_count > 0) {
        flow_control->time_of_setup_ns = now_ns;
        flow_control->setup_cap = limit;
    }
    flow_control->is_setup_awaited = false;
}

void apy_flow_control_on_error(apy_flow_control_t *flow_control, int64_t receiver_id)
{
    for (int32_t i = 0; i < flow_control->receiver_count; i++) {
        if (flow_control->receivers[i].receiver_id == receiver_id) {
            flow_control->receivers[i].is_gone = true;
        }
    }
}

bool apy_flow_control_has_required_receivers(const apy_flow_control_t *flow_control)
{
    return apy_load_acquire_i32(&flow_control->shared_count) >= flow_control->params.group_min ||
           !is_grouped(flow_control);
}

int32_t apy_flow_control_retransmit_length(const apy_flow_control_t *flow_control, int32_t term_length,
                                           int32_t term_offset, int32_t length)
{
    const int32_t window = term_length / 2 < INITIAL_WINDOW_LENGTH ? term_length / 2 : INITIAL_WINDOW_LENGTH;
    const int64_t length_max = (int64_t)window * flow_control->params.retransmit_windows;
    const int32_t term_left = term_length - term_offset;
    const int32_t capped = length < length_max ? length : (int32_t)length_max;
    return capped < term_left ? capped : term_left;
}
