#ifndef APY_EVENT_TRACE_H
#define APY_EVENT_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "apy/clock.h"
#include "apy/mpsc_ring.h"
#include "apy/udp_transport.h"

/*
 * event_trace is what threads that never see the interpreter leave for the event log: records in a bounded ring,
 * which whoever writes the log takes out. A record that finds no room is counted and dropped.
 *
 * Only what was asked for is recorded; a driver that asked for nothing has no trace at all.
 *
 * Threads: open and close while nobody uses it; read by one thread; the rest by any.
 * Allocates: in open.  Blocks: never.
 */

/* The numbers that the event log's settings take. */
enum {
    APY_TRACE_FRAME_IN = 1,
    APY_TRACE_FRAME_OUT = 2,
    APY_TRACE_KEEPALIVE = 13,
    APY_TRACE_NEIGHBOR_ADDED = 46,
    APY_TRACE_NEIGHBOR_REMOVED = 47,
    APY_TRACE_RECEIVER_ADDED = 48,
    APY_TRACE_RECEIVER_REMOVED = 49,
    APY_TRACE_NAK_SENT = 54,
    APY_TRACE_RESEND = 55,
    APY_TRACE_NAK_RECEIVED = 58,
    APY_TRACE_IMAGE_REVOKED = 60
};

typedef struct apy_event_trace {
    uint64_t events; /* bit n: event n is wanted */
    apy_clock_t clock;
    apy_frame_tap_t tap;
    apy_mpsc_ring_t ring;
    uint8_t *memory;
    int64_t dropped; /* fetch-add */
} apy_event_trace_t;

/* What stands in the ring before the body of a record, whose type is the event. */
typedef struct apy_traced {
    int64_t time_ns; /* monotonic */
    int32_t length;  /* of a frame's datagram */
    int32_t address_length;
    uint8_t address[32]; /* a sockaddr of address_length bytes; 0: none */
} apy_traced_t;

/* Bodies, by event: what is behind the last field is not part of them. */

typedef struct apy_traced_range { /* NAK_SENT, NAK_RECEIVED, RESEND */
    int64_t endpoint_id;
    int32_t session_id, stream_id, term_id, term_offset, length;
} apy_traced_range_t;

typedef struct apy_traced_receiver { /* RECEIVER_ADDED, RECEIVER_REMOVED */
    int64_t endpoint_id, receiver_id;
    int32_t session_id, stream_id, receiver_count;
} apy_traced_receiver_t;

typedef struct apy_traced_revoke { /* IMAGE_REVOKED */
    int64_t endpoint_id, revoked_position;
    int32_t session_id, stream_id;
} apy_traced_revoke_t;

#define APY_TRACED_RANGE_LENGTH ((int32_t)offsetof(apy_traced_range_t, length) + 4)
#define APY_TRACED_RECEIVER_LENGTH ((int32_t)offsetof(apy_traced_receiver_t, receiver_count) + 4)

int apy_event_trace_open(apy_event_trace_t **trace, uint64_t events, apy_clock_t clock);
void apy_event_trace_close(apy_event_trace_t *trace);

/* Is this event wanted? trace may be NULL. */
static inline bool apy_traces(const apy_event_trace_t *trace, int event)
{
    return trace != NULL && (trace->events >> event & 1) != 0;
}

/* For transports to show their frames to; NULL when no frames are wanted. */
static inline const apy_frame_tap_t *apy_event_trace_tap(const apy_event_trace_t *trace)
{
    return apy_traces(trace, APY_TRACE_FRAME_IN) || apy_traces(trace, APY_TRACE_FRAME_OUT) ? &trace->tap : NULL;
}

/* A record of a wanted event; address may be NULL. */
void apy_event_trace_write(apy_event_trace_t *trace, int event, const struct sockaddr_storage *address, int32_t length,
                           const void *body, int32_t body_length);

/* Hand over up to limit records, the oldest first: each begins with its apy_traced_t. */
int apy_event_trace_read(apy_event_trace_t *trace, apy_ring_handler handler, void *context, int limit);

#endif
