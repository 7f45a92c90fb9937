#include "apy/call_slot.h"

#include <stdint.h>
#include <string.h>

#include "apy/atomic.h"

#define RING_AGAIN_NS INT64_C(100000)

static apy_call_fn load_function(const apy_call_slot_t *slot)
{
    return atomic_load_explicit((const _Atomic(apy_call_fn) *)&slot->function, memory_order_acquire);
}

static void store_function(apy_call_slot_t *slot, apy_call_fn function)
{
    atomic_store_explicit((_Atomic(apy_call_fn) *)&slot->function, function, memory_order_release);
}

void apy_call_slot_init(apy_call_slot_t *slot)
{
    memset(slot, 0, sizeof(*slot));
    slot->is_direct = 1;
    apy_wake_init(&slot->done);
}

void apy_call_slot_set_direct(apy_call_slot_t *slot, bool is_direct)
{
    apy_store_release_i32(&slot->is_direct, is_direct);
}

int apy_call_slot_call(apy_call_slot_t *slot, apy_call_fn function, void *owner, void *argument)
{
    if (apy_load_acquire_i32(&slot->is_direct)) {
        return function(owner, argument);
    }
    slot->argument = argument;
    store_function(slot, function);
    do {
        if (slot->bell != NULL) {
            apy_doorbell_wake(slot->bell, slot->ringer); /* again and again: it may have been on its way to sleep */
        }
        /* the server is busy with its duty cycle; it always comes */
    } while (!apy_wake_wait(&slot->done, RING_AGAIN_NS));
    return slot->result < 0 ? apy_fail(slot->result, "%s", slot->error_text) : slot->result;
}

int apy_call_slot_serve(apy_call_slot_t *slot, void *owner)
{
    const apy_call_fn function = load_function(slot);
    if (function == NULL) {
        return 0;
    }
    slot->result = function(owner, slot->argument);
    if (slot->result < 0) {
        strcpy(slot->error_text, apy_error_text());
    }
    store_function(slot, NULL); /* before the signal: the caller may come again at once */
    apy_wake_signal(&slot->done);
    return 1;
}
