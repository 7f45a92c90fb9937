/*
 * streams drives many streams of one client by turns.
 *
 * Threads: one per end.  Allocates: never.  Blocks: until the count is reached or a minute has passed.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "loops.h"
#include "loops_inline.h"

/* A few messages of each stream in turn, as a server with many clients writes. */
#define BURST 8
/*
 * So many messages may be under way, a datagram each: the default socket buffer holds them. Without a bound across the
 * streams, a thousand windows overrun it, and what is measured is how losses are made good.
 */
#define IN_FLIGHT_MAX 128

typedef struct taken {
    int64_t count;
    int64_t first_ns;
} taken_t;

static void on_any(void *context, const uint8_t *buffer, size_t length, const void *header)
{
    (void)buffer;
    (void)length;
    (void)header;
    taken_t *taken = context;
    if (taken->count++ == 0) {
        taken->first_ns = now_ns();
    }
}

int64_t loop_publish_streams(const loop_end_t *ends, int64_t streams, size_t size, int64_t count,
                             loop_progress_t *progress)
{
    const int64_t base = progress->sent;
    uint8_t message[MESSAGE_MAX];
    memset(message, 'x', size);
    const int64_t start_ns = now_ns();
    uint32_t spins = 0;
    int64_t sent = 0;
    while (sent < count) {
        const int64_t before = sent;
        for (int64_t stream = 0; stream < streams && sent < count; stream++) {
            for (int burst = 0; burst < BURST && sent < count; burst++) {
                if (base + sent - atomic_load_explicit(&progress->taken, memory_order_acquire) >= IN_FLIGHT_MAX) {
                    break;
                }
                const int64_t position = ends[stream].offer(ends[stream].publication, message, size, NULL, NULL);
                if (position <= PUBLICATION_CLOSED) {
                    return position;
                }
                if (position < 0) {
                    break;
                }
                sent++;
            }
        }
        if (sent == before && idle(&spins, start_ns + DEADLINE_NS)) {
            return TIMED_OUT;
        }
    }
    progress->sent = base + sent;
    return now_ns() - start_ns;
}

int64_t loop_receive_streams(const loop_end_t *ends, int64_t streams, int64_t count, loop_progress_t *progress)
{
    taken_t taken = {0};
    const int64_t base = progress->taken;
    const int64_t deadline_ns = now_ns() + DEADLINE_NS;
    uint32_t spins = 0;
    while (taken.count < count) {
        int fragments = 0;
        for (int64_t stream = 0; stream < streams; stream++) {
            const int polled = ends[stream].poll(ends[stream].subscription, on_any, &taken, POLL_LIMIT);
            if (polled < 0) {
                return polled;
            }
            fragments += polled;
            if (polled > 0) {
                atomic_store_explicit(&progress->taken, base + taken.count, memory_order_release);
            }
        }
        if (fragments == 0 && idle(&spins, deadline_ns)) {
            return TIMED_OUT;
        }
    }
    return now_ns() - taken.first_ns;
}
