#include "apy/term_scan.h"
#include "publication_fields.h"

/* A receiver asks for a range that it saw from both sides, so a frame starts there; others get nothing. */
static bool is_frame_start(const uint8_t *term, int32_t term_id, int32_t offset)
{
    const apy_frame_t *frame = (const apy_frame_t *)(const void *)(term + offset);
    return apy_load_acquire_i32(&frame->length) > 0 && frame->term_offset == offset && frame->term_id == term_id;
}

static void trace(const apy_network_publication_t *publication, int32_t term_id, int32_t term_offset, int32_t length)
{
    apy_event_trace_t *events = publication->context->trace;
    if (apy_traces(events, APY_TRACE_RESEND)) {
        const apy_traced_range_t traced = {apy_send_endpoint_id(publication->endpoint),
                                           publication->params.session_id,
                                           publication->params.stream_id,
                                           term_id,
                                           term_offset,
                                           length};
        apy_event_trace_write(events, APY_TRACE_RESEND, NULL, 0, &traced, APY_TRACED_RANGE_LENGTH);
    }
}

void apy_network_publication_resend(void *context, int32_t term_id, int32_t term_offset, int32_t length, int64_t now_ns)
{
    apy_network_publication_t *publication = context;
    const apy_log_t *log = &publication->log;
    const int64_t position = apy_position_of(term_id, term_offset, log->shift, log->initial_term_id);
    const int64_t floor =
        publication->sender.position - log->term_length / 2 - apy_message_length_max(log->term_length);
    if (position < floor || position < 0 || position >= publication->sender.position) {
        return;
    }

    const uint8_t *term = log->terms[apy_position_partition(position, log->shift)];
    int32_t offset = term_offset;
    int32_t left = length;
    int64_t resent = 0;
    while (left > 0 && offset < log->term_length) {
        apy_scan_t found;
        const int32_t bytes_max = left < log->mtu ? left : log->mtu;
        if (!is_frame_start(term, term_id, offset) ||
            apy_term_scan(term, log->term_length, offset, bytes_max, &found) <= 0) {
            break;
        }
        const struct iovec datagram = {(void *)(uintptr_t)(term + offset), (size_t)found.bytes};
        int64_t bytes = 0;
        if (apy_network_publication_transmit(publication, &datagram, 1, now_ns, &bytes) < 1) {
            break;
        }
        const int32_t span = found.bytes + found.padding;
        offset += span;
        left -= span;
        resent += span;
    }
    if (resent > 0) {
        trace(publication, term_id, term_offset, length);
        apy_count(publication->context, APY_SC_RETRANSMITS_SENT, 1);
        apy_count(publication->context, APY_SC_RETRANSMITTED_BYTES, resent);
    }
}
