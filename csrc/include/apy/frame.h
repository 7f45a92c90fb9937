#ifndef APY_FRAME_H
#define APY_FRAME_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * frame is every frame that a log holds or a datagram carries (little-endian, packed to four bytes).
 *
 * Threads: any.  Allocates: never.  Blocks: never.
 */

#define APY_FRAME_ALIGN 32
#define APY_FRAME_HEADER 32
#define APY_UDP_PAYLOAD_MAX 65504
#define APY_MESSAGE_MAX 16777216

enum {
    APY_FRAME_PAD = 0,
    APY_FRAME_DATA = 1,
    APY_FRAME_NAK = 2,
    APY_FRAME_SM = 3,
    APY_FRAME_ERR = 4,
    APY_FRAME_SETUP = 5,
    APY_FRAME_RTTM = 6,
    APY_FRAME_RES = 7,
    APY_FRAME_RSP_SETUP = 11
};

enum {
    APY_FLAG_BEGIN = 0x80,
    APY_FLAG_END = 0x40,
    APY_FLAG_UNFRAGMENTED = 0xC0,
    APY_FLAG_EOS = 0x20,
    APY_FLAG_REVOKED = 0x10,
    APY_FLAG_SM_SEND_SETUP = 0x80,
    APY_FLAG_SM_EOS = 0x40,
    APY_FLAG_SETUP_SEND_RESPONSE = 0x80,
    APY_FLAG_SETUP_GROUP = 0x40,
    APY_FLAG_RTTM_REPLY = 0x80,
    APY_FLAG_ERR_HAS_GROUP_TAG = 0x08
};

#pragma pack(push, 4)
typedef struct apy_frame { /* data and padding; also the header in a log */
    int32_t length;
    uint8_t version;
    uint8_t flags;
    uint16_t type;
    int32_t term_offset;
    int32_t session_id;
    int32_t stream_id;
    int32_t term_id;
    int64_t reserved_value;
} apy_frame_t;

typedef struct apy_setup {
    int32_t length;
    uint8_t version;
    uint8_t flags;
    uint16_t type;
    int32_t term_offset;
    int32_t session_id;
    int32_t stream_id;
    int32_t initial_term_id;
    int32_t active_term_id;
    int32_t term_length;
    int32_t mtu;
    int32_t ttl;
} apy_setup_t;

typedef struct apy_sm {
    int32_t length;
    uint8_t version;
    uint8_t flags;
    uint16_t type;
    int32_t session_id;
    int32_t stream_id;
    int32_t consumption_term_id;
    int32_t consumption_term_offset;
    int32_t receiver_window;
    int64_t receiver_id;
} apy_sm_t; /* an i64 group tag may follow */

typedef struct apy_nak {
    int32_t length;
    uint8_t version;
    uint8_t flags;
    uint16_t type;
    int32_t session_id;
    int32_t stream_id;
    int32_t term_id;
    int32_t term_offset;
    int32_t range_length;
} apy_nak_t;

typedef struct apy_rttm {
    int32_t length;
    uint8_t version;
    uint8_t flags;
    uint16_t type;
    int32_t session_id;
    int32_t stream_id;
    int64_t echo_timestamp;
    int64_t reception_delta;
    int64_t receiver_id;
} apy_rttm_t;

typedef struct apy_err {
    int32_t length;
    uint8_t version;
    uint8_t flags;
    uint16_t type;
    int32_t session_id;
    int32_t stream_id;
    int64_t receiver_id;
    int64_t group_tag;
    int32_t error_code;
    int32_t error_length;
} apy_err_t; /* text follows */

typedef struct apy_rsp_setup {
    int32_t length;
    uint8_t version;
    uint8_t flags;
    uint16_t type;
    int32_t session_id;
    int32_t stream_id;
    int32_t response_session_id;
} apy_rsp_setup_t;
#pragma pack(pop)

static_assert(sizeof(apy_frame_t) == 32, "data header");
static_assert(offsetof(apy_frame_t, reserved_value) == 24, "reserved value");
static_assert(sizeof(apy_setup_t) == 40, "setup");
static_assert(sizeof(apy_sm_t) == 36 && offsetof(apy_sm_t, receiver_id) == 28, "status message");
static_assert(sizeof(apy_nak_t) == 28, "nak");
static_assert(sizeof(apy_rttm_t) == 40, "rtt measurement");
static_assert(sizeof(apy_err_t) == 40, "error");
static_assert(sizeof(apy_rsp_setup_t) == 20, "response setup");

/* Bytes that a frame of this length occupies in a log. */
static inline int32_t apy_frame_span(int32_t length)
{
    return (int32_t)(((uint32_t)length + (APY_FRAME_ALIGN - 1)) & ~(uint32_t)(APY_FRAME_ALIGN - 1));
}

/* Bytes that a message takes in a log when frames carry at most payload_max bytes. */
static inline int64_t apy_framed_length(int64_t length, int32_t payload_max)
{
    const int64_t whole = length / payload_max;
    const int64_t rest = length % payload_max;
    const int64_t last = rest > 0 ? apy_frame_span((int32_t)rest + APY_FRAME_HEADER) : 0;
    return length == 0 ? APY_FRAME_HEADER : whole * (payload_max + APY_FRAME_HEADER) + last;
}

/* May this datagram be looked at by its type? (spec: validity gate) */
bool apy_datagram_is_valid(const uint8_t *datagram, size_t length);

/* A heartbeat: a data datagram of exactly one header with length 0. */
static inline bool apy_datagram_is_heartbeat(const apy_frame_t *frame, size_t length)
{
    return length == APY_FRAME_HEADER && frame->length == 0;
}

#endif
