#ifndef APY_RETRANSMIT_H
#define APY_RETRANSMIT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * retransmit answers NAKs: it resends at once or after a delay, and then for a while ignores the same request,
 * because the answer is under way.
 *
 * Threads: the sender.  Allocates: in init.  Blocks: never.
 */

typedef void (*apy_resend_fn)(void *context, int32_t term_id, int32_t term_offset, int32_t length, int64_t now_ns);

typedef enum apy_retransmit_state {
    APY_RETRANSMIT_INACTIVE,
    APY_RETRANSMIT_DELAYED,
    APY_RETRANSMIT_LINGERING
} apy_retransmit_state_t;

typedef struct apy_retransmit_slot {
    apy_retransmit_state_t state;
    int32_t term_id, term_offset, length;
    int64_t expiry_ns;
} apy_retransmit_slot_t;

typedef struct apy_retransmit {
    apy_retransmit_slot_t *slots;
    int32_t slot_count, active_count;
    bool is_group; /* a busy slot is not taken over */
    int64_t delay_ns, linger_ns;
    apy_resend_fn resend;
    void *context;
} apy_retransmit_t;

typedef enum apy_nak_outcome {
    APY_NAK_TAKEN,      /* resent, or will be */
    APY_NAK_SUPPRESSED, /* its answer is under way */
    APY_NAK_OVERFLOW    /* every slot is busy */
} apy_nak_outcome_t;

/* slot_count: 1 without group semantics. */
int apy_retransmit_init(apy_retransmit_t *retransmit, int32_t slot_count, bool is_group, int64_t delay_ns,
                        int64_t linger_ns, apy_resend_fn resend, void *context);
void apy_retransmit_free(apy_retransmit_t *retransmit);

/* The range was checked and cut to what may be resent at once; it is not empty. */
apy_nak_outcome_t apy_retransmit_on_nak(apy_retransmit_t *retransmit, int32_t term_id, int32_t term_offset,
                                        int32_t length, int64_t now_ns);
void apy_retransmit_check_timers(apy_retransmit_t *retransmit, int64_t now_ns);

#endif
