/*
 * Many writers, in threads and processes, one reader: every message arrives once, whole, in its writer's order.
 * A small ring, so that writers find it full and wrap all the time. APY_STRESS_OPERATIONS sets how many.
 */
#include "apy/mpsc_ring.h"

#include <pthread.h>

#include "stress.h"

enum {
    CAPACITY = 64 * 1024,
    LENGTH = CAPACITY + APY_RING_TRAILER,
    THREADS = 3,
    PROCESSES = APY_TSAN ? 0 : 3, /* ThreadSanitizer sees one process */
    WRITERS = THREADS + PROCESSES,
    ABANDON_EVERY = 17,
};

static uint8_t *memory;
static int64_t per_writer;

typedef struct reader {
    int64_t next[WRITERS], total;
} reader_t;

static void see(void *context, int32_t type, const uint8_t *message, int32_t length)
{
    reader_t *reader = context;
    int64_t writer, sequence;
    stress_verify(message, length, &writer, &sequence);
    CHECK(writer >= 0 && writer < WRITERS);
    CHECK_EQ(type, writer + 1);
    CHECK_EQ(sequence, reader->next[writer]);
    reader->next[writer]++;
    reader->total++;
}

/* Alternate the ways to write; now and then take room and give it up. */
static int write_one(apy_mpsc_ring_t *ring, int64_t writer, int64_t sequence)
{
    uint8_t body[STRESS_BODY_MAX], *claimed;
    const int32_t type = (int32_t)writer + 1;
    const int32_t length = stress_fill(body, writer, sequence);
    int rc;

    switch (sequence % 3) {
    case 0:
        return apy_mpsc_ring_write(ring, type, body, length);
    case 1:
        return apy_mpsc_ring_write_two(ring, type, body, 11, body + 11, length - 11);
    default:
        if (sequence % ABANDON_EVERY == 0 && apy_mpsc_ring_claim(ring, type, length / 2, &claimed) == APY_OK) {
            apy_mpsc_ring_abort(ring, claimed);
        }
        rc = apy_mpsc_ring_claim(ring, type, length, &claimed);
        if (rc == APY_OK) {
            memcpy(claimed, body, (size_t)length);
            apy_mpsc_ring_commit(ring, claimed);
        }
        return rc;
    }
}

static void write_all(int64_t writer)
{
    apy_mpsc_ring_t ring;
    stress_patience_t patience = {0};
    CHECK_EQ(apy_mpsc_ring_init(&ring, memory, LENGTH), APY_OK);
    for (int64_t sequence = 0; sequence < per_writer;) {
        const int rc = write_one(&ring, writer, sequence);
        if (rc == APY_OK) {
            sequence++;
            stress_moved(&patience);
        } else {
            CHECK_EQ(rc, APY_E_FULL);
            stress_wait(&patience);
        }
    }
}

static void *run_thread(void *context)
{
    write_all((int64_t)(intptr_t)context);
    return NULL;
}

static void every_message_arrives_once_whole_and_in_order(void)
{
    memory = stress_share(LENGTH);
    per_writer = stress_operations() / WRITERS + 1;

    pid_t processes[WRITERS];
    for (int i = 0; i < PROCESSES; i++) {
        processes[i] = fork();
        CHECK(processes[i] >= 0);
        if (processes[i] == 0) {
            write_all(THREADS + i);
            _exit(0);
        }
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)i), 0);
    }

    apy_mpsc_ring_t ring;
    reader_t reader = {{0}, 0};
    stress_patience_t patience = {0};
    CHECK_EQ(apy_mpsc_ring_init(&ring, memory, LENGTH), APY_OK);
    while (reader.total < per_writer * WRITERS) {
        const int read = apy_mpsc_ring_read(&ring, see, &reader, 64);
        CHECK(read >= 0);
        if (read == 0) {
            stress_wait(&patience);
        } else {
            stress_moved(&patience);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        stress_join_process(processes[i]);
    }
    while (apy_mpsc_ring_size(&ring) > 0) { /* what was given up last */
        CHECK_EQ(apy_mpsc_ring_read(&ring, see, &reader, 64), 0);
    }
    for (int64_t i = 0; i < CAPACITY; i++) {
        CHECK_EQ(memory[i], 0);
    }
    munmap(memory, LENGTH);
}

int main(void)
{
    RUN(every_message_arrives_once_whole_and_in_order);
    return 0;
}
