#ifndef APY_DRIVER_CONTEXT_H
#define APY_DRIVER_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/clock.h"
#include "apy/cnc.h"
#include "apy/error_log.h"
#include "apy/event_trace.h"
#include "apy/loss_interceptor.h"
#include "apy/loss_report.h"
#include "apy/mpsc_ring.h"
#include "apy/ringer.h"

/*
 * driver_context is what the agents of one driver share: settings, clock, counters, logs, inboxes.
 *
 * Constant after start but for the memory that the parts point to. Agents talk through inboxes only:
 * sender and receiver each have a command queue that the conductor core alone fills, and both report
 * to the core's inbox.
 *
 * Threads: any, by the rules of the parts.  Allocates: never.  Blocks: report_error, on the log's lock.
 */

typedef struct apy_driver_config {
    int64_t timer_interval_ns;
    int64_t client_liveness_timeout_ns;
    int64_t image_liveness_timeout_ns;
    int64_t publication_connection_timeout_ns;
    int64_t publication_unblock_timeout_ns;
    int64_t status_message_timeout_ns;
    int64_t nak_unicast_delay_ns, nak_unicast_retry_ratio;
    int64_t nak_multicast_max_backoff_ns, nak_multicast_group_size;
    int64_t retransmit_delay_ns, retransmit_linger_ns;
    int64_t conductor_threshold_ns, sender_threshold_ns, receiver_threshold_ns; /* longer cycles are counted */
    int64_t reresolution_check_interval_ns;                                     /* 0: names are not looked up again */
    int64_t quiet_park_ns; /* threads doze for up to so long (doze.h); 0: they idle by their strategies */
    int32_t send_to_status_poll_ratio;
    int32_t
        messages_per_send; /* datagrams of one publication in one turn, or trains of them where they can be coupled */
    int32_t sender_io_vector, receiver_io_vector;
    int32_t initial_window_length;
    int32_t mtu_length;
    int32_t stream_session_limit;
    int32_t counters_free_to_reuse_ms;
    bool connect_send_sockets;
    apy_loss_plan_t loss; /* incoming datagrams dropped on purpose */
} apy_driver_config_t;

enum {
    APY_SC_BYTES_SENT = 0,
    APY_SC_BYTES_RECEIVED,
    APY_SC_RECEIVER_PROXY_FAILS,
    APY_SC_SENDER_PROXY_FAILS,
    APY_SC_CONDUCTOR_PROXY_FAILS,
    APY_SC_NAKS_SENT,
    APY_SC_NAKS_RECEIVED,
    APY_SC_SMS_SENT,
    APY_SC_SMS_RECEIVED,
    APY_SC_HEARTBEATS_SENT,
    APY_SC_HEARTBEATS_RECEIVED,
    APY_SC_RETRANSMITS_SENT,
    APY_SC_FLOW_CONTROL_UNDER_RUNS,
    APY_SC_FLOW_CONTROL_OVER_RUNS,
    APY_SC_INVALID_PACKETS,
    APY_SC_ERRORS,
    APY_SC_SHORT_SENDS,
    APY_SC_FREE_FAILS,
    APY_SC_SENDER_FLOW_CONTROL_LIMITS,
    APY_SC_UNBLOCKED_PUBLICATIONS,
    APY_SC_UNBLOCKED_COMMANDS,
    APY_SC_POSSIBLE_TTL_ASYMMETRY,
    APY_SC_CONTROLLABLE_IDLE_STRATEGY,
    APY_SC_LOSS_GAP_FILLS,
    APY_SC_CLIENT_TIMEOUTS,
    APY_SC_RESOLUTION_CHANGES,
    APY_SC_CONDUCTOR_MAX_CYCLE,
    APY_SC_CONDUCTOR_CYCLES_EXCEEDED,
    APY_SC_SENDER_MAX_CYCLE,
    APY_SC_SENDER_CYCLES_EXCEEDED,
    APY_SC_RECEIVER_MAX_CYCLE,
    APY_SC_RECEIVER_CYCLES_EXCEEDED,
    APY_SC_NAME_RESOLVER_MAX,
    APY_SC_NAME_RESOLVER_EXCEEDED,
    APY_SC_AERON_VERSION,
    APY_SC_BYTES_MAPPED,
    APY_SC_RETRANSMITTED_BYTES,
    APY_SC_RETRANSMIT_OVERFLOW,
    APY_SC_ERROR_FRAMES_RECEIVED,
    APY_SC_ERROR_FRAMES_SENT,
    APY_SC_PUBLICATIONS_REVOKED,
    APY_SC_IMAGES_REVOKED,
    APY_SC_IMAGES_REJECTED,
    APY_SC_CONTROL_PROTOCOL_VERSION,
    APY_SC_SMS_REJECTED,
    APY_SC_RESOURCE_AGENT_PROXY_FAILS,
    APY_SC_COUNT
};

typedef struct apy_driver_context {
    apy_driver_config_t config;
    apy_clock_t clock;
    int64_t *system_counters[APY_SC_COUNT];
    apy_error_log_t *error_log;
    apy_loss_report_t *loss_report;   /* the core creates and updates entries */
    apy_mpsc_ring_t *conductor_inbox; /* from sender and receiver, see conductor_inbox.h */
    int64_t next_receiver_id;         /* fetch-add */
    apy_event_trace_t *trace;         /* NULL: no event of the agents is logged */
    apy_ringer_t ringer;              /* for clients that sleep until a log changes */
    int64_t park_max_ns;              /* how long any agent may sleep: release by the core, see pace.h */
} apy_driver_context_t;

/* System counters are written by several threads. */
static inline void apy_count(apy_driver_context_t *context, int counter, int64_t delta)
{
    apy_fetch_add_i64(context->system_counters[counter], delta);
}

/* Put this thread's last error into the error log and count it. */
void apy_driver_report_error(apy_driver_context_t *context, int code);

#endif
