#ifndef APY_CALL_SLOT_H
#define APY_CALL_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/doorbell.h"
#include "apy/error.h"
#include "apy/wake.h"

/*
 * call_slot lets a thread that decides (Python, with the GIL released) run a function on the thread that
 * owns the data, between two of its duty cycles, and get its result and error text back.
 *
 * Threads: one calls, one serves.  Allocates: never.  Blocks: call, until served; serve, never.
 */

typedef int (*apy_call_fn)(void *owner, void *argument);

typedef struct apy_call_slot {
    apy_call_fn function; /* release by the caller, cleared by the server */
    void *argument;
    int result;
    apy_doorbell_t *bell;       /* of the server's sleep; may be NULL */
    const apy_ringer_t *ringer; /* for a server that dozes; may be NULL */
    int32_t is_direct;          /* no server thread runs: call executes at once on the caller's thread */
    apy_wake_t done;
    char error_text[APY_ERROR_TEXT_MAX];
} apy_call_slot_t;

void apy_call_slot_init(apy_call_slot_t *slot); /* starts direct */

/* Switch between direct calls and a server thread; only while no call is in flight. */
void apy_call_slot_set_direct(apy_call_slot_t *slot, bool is_direct);

int apy_call_slot_call(apy_call_slot_t *slot, apy_call_fn function, void *owner, void *argument);

/* Run what is waiting, if anything: returns 1 or 0. owner is handed to the function. */
int apy_call_slot_serve(apy_call_slot_t *slot, void *owner);

#endif
