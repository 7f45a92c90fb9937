#include "apy/retransmit.h"

#include <stdlib.h>

#include "apy/clock.h"
#include "apy/error.h"

int apy_retransmit_init(apy_retransmit_t *retransmit, int32_t slot_count, bool is_group, int64_t delay_ns,
                        int64_t linger_ns, apy_resend_fn resend, void *context)
{
    if (slot_count < 1) {
        return apy_fail(APY_E_ARGUMENT, "%d resends at once cannot be", slot_count);
    }
    apy_retransmit_slot_t *slots = calloc((size_t)slot_count, sizeof(*slots));
    if (slots == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for %d resends at once", slot_count);
    }
    *retransmit = (apy_retransmit_t){.slots = slots,
                                     .slot_count = slot_count,
                                     .is_group = is_group,
                                     .delay_ns = delay_ns,
                                     .linger_ns = linger_ns,
                                     .resend = resend,
                                     .context = context};
    return APY_OK;
}

void apy_retransmit_free(apy_retransmit_t *retransmit)
{
    free(retransmit->slots);
    retransmit->slots = NULL;
}

static bool is_under_way(const apy_retransmit_slot_t *slot, int32_t term_id, int32_t term_offset)
{
    return slot->state != APY_RETRANSMIT_INACTIVE && slot->term_id == term_id && slot->term_offset <= term_offset &&
           term_offset < slot->term_offset + slot->length;
}

static void resend(apy_retransmit_t *retransmit, apy_retransmit_slot_t *slot, int64_t now_ns)
{
    retransmit->resend(retransmit->context, slot->term_id, slot->term_offset, slot->length, now_ns);
    slot->state = APY_RETRANSMIT_LINGERING;
    slot->expiry_ns = apy_time_after(now_ns, retransmit->linger_ns);
}

apy_nak_outcome_t apy_retransmit_on_nak(apy_retransmit_t *retransmit, int32_t term_id, int32_t term_offset,
                                        int32_t length, int64_t now_ns)
{
    apy_retransmit_slot_t *slot = retransmit->is_group ? NULL : &retransmit->slots[0];
    for (int32_t i = 0; i < retransmit->slot_count; i++) {
        if (is_under_way(&retransmit->slots[i], term_id, term_offset)) {
            return APY_NAK_SUPPRESSED;
        }
        if (slot == NULL && retransmit->slots[i].state == APY_RETRANSMIT_INACTIVE) {
            slot = &retransmit->slots[i];
        }
    }
    if (slot == NULL) {
        return APY_NAK_OVERFLOW;
    }

    retransmit->active_count += slot->state == APY_RETRANSMIT_INACTIVE;
    slot->term_id = term_id;
    slot->term_offset = term_offset;
    slot->length = length;
    if (retransmit->delay_ns == 0) {
        resend(retransmit, slot, now_ns);
    } else {
        slot->state = APY_RETRANSMIT_DELAYED;
        slot->expiry_ns = apy_time_after(now_ns, retransmit->delay_ns);
    }
    return APY_NAK_TAKEN;
}

void apy_retransmit_check_timers(apy_retransmit_t *retransmit, int64_t now_ns)
{
    if (retransmit->active_count == 0) {
        return;
    }
    for (int32_t i = 0; i < retransmit->slot_count; i++) {
        apy_retransmit_slot_t *slot = &retransmit->slots[i];
        if (slot->state == APY_RETRANSMIT_INACTIVE || now_ns <= slot->expiry_ns) {
            continue;
        }
        if (slot->state == APY_RETRANSMIT_DELAYED) {
            resend(retransmit, slot, now_ns);
        } else {
            slot->state = APY_RETRANSMIT_INACTIVE;
            retransmit->active_count--;
        }
    }
}
