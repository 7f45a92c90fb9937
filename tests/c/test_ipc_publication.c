/* An IPC publication's limit, cleaning, states and unblocking, with a clock moved by hand. */

#include "apy/ipc_publication.h"
#include "driver_rig.h"

#define TERM_LENGTH 65536
#define WINDOW (TERM_LENGTH / 2)
#define INITIAL 7

typedef struct ipc_rig {
    rig_t *rig;
    apy_log_t log; /* as the client maps it: the same memory */
    apy_ipc_publication_t *publication;
    apy_append_t append;
    apy_exclusive_t exclusive;
    int64_t pub_pos, pub_lmt, positions[4];
} ipc_rig_t;

static ipc_rig_t *open_rig(bool exclusive)
{
    ipc_rig_t *r = calloc(1, sizeof *r);
    CHECK(r != NULL);
    r->rig = rig_open();
    r->log = rig_log(r->rig, exclusive ? APY_LOG_EXCLUSIVE : APY_LOG_CONCURRENT, 5, 1001, INITIAL, TERM_LENGTH);
    const apy_ipc_publication_params_t params = {
        .registration_id = 42,
        .window_length = WINDOW,
        .exclusive = exclusive,
        .untethered_window_limit_ns = 5 * RIG_SECOND,
        .untethered_linger_ns = 4 * RIG_SECOND,
        .untethered_resting_ns = 10 * RIG_SECOND,
        .pub_pos = &r->pub_pos,
        .pub_lmt = &r->pub_lmt,
    };
    CHECK_EQ(apy_ipc_publication_create(&r->rig->context, &r->log, &params, &r->publication), APY_OK);
    apy_append_init(&r->append, &r->log, &r->pub_lmt);
    apy_exclusive_init(&r->exclusive, &r->log, &r->pub_lmt);
    return r;
}

static void close_rig(ipc_rig_t *r)
{
    apy_ipc_publication_free(r->publication);
    rig_close(r->rig);
    free(r);
}

static int join_as(ipc_rig_t *r, int index, bool tether, bool rejoin, int64_t *join)
{
    const apy_subscriber_t subscriber = {
        .registration_id = 100 + index, .position = &r->positions[index], .tether = tether, .rejoin = rejoin};
    return apy_ipc_publication_add_subscriber(r->publication, &subscriber, join);
}

static int64_t join(ipc_rig_t *r, int index)
{
    int64_t position = -1;
    CHECK_EQ(join_as(r, index, true, true, &position), 1);
    CHECK_EQ(r->positions[index], position);
    return position;
}

static int tick_after(ipc_rig_t *r, int64_t delta_ns)
{
    rig_advance(r->rig, delta_ns);
    return apy_ipc_publication_on_timer(r->publication, r->rig->hand.nano_time);
}

static int64_t offer(ipc_rig_t *r, size_t length)
{
    static uint8_t payload[8192];
    const struct iovec part = {payload, length};
    return apy_exclusive_offer(&r->exclusive, &part, 1, NULL, NULL);
}

/* --- the limit --- */

static void nothing_may_be_written_before_somebody_reads(void)
{
    ipc_rig_t *r = open_rig(true);
    apy_ipc_publication_update(r->publication);
    CHECK_EQ(r->pub_lmt, 0);
    CHECK_EQ(offer(r, 100), APY_NOT_CONNECTED);

    CHECK_EQ(join(r, 0), 0);
    CHECK_EQ(r->log.meta->is_connected, 1);
    apy_ipc_publication_update(r->publication);
    CHECK_EQ(r->pub_lmt, WINDOW);
    close_rig(r);
}

static void the_limit_follows_the_slowest_reader_in_steps(void)
{
    ipc_rig_t *r = open_rig(true);
    join(r, 0);
    join(r, 1);
    CHECK_EQ(apy_ipc_publication_update(r->publication), 1);
    r->positions[0] = WINDOW;
    r->positions[1] = WINDOW / 8; /* the trip gain: not beyond it yet */
    CHECK_EQ(apy_ipc_publication_update(r->publication), 0);
    CHECK_EQ(r->pub_lmt, WINDOW);
    r->positions[1] = WINDOW / 8 + 32;
    CHECK_EQ(apy_ipc_publication_update(r->publication), 1);
    CHECK_EQ(r->pub_lmt, WINDOW + WINDOW / 8 + 32);
    close_rig(r);
}

static void the_limit_closes_when_the_last_reader_leaves(void)
{
    ipc_rig_t *r = open_rig(true);
    apy_subscriber_t removed;
    join(r, 0);
    apy_ipc_publication_update(r->publication);
    CHECK(offer(r, 100) > 0);
    r->positions[0] = 160;
    CHECK_EQ(apy_ipc_publication_remove_subscriber(r->publication, 100, &removed), 1);
    CHECK_EQ(apy_ipc_publication_remove_subscriber(r->publication, 100, &removed), 0);
    CHECK_EQ(r->log.meta->is_connected, 0);
    CHECK_EQ(apy_ipc_publication_update(r->publication), 1);
    CHECK_EQ(r->pub_lmt, 160);

    /* Who comes next starts where the last one stopped. */
    CHECK_EQ(join(r, 1), 160);
    apy_ipc_publication_update(r->publication);
    CHECK_EQ(r->pub_lmt, 160 + WINDOW);
    close_rig(r);
}

static void a_late_reader_joins_at_the_slowest_one(void)
{
    ipc_rig_t *r = open_rig(true);
    join(r, 0);
    join(r, 1);
    r->positions[0] = 4096;
    r->positions[1] = 1024;
    apy_ipc_publication_update(r->publication);
    CHECK_EQ(join(r, 2), 1024);
    close_rig(r);
}

static void what_all_have_read_is_zeroed(void)
{
    ipc_rig_t *r = open_rig(true);
    join(r, 0);
    apy_ipc_publication_update(r->publication);
    while (r->exclusive.term_offset < 16384) {
        CHECK(offer(r, 1000) > 0);
    }
    const apy_frame_t *first = (const apy_frame_t *)(const void *)r->log.terms[0];
    const apy_frame_t *kept = (const apy_frame_t *)(const void *)(r->log.terms[0] + 8 * 1056);
    CHECK_EQ(first->length, 1032);
    r->positions[0] = 8 * 1056;
    CHECK_EQ(apy_ipc_publication_update(r->publication), 1);
    for (int i = 0; i < 8 * 1056; i++) {
        CHECK_EQ(r->log.terms[0][i], 0);
    }
    CHECK_EQ(kept->length, 1032);
    close_rig(r);
}

/* --- the states --- */

static void a_closed_publication_drains_then_goes(void)
{
    ipc_rig_t *r = open_rig(true);
    join(r, 0);
    apy_ipc_publication_update(r->publication);
    const int64_t end = offer(r, 100);
    CHECK_EQ(r->log.meta->end_of_stream_position, INT64_MAX);

    apy_ipc_publication_close(r->publication);
    CHECK_EQ(r->pub_lmt, end);
    CHECK_EQ(r->log.meta->end_of_stream_position, end);
    CHECK_EQ(tick_after(r, RIG_SECOND), APY_IPC_TICK_NOTHING);
    CHECK_EQ(r->pub_pos, end);
    CHECK_EQ(join(r, 1), 0); /* not drained: one more may read the rest */
    r->positions[0] = r->positions[1] = end;
    int64_t position;
    CHECK_EQ(join_as(r, 2, true, true, &position), 0);
    CHECK_EQ(tick_after(r, RIG_SECOND), APY_IPC_TICK_UNAVAILABLE);
    CHECK_EQ(tick_after(r, RIG_SECOND), APY_IPC_TICK_RELEASE);
    CHECK_EQ(tick_after(r, RIG_SECOND), APY_IPC_TICK_NOTHING);
    close_rig(r);
}

static void a_revoked_publication_does_not_drain(void)
{
    ipc_rig_t *r = open_rig(true);
    join(r, 0);
    apy_ipc_publication_update(r->publication);
    const int64_t end = offer(r, 100);

    apy_ipc_publication_revoke(r->publication);
    CHECK_EQ(r->log.meta->is_publication_revoked, 1);
    CHECK_EQ(tick_after(r, RIG_SECOND), APY_IPC_TICK_UNAVAILABLE);
    CHECK_EQ(r->rig->counters[APY_SC_PUBLICATIONS_REVOKED], 1);
    CHECK_EQ(r->log.meta->is_connected, 0);
    CHECK_EQ(r->log.meta->end_of_stream_position, end);
    CHECK_EQ(tick_after(r, RIG_SECOND), APY_IPC_TICK_NOTHING); /* another holder has yet to let go */
    apy_ipc_publication_close(r->publication);
    CHECK_EQ(tick_after(r, RIG_SECOND), APY_IPC_TICK_RELEASE);
    close_rig(r);
}

static void a_rejected_publication_cools_down(void)
{
    ipc_rig_t *r = open_rig(true);
    join(r, 0);
    apy_ipc_publication_update(r->publication);
    CHECK(offer(r, 100) > 0);
    r->positions[0] = 160;

    apy_ipc_publication_reject(r->publication, r->rig->hand.nano_time);
    CHECK_EQ(r->log.meta->is_connected, 0);
    int64_t position;
    CHECK_EQ(join_as(r, 1, true, true, &position), 0);
    CHECK_EQ(tick_after(r, 10 * RIG_SECOND), APY_IPC_TICK_NOTHING);
    CHECK_EQ(tick_after(r, 1), APY_IPC_TICK_COOLED_DOWN);
    CHECK_EQ(join(r, 1), 160);
    close_rig(r);
}

/* --- untethered readers --- */

static void an_untethered_laggard_is_cut_off_and_let_in_again(void)
{
    ipc_rig_t *r = open_rig(true);
    int64_t position;
    const apy_subscribers_t *subscribers = apy_ipc_publication_subscribers(r->publication);
    CHECK_EQ(join_as(r, 0, false, true, &position), 1);
    join(r, 1);
    apy_ipc_publication_update(r->publication);
    r->positions[1] = WINDOW;
    apy_ipc_publication_update(r->publication);

    CHECK_EQ(tick_after(r, 5 * RIG_SECOND), APY_IPC_TICK_NOTHING);
    CHECK_EQ(subscribers->items[0].state, APY_SUBSCRIBER_ACTIVE);
    tick_after(r, 1);
    CHECK_EQ(subscribers->items[0].state, APY_SUBSCRIBER_LINGER);
    apy_ipc_publication_update(r->publication);
    CHECK_EQ(r->pub_lmt, WINDOW); /* it still counts */
    tick_after(r, 4 * RIG_SECOND + 1);
    CHECK_EQ(subscribers->items[0].state, APY_SUBSCRIBER_RESTING);
    apy_ipc_publication_update(r->publication);
    CHECK_EQ(r->pub_lmt, 2 * WINDOW);
    tick_after(r, 10 * RIG_SECOND);
    CHECK_EQ(subscribers->items[0].state, APY_SUBSCRIBER_RESTING);
    tick_after(r, 1);
    CHECK_EQ(subscribers->items[0].state, APY_SUBSCRIBER_ACTIVE);
    CHECK_EQ(r->positions[0], WINDOW);
    close_rig(r);
}

/* --- unblocking --- */

static void an_abandoned_claim_is_padded_over_in_time(void)
{
    ipc_rig_t *r = open_rig(false);
    uint8_t *frame;
    join(r, 0);
    apy_ipc_publication_update(r->publication);
    tick_after(r, RIG_SECOND);
    CHECK_EQ(apy_append_claim(&r->append, 100, &frame), 160);

    tick_after(r, 15 * RIG_SECOND);
    CHECK_EQ(r->rig->counters[APY_SC_UNBLOCKED_PUBLICATIONS], 0);
    tick_after(r, RIG_SECOND);
    CHECK_EQ(r->rig->counters[APY_SC_UNBLOCKED_PUBLICATIONS], 1);
    const apy_frame_t *padding = (const apy_frame_t *)(const void *)r->log.terms[0];
    CHECK_EQ(padding->type, APY_FRAME_PAD);
    CHECK_EQ(padding->length, 132);
    close_rig(r);
}

static void a_slow_reader_and_an_idle_stream_are_not_blocked(void)
{
    ipc_rig_t *r = open_rig(false);
    uint8_t *frame;
    join(r, 0);
    apy_ipc_publication_update(r->publication);
    tick_after(r, 3600 * RIG_SECOND); /* idle for long */
    CHECK_EQ(apy_append_claim(&r->append, 100, &frame), 160);
    tick_after(r, RIG_SECOND);
    CHECK_EQ(r->rig->counters[APY_SC_UNBLOCKED_PUBLICATIONS], 0);
    apy_claim_commit(frame);
    for (int i = 0; i < 40; i++) {
        tick_after(r, RIG_SECOND); /* committed, and not read for long */
    }
    CHECK_EQ(r->rig->counters[APY_SC_UNBLOCKED_PUBLICATIONS], 0);
    close_rig(r);
}

static void a_draining_publication_is_unblocked_at_once(void)
{
    ipc_rig_t *r = open_rig(false);
    uint8_t *frame;
    join(r, 0);
    apy_ipc_publication_update(r->publication);
    CHECK_EQ(apy_append_claim(&r->append, 100, &frame), 160);
    apy_ipc_publication_close(r->publication);
    tick_after(r, 1);
    CHECK_EQ(r->rig->counters[APY_SC_UNBLOCKED_PUBLICATIONS], 1);
    r->positions[0] = 160;
    CHECK_EQ(tick_after(r, 1), APY_IPC_TICK_UNAVAILABLE);
    close_rig(r);
}

int main(void)
{
    RUN(nothing_may_be_written_before_somebody_reads);
    RUN(the_limit_follows_the_slowest_reader_in_steps);
    RUN(the_limit_closes_when_the_last_reader_leaves);
    RUN(a_late_reader_joins_at_the_slowest_one);
    RUN(what_all_have_read_is_zeroed);
    RUN(a_closed_publication_drains_then_goes);
    RUN(a_revoked_publication_does_not_drain);
    RUN(a_rejected_publication_cools_down);
    RUN(an_untethered_laggard_is_cut_off_and_let_in_again);
    RUN(an_abandoned_claim_is_padded_over_in_time);
    RUN(a_slow_reader_and_an_idle_stream_are_not_blocked);
    RUN(a_draining_publication_is_unblocked_at_once);
    return 0;
}
