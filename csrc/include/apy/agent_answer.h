#ifndef APY_AGENT_ANSWER_H
#define APY_AGENT_ANSWER_H

#include <stdbool.h>

#include "apy/conductor_inbox.h"
#include "apy/driver_context.h"
#include "apy/error.h"

/*
 * agent_answer is how sender and receiver tell the core that they let go of something. One that the inbox had no room for
 * is kept, and the agent takes no further command before it is given.
 *
 * Threads: the agent.  Allocates: never.  Blocks: never.
 */

typedef struct apy_answer {
    int32_t type; /* 0: none is owed */
    apy_inbox_released_t released;
} apy_answer_t;

/* Give the answer that is owed, if there is one; true when none is owed any more. */
static inline bool apy_answer_give(apy_answer_t *answer, apy_driver_context_t *context)
{
    if (answer->type == 0) {
        return true;
    }
    if (apy_mpsc_ring_write(context->conductor_inbox, answer->type, &answer->released, sizeof(answer->released)) !=
        APY_OK) {
        apy_count(context, APY_SC_CONDUCTOR_PROXY_FAILS, 1);
        return false;
    }
    answer->type = 0;
    return true;
}

static inline void apy_answer_released(apy_answer_t *answer, apy_driver_context_t *context, int32_t type,
                                       void *resource, int64_t id)
{
    *answer = (apy_answer_t){type, {resource, id}};
    (void)apy_answer_give(answer, context);
}

#endif
