/*
 * Many writers of one log, in threads or in processes: every message arrives once, whole, in its writer's order,
 * while a driver cleans behind the reader and moves the limit. Small terms, so that they rotate all the time.
 * APY_STRESS_OPERATIONS sets how many messages, half of them by threads and half by processes.
 */
#include <pthread.h>

#include "apy/append.h"
#include "apy/frame.h"
#include "apy/log_buffer.h"
#include "stress.h"

enum {
    TERM = 65536,
    MTU = 256, /* small, so that longer messages are fragmented */
    PAYLOAD = MTU - APY_FRAME_HEADER,
    BODY_MIN = 16, /* writer and sequence */
    BODY_MAX = 1000,
    WRITERS = 3,
    PATTERN = 65536,
    SESSION = 77,
    STREAM = 1001,
    INITIAL_TERM_ID = INT32_MAX - 1 /* so that ids wrap */
};

typedef struct shared {
    _Alignas(128) int64_t limit;
    _Alignas(128) int64_t consumer_position;
    _Alignas(128) int32_t is_over;
    char path[64];
} shared_t;

static shared_t *shared;
static uint8_t pattern[PATTERN + BODY_MAX];
static int64_t per_writer;

static void fill_pattern(void)
{
    for (size_t i = 0; i < sizeof(pattern); i++) {
        pattern[i] = (uint8_t)(stress_mix(i + 1) >> 17);
    }
}

/* One in 16 is longer than a frame. All bytes follow from writer and sequence. */
static int32_t body_length(int64_t writer, int64_t sequence)
{
    const uint64_t seed = stress_mix((uint64_t)(writer * 1000003 + sequence));
    const uint64_t most = seed % 16 == 0 ? BODY_MAX : 100;
    return BODY_MIN + (int32_t)((seed >> 8) % (most - BODY_MIN + 1));
}

static const uint8_t *body_pattern(int64_t writer, int64_t sequence)
{
    return pattern + stress_mix((uint64_t)(writer + sequence * 31)) % PATTERN;
}

static void fill_body(uint8_t *body, int32_t length, int64_t writer, int64_t sequence)
{
    memcpy(body, &writer, 8);
    memcpy(body + 8, &sequence, 8);
    memcpy(body + BODY_MIN, body_pattern(writer, sequence), (size_t)(length - BODY_MIN));
}

static int64_t claim_one(const apy_append_t *append, const uint8_t *body, int32_t length, int64_t sequence)
{
    uint8_t *claim = NULL;
    if (sequence % 5 == 0 && apy_append_claim(append, length / 2, &claim) > 0) {
        memset(claim + APY_FRAME_HEADER, 0xFF, (size_t)length / 2); /* given up half-way */
        apy_claim_abort(claim);
    }
    const int64_t result = apy_append_claim(append, length, &claim);
    if (result > 0) {
        memcpy(claim + APY_FRAME_HEADER, body, (size_t)length);
        apy_claim_commit(claim);
    }
    return result;
}

static int64_t append_one(const apy_append_t *append, int64_t writer, int64_t sequence)
{
    uint8_t body[BODY_MAX];
    const int32_t length = body_length(writer, sequence);
    fill_body(body, length, writer, sequence);
    if (sequence % 4 == 0 && length <= PAYLOAD) {
        return claim_one(append, body, length, sequence);
    }
    const size_t cut = sequence % 4 == 1 ? (size_t)(sequence % length) : (size_t)length;
    const struct iovec parts[] = {{body, cut}, {body + cut, (size_t)length - cut}};
    return apy_append_offer(append, parts, cut == (size_t)length ? 1 : 2, NULL, NULL);
}

static void write_all(const apy_log_t *log, int64_t writer)
{
    apy_append_t append;
    stress_patience_t patience = {0};
    int64_t last_position = 0;
    apy_append_init(&append, log, &shared->limit);
    for (int64_t sequence = 0; sequence < per_writer;) {
        const int64_t result = append_one(&append, writer, sequence);
        if (result > 0) {
            CHECK(result > last_position);
            last_position = result;
            sequence++;
            stress_moved(&patience);
        } else if (result != APY_ADMIN_ACTION) {
            CHECK_EQ(result, APY_BACK_PRESSURED);
            stress_wait(&patience);
        }
    }
}

typedef struct writer {
    const apy_log_t *log;
    int64_t number;
} writer_t;

static void *write_in_thread(void *argument)
{
    const writer_t *writer = argument;
    write_all(writer->log, writer->number);
    return NULL;
}

static void write_in_process(int64_t number)
{
    apy_log_t log; /* a mapping of its own */
    CHECK_EQ(apy_log_open(&log, shared->path), APY_OK);
    write_all(&log, number);
    apy_log_close(&log);
}

/* What the driver does: clean behind the reader, then let the writers go on. */
static void *drive(void *argument)
{
    apy_log_t *log = argument;
    int64_t clean_position = 0;
    while (!apy_load_acquire_i32(&shared->is_over)) {
        const int64_t consumer = apy_load_acquire_i64(&shared->consumer_position);
        while (clean_position < consumer) {
            apy_log_clean(log, &clean_position, consumer);
        }
        apy_propose_max_i64(&shared->limit, consumer + TERM / 2);
        sched_yield();
    }
    return NULL;
}

typedef struct reader {
    const apy_log_t *log;
    int64_t position, pads;
    int64_t next[WRITERS];
    uint8_t message[BODY_MAX];
    int32_t length; /* of the message gathered so far; -1: none begun */
} reader_t;

static void see_message(reader_t *reader)
{
    uint8_t expected[BODY_MAX];
    int64_t writer, sequence;
    CHECK(reader->length >= BODY_MIN);
    memcpy(&writer, reader->message, 8);
    memcpy(&sequence, reader->message + 8, 8);
    CHECK(writer >= 0 && writer < WRITERS);
    CHECK_EQ(sequence, reader->next[writer]);
    reader->next[writer]++;
    CHECK_EQ(reader->length, body_length(writer, sequence));
    fill_body(expected, reader->length, writer, sequence);
    CHECK_EQ(memcmp(reader->message, expected, (size_t)reader->length), 0);
}

static void see_frame(reader_t *reader, const apy_frame_t *frame, int32_t length)
{
    const apy_log_t *log = reader->log;
    CHECK_EQ(frame->version, 0);
    CHECK_EQ(frame->term_offset, reader->position & (TERM - 1));
    CHECK_EQ(frame->term_id, apy_position_term_id(reader->position, log->shift, log->initial_term_id));
    CHECK_EQ(frame->session_id, SESSION);
    CHECK_EQ(frame->stream_id, STREAM);
    CHECK_EQ(frame->reserved_value, 0);
    if (frame->type == APY_FRAME_PAD) {
        CHECK_EQ(reader->length, -1); /* never between the fragments of a message */
        reader->pads++;
        return;
    }
    CHECK_EQ(frame->type, APY_FRAME_DATA);
    CHECK_EQ((frame->flags & APY_FLAG_BEGIN) != 0, reader->length == -1);
    if (reader->length == -1) {
        reader->length = 0;
    }
    CHECK(length - APY_FRAME_HEADER <= BODY_MAX - reader->length);
    memcpy(reader->message + reader->length, frame + 1, (size_t)length - APY_FRAME_HEADER);
    reader->length += length - APY_FRAME_HEADER;
    if (frame->flags & APY_FLAG_END) {
        see_message(reader);
        reader->length = -1;
    } else {
        CHECK_EQ(length, MTU);
    }
}

static void read_all(apy_log_t *log)
{
    reader_t reader = {.log = log, .length = -1};
    stress_patience_t patience = {0};
    for (int64_t total = 0; total < WRITERS * per_writer;) {
        const uint8_t *term = log->terms[apy_position_partition(reader.position, log->shift)];
        const apy_frame_t *frame = (const apy_frame_t *)(const void *)(term + (reader.position & (TERM - 1)));
        const int32_t length = apy_load_acquire_i32(&frame->length);
        if (length <= 0) {
            stress_wait(&patience);
            continue;
        }
        see_frame(&reader, frame, length);
        reader.position += apy_frame_span(length);
        apy_store_release_i64(&shared->consumer_position, reader.position);
        stress_moved(&patience);
        total = reader.next[0] + reader.next[1] + reader.next[2];
    }
    CHECK_EQ(reader.length, -1);
    CHECK(reader.pads > 0);
    for (int i = 0; i < WRITERS; i++) {
        CHECK_EQ(reader.next[i], per_writer);
    }
    CHECK_EQ(apy_log_producer_position(log), reader.position);
}

static void run(bool in_processes)
{
    const apy_log_params_t params = {.session_id = SESSION,
                                     .stream_id = STREAM,
                                     .initial_term_id = INITIAL_TERM_ID,
                                     .start_term_id = INITIAL_TERM_ID,
                                     .term_length = TERM,
                                     .mtu = MTU,
                                     .page_size = 4096,
                                     .sparse = 1};
    apy_log_t log;
    shared->limit = 0;
    shared->consumer_position = 0;
    shared->is_over = 0;
    snprintf(shared->path, sizeof(shared->path), "/dev/shm/apy-test-append-stress-%d", (int)getpid());
    CHECK_EQ(apy_log_create(&log, shared->path, &params), APY_OK);
    log.meta->is_connected = 1;

    pid_t processes[WRITERS];
    pthread_t threads[WRITERS], driver;
    writer_t writers[WRITERS];
    for (int64_t i = 0; in_processes && i < WRITERS; i++) {
        processes[i] = fork();
        CHECK(processes[i] >= 0);
        if (processes[i] == 0) {
            write_in_process(i);
            _exit(0);
        }
    }
    for (int64_t i = 0; !in_processes && i < WRITERS; i++) {
        writers[i] = (writer_t){&log, i};
        CHECK_EQ(pthread_create(&threads[i], NULL, write_in_thread, &writers[i]), 0);
    }
    CHECK_EQ(pthread_create(&driver, NULL, drive, &log), 0);

    read_all(&log);
    for (int i = 0; i < WRITERS; i++) {
        if (in_processes) {
            stress_join_process(processes[i]);
        } else {
            CHECK_EQ(pthread_join(threads[i], NULL), 0);
        }
    }
    apy_store_release_i32(&shared->is_over, 1);
    CHECK_EQ(pthread_join(driver, NULL), 0);
    apy_log_close(&log);
    unlink(shared->path);
}

static void threads_share_a_log(void)
{
    run(false);
}

#if !APY_TSAN
static void processes_share_a_log(void)
{
    run(true);
}
#endif

int main(void)
{
    shared = stress_share(sizeof(*shared));
    fill_pattern();
    per_writer = stress_operations() / (APY_TSAN ? WRITERS : 2 * WRITERS);
    RUN(threads_share_a_log);
#if !APY_TSAN /* ThreadSanitizer sees one process */
    RUN(processes_share_a_log);
#endif
    return 0;
}
