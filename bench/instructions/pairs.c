#include "pairs.h"

#include <stdio.h>
#include <string.h>
#include <valgrind/callgrind.h>

#define MESSAGE_MAX 2048

static void on_message(void *context, const uint8_t *buffer, size_t length, const void *header)
{
    (void)buffer;
    (void)header;
    *(uint64_t *)context += length;
}

static void offer_one(const loop_end_t *end, const uint8_t *message, size_t size)
{
    while (end->offer(end->publication, message, size, NULL, NULL) < 0) {
    }
}

static void dump(const char *name, const char *what)
{
    char text[64];
    snprintf(text, sizeof text, "%s %s", name, what);
    CALLGRIND_DUMP_STATS_AT(text);
}

/* All at a time, since the first poll of a client may find that there is a new image, and an offer a new term. */
static int count_once(const loop_end_t *end, size_t size, const char *name)
{
    uint8_t message[MESSAGE_MAX];
    uint64_t bytes = 0;
    memset(message, 'x', sizeof message);

    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < PAIRS_COUNT; i++) {
        offer_one(end, message, size);
    }
    dump(name, "offer");
    for (int polled = 0; polled < PAIRS_COUNT;) {
        polled += end->poll(end->subscription, on_message, &bytes, 10);
    }
    dump(name, "poll of 10");
    for (int i = 0; i < PAIRS_COUNT; i++) {
        offer_one(end, message, size);
        while (end->poll(end->subscription, on_message, &bytes, 10) == 0) {
        }
    }
    dump(name, "offer + poll");
    return bytes == 2 * (uint64_t)PAIRS_COUNT * size ? 0 : -1;
}

int pairs_count(const loop_end_t *end, size_t size, const char *name)
{
    const int failed = count_once(end, size, "warm");
    return failed ? failed : count_once(end, size, name);
}
