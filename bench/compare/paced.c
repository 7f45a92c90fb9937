/*
 * paced sends at a fixed rate and times each message from when it was due.
 *
 * Threads: one.  Allocates: never.  Blocks: until the count is back or a minute has passed.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "loops.h"
#include "loops_inline.h"

typedef struct paced {
    int64_t *times_ns;
    int64_t start_ns;
    int64_t interval_ns;
    int64_t back;
    int64_t wrong;
} paced_t;

static void on_pong(void *context, const uint8_t *buffer, size_t length, const void *header)
{
    (void)header;
    (void)length;
    paced_t *paced = context;
    int64_t number;
    memcpy(&number, buffer, sizeof number);
    paced->wrong += number != paced->back;
    paced->times_ns[paced->back] = now_ns() - paced->start_ns - paced->back * paced->interval_ns;
    paced->back++;
}

int64_t loop_paced(const loop_end_t *end, size_t size, int64_t count, int64_t interval_ns, int64_t *times_ns)
{
    uint8_t message[MESSAGE_MAX];
    memset(message, 'x', size);
    paced_t paced = {.times_ns = times_ns, .start_ns = now_ns() + interval_ns, .interval_ns = interval_ns};
    const int64_t deadline_ns = paced.start_ns + count * interval_ns + DEADLINE_NS;
    int64_t sent = 0;
    uint32_t spins = 0;
    while (paced.back < count) {
        if (sent < count && now_ns() - paced.start_ns >= sent * interval_ns) {
            memcpy(message, &sent, sizeof sent);
            const int64_t position = end->offer(end->publication, message, size, NULL, NULL);
            if (position <= PUBLICATION_CLOSED) {
                return position;
            }
            sent += position >= 0;
        }
        const int fragments = end->poll(end->subscription, on_pong, &paced, POLL_LIMIT);
        if (fragments < 0) {
            return fragments;
        }
        if (fragments == 0 && idle(&spins, deadline_ns)) {
            return TIMED_OUT;
        }
    }
    return paced.wrong != 0 ? WRONG_MESSAGE : 0;
}
