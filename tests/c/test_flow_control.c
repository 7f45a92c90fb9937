/* How far a publication may send, and how much it resends at once. */

#include "apy/flow_control.h"
#include "check.h"

#define TIMEOUT INT64_C(5000)
#define TAG 99

static int64_t counted;

static apy_flow_control_t flow_of(apy_flow_control_kind_t kind, int32_t group_min)
{
    const apy_flow_control_params_t params = {.kind = kind,
                                              .retransmit_windows = kind == APY_FLOW_UNICAST ? 16 : 4,
                                              .group_min = group_min,
                                              .group_tag = TAG,
                                              .receiver_timeout_ns = TIMEOUT,
                                              .receiver_count = &counted};
    apy_flow_control_t flow_control;
    counted = 0;
    apy_flow_control_init(&flow_control, &params);
    return flow_control;
}

static int64_t on_sm(apy_flow_control_t *flow_control, int64_t id, int64_t limit, int64_t position, int32_t window,
                     int64_t now_ns)
{
    const apy_allowance_t allowance = {.receiver_id = id, .position = position, .window = window};
    return apy_flow_control_on_sm(flow_control, &allowance, limit, now_ns);
}

static int64_t on_tagged(apy_flow_control_t *flow_control, int64_t id, int64_t tag, int64_t limit, int64_t position,
                         int64_t now_ns)
{
    const apy_allowance_t allowance = {
        .receiver_id = id, .position = position, .window = 1000, .has_tag = true, .tag = tag};
    return apy_flow_control_on_sm(flow_control, &allowance, limit, now_ns);
}

static void say_end(apy_flow_control_t *flow_control, int64_t id, int64_t limit, int64_t now_ns)
{
    const apy_allowance_t allowance = {.receiver_id = id, .position = limit, .is_end = true};
    apy_flow_control_on_sm(flow_control, &allowance, limit, now_ns);
}

static void the_limit_is_the_furthest_that_was_allowed_and_never_goes_back(void)
{
    const apy_flow_control_kind_t kinds[2] = {APY_FLOW_UNICAST, APY_FLOW_MAX};
    for (int i = 0; i < 2; i++) {
        apy_flow_control_t flow_control = flow_of(kinds[i], 0);
        CHECK_EQ(on_sm(&flow_control, 1, 0, 0, 32768, 1), 32768);
        CHECK_EQ(on_sm(&flow_control, 1, 32768, 8192, 32768, 1), 40960);
        CHECK_EQ(on_sm(&flow_control, 1, 40960, 8192, 0, 1), 40960);
        CHECK_EQ(on_sm(&flow_control, 2, 40960, 0, 32768, 1), 40960);
        CHECK_EQ(apy_flow_control_on_idle(&flow_control, 40960, 1), 40960);
        CHECK(apy_flow_control_has_required_receivers(&flow_control));
        CHECK_EQ(counted, 0);
        apy_flow_control_free(&flow_control);
    }
}

/* --- the slowest of a group --- */

static void a_group_goes_as_far_as_its_slowest_and_on_when_that_is_silent(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_MIN, 0);
    CHECK_EQ(on_sm(&flow_control, 1, 0, 0, 1000, 10), 1000);
    CHECK_EQ(on_sm(&flow_control, 2, 1000, 0, 1000, 10), 1000);
    CHECK_EQ(counted, 2);
    CHECK_EQ(on_sm(&flow_control, 1, 1000, 800, 1000, 20), 1000);
    CHECK_EQ(on_sm(&flow_control, 2, 1000, 400, 1000, 30), 1400);
    CHECK_EQ(on_sm(&flow_control, 1, 1400, 900, 1000, 40), 1400);
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 1400, 30 + TIMEOUT), 1400); /* strictly later */
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 1400, 31 + TIMEOUT), 1900);
    CHECK_EQ(counted, 1);
    apy_flow_control_free(&flow_control);
}

static void the_limit_may_go_back_when_nothing_is_sent(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_MIN, 0);
    CHECK_EQ(on_sm(&flow_control, 1, 0, 0, 1000, 10), 1000);
    CHECK_EQ(on_sm(&flow_control, 1, 1000, 100, 200, 11), 1000);
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 1000, 12), 300);
    apy_flow_control_free(&flow_control);
}

static void who_is_too_far_behind_is_not_waited_for(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_MIN, 0);
    CHECK_EQ(on_sm(&flow_control, 1, 0, 5000, 1000, 10), 6000);
    CHECK_EQ(on_sm(&flow_control, 2, 6000, 3999, 1000, 11), 6000);
    CHECK_EQ(counted, 1);
    CHECK_EQ(on_sm(&flow_control, 3, 6000, 4000, 1000, 12), 6000); /* one window behind */
    CHECK_EQ(counted, 2);
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 6000, 13), 5000);
    apy_flow_control_free(&flow_control);
}

static void who_ends_or_refuses_leaves_the_group(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_MIN, 0);
    for (int64_t id = 1; id <= 3; id++) {
        on_sm(&flow_control, id, 0, id * 100, 1000, 10);
    }
    say_end(&flow_control, 1, 1100, 11);
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 1100, 12), 1200);
    apy_flow_control_on_error(&flow_control, 2);
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 1200, 13), 1300);
    CHECK_EQ(counted, 1);
    say_end(&flow_control, 7, 1300, 14); /* was never in it */
    CHECK_EQ(counted, 1);
    apy_flow_control_free(&flow_control);
}

static void a_group_that_is_too_small_stands_still_and_is_no_connection(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_MIN, 2);
    CHECK(!apy_flow_control_has_required_receivers(&flow_control));
    CHECK_EQ(on_sm(&flow_control, 1, 64, 64, 1000, 10), 64);
    CHECK(!apy_flow_control_has_required_receivers(&flow_control));
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 64, 11), 64);
    CHECK_EQ(on_sm(&flow_control, 2, 64, 64, 2000, 12), 1064);
    CHECK(apy_flow_control_has_required_receivers(&flow_control));
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 1064, 11 + TIMEOUT), 1064);
    CHECK(!apy_flow_control_has_required_receivers(&flow_control));
    apy_flow_control_free(&flow_control);
}

static void the_group_waits_while_one_joins(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_MIN, 0);
    const apy_allowance_t joining = {.receiver_id = 2};
    on_sm(&flow_control, 1, 0, 0, 1000, 10);
    apy_flow_control_on_setup(&flow_control, 1000, 11); /* nobody asked */
    CHECK_EQ(on_sm(&flow_control, 1, 1000, 200, 1000, 12), 1200);

    apy_flow_control_on_setup_wanted(&flow_control, &joining);
    apy_flow_control_on_setup(&flow_control, 1200, 13);
    CHECK_EQ(on_sm(&flow_control, 1, 1200, 900, 1000, 14), 1200);
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 1200, 15), 1200);
    CHECK_EQ(on_sm(&flow_control, 2, 1200, 500, 1000, 16), 1200);
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 1200, 17), 1500); /* it came */
    apy_flow_control_free(&flow_control);
}

static void the_group_does_not_wait_for_ever(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_MIN, 0);
    const apy_allowance_t joining = {.receiver_id = 2};
    on_sm(&flow_control, 1, 0, 0, 1000, 10);
    apy_flow_control_on_setup_wanted(&flow_control, &joining);
    apy_flow_control_on_setup(&flow_control, 1000, 20);
    CHECK_EQ(on_sm(&flow_control, 1, 1000, 500, 1000, 20 + TIMEOUT), 1000);
    CHECK_EQ(on_sm(&flow_control, 1, 1000, 500, 1000, 21 + TIMEOUT), 1500);
    apy_flow_control_free(&flow_control);
}

/* --- the slowest of the tagged --- */

static void only_the_tagged_hold_back_a_tagged_group(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_TAGGED, 0);
    CHECK_EQ(on_sm(&flow_control, 1, 0, 0, 500, 10), 500); /* without a group anybody is better than nobody */
    CHECK_EQ(counted, 0);
    CHECK_EQ(on_tagged(&flow_control, 2, TAG, 500, 0, 11), 1000);
    CHECK_EQ(counted, 1);
    CHECK_EQ(on_tagged(&flow_control, 3, TAG + 1, 1000, 900, 12), 1000);
    CHECK_EQ(on_sm(&flow_control, 2, 1000, 900, 1000, 13), 1000); /* untagged now */
    CHECK_EQ(on_tagged(&flow_control, 2, TAG, 1000, 600, 14), 1600);
    CHECK_EQ(counted, 1);
    apy_flow_control_free(&flow_control);
}

static void a_tagged_group_waits_for_tagged_ones_only(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_TAGGED, 1);
    const apy_allowance_t other = {.receiver_id = 2}, one_of_us = {.receiver_id = 3, .has_tag = true, .tag = TAG};
    CHECK_EQ(on_sm(&flow_control, 1, 0, 0, 500, 10), 0);
    CHECK(!apy_flow_control_has_required_receivers(&flow_control));
    on_tagged(&flow_control, 2, TAG, 0, 0, 11);
    CHECK(apy_flow_control_has_required_receivers(&flow_control));

    apy_flow_control_on_setup_wanted(&flow_control, &other);
    apy_flow_control_on_setup(&flow_control, 1000, 12);
    CHECK_EQ(on_tagged(&flow_control, 2, TAG, 1000, 300, 13), 1300);
    apy_flow_control_on_setup_wanted(&flow_control, &one_of_us);
    apy_flow_control_on_setup(&flow_control, 1300, 14);
    CHECK_EQ(on_tagged(&flow_control, 2, TAG, 1300, 700, 15), 1300);
    apy_flow_control_free(&flow_control);
}

static void a_time_out_as_long_as_can_be_said_never_comes(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_MIN, 0);
    flow_control.params.receiver_timeout_ns = INT64_MAX;
    CHECK_EQ(on_sm(&flow_control, 1, 0, 0, 1000, 10), 1000);
    CHECK_EQ(apy_flow_control_on_idle(&flow_control, 5000, INT64_MAX / 2), 1000);
    CHECK_EQ(counted, 1);
    apy_flow_control_free(&flow_control);
}

static void receiver_ids_from_the_network_are_bounded(void)
{
    apy_flow_control_t flow_control = flow_of(APY_FLOW_MIN, 0);
    for (int64_t id = 0; id < 3000; id++) {
        on_sm(&flow_control, id, 0, 0, 1000, 10);
    }
    CHECK_EQ(counted, 1024);
    apy_flow_control_free(&flow_control);
}

static void a_resend_is_cut_to_windows_and_to_the_term(void)
{
    apy_flow_control_t unicast = flow_of(APY_FLOW_UNICAST, 0), multicast = flow_of(APY_FLOW_MAX, 0);
    /* 16 and 4 windows of 128 KiB; of half a term where that is less */
    CHECK_EQ(apy_flow_control_retransmit_length(&unicast, 1 << 24, 0, 1 << 24), 16 * 131072);
    CHECK_EQ(apy_flow_control_retransmit_length(&multicast, 1 << 24, 0, 1 << 24), 4 * 131072);
    CHECK_EQ(apy_flow_control_retransmit_length(&multicast, 65536, 0, 65536), 65536);
    CHECK_EQ(apy_flow_control_retransmit_length(&unicast, 65536, 65504, 65536), 32);
    CHECK_EQ(apy_flow_control_retransmit_length(&unicast, 65536, 0, 5280), 5280);
    multicast.params.retransmit_windows = INT32_MAX;
    CHECK_EQ(apy_flow_control_retransmit_length(&multicast, 1 << 30, 0, 1 << 30), 1 << 30);
    multicast.params.retransmit_windows = 1;
    CHECK_EQ(apy_flow_control_retransmit_length(&multicast, 65536, 0, 65536), 32768);
}

int main(void)
{
    RUN(the_limit_is_the_furthest_that_was_allowed_and_never_goes_back);
    RUN(a_group_goes_as_far_as_its_slowest_and_on_when_that_is_silent);
    RUN(the_limit_may_go_back_when_nothing_is_sent);
    RUN(who_is_too_far_behind_is_not_waited_for);
    RUN(who_ends_or_refuses_leaves_the_group);
    RUN(a_group_that_is_too_small_stands_still_and_is_no_connection);
    RUN(the_group_waits_while_one_joins);
    RUN(the_group_does_not_wait_for_ever);
    RUN(only_the_tagged_hold_back_a_tagged_group);
    RUN(a_tagged_group_waits_for_tagged_ones_only);
    RUN(a_time_out_as_long_as_can_be_said_never_comes);
    RUN(receiver_ids_from_the_network_are_bounded);
    RUN(a_resend_is_cut_to_windows_and_to_the_term);
    return 0;
}
