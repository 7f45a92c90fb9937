#ifndef APY_CLIENT_EVENTS_H
#define APY_CLIENT_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * client_events names what a driver tells its clients (spec: client/driver protocol, section 4).
 *
 * Threads: any.  Allocates: never.  Blocks: never.
 */

enum {
    APY_EVENT_ERROR = 0x0F01,
    APY_EVENT_AVAILABLE_IMAGE = 0x0F02,
    APY_EVENT_PUBLICATION_READY = 0x0F03,
    APY_EVENT_OPERATION_SUCCESS = 0x0F04,
    APY_EVENT_UNAVAILABLE_IMAGE = 0x0F05,
    APY_EVENT_EXCLUSIVE_PUBLICATION_READY = 0x0F06,
    APY_EVENT_SUBSCRIPTION_READY = 0x0F07,
    APY_EVENT_COUNTER_READY = 0x0F08,
    APY_EVENT_UNAVAILABLE_COUNTER = 0x0F09,
    APY_EVENT_CLIENT_TIMEOUT = 0x0F0A,
    APY_EVENT_STATIC_COUNTER = 0x0F0B,
    APY_EVENT_PUBLICATION_ERROR = 0x0F0C,
    APY_EVENT_NEXT_SESSION_ID = 0x0F0D
};

enum { APY_ERROR_CHANNEL_ENDPOINT = 4 };

/* A field of an event, if the event is long enough to have it. */
static inline bool apy_event_i64(const uint8_t *body, int32_t length, int32_t offset, int64_t *value)
{
    if (offset + (int32_t)sizeof(*value) > length) {
        return false;
    }
    memcpy(value, body + offset, sizeof(*value));
    return true;
}

static inline bool apy_event_i32_is(const uint8_t *body, int32_t length, int32_t offset, int32_t expected)
{
    int32_t value;
    if (offset + (int32_t)sizeof(value) > length) {
        return false;
    }
    memcpy(&value, body + offset, sizeof(value));
    return value == expected;
}

#endif
