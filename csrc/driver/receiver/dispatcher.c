#include "apy/dispatcher.h"

#include <stdlib.h>

#include "apy/error.h"
#include "apy/frame.h"

static apy_stream_t *find_stream(const apy_dispatcher_t *dispatcher, int32_t stream_id)
{
    return apy_key_map_get(&dispatcher->streams, stream_id);
}

static apy_session_t *find_session(const apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id)
{
    return apy_key_map_get(&dispatcher->sessions, apy_stream_key(stream_id, session_id));
}

static bool is_foreign(const apy_session_t *session)
{
    return !session->is_subscribed && session->image == NULL;
}

static bool is_wanted(const apy_stream_t *stream, const apy_session_t *session)
{
    return stream->is_all_sessions || (session != NULL && session->is_subscribed);
}

void apy_dispatcher_free(apy_dispatcher_t *dispatcher)
{
    for (int32_t i = 0; i < dispatcher->sessions.capacity; i++) {
        free(dispatcher->sessions.slots[i].value);
    }
    for (int32_t i = 0; i < dispatcher->streams.capacity; i++) {
        free(dispatcher->streams.slots[i].value);
    }
    apy_key_map_free(&dispatcher->sessions);
    apy_key_map_free(&dispatcher->streams);
    dispatcher->foreign_count = 0;
}

/* --- records --- */

static int take_stream(apy_dispatcher_t *dispatcher, int32_t stream_id, apy_stream_t **taken)
{
    apy_stream_t *stream = find_stream(dispatcher, stream_id);
    if (stream == NULL) {
        stream = calloc(1, sizeof(*stream));
        if (stream == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory for stream %d", stream_id);
        }
        stream->stream_id = stream_id;
        const int rc = apy_key_map_put(&dispatcher->streams, stream_id, stream);
        if (rc != APY_OK) {
            free(stream);
            return rc;
        }
    }
    *taken = stream;
    return APY_OK;
}

/* A new record counts as foreign until it is subscribed or has an image. */
static int take_session(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id, apy_session_t **taken)
{
    apy_session_t *session = find_session(dispatcher, stream_id, session_id);
    if (session == NULL) {
        session = calloc(1, sizeof(*session));
        if (session == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory for session %d of stream %d", session_id, stream_id);
        }
        session->stream_id = stream_id;
        session->session_id = session_id;
        const int rc = apy_key_map_put(&dispatcher->sessions, apy_stream_key(stream_id, session_id), session);
        if (rc != APY_OK) {
            free(session);
            return rc;
        }
        dispatcher->foreign_count++;
    }
    *taken = session;
    return APY_OK;
}

static void set_subscribed(apy_dispatcher_t *dispatcher, apy_session_t *session, bool is_subscribed)
{
    const int32_t before = is_foreign(session);
    session->is_subscribed = is_subscribed;
    dispatcher->foreign_count += is_foreign(session) - before;
}

static void set_image(apy_dispatcher_t *dispatcher, apy_session_t *session, apy_session_state_t state,
                      apy_image_t *image)
{
    const int32_t before = is_foreign(session);
    session->state = state;
    session->image = image;
    dispatcher->foreign_count += is_foreign(session) - before;
}

/* Drop a record that says nothing; true when it is gone. */
static bool tidy(apy_dispatcher_t *dispatcher, apy_session_t *session)
{
    if (session->state != APY_SESSION_NEW || !is_foreign(session)) {
        return false;
    }
    apy_key_map_remove(&dispatcher->sessions, apy_stream_key(session->stream_id, session->session_id));
    free(session);
    dispatcher->foreign_count--;
    return true;
}

static void tidy_stream(apy_dispatcher_t *dispatcher, apy_stream_t *stream)
{
    if (!stream->is_all_sessions && stream->subscribed_count == 0) {
        apy_key_map_remove(&dispatcher->streams, stream->stream_id);
        free(stream);
    }
}

/* Forget every state and image of the sessions without a subscription. */
static void forget_unsubscribed(apy_dispatcher_t *dispatcher, int32_t stream_id)
{
    int32_t at = 0;
    while (at < dispatcher->sessions.capacity) {
        apy_session_t *session = dispatcher->sessions.slots[at].value;
        if (session != NULL && session->stream_id == stream_id && !session->is_subscribed) {
            set_image(dispatcher, session, APY_SESSION_NEW, NULL);
            if (tidy(dispatcher, session)) {
                continue; /* another may have moved into this slot */
            }
        }
        at++;
    }
}

/* Cool-downs may last as long as their subscription: many must not keep new sessions out. */
static bool end_a_cool_down(apy_dispatcher_t *dispatcher)
{
    for (int32_t i = 0; i < dispatcher->sessions.capacity; i++) {
        apy_session_t *session = dispatcher->sessions.slots[i].value;
        if (session != NULL && session->state == APY_SESSION_COOL_DOWN && is_foreign(session)) {
            session->state = APY_SESSION_NEW;
            return tidy(dispatcher, session);
        }
    }
    return false;
}

/* --- interest --- */

int apy_dispatcher_add_stream(apy_dispatcher_t *dispatcher, int32_t stream_id)
{
    apy_stream_t *stream = NULL;
    const int rc = take_stream(dispatcher, stream_id, &stream);
    if (rc != APY_OK) {
        return rc;
    }
    stream->is_all_sessions = true;
    return APY_OK;
}

int apy_dispatcher_add_session(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id)
{
    apy_stream_t *stream = NULL;
    apy_session_t *session = NULL;
    int rc = take_stream(dispatcher, stream_id, &stream);
    if (rc != APY_OK) {
        return rc;
    }
    rc = take_session(dispatcher, stream_id, session_id, &session);
    if (rc != APY_OK) {
        tidy_stream(dispatcher, stream);
        return rc;
    }
    if (!session->is_subscribed) {
        set_subscribed(dispatcher, session, true);
        stream->subscribed_count++;
    }
    return APY_OK;
}

void apy_dispatcher_remove_stream(apy_dispatcher_t *dispatcher, int32_t stream_id)
{
    apy_stream_t *stream = find_stream(dispatcher, stream_id);
    if (stream != NULL) {
        stream->is_all_sessions = false;
        forget_unsubscribed(dispatcher, stream_id);
        tidy_stream(dispatcher, stream);
    }
}

void apy_dispatcher_remove_session(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id)
{
    apy_stream_t *stream = find_stream(dispatcher, stream_id);
    apy_session_t *session = find_session(dispatcher, stream_id, session_id);
    if (stream == NULL || session == NULL || !session->is_subscribed) {
        return;
    }
    set_subscribed(dispatcher, session, false);
    stream->subscribed_count--;
    if (!stream->is_all_sessions) {
        set_image(dispatcher, session, APY_SESSION_NEW, NULL);
        tidy(dispatcher, session);
        if (stream->subscribed_count == 0) { /* cool-downs go with the stream */
            forget_unsubscribed(dispatcher, stream_id);
        }
    } else {
        tidy(dispatcher, session);
    }
    tidy_stream(dispatcher, stream);
}

/* --- what came in --- */

apy_verdict_t apy_dispatcher_on_data(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id, uint8_t flags,
                                     apy_image_t **image)
{
    const apy_session_t *session = find_session(dispatcher, stream_id, session_id);
    if (session != NULL && session->image != NULL) {
        *image = session->image;
        return APY_VERDICT_IMAGE;
    }
    if ((session != NULL && session->state != APY_SESSION_NEW) || (flags & APY_FLAG_EOS)) {
        return APY_VERDICT_IGNORE;
    }
    const apy_stream_t *stream = find_stream(dispatcher, stream_id);
    if (stream == NULL) {
        return APY_VERDICT_IGNORE;
    }
    return is_wanted(stream, session) ? APY_VERDICT_ELICIT : APY_VERDICT_IGNORE;
}

static bool is_at_limit(const apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_limit)
{
    int32_t count = 0;
    if (session_limit == INT32_MAX) {
        return false;
    }
    for (int32_t i = 0; i < dispatcher->sessions.capacity; i++) {
        const apy_session_t *session = dispatcher->sessions.slots[i].value;
        count += session != NULL && session->stream_id == stream_id &&
                 (session->image != NULL || session->state == APY_SESSION_INIT);
    }
    return count >= session_limit;
}

apy_verdict_t apy_dispatcher_on_setup(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id,
                                      int32_t session_limit, apy_image_t **image)
{
    const apy_session_t *session = find_session(dispatcher, stream_id, session_id);
    if (session != NULL && session->image != NULL) {
        *image = session->image;
        return APY_VERDICT_IMAGE;
    }
    const apy_stream_t *stream = find_stream(dispatcher, stream_id);
    const apy_session_state_t state = session == NULL ? APY_SESSION_NEW : session->state;
    if (stream == NULL || (state != APY_SESSION_NEW && state != APY_SESSION_PENDING_SETUP)) {
        return APY_VERDICT_IGNORE;
    }
    if (!is_wanted(stream, session)) {
        return APY_VERDICT_IGNORE;
    }
    return is_at_limit(dispatcher, stream_id, session_limit) ? APY_VERDICT_SESSION_LIMIT : APY_VERDICT_CREATE;
}

bool apy_dispatcher_tells_limit(apy_dispatcher_t *dispatcher, int32_t stream_id, int64_t now_ns, int64_t interval_ns)
{
    apy_stream_t *stream = find_stream(dispatcher, stream_id);
    if (stream == NULL || (stream->was_limit_told && now_ns - stream->limit_told_ns < interval_ns)) {
        return false;
    }
    stream->was_limit_told = true;
    stream->limit_told_ns = now_ns;
    return true;
}

apy_image_t *apy_dispatcher_image(const apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id)
{
    const apy_session_t *session = find_session(dispatcher, stream_id, session_id);
    return session == NULL ? NULL : session->image;
}

apy_session_state_t apy_dispatcher_state(const apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id)
{
    const apy_session_t *session = find_session(dispatcher, stream_id, session_id);
    return session == NULL ? APY_SESSION_NEW : session->state;
}

int apy_dispatcher_mark(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id, apy_session_state_t state)
{
    apy_session_t *session = find_session(dispatcher, stream_id, session_id);
    if (session == NULL) {
        if (dispatcher->foreign_count >= APY_FOREIGN_SESSIONS_MAX && !end_a_cool_down(dispatcher)) {
            return APY_E_FULL;
        }
        const int rc = take_session(dispatcher, stream_id, session_id, &session);
        if (rc != APY_OK) {
            return rc;
        }
    }
    session->state = state;
    return APY_OK;
}

void apy_dispatcher_clear(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id,
                          apy_session_state_t state)
{
    apy_session_t *session = find_session(dispatcher, stream_id, session_id);
    if (session != NULL && session->state == state && session->image == NULL) {
        session->state = APY_SESSION_NEW;
        tidy(dispatcher, session);
    }
}

int apy_dispatcher_add_image(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id, apy_image_t *image)
{
    const apy_stream_t *stream = find_stream(dispatcher, stream_id);
    apy_session_t *session = find_session(dispatcher, stream_id, session_id);
    if (stream == NULL || !is_wanted(stream, session)) {
        apy_dispatcher_clear(dispatcher, stream_id, session_id, APY_SESSION_INIT);
        return APY_OK;
    }
    const int rc = take_session(dispatcher, stream_id, session_id, &session);
    if (rc == APY_OK) {
        set_image(dispatcher, session, APY_SESSION_IMAGE, image);
    }
    return rc;
}

void apy_dispatcher_remove_image(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id,
                                 const apy_image_t *image, bool is_end_of_stream)
{
    apy_session_t *session = find_session(dispatcher, stream_id, session_id);
    if (session != NULL && session->image == image) {
        set_image(dispatcher, session, is_end_of_stream ? APY_SESSION_NEW : APY_SESSION_COOL_DOWN, NULL);
        tidy(dispatcher, session);
    }
}
