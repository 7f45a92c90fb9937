#ifndef APY_UDP_CHANNEL_H
#define APY_UDP_CHANNEL_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * udp_channel is a channel after parsing and name resolution, as the sockets need it. Python fills it.
 */

typedef enum apy_control_mode {
    APY_CONTROL_NONE,
    APY_CONTROL_DYNAMIC,
    APY_CONTROL_MANUAL,
    APY_CONTROL_RESPONSE
} apy_control_mode_t;

/* Where a timestamp goes: a byte of the payload, or one of these. */
enum {
    APY_TIMESTAMP_NONE = -1,
    APY_TIMESTAMP_RESERVED = -8 /* the header's reserved value */
};

/* For initialisers, where a zero would be the first byte of the payload. */
#define APY_NO_TIMESTAMPS                                                                                              \
    .channel_snd_timestamp_offset = APY_TIMESTAMP_NONE, .channel_rcv_timestamp_offset = APY_TIMESTAMP_NONE,            \
    .media_rcv_timestamp_offset = APY_TIMESTAMP_NONE

typedef struct apy_udp_channel {
    struct sockaddr_storage remote_data, remote_control, local_data, local_control;
    uint32_t interface_index; /* multicast */
    apy_control_mode_t control_mode;
    bool is_multicast, has_explicit_endpoint, has_explicit_control;
    int32_t ttl;                  /* 0: the system's default */
    int32_t so_sndbuf, so_rcvbuf; /* 0: the system's default */
    int32_t channel_snd_timestamp_offset, channel_rcv_timestamp_offset, media_rcv_timestamp_offset;
    bool has_group_tag; /* of the receivers */
    int64_t group_tag;
} apy_udp_channel_t;

#endif
