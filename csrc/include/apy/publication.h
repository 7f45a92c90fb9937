#ifndef APY_PUBLICATION_H
#define APY_PUBLICATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "apy/append.h"
#include "apy/atomic.h"
#include "apy/idle.h"

/*
 * publication is a client's end of a stream that it writes: an appender of either kind that can be closed
 * under its users.
 *
 * Threads: a shared one by any number, an exclusive one by one at a time; close and the questions by any.
 * Allocates: never.  Blocks: never, but send, as long as it is told.
 */

typedef struct apy_publication {
    apy_exclusive_t exclusive; /* its base alone is used when shared */
    apy_limit_bell_t limit_bell;
    apy_seat_t seat; /* of whoever waits for window */
    int32_t is_exclusive;
    int32_t is_closed; /* release; the mappings stay longer than any call */
} apy_publication_t;

void apy_publication_init(apy_publication_t *publication, const apy_log_t *log, const int64_t *limit,
                          bool is_exclusive);
/* Ring this, before anybody offers, where the limit is met: of the driver that moves it, mapped longer than any call. */
void apy_publication_set_bell(apy_publication_t *publication, apy_doorbell_t *bell);
/* Ring readers that sleep, with this: before anybody offers, and kept open longer than any call. */
void apy_publication_set_ringer(apy_publication_t *publication, const apy_ringer_t *ringer);
void apy_publication_close(apy_publication_t *publication);

static inline bool apy_publication_is_closed(const apy_publication_t *publication)
{
    return apy_load_acquire_i32(&publication->is_closed) != 0;
}

/* A position, or one of the negative codes of append.h. */
static inline int64_t apy_publication_offer(apy_publication_t *publication, const struct iovec *parts, int count,
                                            apy_reserved_value_fn supplier, void *context)
{
    if (__builtin_expect(apy_publication_is_closed(publication), 0)) {
        return APY_CLOSED;
    }
    return publication->is_exclusive ? apy_exclusive_offer(&publication->exclusive, parts, count, supplier, context)
                                     : apy_append_offer(&publication->exclusive.base, parts, count, supplier, context);
}

int64_t apy_publication_claim(apy_publication_t *publication, int32_t length, uint8_t **frame);
/* End a claim, and wake readers that sleep. The publication may be closed meanwhile, its log not unmapped. */
static inline void apy_publication_commit(const apy_publication_t *publication, uint8_t *frame)
{
    apy_claim_commit(frame);
    apy_append_ring(&publication->exclusive.base);
}
static inline void apy_publication_abort(const apy_publication_t *publication, uint8_t *frame)
{
    apy_claim_abort(frame);
    apy_append_ring(&publication->exclusive.base);
}

/* Try for at most timeout_ns while it may still succeed; returns what the last offer answered. */
int64_t apy_publication_send(apy_publication_t *publication, const struct iovec *parts, int count,
                             apy_reserved_value_fn supplier, void *context, apy_idle_t *idle, int64_t timeout_ns);

/*
 * Offer count messages of length bytes, stride apart; or, with lengths given, one behind the other within bytes. Goes
 * on over the ends of terms. Returns how many were accepted; *result is the last offer's answer: APY_OFFER_ERROR for a
 * length that is negative or leads out of the bytes.
 */
int64_t apy_publication_offer_strided(apy_publication_t *publication, const uint8_t *messages, int64_t stride,
                                      int32_t length, int64_t count, int64_t *result);
int64_t apy_publication_offer_packed(apy_publication_t *publication, const uint8_t *messages, int64_t bytes,
                                     const int32_t *lengths, int64_t count, int64_t *result);

int64_t apy_publication_position(const apy_publication_t *publication);       /* or APY_CLOSED */
int64_t apy_publication_position_limit(const apy_publication_t *publication); /* or APY_CLOSED */
bool apy_publication_is_connected(const apy_publication_t *publication);

#endif
