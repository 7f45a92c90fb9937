#ifndef APY_CONGESTION_CONTROL_H
#define APY_CONGESTION_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * congestion_control says how large a window an image asks for: always the receiver's, or, with cubic, one that
 * shrinks by a fifth at each loss and grows back along a cubic curve of the time since.
 *
 * Threads: the conductor core; the round-trip meter belongs to the receiver, but its rtt_ns is read by the core.
 * Allocates: never.  Blocks: never.
 */

typedef struct apy_congestion_params {
    bool is_cubic; /* else static */
    bool measure_rtt, tcp_mode;
    int64_t initial_rtt_ns;
    int64_t *window_counter, *rtt_counter; /* NULL: static has none */
} apy_congestion_params_t;

typedef struct apy_congestion_control {
    apy_congestion_params_t params;
    int32_t window_max, mtu;
    int32_t max_cwnd, cwnd, w_max; /* in packets of the mtu */
    double k;                      /* seconds until the curve is back at w_max */
    bool is_started;               /* the curve begins at the first look, not when the image was made */
    int64_t last_loss_ns, last_update_ns;
} apy_congestion_control_t;

void apy_congestion_control_init(apy_congestion_control_t *control, const apy_congestion_params_t *params,
                                 int32_t window_max, int32_t mtu);
int32_t apy_congestion_control_window(const apy_congestion_control_t *control);

/*
 * The window after one look at the stream. has_advanced: more was consumed than the last status message said.
 * *must_tell: send a status message now.
 */
int32_t apy_congestion_control_on_rebuild(apy_congestion_control_t *control, int64_t now_ns, int64_t rtt_ns,
                                          bool is_loss_found, bool has_advanced, bool *must_tell);

typedef struct apy_rtt_meter {
    bool is_measuring;
    int64_t initial_ns;
    int64_t rtt_ns;
    int64_t last_ns; /* of the last question or answer */
    int64_t *counter;
} apy_rtt_meter_t;

void apy_rtt_meter_init(apy_rtt_meter_t *meter, const apy_congestion_params_t *params);
bool apy_rtt_meter_is_due(const apy_rtt_meter_t *meter, int64_t now_ns);
void apy_rtt_meter_asked(apy_rtt_meter_t *meter, int64_t now_ns);
/* One that cannot be is ignored: less than nothing, or more than ten seconds. */
void apy_rtt_meter_answered(apy_rtt_meter_t *meter, int64_t now_ns, int64_t rtt_ns);
int64_t apy_rtt_meter_rtt(const apy_rtt_meter_t *meter); /* any thread */

#endif
