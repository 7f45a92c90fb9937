/*
 * loops drive one end of a flow without Python on the path: the same loop for the real C client and for ours, told
 * apart only by the functions in the table. Messages carry their number in the first eight bytes, so that a
 * receiver knows that each came, in order.
 *
 * Threads: one per end.  Allocates: never.  Blocks: until the count is reached or the deadline passed.
 */

#include "loops.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "loops_inline.h"

typedef struct received {
    uint64_t next;
    uint64_t wrong;
    size_t size;
    int64_t first_ns;
    const loop_end_t *echo;
    int64_t echo_failed;
} received_t;

static void on_message(void *context, const uint8_t *buffer, size_t length, const void *header)
{
    (void)header;
    received_t *received = context;
    uint64_t number;
    memcpy(&number, buffer, sizeof number);
    if (received->next == 0) {
        received->first_ns = now_ns();
    }
    received->wrong += (number != received->next) | (length != received->size);
    received->next++;
}

static void on_ping(void *context, const uint8_t *buffer, size_t length, const void *header)
{
    received_t *received = context;
    on_message(context, buffer, length, header);
    if (offer_one(received->echo, buffer, length, now_ns() + DEADLINE_NS) < 0) {
        received->echo_failed = 1;
    }
}

int64_t loop_publish(const loop_end_t *end, size_t size, int64_t count)
{
    uint8_t message[MESSAGE_MAX];
    memset(message, 'x', size);
    const int64_t start_ns = now_ns();
    for (int64_t number = 0; number < count; number++) {
        memcpy(message, &number, sizeof number);
        const int64_t position = offer_one(end, message, size, start_ns + DEADLINE_NS);
        if (position < 0) {
            return position;
        }
    }
    return now_ns() - start_ns;
}

static int64_t receive(const loop_end_t *end, received_t *received, int64_t count, loop_handler_fn handler)
{
    const int64_t deadline_ns = now_ns() + DEADLINE_NS;
    uint32_t spins = 0;
    while ((int64_t)received->next < count) {
        const int fragments = end->poll(end->subscription, handler, received, POLL_LIMIT);
        if (fragments < 0) {
            return fragments;
        }
        if (fragments == 0 && idle(&spins, deadline_ns)) {
            return TIMED_OUT;
        }
    }
    return received->wrong != 0 ? WRONG_MESSAGE : 0;
}

int64_t loop_receive(const loop_end_t *end, size_t size, int64_t count)
{
    received_t received = {.size = size};
    const int64_t failed = receive(end, &received, count, on_message);
    return failed < 0 ? failed : now_ns() - received.first_ns;
}

int64_t loop_echo(const loop_end_t *end, size_t size, int64_t count)
{
    received_t received = {.size = size, .echo = end};
    const int64_t failed = receive(end, &received, count, on_ping);
    return failed < 0 ? failed : -received.echo_failed;
}

int64_t loop_ping(const loop_end_t *end, size_t size, int64_t count, int64_t *times_ns)
{
    uint8_t message[MESSAGE_MAX];
    memset(message, 'x', size);
    received_t received = {.size = size};
    for (int64_t number = 0; number < count; number++) {
        memcpy(message, &number, sizeof number);
        const int64_t start_ns = now_ns();
        const int64_t position = offer_one(end, message, size, start_ns + DEADLINE_NS);
        if (position < 0) {
            return position;
        }
        const int64_t failed = receive(end, &received, number + 1, on_message);
        if (failed < 0) {
            return failed;
        }
        times_ns[number] = now_ns() - start_ns;
    }
    return 0;
}
