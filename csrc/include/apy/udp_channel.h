#ifndef APY_UDP_CHANNEL_H
#define APY_UDP_CHANNEL_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#define APY_NO_TIMESTAMP (-1)
#define APY_TIMESTAMP_RESERVED (-8) /* in the header's reserved value, which lies before the payload */

/*
 * udp_channel is a channel after parsing and name resolution, as the sockets need it. Python fills it.
 */

typedef enum apy_control_mode {
    APY_CONTROL_NONE,
    APY_CONTROL_DYNAMIC,
    APY_CONTROL_MANUAL,
    APY_CONTROL_RESPONSE
} apy_control_mode_t;

typedef struct apy_udp_channel {
    struct sockaddr_storage remote_data, remote_control, local_data, local_control;
    uint32_t interface_index; /* multicast */
    apy_control_mode_t control_mode;
    bool is_multicast, has_explicit_endpoint, has_explicit_control;
    int32_t ttl;                  /* 0: the system's default */
    int32_t so_sndbuf, so_rcvbuf; /* 0: the system's default */
    /* bytes into a payload, or APY_TIMESTAMP_RESERVED, or APY_NO_TIMESTAMP */
    int32_t media_receive_timestamp_offset, channel_receive_timestamp_offset, channel_send_timestamp_offset;
} apy_udp_channel_t;

#endif
