/* Runs of messages under one tail update: the same bytes as by single offers, half-written ones, freed ones. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "apy/publication.h"

#include "apy/image_reader.h"
#include "log_fixture.h"
#include "stress.h"

enum { TERM = 65536, MTU = 1408, PAYLOAD_MAX = MTU - APY_FRAME_HEADER, MESSAGES_MAX = 400 };

static uint8_t bytes[MESSAGES_MAX * 2048];

/* Offers one at a time until one is refused for good: what a batch must come to. */
static int64_t offer_singly(apy_publication_t *publication, const apy_messages_t *messages, int64_t *result)
{
    const uint8_t *at = messages->at;
    for (int64_t i = 0; i < messages->count; i++) {
        const struct iovec part = {(void *)(uintptr_t)at,
                                   (size_t)(messages->lengths ? messages->lengths[i] : messages->length)};
        do {
            *result = apy_publication_offer(publication, &part, 1, NULL, NULL);
        } while (*result == APY_ADMIN_ACTION);
        if (*result < 0) {
            return i;
        }
        at += messages->lengths ? messages->lengths[i] : messages->stride;
    }
    return messages->count;
}

static int64_t offer_as_batch(apy_publication_t *publication, const apy_messages_t *messages, int64_t *result)
{
    return messages->lengths != NULL ? apy_publication_offer_packed(publication, messages->at, messages->bytes,
                                                                    messages->lengths, messages->count, result)
                                     : apy_publication_offer_strided(publication, messages->at, messages->stride,
                                                                     messages->length, messages->count, result);
}

typedef struct pair {
    fixture_t fixture;
    apy_publication_t publication;
    int64_t accepted, result;
} pair_t;

static void check_alike(const pair_t *single, const pair_t *batch)
{
    CHECK_EQ(batch->accepted, single->accepted);
    CHECK_EQ(batch->result, single->result);
    CHECK_EQ(batch->fixture.log.meta->active_term_count, single->fixture.log.meta->active_term_count);
    for (int i = 0; i < APY_PARTITIONS; i++) {
        CHECK_EQ(batch->fixture.log.meta->tails[i], single->fixture.log.meta->tails[i]);
        CHECK_EQ(memcmp(batch->fixture.log.terms[i], single->fixture.log.terms[i], TERM), 0);
    }
    CHECK_EQ(apy_publication_position(&batch->publication), apy_publication_position(&single->publication));
}

static void compare(bool is_exclusive, const apy_messages_t *messages, int64_t limit, int64_t before)
{
    pair_t pairs[2] = {0};
    for (int i = 0; i < 2; i++) {
        pair_t *pair = &pairs[i];
        fixture_open(&pair->fixture, TERM, MTU);
        unlink(pair->fixture.path);
        pair->fixture.log.meta->is_connected = 1;
        apy_publication_init(&pair->publication, &pair->fixture.log, &pair->fixture.limit, is_exclusive);
        for (int64_t left = before; left > 0; left -= APY_FRAME_HEADER) {
            const struct iovec none = {bytes, 0};
            CHECK(apy_publication_offer(&pair->publication, &none, 1, NULL, NULL) > 0);
        }
        pair->fixture.limit = limit;
        pair->accepted = (i == 0 ? offer_singly : offer_as_batch)(&pair->publication, messages, &pair->result);
    }
    check_alike(&pairs[0], &pairs[1]);
    fixture_close(&pairs[0].fixture);
    fixture_close(&pairs[1].fixture);
}

static void a_batch_leaves_the_bytes_that_single_offers_leave(void)
{
    static const int32_t lengths[] = {
        0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 288, 1344, PAYLOAD_MAX, PAYLOAD_MAX + 1, 4000};
    fill_message(bytes, sizeof(bytes), 5);
    for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++) {
        for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
            const int32_t fit = 150000 / (lengths[i] + 64); /* into the third term, where they are long enough */
            const apy_messages_t messages = {.at = bytes,
                                             .stride = lengths[i] < 2000 ? lengths[i] + (int32_t)i : 1000,
                                             .length = lengths[i],
                                             .count = fit < MESSAGES_MAX ? fit : MESSAGES_MAX};
            compare(is_exclusive, &messages, FAR, 0);
            compare(is_exclusive, &messages, 3 * 1056, 0);
            compare(is_exclusive, &messages, FAR, TERM - 1024);
        }
    }
}

static void every_limit_is_met_as_by_single_offers(void)
{
    const apy_messages_t messages = {.at = bytes, .stride = 70, .length = 70, .count = 12};
    for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++) {
        for (int64_t limit = 0; limit <= 13 * 128; limit += 32) {
            compare(is_exclusive, &messages, limit, 0);
        }
    }
}

static void packed_messages_of_any_length_follow_each_other(void)
{
    int32_t lengths[MESSAGES_MAX];
    for (uint64_t round = 0; round < 40; round++) {
        apy_messages_t messages = {.at = bytes, .lengths = lengths, .count = MESSAGES_MAX};
        int64_t total = 0;
        for (int i = 0; i < MESSAGES_MAX; i++) {
            const uint64_t seed = stress_mix(round * 1000 + (uint64_t)i + 1);
            lengths[i] = (int32_t)(seed % (seed % 7 == 0 ? 1800 : 200)); /* some longer than a frame */
            total += lengths[i];
        }
        messages.bytes = round % 3 == 0 ? total - total / 4 : total; /* a length that leads out of the bytes */
        const int64_t limit = round % 4 == 1 ? 20000 : FAR;
        if (messages.bytes == total) {
            compare(round % 2 == 0, &messages, limit, round % 5 * 1024);
        } else {
            fixture_t fixture;
            fixture_open(&fixture, TERM, MTU);
            apy_publication_t publication;
            apy_publication_init(&publication, &fixture.log, &fixture.limit, round % 2 == 0);
            int64_t result = 0, within = 0, left = messages.bytes;
            for (; lengths[within] <= left; within++) {
                left -= lengths[within];
            }
            CHECK_EQ(offer_as_batch(&publication, &messages, &result), within);
            CHECK_EQ(result, APY_OFFER_ERROR);
            fixture_close(&fixture);
        }
    }
}

/* --- half-written --- */

enum { SIZE = 100, SPAN = 160, COUNT = 50 }; /* one run: together shorter than the longest message */

/* Messages of which those from some place on cannot be read: their writer stops there. */
static uint8_t *messages_that_end(int64_t *readable)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *at = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    fill_message(at, 2 * page, 1);
    CHECK_EQ(mprotect(at + page, page, PROT_NONE), 0);
    *readable = (int64_t)page / SIZE;
    return at;
}

static void die(int number)
{
    (void)number;
    _exit(3);
}

static void what_a_killed_writer_left_is_freed_in_one_go(void)
{
    for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++) {
        fixture_t fixture;
        fixture_open(&fixture, TERM, MTU);
        int64_t readable = 0;
        const uint8_t *messages = messages_that_end(&readable);
        const pid_t writer = fork();
        if (writer == 0) {
            apy_publication_t publication;
            int64_t result = 0;
            (void)signal(SIGSEGV, die);
            apy_publication_init(&publication, &fixture.log, &fixture.limit, is_exclusive);
            (void)apy_publication_offer_strided(&publication, messages, SIZE, SIZE, COUNT, &result);
            _exit(4);
        }
        int status = 0;
        CHECK_EQ(waitpid(writer, &status, 0), writer);
        CHECK_EQ(WEXITSTATUS(status), 3);

        /* All before is there, and the place of the first that is not holds the length of all the rest. */
        for (int64_t i = 0; i < readable; i++) {
            check_frame(&fixture, 0, (int32_t)(i * SPAN), SIZE + APY_FRAME_HEADER, 0xC0, APY_FRAME_DATA);
            CHECK_EQ(memcmp(fixture.log.terms[0] + i * SPAN + APY_FRAME_HEADER, messages + i * SIZE, SIZE), 0);
        }
        const int32_t rest = (int32_t)(COUNT - readable) * SPAN;
        CHECK_EQ(frame_in(&fixture, 0, (int32_t)readable * SPAN)->length, -rest);
        CHECK_EQ(apy_log_producer_position(&fixture.log), COUNT * SPAN);
        int64_t position = 0;
        apy_image_reader_t reader;
        apy_image_reader_init(&reader, &fixture.log, SESSION, &position);
        position = readable * SPAN;
        CHECK(!apy_image_reader_is_ready(&reader));

        CHECK(apy_log_unblock(&fixture.log, readable * SPAN, false));
        check_frame(&fixture, 0, (int32_t)readable * SPAN, rest, 0xC0, APY_FRAME_PAD);
        apy_publication_t next;
        apy_publication_init(&next, &fixture.log, &fixture.limit, is_exclusive);
        const struct iovec part = {bytes, 8};
        CHECK_EQ(apy_publication_offer(&next, &part, 1, NULL, NULL), COUNT * SPAN + 64);
        munmap((void *)(uintptr_t)messages, 2 * (size_t)sysconf(_SC_PAGESIZE));
        fixture_close(&fixture);
    }
}

static fixture_t freed;
static uint8_t *held;
static int64_t held_from;

/* As a driver does that takes the writer for dead; then let him go on. */
static void free_the_rest(int number)
{
    (void)number;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (!apy_log_unblock(&freed.log, held_from * SPAN, false) ||
        mprotect(held + page, page, PROT_READ | PROT_WRITE) != 0) {
        _exit(5);
    }
}

static void a_run_that_was_freed_is_not_written_over(void)
{
    fixture_open(&freed, TERM, MTU);
    held = messages_that_end(&held_from);
    struct sigaction action = {.sa_handler = free_the_rest}, before;
    CHECK_EQ(sigaction(SIGSEGV, &action, &before), 0);
    apy_append_t append;
    apy_append_init(&append, &freed.log, &freed.limit);
    apy_messages_t messages = {.at = held, .stride = SIZE, .length = SIZE, .count = COUNT};
    int64_t position = 0;
    CHECK_EQ(apy_append_offer_run(&append, &messages, &position), held_from);
    CHECK_EQ(sigaction(SIGSEGV, &before, NULL), 0);
    CHECK_EQ(position, held_from * SPAN);
    CHECK_EQ(messages.count, COUNT - held_from);
    CHECK_EQ(messages.at - held, held_from * SIZE);
    check_frame(&freed, 0, (int32_t)held_from * SPAN, (int32_t)(COUNT - held_from) * SPAN, 0xC0, APY_FRAME_PAD);
    /* What was not accepted goes in behind the padding. */
    CHECK_EQ(apy_append_offer_run(&append, &messages, &position), COUNT - held_from);
    CHECK_EQ(position, (2 * COUNT - held_from) * SPAN);
    munmap(held, 2 * (size_t)sysconf(_SC_PAGESIZE));
    fixture_close(&freed);
}

/* --- writers at once, and a reader in the midst of their runs --- */

enum { BIG_TERM = 4 * 1024 * 1024, WRITERS = 2, RUN_MESSAGES = 50, RUNS = 600 };

typedef struct writer {
    fixture_t *fixture;
    int64_t number;
} writer_t;

static void *write_runs(void *argument)
{
    const writer_t *writer = argument;
    apy_publication_t publication;
    apy_publication_init(&publication, &writer->fixture->log, &writer->fixture->limit, false);
    uint8_t batch[RUN_MESSAGES * STRESS_BODY_MAX];
    int32_t lengths[RUN_MESSAGES];
    for (int64_t run = 0; run < RUNS; run++) {
        int64_t used = 0, result = 0;
        for (int64_t i = 0; i < RUN_MESSAGES; i++) {
            lengths[i] = stress_fill(batch + used, writer->number, run * RUN_MESSAGES + i);
            used += lengths[i];
        }
        CHECK_EQ(apy_publication_offer_packed(&publication, batch, used, lengths, RUN_MESSAGES, &result), RUN_MESSAGES);
    }
    return NULL;
}

static void verify(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header)
{
    (void)header;
    int64_t *next = context, writer = 0, sequence = 0;
    stress_verify(buffer, (int32_t)length, &writer, &sequence);
    CHECK(writer >= 0 && writer < WRITERS);
    CHECK_EQ(sequence, next[writer]++);
}

static void writers_at_once_keep_their_runs_whole(void)
{
    fixture_t fixture;
    fixture_open(&fixture, BIG_TERM, MTU);
    int64_t position = 0, next[WRITERS] = {0};
    apy_image_reader_t reader;
    apy_image_reader_init(&reader, &fixture.log, SESSION, &position);
    pthread_t threads[WRITERS];
    writer_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer_t){&fixture, i};
        CHECK_EQ(pthread_create(&threads[i], NULL, write_runs, &writers[i]), 0);
    }
    const int64_t deadline_s = stress_seconds() + STRESS_PATIENCE_S;
    while (next[0] + next[1] < WRITERS * RUNS * RUN_MESSAGES) {
        if (apy_image_reader_poll(&reader, verify, next, 64, APY_NO_LIMIT_POSITION) == 0) {
            CHECK(stress_seconds() < deadline_s);
            sched_yield();
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
        CHECK_EQ(next[i], RUNS * RUN_MESSAGES);
    }
    CHECK(position > BIG_TERM); /* over the end of a term, with runs in flight */
    fixture_close(&fixture);
}

int main(void)
{
    alarm(240);
    RUN(a_batch_leaves_the_bytes_that_single_offers_leave);
    RUN(every_limit_is_met_as_by_single_offers);
    RUN(packed_messages_of_any_length_follow_each_other);
    RUN(what_a_killed_writer_left_is_freed_in_one_go);
    RUN(a_run_that_was_freed_is_not_written_over);
    RUN(writers_at_once_keep_their_runs_whole);
    return 0;
}
