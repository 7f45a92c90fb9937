#include "apy/term_scan.h"
#include "publication_fields.h"

#define DATAGRAMS_MAX 64 /* that are handed over at once */

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

/* Datagrams of a range, as they went out the first time when they were full. */
static int gather(const apy_network_publication_t *publication, int32_t term_id, int32_t offset, int32_t length,
                  struct iovec *datagrams, int32_t *spans)
{
    const apy_log_t *log = &publication->log;
    const uint8_t *term = log->terms[apy_position_partition(
        apy_position_of(term_id, offset, log->shift, log->initial_term_id), log->shift)];
    int32_t left = length;
    int count = 0;
    while (count < DATAGRAMS_MAX && left > 0 && offset < log->term_length) {
        apy_scan_t found;
        const int32_t bytes_max = left < log->mtu ? left : log->mtu;
        if (!is_frame_start(term, term_id, offset) ||
            apy_term_scan(term, log->term_length, offset, bytes_max, &found) <= 0) {
            break;
        }
        datagrams[count] = (struct iovec){(void *)(uintptr_t)(term + offset), (size_t)found.bytes};
        spans[count] = found.bytes + found.padding;
        offset += spans[count];
        left -= spans[count];
        count++;
    }
    return count;
}

/* Bytes of the log that went out again: fewer than the range when the socket is full, or another stream is there. */
static int32_t resend_range(apy_network_publication_t *publication, int32_t term_id, int32_t term_offset,
                            int32_t length, int64_t now_ns)
{
    struct iovec datagrams[DATAGRAMS_MAX];
    int32_t spans[DATAGRAMS_MAX];
    int32_t resent = 0;
    int count, sent;
    do {
        int64_t bytes = 0;
        count = gather(publication, term_id, term_offset + resent, length - resent, datagrams, spans);
        sent = count == 0 ? 0 : apy_network_publication_transmit(publication, datagrams, count, now_ns, &bytes);
        for (int i = 0; i < sent; i++) {
            resent += spans[i];
        }
    } while (sent > 0 && sent == count);
    return resent;
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

    const int32_t resent = resend_range(publication, term_id, term_offset, length, now_ns);
    if (resent > 0) {
        trace(publication, term_id, term_offset, length);
        apy_count(publication->context, APY_SC_RETRANSMITS_SENT, 1);
        apy_count(publication->context, APY_SC_RETRANSMITTED_BYTES, resent);
    }
}
