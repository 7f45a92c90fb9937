/* The windows that an image asks for, by the formulas of the specification, and round trips measured for them. */

#include <math.h>

#include "apy/congestion_control.h"
#include "receiver_rig.h"

#define MTU 1408
#define RTT_NS INT64_C(100000)

static apy_congestion_control_t cubic(int32_t window, bool tcp_mode, int64_t *counter)
{
    apy_congestion_control_t control;
    const apy_congestion_params_t params = {
        .is_cubic = true, .tcp_mode = tcp_mode, .initial_rtt_ns = RTT_NS, .window_counter = counter};
    bool must_tell = false;
    apy_congestion_control_init(&control, &params, window, MTU);
    apy_congestion_control_on_rebuild(&control, 0, RTT_NS, false, false, &must_tell); /* begins here */
    return control;
}

static int32_t rebuild(apy_congestion_control_t *control, int64_t now_ns, bool is_loss, bool *must_tell)
{
    return apy_congestion_control_on_rebuild(control, now_ns, RTT_NS, is_loss, false, must_tell);
}

static void static_windows_never_change(void)
{
    apy_congestion_control_t control;
    bool must_tell = true;
    apy_congestion_control_init(&control, &(apy_congestion_params_t){.is_cubic = false}, 32768, MTU);
    CHECK_EQ(apy_congestion_control_window(&control), 32768);
    CHECK_EQ(rebuild(&control, RIG_SECOND, true, &must_tell), 32768);
    CHECK(!must_tell);
}

/* 64 KiB terms as captured: ten packets at first, 23 of them at most. */
static void cubic_starts_with_ten_packets_and_grows_to_whole_ones_of_the_window(void)
{
    int64_t counter = 0;
    bool must_tell = false;
    apy_congestion_control_t control = cubic(32768, false, &counter);
    CHECK_EQ(apy_congestion_control_window(&control), 14080);
    CHECK_EQ(counter, 14080);
    CHECK_EQ(rebuild(&control, RTT_NS, false, &must_tell), 14080); /* not before a round trip is over */
    int32_t window = 0;
    for (int64_t now_ns = 2 * RTT_NS; now_ns < 10 * RIG_SECOND; now_ns += RIG_MS) {
        window = rebuild(&control, now_ns, false, &must_tell);
        CHECK(window % MTU == 0 && window <= 32768);
        CHECK(!must_tell);
    }
    CHECK_EQ(window, 32384);
    CHECK_EQ(counter, 32384);
    CHECK_EQ(apy_congestion_control_window(
                 &(apy_congestion_control_t){.params.is_cubic = true, .window_max = 32768, .mtu = 65504, .cwnd = 1}),
             32768);
}

static void a_loss_takes_a_fifth_and_time_brings_it_back_along_the_cubic(void)
{
    bool must_tell = false;
    apy_congestion_control_t control = cubic(128 * MTU, false, NULL);
    rebuild(&control, 100 * RIG_SECOND, false, &must_tell);
    CHECK_EQ(control.cwnd, 128);
    CHECK_EQ(rebuild(&control, 200 * RIG_SECOND, true, &must_tell), 102 * MTU);
    CHECK(must_tell);
    CHECK_EQ(control.w_max, 128);
    const double k = cbrt(128 * 0.2 / 0.4);
    for (int64_t ms = 100; ms < 6000; ms += 100) {
        const double from_k = (double)ms / 1000 - k;
        double expected = 128 + trunc(0.4 * from_k * from_k * from_k);
        expected = expected > 128 ? 128 : expected;
        CHECK_EQ(rebuild(&control, 200 * RIG_SECOND + ms * RIG_MS, false, &must_tell) / MTU, (int32_t)expected);
    }
}

static void however_much_is_lost_one_packet_stays(void)
{
    bool must_tell = false;
    apy_congestion_control_t control = cubic(32768, false, NULL);
    for (int i = 1; i < 40; i++) {
        CHECK(rebuild(&control, i, true, &must_tell) >= MTU);
    }
    CHECK_EQ(control.cwnd, 1);
    /* With one packet each consumed one is told at once, or the sender would wait for the timer. */
    apy_congestion_control_on_rebuild(&control, 41, RTT_NS, false, true, &must_tell);
    CHECK(must_tell);
    apy_congestion_control_on_rebuild(&control, 41, RTT_NS, false, false, &must_tell);
    CHECK(!must_tell);
}

static void in_tcp_mode_it_is_never_slower_than_tcp(void)
{
    bool must_tell = false;
    apy_congestion_control_t plain = cubic(128 * MTU, false, NULL), tcp = cubic(128 * MTU, true, NULL);
    rebuild(&plain, 100 * RIG_SECOND, false, &must_tell);
    rebuild(&tcp, 100 * RIG_SECOND, false, &must_tell);
    rebuild(&plain, 200 * RIG_SECOND, true, &must_tell);
    rebuild(&tcp, 200 * RIG_SECOND, true, &must_tell);
    const int64_t later_ns = 200 * RIG_SECOND + 5 * RIG_MS;
    const int32_t as_cubic = rebuild(&plain, later_ns, false, &must_tell) / MTU;
    const double as_tcp = 128 * 0.8 + 3 * 0.2 / 1.8 * (0.005 / 0.0001);
    CHECK_EQ(rebuild(&tcp, later_ns, false, &must_tell) / MTU, (int32_t)as_tcp);
    CHECK(as_cubic < (int32_t)as_tcp);
}

/* --- on the wire --- */

static receiver_rig_t *open_cubic(int64_t *window, int64_t *rtt)
{
    receiver_rig_t *r = receiver_rig_open();
    r->params.congestion = (apy_congestion_params_t){
        .is_cubic = true, .measure_rtt = true, .initial_rtt_ns = RIG_MS, .window_counter = window, .rtt_counter = rtt};
    receiver_rig_image(r);
    return r;
}

static void the_first_status_message_offers_ten_packets_and_a_loss_tells_fewer(void)
{
    int64_t window = 0, rtt = 0;
    receiver_rig_t *r = open_cubic(&window, &rtt);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_SM), 36);
    CHECK_EQ(((const apy_sm_t *)(const void *)r->datagram)->receiver_window, 14080);
    receiver_rig_data(r, 64, 12); /* behind a gap */
    receiver_rig_cycle(r);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_SM), 36);
    CHECK_EQ(((const apy_sm_t *)(const void *)r->datagram)->receiver_window, 8 * MTU);
    CHECK_EQ(window, 8 * MTU);
    receiver_rig_close(r);
}

static void round_trips_are_measured_every_four_of_them(void)
{
    int64_t window = 0, rtt = 0;
    receiver_rig_t *r = open_cubic(&window, &rtt);
    apy_rttm_t question;
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_RTTM), 40);
    memcpy(&question, r->datagram, sizeof(question));
    CHECK_EQ(question.flags, APY_FLAG_RTTM_REPLY);
    CHECK_EQ(question.echo_timestamp, r->rig->hand.nano_time);
    CHECK_EQ(question.reception_delta, 0);
    CHECK_EQ(question.receiver_id, (int64_t)UINT64_C(0xbb2f33daabed3e78));

    rig_advance(r->rig, 3 * RIG_MS);
    apy_rttm_t answer = question;
    answer.flags = 0;
    answer.reception_delta = RIG_MS;
    receiver_rig_give(r, &answer, sizeof(answer));
    CHECK_EQ(rtt, 2 * RIG_MS);
    rig_drain(r->publisher);
    receiver_rig_step(r, 8 * RIG_MS);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_RTTM), -1);
    receiver_rig_step(r, 1);
    CHECK_EQ(receiver_rig_take_type(r, APY_FRAME_RTTM), 40);

    /* What cannot be is ignored: before it was asked, years ago, beyond all numbers. */
    const int64_t echoes[] = {r->rig->hand.nano_time + 1, 0, INT64_MIN, INT64_MAX};
    for (int i = 0; i < 4; i++) {
        answer.echo_timestamp = echoes[i];
        answer.reception_delta = 0;
        receiver_rig_give(r, &answer, sizeof(answer));
        CHECK_EQ(rtt, 2 * RIG_MS);
    }
    receiver_rig_close(r);
}

int main(void)
{
    RUN(static_windows_never_change);
    RUN(cubic_starts_with_ten_packets_and_grows_to_whole_ones_of_the_window);
    RUN(a_loss_takes_a_fifth_and_time_brings_it_back_along_the_cubic);
    RUN(however_much_is_lost_one_packet_stays);
    RUN(in_tcp_mode_it_is_never_slower_than_tcp);
    RUN(the_first_status_message_offers_ten_packets_and_a_loss_tells_fewer);
    RUN(round_trips_are_measured_every_four_of_them);
    return 0;
}
