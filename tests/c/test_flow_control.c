/* How far a publication may send, and how much it resends at once. */

#include "apy/flow_control.h"
#include "check.h"

static int64_t on_sm(apy_flow_control_t *flow_control, int64_t limit, int64_t position, int32_t window)
{
    return flow_control->strategy->on_status_message(flow_control->state, limit, position, window, 1);
}

static void the_limit_is_the_furthest_that_was_allowed_and_never_goes_back(void)
{
    apy_flow_control_t strategies[2];
    apy_flow_control_unicast(&strategies[0]);
    apy_flow_control_max(&strategies[1]);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(on_sm(&strategies[i], 0, 0, 32768), 32768);
        CHECK_EQ(on_sm(&strategies[i], 32768, 8192, 32768), 40960);
        CHECK_EQ(on_sm(&strategies[i], 40960, 8192, 0), 40960);
        CHECK_EQ(on_sm(&strategies[i], 40960, 0, 32768), 40960);
        CHECK_EQ(strategies[i].strategy->on_idle(strategies[i].state, 40960, 1), 40960);
        CHECK(strategies[i].strategy->has_required_receivers(strategies[i].state));
    }
}

static void a_resend_is_cut_to_windows_and_to_the_term(void)
{
    apy_flow_control_t unicast, multicast;
    apy_flow_control_unicast(&unicast);
    apy_flow_control_max(&multicast);
    /* 16 and 4 windows of 128 KiB; of half a term where that is less */
    CHECK_EQ(apy_flow_control_retransmit_length(&unicast, 1 << 24, 0, 1 << 24), 16 * 131072);
    CHECK_EQ(apy_flow_control_retransmit_length(&multicast, 1 << 24, 0, 1 << 24), 4 * 131072);
    CHECK_EQ(apy_flow_control_retransmit_length(&multicast, 65536, 0, 65536), 65536);
    CHECK_EQ(apy_flow_control_retransmit_length(&unicast, 65536, 65504, 65536), 32);
    CHECK_EQ(apy_flow_control_retransmit_length(&unicast, 65536, 0, 5280), 5280);
}

int main(void)
{
    RUN(the_limit_is_the_furthest_that_was_allowed_and_never_goes_back);
    RUN(a_resend_is_cut_to_windows_and_to_the_term);
    return 0;
}
