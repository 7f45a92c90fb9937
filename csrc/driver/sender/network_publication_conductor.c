#include "apy/network_publication.h"

#include "apy/error.h"
#include "publication_fields.h"

static int64_t sender_position(const apy_network_publication_t *publication)
{
    return apy_load_acquire_i64(publication->params.snd_pos);
}

static int64_t update_pub_pos(apy_network_publication_t *publication)
{
    const int64_t position = apy_log_producer_position(&publication->log);
    apy_store_release_i64(publication->params.pub_pos, position);
    return position;
}

static void set_connected(apy_network_publication_t *publication, bool is_connected)
{
    apy_publication_set_connected(publication, is_connected);
}

/* --- the limit --- */

/* A publisher must never enter a term that is not zeroed yet. */
static bool is_clean_before(const apy_network_publication_t *publication, int64_t limit)
{
    const apy_log_t *log = &publication->log;
    const int64_t clean_position = publication->core.clean_position;
    const int64_t terms = (limit >> log->shift) - (clean_position >> log->shift);
    return terms < 2 || (terms == 2 && apy_position_offset(clean_position, log->term_length) != 0);
}

static int raise_limit(apy_network_publication_t *publication, int64_t sent)
{
    int64_t consumed = sent;
    int64_t spy_min = 0, spy_max = 0;
    if (apy_subscribers_range(&publication->core.spies, &spy_min, &spy_max) > 0) {
        consumed = spy_min < consumed ? spy_min : consumed;
        apy_propose_max_i64(&publication->from_core.max_spy_position, spy_max);
    }
    const int64_t limit = consumed + publication->params.window_length;
    if (limit <= apy_load_relaxed_i64(publication->params.pub_lmt)) {
        return 0;
    }
    apy_log_clean(&publication->log, &publication->core.clean_position, consumed - publication->log.term_length);
    if (is_clean_before(publication, limit)) {
        apy_store_release_i64(publication->params.pub_lmt, limit);
        apy_waiters_ring_if_armed(&publication->log.meta->writers, &publication->context->ringer);
    }
    return 1;
}

int apy_network_publication_update(apy_network_publication_t *publication, int64_t now_ns)
{
    (void)now_ns;
    if (publication->core.state != APY_PUBLICATION_ACTIVE || publication->from_core.is_revoked) {
        return 0;
    }
    const int64_t sent = sender_position(publication);
    update_pub_pos(publication);
    if (apy_publication_has_subscribers(publication)) {
        return raise_limit(publication, sent);
    }
    if (apy_load_relaxed_i64(publication->params.pub_lmt) > sent) {
        set_connected(publication, false);
        apy_store_release_i64(publication->params.pub_lmt, sent);
        apy_log_clean(&publication->log, &publication->core.clean_position, sent - publication->log.term_length);
        return 1;
    }
    return 0;
}

int64_t apy_network_publication_moved(apy_network_publication_t *publication, int64_t *window)
{
    const int64_t before = publication->core.paced_position;
    publication->core.paced_position = apy_load_relaxed_i64(publication->params.pub_pos);
    *window = publication->params.window_length;
    return publication->core.paced_position - before;
}

/* --- the states --- */

static bool unblock(apy_network_publication_t *publication, int64_t position)
{
    if (!apy_log_unblock(&publication->log, position, publication->core.is_closed)) {
        return false;
    }
    apy_count(publication->context, APY_SC_UNBLOCKED_PUBLICATIONS, 1);
    apy_waiters_ring_if_armed(&publication->log.meta->readers, &publication->context->ringer); /* spies */
    return true;
}

/* A publisher that died between claim and commit stops the sender: pad over it after a while. */
static void check_blocked(apy_network_publication_t *publication, int64_t produced, int64_t sent, int64_t now_ns)
{
    const bool is_blocked = produced > sent && sent == publication->core.sender_position_seen;
    if (!is_blocked) {
        publication->core.sender_position_seen = sent;
        publication->core.time_of_last_progress_ns = now_ns;
    } else if (now_ns - publication->core.time_of_last_progress_ns >
               publication->context->config.publication_unblock_timeout_ns) {
        unblock(publication, sent);
    }
}

static void tell_spies(apy_network_publication_t *publication)
{
    int64_t least = 0, most = 0;
    const bool has_spies = apy_subscribers_range(&publication->core.spies, &least, &most) > 0;
    apy_store_release_i32(&publication->from_core.has_spies, has_spies);
}

static void tick_active(apy_network_publication_t *publication, int64_t now_ns)
{
    const int64_t sent = sender_position(publication);
    const int64_t produced = update_pub_pos(publication);
    const int64_t window = publication->params.window_length;
    apy_untethered_check(&publication->core.spies, &publication->core.untethered, sent - window + window / 4, sent,
                         now_ns);
    tell_spies(publication);
    set_connected(publication, apy_publication_has_subscribers(publication));
    if (!publication->params.exclusive) {
        check_blocked(publication, produced, sent, now_ns);
    }
}

static int start_linger(apy_network_publication_t *publication, int64_t now_ns)
{
    publication->core.state = APY_PUBLICATION_LINGER;
    publication->core.time_of_linger_ns = now_ns;
    return publication->core.spies.count > 0 ? APY_TICK_SPIES_DRAINED : APY_TICK_NOTHING;
}

static int tick_draining(apy_network_publication_t *publication, int64_t now_ns)
{
    const int64_t sent = sender_position(publication);
    const int64_t produced = update_pub_pos(publication);
    int64_t spy_min = 0, spy_max = 0;

    if (produced > sent) {
        if (unblock(publication, sent) || apy_load_acquire_i32(&publication->from_sender.has_receivers)) {
            return APY_TICK_NOTHING;
        }
    } else {
        apy_store_release_i32(&publication->from_core.is_end_of_stream, 1);
    }
    if (apy_subscribers_range(&publication->core.spies, &spy_min, &spy_max) > 0) {
        apy_propose_max_i64(&publication->from_core.max_spy_position, spy_max);
        if (spy_min < produced) {
            return APY_TICK_NOTHING;
        }
    }
    return start_linger(publication, now_ns);
}

static int tick_linger(apy_network_publication_t *publication, int64_t now_ns)
{
    const bool is_acknowledged = apy_load_acquire_i32(&publication->from_sender.has_unicast_eos) != 0;
    const bool is_over = now_ns > apy_time_after(publication->core.time_of_linger_ns, publication->params.linger_ns);
    if (!publication->core.is_closed || !(is_acknowledged || is_over)) {
        return APY_TICK_NOTHING;
    }
    publication->core.state = APY_PUBLICATION_DONE;
    return APY_TICK_RELEASE;
}

int apy_network_publication_on_timer(apy_network_publication_t *publication, int64_t now_ns)
{
    switch (publication->core.state) {
    case APY_PUBLICATION_ACTIVE:
        if (publication->from_core.is_revoked) {
            return start_linger(publication, now_ns);
        }
        tick_active(publication, now_ns);
        return APY_TICK_NOTHING;
    case APY_PUBLICATION_DRAINING:
        return publication->from_core.is_revoked ? start_linger(publication, now_ns)
                                                 : tick_draining(publication, now_ns);
    case APY_PUBLICATION_LINGER:
        return tick_linger(publication, now_ns);
    case APY_PUBLICATION_DONE:
        break;
    }
    return APY_TICK_NOTHING;
}

/* Nothing comes after what was produced. */
static int64_t end_stream(apy_network_publication_t *publication)
{
    const int64_t produced = update_pub_pos(publication);
    apy_store_release_i64(publication->params.pub_lmt, produced);
    apy_store_release_i64(&publication->log.meta->end_of_stream_position, produced);
    return produced;
}

void apy_network_publication_close(apy_network_publication_t *publication, int64_t now_ns)
{
    (void)now_ns;
    publication->core.is_closed = true;
    if (publication->core.state != APY_PUBLICATION_ACTIVE || publication->from_core.is_revoked) {
        return;
    }
    if (sender_position(publication) >= end_stream(publication)) {
        apy_store_release_i32(&publication->from_core.is_end_of_stream, 1);
    }
    publication->core.state = APY_PUBLICATION_DRAINING;
}

void apy_network_publication_revoke(apy_network_publication_t *publication)
{
    if (publication->core.state >= APY_PUBLICATION_LINGER || publication->from_core.is_revoked) {
        return;
    }
    end_stream(publication);
    atomic_store_explicit((_Atomic uint8_t *)&publication->log.meta->is_publication_revoked, 1, memory_order_release);
    apy_store_release_i32(&publication->from_core.is_end_of_stream, 1);
    apy_store_release_i32(&publication->from_core.is_revoked, 1);
    set_connected(publication, false);
    apy_count(publication->context, APY_SC_PUBLICATIONS_REVOKED, 1);
}

/* --- what others ask --- */

apy_publication_state_t apy_network_publication_state(const apy_network_publication_t *publication)
{
    return publication->core.state;
}

int64_t apy_network_publication_id(const apy_network_publication_t *publication)
{
    return publication->params.registration_id;
}

int apy_network_publication_add_spy(apy_network_publication_t *publication, const apy_subscriber_t *spy,
                                    int64_t *join_position)
{
    const int64_t position = sender_position(publication);
    const int rc = apy_subscribers_add(&publication->core.spies, spy);
    if (rc != APY_OK) {
        return rc;
    }
    apy_store_release_i64(spy->position, position);
    apy_propose_max_i64(&publication->from_core.max_spy_position, position);
    tell_spies(publication);
    if (publication->params.spies_simulate_connection && publication->core.state == APY_PUBLICATION_ACTIVE) {
        set_connected(publication, apy_publication_has_subscribers(publication));
    }
    *join_position = position;
    return APY_OK;
}

int apy_network_publication_remove_spy(apy_network_publication_t *publication, int64_t registration_id,
                                       apy_subscriber_t *removed)
{
    const int found = apy_subscribers_remove(&publication->core.spies, registration_id, removed);
    tell_spies(publication);
    if (publication->params.spies_simulate_connection && publication->core.state == APY_PUBLICATION_ACTIVE) {
        set_connected(publication, apy_publication_has_subscribers(publication));
    }
    return found;
}

const apy_subscribers_t *apy_network_publication_spies(const apy_network_publication_t *publication)
{
    return &publication->core.spies;
}
