#include "apy/congestion_control.h"

#include <math.h>

#include "apy/atomic.h"
#include "apy/clock.h"

#define CUBIC_C 0.4
#define CUBIC_B 0.2 /* of the window goes at a loss */
#define INITIAL_CWND 10
#define RTT_INTERVALS 4 /* round trips between two measurements */
#define RTT_MAX_NS INT64_C(10000000000)
#define SECOND_NS 1e9

static double seconds_back_to(int32_t w_max)
{
    return cbrt((double)w_max * CUBIC_B / CUBIC_C);
}

void apy_congestion_control_init(apy_congestion_control_t *control, const apy_congestion_params_t *params,
                                 int32_t window_max, int32_t mtu)
{
    const int32_t max_cwnd = window_max / mtu < 1 ? 1 : window_max / mtu;
    *control = (apy_congestion_control_t){
        .params = *params,
        .window_max = window_max,
        .mtu = mtu,
        .max_cwnd = max_cwnd,
        .cwnd = max_cwnd < INITIAL_CWND ? max_cwnd : INITIAL_CWND,
        .w_max = max_cwnd,
        .k = seconds_back_to(max_cwnd),
    };
    if (params->window_counter != NULL) {
        apy_store_release_i64(params->window_counter, apy_congestion_control_window(control));
    }
}

int32_t apy_congestion_control_window(const apy_congestion_control_t *control)
{
    if (!control->params.is_cubic) {
        return control->window_max;
    }
    const int64_t window = (int64_t)control->cwnd * control->mtu;
    return window < control->window_max ? (int32_t)window : control->window_max;
}

static int32_t clamp_cwnd(const apy_congestion_control_t *control, double cwnd)
{
    return cwnd < 1.0 ? 1 : cwnd > control->max_cwnd ? control->max_cwnd : (int32_t)cwnd;
}

static void shrink(apy_congestion_control_t *control, int64_t now_ns)
{
    control->w_max = control->cwnd;
    control->k = seconds_back_to(control->w_max);
    control->cwnd = clamp_cwnd(control, control->cwnd * (1.0 - CUBIC_B));
    control->last_loss_ns = now_ns;
}

static void grow(apy_congestion_control_t *control, int64_t now_ns, int64_t rtt_ns)
{
    const double t = (double)(now_ns - control->last_loss_ns) / SECOND_NS;
    const double from_k = t - control->k;
    control->cwnd = clamp_cwnd(control, control->w_max + trunc(CUBIC_C * from_k * from_k * from_k));
    if (control->params.tcp_mode && control->cwnd < control->w_max && rtt_ns > 0) {
        const double rtt = (double)rtt_ns / SECOND_NS;
        const double as_tcp = control->w_max * (1.0 - CUBIC_B) + 3.0 * CUBIC_B / (2.0 - CUBIC_B) * (t / rtt);
        const int32_t cwnd = clamp_cwnd(control, as_tcp);
        control->cwnd = cwnd > control->cwnd ? cwnd : control->cwnd;
    }
    control->last_update_ns = now_ns;
}

int32_t apy_congestion_control_on_rebuild(apy_congestion_control_t *control, int64_t now_ns, int64_t rtt_ns,
                                          bool is_loss_found, bool has_advanced, bool *must_tell)
{
    *must_tell = false;
    if (!control->params.is_cubic) {
        return control->window_max;
    }
    if (!control->is_started) {
        control->is_started = true;
        control->last_loss_ns = control->last_update_ns = now_ns;
    }
    const int32_t before = control->cwnd;
    if (is_loss_found) {
        shrink(control, now_ns);
        *must_tell = true;
    } else if (control->cwnd < control->max_cwnd &&
               apy_time_after(control->last_update_ns, control->params.initial_rtt_ns) < now_ns) {
        grow(control, now_ns, rtt_ns);
    } else if (control->cwnd == 1 && has_advanced) {
        *must_tell = true;
    }
    const int32_t window = apy_congestion_control_window(control);
    if (control->cwnd != before && control->params.window_counter != NULL) {
        apy_store_release_i64(control->params.window_counter, window);
    }
    return window;
}

void apy_rtt_meter_init(apy_rtt_meter_t *meter, const apy_congestion_params_t *params)
{
    *meter = (apy_rtt_meter_t){
        .is_measuring = params->is_cubic && params->measure_rtt,
        .initial_ns = params->initial_rtt_ns,
        .rtt_ns = params->initial_rtt_ns,
        .counter = params->rtt_counter,
    };
}

bool apy_rtt_meter_is_due(const apy_rtt_meter_t *meter, int64_t now_ns)
{
    const int64_t longer_ns = meter->rtt_ns > meter->initial_ns ? meter->rtt_ns : meter->initial_ns;
    return meter->is_measuring && now_ns - meter->last_ns > apy_time_times(longer_ns, RTT_INTERVALS);
}

void apy_rtt_meter_asked(apy_rtt_meter_t *meter, int64_t now_ns)
{
    meter->last_ns = now_ns;
}

void apy_rtt_meter_answered(apy_rtt_meter_t *meter, int64_t now_ns, int64_t rtt_ns)
{
    if (!meter->is_measuring || rtt_ns < 0 || rtt_ns > RTT_MAX_NS) {
        return;
    }
    meter->last_ns = now_ns;
    apy_store_release_i64(&meter->rtt_ns, rtt_ns);
    if (meter->counter != NULL) {
        apy_store_release_i64(meter->counter, rtt_ns);
    }
}

int64_t apy_rtt_meter_rtt(const apy_rtt_meter_t *meter)
{
    return apy_load_acquire_i64(&meter->rtt_ns);
}
