/* Sleepers at a log: announced, rung by whoever changes it, and let go of when they died. */
#include "apy/waiters.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apy/clock.h"
#include "apy/publication.h"
#include "apy/wait.h"
#include "log_fixture.h"

#define LONG_NS INT64_C(20000000000)
#define ROUNDS_MAX 2000

static char directory[64];
static apy_ringer_t ringer;
static int64_t next_id = 100;

static void make_directory(void)
{
    snprintf(directory, sizeof(directory), "/dev/shm/apy-test-waiters-%d", (int)getpid());
    CHECK_EQ(mkdir(directory, 0700), 0);
    apy_ringer_open(&ringer, directory);
    CHECK(ringer.fd >= 0);
}

static void remove_directory(void)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/waiters", directory);
    CHECK_EQ(rmdir(path), 0); /* every socket is gone */
    CHECK_EQ(rmdir(directory), 0);
    apy_ringer_close(&ringer);
}

static int64_t now(void)
{
    const apy_clock_t clock = apy_clock_system();
    return apy_nano_time(&clock);
}

static apy_waiter_t new_waiter(void)
{
    apy_waiter_t waiter;
    CHECK_EQ(apy_waiter_open(&waiter, directory, next_id++), APY_OK);
    CHECK(apy_waiter_has_socket(&waiter));
    return waiter;
}

/* --- the descriptor --- */

static void a_ring_is_heard_until_it_is_drained(void)
{
    apy_waiter_t waiter = new_waiter();
    CHECK(!apy_waiter_wait(&waiter, 0));
    CHECK(apy_ringer_ring(&ringer, waiter.id));
    CHECK(apy_waiter_wait(&waiter, LONG_NS));
    CHECK(apy_waiter_wait(&waiter, 0));
    apy_waiter_drain(&waiter);
    CHECK(!apy_waiter_wait(&waiter, 0));
    CHECK(apy_waiter_take_rung(&waiter));
    CHECK(!apy_waiter_take_rung(&waiter));
    apy_waiter_close(&waiter);
    CHECK(!apy_ringer_ring(&ringer, waiter.id));
}

static void time_and_its_own_process_wake_it_too(void)
{
    apy_waiter_t waiter = new_waiter();
    apy_waiter_sleep_at_most(&waiter, 1000000);
    CHECK(apy_waiter_wait(&waiter, LONG_NS));
    apy_waiter_drain(&waiter);
    CHECK(!apy_waiter_wait(&waiter, 0));
    apy_waiter_wake(&waiter);
    CHECK(apy_waiter_wait(&waiter, LONG_NS));
    apy_waiter_drain(&waiter);
    CHECK(!apy_waiter_take_rung(&waiter)); /* nobody rang */
    apy_waiter_close(&waiter);
}

static void one_that_never_drains_holds_up_nobody(void)
{
    apy_waiter_t waiter = new_waiter();
    const int64_t started = now();
    for (int i = 0; i < 10000; i++) {
        CHECK(apy_ringer_ring(&ringer, waiter.id)); /* its socket is full after some: it will be heard */
    }
    CHECK(now() - started < LONG_NS);
    apy_waiter_close(&waiter);
}

static void a_socket_whose_owner_was_killed_is_removed_by_who_rings(void)
{
    const int64_t id = next_id++;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        apy_waiter_t waiter;
        CHECK_EQ(apy_waiter_open(&waiter, directory, id), APY_OK);
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
    char path[96];
    snprintf(path, sizeof(path), "%s/waiters/%lld", directory, (long long)id);
    CHECK_EQ(access(path, F_OK), 0);
    CHECK(!apy_ringer_ring(&ringer, id));
    CHECK(access(path, F_OK) != 0);
}

static void without_room_for_a_socket_the_timer_is_left(void)
{
    char deep[200];
    memset(deep, 'd', sizeof(deep) - 1);
    deep[0] = '/';
    deep[sizeof(deep) - 1] = '\0';
    apy_ringer_t none;
    apy_ringer_open(&none, deep);
    CHECK(!none.can_promise);
    CHECK(apy_ringer_ring(&none, 1));
    apy_waiter_t waiter;
    CHECK_EQ(apy_waiter_open(&waiter, deep, 1), APY_OK);
    CHECK(!apy_waiter_has_socket(&waiter));
    apy_waiter_sleep_at_most(&waiter, 1000000);
    CHECK(apy_waiter_wait(&waiter, LONG_NS));
    apy_waiter_close(&waiter);
}

/* --- places at a log --- */

static void only_those_who_lie_down_are_rung_and_once(void)
{
    apy_waiters_t waiters = {0};
    apy_waiter_t down = new_waiter(), up = new_waiter();
    apy_seat_t seats[2] = {{0}, {0}};
    CHECK(apy_seat_take(&seats[0], &waiters, &ringer, down.id));
    CHECK(apy_seat_take(&seats[1], &waiters, &ringer, up.id));
    apy_seat_lie_down(&seats[0], 0);
    apy_waiters_ring_if_armed(&waiters, &ringer);
    apy_waiters_ring_if_armed(&waiters, &ringer);
    CHECK(apy_waiter_wait(&down, LONG_NS));
    CHECK(!apy_waiter_wait(&up, 0));
    CHECK_EQ(waiters.armed, 0);
    apy_waiter_drain(&down);
    CHECK(!apy_waiter_wait(&down, 0));

    apy_seat_lie_down(&seats[1], 0);
    apy_seat_get_up(&seats[1]);
    apy_waiters_ring_if_armed(&waiters, &ringer);
    CHECK(!apy_waiter_wait(&up, 0));
    apy_seat_leave(&seats[0]);
    apy_seat_leave(&seats[1]);
    apy_seat_leave(&seats[1]);
    CHECK_EQ(waiters.ids[0], 0);
    CHECK_EQ(waiters.ids[1], 0);
    apy_waiter_close(&down);
    apy_waiter_close(&up);
}

static void places_of_the_dead_are_given_to_the_living(void)
{
    apy_waiters_t waiters = {0};
    apy_waiter_t living = new_waiter(), last = new_waiter();
    apy_seat_t seat;
    for (int i = 0; i < APY_WAITERS_MAX; i++) {
        CHECK(apy_seat_take(&seat, &waiters, &ringer, living.id));
    }
    CHECK(!apy_seat_take(&seat, &waiters, &ringer, last.id));
    waiters.ids[7] = next_id++; /* of nobody */
    CHECK(apy_seat_take(&seat, &waiters, &ringer, last.id));
    CHECK_EQ(seat.place, 7);
    CHECK_EQ(waiters.ids[7], last.id);

    waiters.ids[9] = next_id++;
    waiters.armed = 1 << 9;
    apy_waiters_ring(&waiters, &ringer);
    CHECK_EQ(waiters.ids[9], 0);
    apy_waiter_close(&living);
    apy_waiter_close(&last);
}

static void trust_is_lost_where_something_came_and_nobody_rang(void)
{
    apy_waiters_t waiters = {0};
    apy_seat_t seat;
    CHECK(apy_seat_take(&seat, &waiters, &ringer, next_id++));
    CHECK(!apy_seat_is_trusting(&seat)); /* nobody promised */
    apy_waiters_promise(&waiters, &ringer);
    CHECK_EQ(apy_seat_is_trusting(&seat), ringer.can_promise);

    waiters.promised = 1;
    apy_seat_lie_down(&seat, 0);
    apy_seat_judge(&seat, false, false);
    CHECK(apy_seat_is_trusting(&seat));
    apy_seat_lie_down(&seat, 0);
    apy_seat_judge(&seat, true, false);
    CHECK(!apy_seat_is_trusting(&seat));
    apy_seat_lie_down(&seat, 0);
    waiters.armed = 0; /* taken */
    apy_seat_judge(&seat, true, true);
    CHECK(apy_seat_is_trusting(&seat));
    apy_seat_leave(&seat);
}

/* --- at a log --- */

typedef struct stream {
    fixture_t fixture;
    apy_publication_t publication;
    apy_image_reader_t reader;
    apy_wait_t wait;
    int64_t position;
} stream_t;

static void stream_open(stream_t *stream, bool is_exclusive, bool rings)
{
    memset(stream, 0, sizeof(*stream));
    fixture_open(&stream->fixture, 65536, 1408);
    stream->fixture.log.meta->is_connected = 1;
    apy_publication_init(&stream->publication, &stream->fixture.log, &stream->fixture.limit, is_exclusive);
    if (rings) {
        apy_publication_set_ringer(&stream->publication, &ringer);
    }
    apy_image_reader_init(&stream->reader, &stream->fixture.log, SESSION, &stream->position);
    CHECK_EQ(apy_wait_open(&stream->wait, &ringer, directory, next_id++), APY_OK);
}

static void stream_close(stream_t *stream)
{
    apy_seat_leave(&stream->reader.seat);
    apy_seat_leave(&stream->publication.seat);
    apy_wait_close(&stream->wait);
    fixture_close(&stream->fixture);
}

static bool arm(stream_t *stream)
{
    apy_image_reader_t *const readers[] = {&stream->reader};
    return apy_wait_for_images(&stream->wait, readers, 1);
}

static int64_t offer(stream_t *stream, size_t length)
{
    static uint8_t bytes[4096];
    const struct iovec part = {bytes, length};
    return apy_publication_offer(&stream->publication, &part, 1, NULL, NULL);
}

static bool is_rung(stream_t *stream)
{
    const bool is_readable = apy_waiter_wait(&stream->wait.waiter, 0);
    apy_waiter_drain(&stream->wait.waiter);
    return is_readable && apy_waiter_take_rung(&stream->wait.waiter);
}

static void consume(stream_t *stream)
{
    stream->position = apy_publication_position(&stream->publication);
}

static void every_way_to_append_rings(void)
{
    for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++) {
        stream_t stream;
        uint8_t *frame = NULL;
        stream_open(&stream, is_exclusive, true);

        CHECK(arm(&stream));
        CHECK(!is_rung(&stream));
        CHECK(arm(&stream));
        CHECK(offer(&stream, 40) > 0);
        CHECK(is_rung(&stream));
        CHECK(!arm(&stream)); /* it is there */
        CHECK_EQ(stream.fixture.log.meta->readers.armed, 0);
        consume(&stream);

        CHECK(arm(&stream));
        CHECK(offer(&stream, 4000) > 0); /* in fragments */
        CHECK(is_rung(&stream));
        consume(&stream);

        CHECK(arm(&stream));
        CHECK(apy_publication_claim(&stream.publication, 8, &frame) > 0);
        CHECK(!is_rung(&stream));
        apy_publication_commit(&stream.publication, frame);
        CHECK(is_rung(&stream));
        consume(&stream);

        CHECK(arm(&stream));
        CHECK(apy_publication_claim(&stream.publication, 8, &frame) > 0);
        apy_publication_abort(&stream.publication, frame);
        CHECK(is_rung(&stream));
        stream_close(&stream);
    }
}

static void a_block_and_padding_ring(void)
{
    stream_t stream;
    stream_open(&stream, true, true);
    CHECK(arm(&stream));
    CHECK(apy_exclusive_append_padding(&stream.publication.exclusive, 64) > 0);
    CHECK(is_rung(&stream));
    consume(&stream);

    CHECK(arm(&stream));
    const apy_frame_t block = {.length = 32,
                               .flags = 0xC0,
                               .type = APY_FRAME_DATA,
                               .term_offset = 96,
                               .session_id = SESSION,
                               .stream_id = STREAM,
                               .term_id = 7};
    CHECK_EQ(apy_exclusive_offer_block(&stream.publication.exclusive, (const uint8_t *)&block, sizeof(block)), 128);
    CHECK(is_rung(&stream));
    stream_close(&stream);
}

/* The reader looks by itself, at once while something comes and then less often, and trusts nobody. */
static void a_stranger_that_never_rings_is_read_all_the_same(void)
{
    stream_t stream;
    stream_open(&stream, true, false);
    for (int i = 0; i < 5; i++) {
        CHECK(arm(&stream));
        CHECK(offer(&stream, 8) > 0);
        CHECK(apy_waiter_wait(&stream.wait.waiter, LONG_NS)); /* its timer */
        CHECK(!is_rung(&stream));
        consume(&stream);
    }
    int64_t last_ns = 0;
    for (int i = 0; i < 12; i++) {
        CHECK(arm(&stream));
        CHECK(stream.wait.back_off_ns >= last_ns);
        last_ns = stream.wait.back_off_ns;
    }
    CHECK_EQ(last_ns, APY_WAIT_BACK_OFF_MAX_NS);
    stream_close(&stream);
}

static void a_writer_is_woken_by_who_moves_its_limit(void)
{
    stream_t stream;
    stream_open(&stream, true, true);
    apy_log_meta_t *meta = stream.fixture.log.meta;
    apy_waiters_promise(&meta->writers, &ringer);
    CHECK(!apy_wait_for_window(&stream.wait, &stream.publication));
    stream.fixture.limit = 0;
    CHECK_EQ(offer(&stream, 8), APY_BACK_PRESSURED);
    CHECK(apy_wait_for_window(&stream.wait, &stream.publication));
    CHECK(!is_rung(&stream));
    CHECK(apy_wait_for_window(&stream.wait, &stream.publication));
    stream.fixture.limit = FAR;
    apy_waiters_ring_if_armed(&meta->writers, &ringer);
    CHECK(is_rung(&stream));
    CHECK(!apy_wait_for_window(&stream.wait, &stream.publication));
    meta->is_connected = 0;
    CHECK(apy_wait_for_window(&stream.wait, &stream.publication));
    apy_publication_close(&stream.publication);
    CHECK(!apy_wait_for_window(&stream.wait, &stream.publication));
    stream_close(&stream);
}

/* --- the race of a look with a commit --- */

static void *answer(void *argument)
{
    stream_t *stream = argument;
    for (int64_t sent = 0; sent < ROUNDS_MAX; sent++) {
        while (apy_load_acquire_i64(&stream->position) < sent * 64) {
            apy_cpu_pause();
        }
        CHECK(offer(stream, 8) > 0 || offer(stream, 8) > 0); /* the second one in a new term */
    }
    return NULL;
}

/* Each message is sent just when its reader goes to sleep; one lost wake-up would take the backstop's time. */
static void no_message_is_slept_through(void)
{
    stream_t stream;
    stream_open(&stream, true, true);
    if (!ringer.can_promise || !apy_waiter_order()) {
        fprintf(stderr, "    no membarrier here: waiters look by themselves\n");
        stream_close(&stream);
        return;
    }
    pthread_t writer;
    int64_t slept_through = 0;
    CHECK_EQ(pthread_create(&writer, NULL, answer, &stream), 0);
    for (int64_t got = 1; got <= ROUNDS_MAX; got++) {
        while (arm(&stream)) {
            const int64_t started = now();
            CHECK(apy_waiter_wait(&stream.wait.waiter, LONG_NS));
            apy_waiter_drain(&stream.wait.waiter);
            slept_through += !stream.wait.waiter.is_rung && now() - started > APY_WAITER_BACKSTOP_NS / 2 &&
                             apy_image_reader_is_ready(&stream.reader);
        }
        apy_store_release_i64(&stream.position, got * 64);
    }
    CHECK_EQ(pthread_join(writer, NULL), 0);
    CHECK_EQ(slept_through, 0);
    stream_close(&stream);
}

int main(void)
{
    make_directory();
    RUN(a_ring_is_heard_until_it_is_drained);
    RUN(time_and_its_own_process_wake_it_too);
    RUN(one_that_never_drains_holds_up_nobody);
    RUN(a_socket_whose_owner_was_killed_is_removed_by_who_rings);
    RUN(without_room_for_a_socket_the_timer_is_left);
    RUN(only_those_who_lie_down_are_rung_and_once);
    RUN(places_of_the_dead_are_given_to_the_living);
    RUN(trust_is_lost_where_something_came_and_nobody_rang);
    RUN(every_way_to_append_rings);
    RUN(a_block_and_padding_ring);
    RUN(a_stranger_that_never_rings_is_read_all_the_same);
    RUN(a_writer_is_woken_by_who_moves_its_limit);
    RUN(no_message_is_slept_through);
    remove_directory();
    return 0;
}
