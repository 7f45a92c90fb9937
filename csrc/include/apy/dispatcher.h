#ifndef APY_DISPATCHER_H
#define APY_DISPATCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/image.h"
#include "apy/key_map.h"

/*
 * dispatcher knows which streams and sessions of one receive endpoint are wanted, and which image rebuilds each.
 *
 * It only judges: the receiver acts, and then marks what it did. Sessions that nobody asked for by command are
 * remembered up to a limit, since anybody can name new ones.
 *
 * Threads: the receiver.  Allocates: for streams and sessions.  Blocks: never.
 */

#define APY_FOREIGN_SESSIONS_MAX 1024

typedef enum apy_session_state {
    APY_SESSION_NEW,           /* nothing known */
    APY_SESSION_PENDING_SETUP, /* a SETUP was asked for */
    APY_SESSION_INIT,          /* the conductor makes an image */
    APY_SESSION_COOL_DOWN,     /* its image was removed before the end */
    APY_SESSION_IMAGE
} apy_session_state_t;

typedef struct apy_session {
    int32_t stream_id, session_id;
    apy_session_state_t state;
    bool is_subscribed; /* by its own id */
    apy_image_t *image;
} apy_session_t;

typedef struct apy_stream {
    int32_t stream_id;
    bool is_all_sessions;
    int32_t subscribed_count; /* sessions by their own ids */
    bool was_limit_told;
    int64_t limit_told_ns;
} apy_stream_t;

typedef struct apy_dispatcher {
    apy_key_map_t streams;  /* by stream id */
    apy_key_map_t sessions; /* by stream and session */
    int32_t foreign_count;  /* sessions without subscription or image */
} apy_dispatcher_t;

typedef enum apy_verdict {
    APY_VERDICT_IGNORE,
    APY_VERDICT_IMAGE,        /* *image takes it */
    APY_VERDICT_ELICIT,       /* ask for a SETUP, mark PENDING_SETUP */
    APY_VERDICT_CREATE,       /* ask the conductor for an image, mark INIT */
    APY_VERDICT_SESSION_LIMIT /* more sessions than the stream may have */
} apy_verdict_t;

void apy_dispatcher_free(apy_dispatcher_t *dispatcher);

int apy_dispatcher_add_stream(apy_dispatcher_t *dispatcher, int32_t stream_id);
int apy_dispatcher_add_session(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id);
void apy_dispatcher_remove_stream(apy_dispatcher_t *dispatcher, int32_t stream_id);
void apy_dispatcher_remove_session(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id);

/* A data or padding frame with these flags came. */
apy_verdict_t apy_dispatcher_on_data(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id, uint8_t flags,
                                     apy_image_t **image);
apy_verdict_t apy_dispatcher_on_setup(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id,
                                      int32_t session_limit, apy_image_t **image);

/* Is it time to say again that a stream has all the sessions that it may? */
bool apy_dispatcher_tells_limit(apy_dispatcher_t *dispatcher, int32_t stream_id, int64_t now_ns, int64_t interval_ns);
apy_image_t *apy_dispatcher_image(const apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id);
apy_session_state_t apy_dispatcher_state(const apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id);
/* APY_E_FULL (no text) when too many foreign sessions are remembered already. */
int apy_dispatcher_mark(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id, apy_session_state_t state);
/* Forget a state, if it is still that one. */
void apy_dispatcher_clear(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id,
                          apy_session_state_t state);

/* An image for a stream that nobody wants any more is not taken, which is no error. */
int apy_dispatcher_add_image(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id, apy_image_t *image);
void apy_dispatcher_remove_image(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id,
                                 const apy_image_t *image, bool is_end_of_stream);

#endif
