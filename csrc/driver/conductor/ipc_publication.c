#include "apy/ipc_publication.h"

#include <assert.h>
#include <stdlib.h>

#include "apy/atomic.h"
#include "apy/error.h"
#include "apy/untethered.h"

struct apy_ipc_publication {
    apy_driver_context_t *context;
    apy_log_t log;
    apy_ipc_publication_params_t params;
    apy_subscribers_t subscribers;
    apy_untethered_t untethered;
    apy_publication_state_t state;
    bool is_closed; /* no client holds it */
    bool is_cooling_down;
    int64_t cool_down_end_ns;
    int64_t trip_gain, trip_limit;
    int64_t clean_position;
    int64_t consumer_position; /* the furthest that a subscriber ever was */
    int64_t consumer_position_seen;
    int64_t paced_position;
    int64_t time_of_last_consumption_ns;
};

int apy_ipc_publication_create(apy_driver_context_t *context, apy_log_t *log,
                               const apy_ipc_publication_params_t *params, apy_ipc_publication_t **publication)
{
    apy_ipc_publication_t *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for an IPC publication");
    }
    made->context = context;
    made->log = *log;
    made->params = *params;
    made->untethered.window_limit_ns = params->untethered_window_limit_ns;
    made->untethered.linger_ns = params->untethered_linger_ns;
    made->untethered.resting_ns = params->untethered_resting_ns;
    made->state = APY_PUBLICATION_ACTIVE;
    made->trip_gain = params->window_length / 8;
    made->trip_limit = params->start_position;
    made->clean_position = params->start_position;
    made->consumer_position = params->start_position;
    made->consumer_position_seen = params->start_position;
    made->paced_position = params->start_position;
    made->time_of_last_consumption_ns = apy_nano_time(&context->clock);
    apy_waiters_promise(&made->log.meta->writers, &context->ringer);
    *publication = made;
    return APY_OK;
}

void apy_ipc_publication_free(apy_ipc_publication_t *publication)
{
    if (publication != NULL) {
        apy_subscribers_free(&publication->subscribers);
        apy_log_close(&publication->log);
        free(publication);
    }
}

static int64_t producer_position(const apy_ipc_publication_t *publication)
{
    return apy_log_producer_position(&publication->log);
}

static bool has_working_subscribers(const apy_ipc_publication_t *publication)
{
    int64_t least, most;
    return apy_subscribers_range(&publication->subscribers, &least, &most) > 0;
}

static void wake_writers(const apy_ipc_publication_t *publication)
{
    apy_waiters_ring_if_armed(&publication->log.meta->writers, &publication->context->ringer);
}

static void update_connected(apy_ipc_publication_t *publication)
{
    const bool is_connected = publication->state == APY_PUBLICATION_ACTIVE && has_working_subscribers(publication);
    if (apy_load_relaxed_i32(&publication->log.meta->is_connected) != is_connected) {
        apy_store_release_i32(&publication->log.meta->is_connected, is_connected);
        wake_writers(publication);
    }
}

static void update_consumer_position(apy_ipc_publication_t *publication)
{
    int64_t least, most;
    if (apy_subscribers_range(&publication->subscribers, &least, &most) > 0 && most > publication->consumer_position) {
        publication->consumer_position = most;
    }
}

int apy_ipc_publication_update(apy_ipc_publication_t *publication)
{
    if (publication->state != APY_PUBLICATION_ACTIVE) {
        return 0;
    }
    apy_store_release_i64(publication->params.pub_pos, producer_position(publication));

    int64_t least, most;
    if (apy_subscribers_range(&publication->subscribers, &least, &most) > 0) {
        if (most > publication->consumer_position) {
            publication->consumer_position = most;
        }
        const int64_t limit = least + publication->params.window_length;
        if (limit > publication->trip_limit) {
            apy_log_clean(&publication->log, &publication->clean_position, least);
            apy_store_release_i64(publication->params.pub_lmt, limit);
            publication->trip_limit = limit + publication->trip_gain;
            wake_writers(publication);
            return 1;
        }
    } else if (apy_load_relaxed_i64(publication->params.pub_lmt) > publication->consumer_position) {
        publication->trip_limit = publication->consumer_position;
        apy_store_release_i64(publication->params.pub_lmt, publication->consumer_position);
        apy_log_clean(&publication->log, &publication->clean_position, publication->consumer_position);
        return 1;
    }
    return 0;
}

int64_t apy_ipc_publication_moved(apy_ipc_publication_t *publication, int64_t *window)
{
    const int64_t before = publication->paced_position;
    publication->paced_position = apy_load_relaxed_i64(publication->params.pub_pos);
    *window = publication->params.window_length;
    return publication->paced_position - before;
}

static void unblock(apy_ipc_publication_t *publication)
{
    if (apy_log_unblock(&publication->log, publication->consumer_position, publication->is_closed)) {
        apy_count(publication->context, APY_SC_UNBLOCKED_PUBLICATIONS, 1);
        apy_waiters_ring_if_armed(&publication->log.meta->readers, &publication->context->ringer);
    }
}

/* A claim that nobody will ever commit stops every reader: give its owner time, then pad over it. */
static void check_blocked(apy_ipc_publication_t *publication, int64_t now_ns)
{
    if (publication->params.exclusive) {
        return;
    }
    const apy_log_t *log = &publication->log;
    const int64_t consumer = publication->consumer_position;
    if (consumer != publication->consumer_position_seen) {
        publication->consumer_position_seen = consumer;
        publication->time_of_last_consumption_ns = now_ns;
        return;
    }
    const int32_t term_count = apy_load_acquire_i32(&log->meta->active_term_count);
    const bool looks_blocked =
        term_count != (int32_t)(consumer >> log->shift) || producer_position(publication) > consumer;
    if (!looks_blocked) {
        publication->time_of_last_consumption_ns = now_ns;
    } else if (now_ns - publication->time_of_last_consumption_ns >
               publication->context->config.publication_unblock_timeout_ns) {
        unblock(publication);
        publication->time_of_last_consumption_ns = now_ns;
    }
}

static void end_stream(apy_ipc_publication_t *publication)
{
    const int64_t end = producer_position(publication);
    if (apy_load_relaxed_i64(publication->params.pub_lmt) > end) {
        apy_store_release_i64(publication->params.pub_lmt, end);
    }
    apy_store_release_i64(publication->params.pub_pos, end);
    apy_store_release_i64(&publication->log.meta->end_of_stream_position, end);
}

static int on_timer_active(apy_ipc_publication_t *publication, int64_t now_ns)
{
    if (__atomic_load_n(&publication->log.meta->is_publication_revoked, __ATOMIC_ACQUIRE)) {
        end_stream(publication);
        publication->state = APY_PUBLICATION_LINGER;
        update_connected(publication);
        apy_count(publication->context, APY_SC_PUBLICATIONS_REVOKED, 1);
        return APY_IPC_TICK_UNAVAILABLE;
    }

    const int64_t window = publication->params.window_length;
    apy_untethered_check(&publication->subscribers, &publication->untethered,
                         publication->consumer_position - window + window / 4, publication->consumer_position, now_ns);
    update_connected(publication);
    apy_store_release_i64(publication->params.pub_pos, producer_position(publication));
    check_blocked(publication, now_ns);
    if (publication->is_cooling_down && now_ns > publication->cool_down_end_ns) {
        publication->is_cooling_down = false;
        return APY_IPC_TICK_COOLED_DOWN;
    }
    return APY_IPC_TICK_NOTHING;
}

static bool is_drained(const apy_ipc_publication_t *publication)
{
    int64_t least, most;
    return apy_subscribers_range(&publication->subscribers, &least, &most) == 0 ||
           least >= producer_position(publication);
}

int apy_ipc_publication_on_timer(apy_ipc_publication_t *publication, int64_t now_ns)
{
    switch (publication->state) {
    case APY_PUBLICATION_ACTIVE:
        return on_timer_active(publication, now_ns);

    case APY_PUBLICATION_DRAINING:
        apy_store_release_i64(publication->params.pub_pos, producer_position(publication));
        update_consumer_position(publication);
        if (!is_drained(publication)) {
            unblock(publication);
            return APY_IPC_TICK_NOTHING;
        }
        publication->state = APY_PUBLICATION_LINGER;
        update_connected(publication);
        return APY_IPC_TICK_UNAVAILABLE;

    case APY_PUBLICATION_LINGER:
        if (!publication->is_closed) {
            return APY_IPC_TICK_NOTHING; /* revoked, while other holders have yet to let go */
        }
        publication->state = APY_PUBLICATION_DONE;
        return APY_IPC_TICK_RELEASE;

    case APY_PUBLICATION_DONE:
        break;
    }
    return APY_IPC_TICK_NOTHING;
}

void apy_ipc_publication_close(apy_ipc_publication_t *publication)
{
    publication->is_closed = true;
    if (publication->state == APY_PUBLICATION_ACTIVE &&
        !__atomic_load_n(&publication->log.meta->is_publication_revoked, __ATOMIC_ACQUIRE)) {
        end_stream(publication);
        publication->state = APY_PUBLICATION_DRAINING;
    }
}

void apy_ipc_publication_revoke(apy_ipc_publication_t *publication)
{
    __atomic_store_n(&publication->log.meta->is_publication_revoked, 1, __ATOMIC_RELEASE);
}

void apy_ipc_publication_reject(apy_ipc_publication_t *publication, int64_t now_ns)
{
    update_consumer_position(publication);
    publication->subscribers.count = 0;
    publication->is_cooling_down = true;
    publication->cool_down_end_ns = apy_time_after(now_ns, publication->context->config.image_liveness_timeout_ns);
    update_connected(publication);
}

int apy_ipc_publication_add_subscriber(apy_ipc_publication_t *publication, const apy_subscriber_t *subscriber,
                                       int64_t *join_position)
{
    const bool is_accepting =
        !publication->is_cooling_down && (publication->state == APY_PUBLICATION_ACTIVE ||
                                          (publication->state == APY_PUBLICATION_DRAINING && !is_drained(publication)));
    if (!is_accepting) {
        return 0;
    }

    /* With no reader left the join is where the furthest one stopped: what is behind has been cleaned. */
    int64_t join = publication->consumer_position, most;
    apy_subscribers_range(&publication->subscribers, &join, &most);
    if (join > publication->consumer_position) {
        join = publication->consumer_position;
    }

    const int rc = apy_subscribers_add(&publication->subscribers, subscriber);
    if (rc < 0) {
        return rc;
    }
    apy_subscriber_t *added = &publication->subscribers.items[publication->subscribers.count - 1];
    added->state = APY_SUBSCRIBER_ACTIVE;
    added->time_of_last_update_ns = apy_nano_time(&publication->context->clock);
    apy_store_release_i64(added->position, join);
    update_connected(publication);
    *join_position = join;
    return 1;
}

int apy_ipc_publication_remove_subscriber(apy_ipc_publication_t *publication, int64_t registration_id,
                                          apy_subscriber_t *removed)
{
    update_consumer_position(publication);
    if (!apy_subscribers_remove(&publication->subscribers, registration_id, removed)) {
        return 0;
    }
    update_connected(publication);
    return 1;
}

apy_publication_state_t apy_ipc_publication_state(const apy_ipc_publication_t *publication)
{
    return publication->state;
}

int64_t apy_ipc_publication_id(const apy_ipc_publication_t *publication)
{
    return publication->params.registration_id;
}

const apy_subscribers_t *apy_ipc_publication_subscribers(const apy_ipc_publication_t *publication)
{
    return &publication->subscribers;
}
