#ifndef APY_APPEND_H
#define APY_APPEND_H

#include <stdint.h>
#include <sys/uio.h>

#include "apy/doorbell.h"
#include "apy/log_buffer.h"

/*
 * append puts messages into a log: by many threads and processes at once, or by one writer alone.
 *
 * Results are the new stream position, or one of the negative codes below, which are Aeron's; the last
 * one leaves its reason with apy_fail. The limit is compared with the start of the message only.
 *
 * Threads: offer and claim any number; the exclusive_ kind one at a time.
 * Allocates: never.  Blocks: never.
 */

enum {
    APY_NOT_CONNECTED = -1,
    APY_BACK_PRESSURED = -2,
    APY_ADMIN_ACTION = -3,
    APY_CLOSED = -4,
    APY_MAX_POSITION_EXCEEDED = -5,
    APY_OFFER_ERROR = -6
};

/* Called once per frame before it is committed; what it returns becomes the reserved value. */
typedef int64_t (*apy_reserved_value_fn)(void *context, uint8_t *frame, int32_t frame_length);

/* How a writer at its limit makes itself heard by who moves it: once for each limit. */
typedef struct apy_limit_bell {
    apy_doorbell_t *bell;
    int64_t rung_limit; /* relaxed */
} apy_limit_bell_t;

typedef struct apy_append {
    uint8_t *terms[APY_PARTITIONS];
    apy_log_meta_t *meta;
    const int64_t *limit; /* the pub-lmt counter */
    int64_t position_max;
    int32_t term_length, shift, initial_term_id;
    int32_t session_id, stream_id;
    int32_t payload_max; /* of one frame */
    int32_t message_max;
    int32_t small_max;            /* of a payload that goes in without a call */
    apy_limit_bell_t *limit_bell; /* NULL: nobody listens */
    const apy_ringer_t *ringer;   /* for readers that sleep; NULL: they look for themselves */
} apy_append_t;

typedef struct apy_exclusive {
    apy_append_t base;
    int64_t term_begin_position;
    uint8_t *term; /* the partition's */
    int64_t *tail;
    int32_t term_id, term_offset, partition;
} apy_exclusive_t;

/* Messages in memory: each of length bytes, stride apart; or, with lengths, one behind the other within bytes. */
typedef struct apy_messages {
    const uint8_t *at;
    const int32_t *lengths;       /* or NULL */
    int64_t stride, bytes, count; /* bytes: with lengths only */
    int32_t length;
} apy_messages_t;

void apy_append_init(apy_append_t *append, const apy_log_t *log, const int64_t *limit);
void apy_exclusive_init(apy_exclusive_t *exclusive, const apy_log_t *log, const int64_t *limit);

/* One message gathered from count parts. supplier may be NULL. */
int64_t apy_append_offer(const apy_append_t *append, const struct iovec *parts, int count,
                         apy_reserved_value_fn supplier, void *context);
int64_t apy_exclusive_offer(apy_exclusive_t *exclusive, const struct iovec *parts, int count,
                            apy_reserved_value_fn supplier, void *context);

/*
 * A run: as many of the first messages, none longer than a frame, as one update of the tail can take within the term,
 * up to the limit as single offers would. Returns how many are in, with messages moved on and *position behind them; 0 where there is nothing
 * to gain or something in the way: offer one message then, which tells. Each frame is committed in its turn, and behind
 * the last one committed there is always the (negative) length of all the rest: whoever finds the writer dead there can
 * free it in one go. A concurrent run that was freed so ends, and what is left of it was not accepted.
 */
int64_t apy_append_offer_run(const apy_append_t *append, apy_messages_t *messages, int64_t *position);
int64_t apy_exclusive_offer_run(apy_exclusive_t *exclusive, apy_messages_t *messages, int64_t *position);

/* Reserve one frame of length payload bytes; *frame is its header, to be ended by commit or abort. */
int64_t apy_append_claim(const apy_append_t *append, int32_t length, uint8_t **frame);
int64_t apy_exclusive_claim(apy_exclusive_t *exclusive, int32_t length, uint8_t **frame);
void apy_claim_commit(uint8_t *frame); /* takes the length from the claimed (negative) header */
void apy_claim_abort(uint8_t *frame);

/* One padding frame of length + header bytes; one run of frames formatted by the caller. */
int64_t apy_exclusive_append_padding(apy_exclusive_t *exclusive, int32_t length);
int64_t apy_exclusive_offer_block(apy_exclusive_t *exclusive, const uint8_t *block, int32_t length);

void apy_append_ring_sleepers(const apy_append_t *append);
/* Wake readers that sleep, behind a commit or abort; offers and padding do it themselves. */
static inline void apy_append_ring(const apy_append_t *append)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(apy_load_relaxed_i32(&append->meta->readers.armed) != 0, 0)) {
        apy_append_ring_sleepers(append);
    }
}

/* Positions as the publication sees them. */
int64_t apy_append_position(const apy_append_t *append);
static inline int64_t apy_exclusive_position(const apy_exclusive_t *exclusive)
{
    return exclusive->term_begin_position + exclusive->term_offset;
}

#endif
