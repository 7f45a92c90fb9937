#ifndef APY_LOSS_INTERCEPTOR_H
#define APY_LOSS_INTERCEPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * loss_interceptor drops incoming datagrams on purpose: by a seed, so that a failing run can be repeated; or gaps
 * in one term of each stream, each once, so that what is sent again comes through.
 *
 * Threads: belongs to one agent.  Allocates: never.  Blocks: never.
 */

#define APY_GAP_STREAMS_MAX 64 /* further ones lose nothing */

/* Which gaps: either all from the first offset seen to end, or [k * radix, k * radix + length) for k from 1 to count. */
typedef struct apy_gap_plan {
    int32_t term_id;
    int32_t end;                  /* 0: no such gap */
    int32_t radix, length, count; /* radix 0: none of those, else a power of two */
} apy_gap_plan_t;

typedef struct apy_loss_plan {
    double rate;   /* 0: nothing is dropped by chance */
    uint32_t mask; /* of frame types: 1 << type */
    uint64_t seed;
    apy_gap_plan_t fixed, gaps;
} apy_loss_plan_t;

/* How far one stream lost something already: behind it nothing is dropped a second time. */
typedef struct apy_gap_stream {
    int32_t session_id, stream_id;
    int32_t fixed_offset, gaps_offset;
} apy_gap_stream_t;

typedef struct apy_loss_interceptor {
    apy_loss_plan_t plan;
    uint64_t state;
    int stream_count;
    apy_gap_stream_t streams[APY_GAP_STREAMS_MAX];
} apy_loss_interceptor_t;

void apy_loss_interceptor_init(apy_loss_interceptor_t *loss, const apy_loss_plan_t *plan);
bool apy_loss_interceptor_drops(apy_loss_interceptor_t *loss, const uint8_t *datagram, size_t length);

#endif
