#ifndef APY_TERM_REBUILD_H
#define APY_TERM_REBUILD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * term_rebuild puts what came over the network back into a term.
 *
 * Threads: the receiver's, at once with readers.  Allocates: never.  Blocks: never.
 */

/*
 * Check a data datagram that starts at term_offset of a term. Returns the bytes that it covers in the
 * log (a trailing padding counts whole), 0 for a heartbeat, or APY_E_CORRUPT (without a text).
 */
int32_t apy_packet_span(const uint8_t *packet, int32_t length, int32_t term_length);

/* Copy the packet unless its first frame is there already. The packet was checked. */
void apy_term_insert(uint8_t *term, int32_t term_offset, const uint8_t *packet, int32_t length);

/* Turn a gap into one padding frame if it is still empty; default_header is the log's. */
bool apy_gap_fill(uint8_t *term, const uint8_t *default_header, int32_t term_id, int32_t offset, int32_t length);

#endif
