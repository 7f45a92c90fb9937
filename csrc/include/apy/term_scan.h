#ifndef APY_TERM_SCAN_H
#define APY_TERM_SCAN_H

#include <stdint.h>

/*
 * term_scan answers how much may be read from a term now: for the sender, for block readers, for
 * loss detection.
 *
 * Writers reserve space first and publish the frame length last, so the first length that is not
 * positive marks the edge of what is safe to read.
 *
 * Threads: any, at once with writers.  Allocates: never.  Blocks: never.
 */

typedef struct apy_scan {
    int32_t bytes;   /* to transmit: whole frames; of a padding frame only its header */
    int32_t padding; /* bytes of a last padding frame beyond its header */
} apy_scan_t;

/*
 * What one datagram of at most bytes_max may carry from offset. 1: found filled; 0: nothing there;
 * -span (negative multiple of 32): the first frame alone is larger than bytes_max.
 */
int32_t apy_term_scan(const uint8_t *term, int32_t term_length, int32_t offset, int32_t bytes_max, apy_scan_t *found);

/*
 * Length of the run of whole frames within [offset, limit): stops before padding. Padding comes alone, and
 * whole: it may end past the limit (up to the term's end), or no smaller limit would ever get over it.
 */
int32_t apy_block_scan(const uint8_t *term, int32_t offset, int32_t limit);

typedef struct apy_gap {
    int32_t offset;
    int32_t length; /* 0: no gap */
} apy_gap_t;

/* Walk from rebuild_offset to limit; returns the offset up to which all is there, and the first gap. */
int32_t apy_gap_scan(const uint8_t *term, int32_t rebuild_offset, int32_t limit, apy_gap_t *gap);

#endif
