#include "apy/event_trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "apy/atomic.h"
#include "apy/error.h"
#include "apy/frame.h"

#define CAPACITY (1024 * 1024)
#define HEAD_MAX 1408 /* of a frame that is not data */

static_assert(sizeof(apy_traced_t) == 48, "trace record");
static_assert(sizeof(struct sockaddr_in6) <= 32, "trace record");

/* The payload is nobody's business, and would fill the ring. */
static int32_t head_length(const uint8_t *datagram, size_t length)
{
    uint16_t type = APY_FRAME_DATA;
    if (length >= offsetof(apy_frame_t, type) + sizeof(type)) {
        memcpy(&type, datagram + offsetof(apy_frame_t, type), sizeof(type));
    }
    const size_t most = type == APY_FRAME_DATA || type == APY_FRAME_PAD ? APY_FRAME_HEADER : HEAD_MAX;
    return (int32_t)(length < most ? length : most);
}

static void on_frame(void *context, bool is_out, const struct sockaddr_storage *address, const uint8_t *datagram,
                     size_t length)
{
    apy_event_trace_t *trace = context;
    const int event = is_out ? APY_TRACE_FRAME_OUT : APY_TRACE_FRAME_IN;
    if (apy_traces(trace, event)) {
        apy_event_trace_write(trace, event, address, (int32_t)length, datagram, head_length(datagram, length));
    }
}

int apy_event_trace_open(apy_event_trace_t **trace, uint64_t events, apy_clock_t clock)
{
    apy_event_trace_t *opened = calloc(1, sizeof(*opened));
    uint8_t *memory = calloc(1, CAPACITY + APY_RING_TRAILER);
    int rc = opened == NULL || memory == NULL
                 ? apy_fail(APY_E_MEMORY, "no memory for %d bytes of events to be logged", CAPACITY)
                 : apy_mpsc_ring_init(&opened->ring, memory, CAPACITY + APY_RING_TRAILER);
    if (rc < 0) {
        free(opened);
        free(memory);
        return rc;
    }
    opened->events = events;
    opened->clock = clock;
    opened->memory = memory;
    opened->tap = (apy_frame_tap_t){on_frame, opened};
    *trace = opened;
    return APY_OK;
}

void apy_event_trace_close(apy_event_trace_t *trace)
{
    if (trace != NULL) {
        free(trace->memory);
        free(trace);
    }
}

void apy_event_trace_write(apy_event_trace_t *trace, int event, const struct sockaddr_storage *address, int32_t length,
                           const void *body, int32_t body_length)
{
    apy_traced_t head = {.time_ns = apy_nano_time(&trace->clock), .length = length};
    if (address != NULL && address->ss_family != 0) {
        head.address_length = (int32_t)apy_address_length(address);
        memcpy(head.address, address, (size_t)head.address_length);
    }
    if (apy_mpsc_ring_write_two(&trace->ring, event, &head, (int32_t)sizeof(head), body, body_length) != APY_OK) {
        apy_fetch_add_i64(&trace->dropped, 1);
    }
}

int apy_event_trace_read(apy_event_trace_t *trace, apy_ring_handler handler, void *context, int limit)
{
    /* One read ends at the ring's end: the rest is at its begin. */
    const int count = apy_mpsc_ring_read(&trace->ring, handler, context, limit);
    return count >= 0 && count < limit ? count + apy_mpsc_ring_read(&trace->ring, handler, context, limit - count)
                                       : count;
}
