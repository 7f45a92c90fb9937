#ifndef APY_RECEIVE_TIMESTAMPS_H
#define APY_RECEIVE_TIMESTAMPS_H

#include <stddef.h>
#include <stdint.h>

/*
 * receive_timestamps writes into each message of a datagram when it came: by the wall clock now, and by the
 * kernel's word. It goes into the header's reserved value or over bytes of the payload that the sender left for it.
 *
 * Threads: any.  Allocates: never.  Blocks: never.
 */

/*
 * For a datagram of whole frames (apy_packet_span). Each offset is one of udp_channel.h; media_ns 0: not known. A
 * payload that is too short for it gets none.
 */
void apy_stamp_received(uint8_t *datagram, size_t length, int32_t channel_offset, int32_t media_offset,
                        int64_t media_ns);

#endif
