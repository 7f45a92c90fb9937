/*
 * One transmitter, receivers in threads and processes: whoever keeps up gets every message, whoever is lapped
 * is told, and nobody ever gets a wrong one. APY_STRESS_OPERATIONS sets how many messages in all.
 */
#include "apy/broadcast.h"

#include <pthread.h>

#include "stress.h"

enum {
    CAPACITY = 16 * 1024,
    LENGTH = CAPACITY + APY_BROADCAST_TRAILER,
    THREADS = 2,
    PROCESSES = APY_TSAN ? 0 : 2, /* ThreadSanitizer sees one process */
    RECEIVERS = THREADS + PROCESSES,
    WINDOW = CAPACITY / 2 / (STRESS_BODY_MAX + 16), /* messages on their way that cannot lap anybody */
    STEADY_EVERY = 4096, /* how often an unpaced transmitter gives way, so that receivers see something */
};

typedef struct progress {
    _Alignas(APY_CACHE_LINE) int64_t received;
    int64_t lapped;
    int64_t ready;
} progress_t;

typedef struct shared {
    _Alignas(APY_CACHE_LINE) int64_t done;
    progress_t receivers[RECEIVERS];
    _Alignas(128) uint8_t buffer[LENGTH];
} shared_t;

static shared_t *shared;

static void receive_all(int64_t index)
{
    progress_t *progress = &shared->receivers[index];
    apy_broadcast_receiver_t receiver;
    stress_patience_t patience = {0};
    int64_t last = -1;
    CHECK_EQ(apy_broadcast_receiver_init(&receiver, shared->buffer, LENGTH), APY_OK);
    apy_store_release_i64(&progress->ready, 1);

    for (;;) {
        const bool done = apy_load_acquire_i64(&shared->done) != 0;
        int32_t type, length;
        const uint8_t *message;
        const int rc = apy_broadcast_receive(&receiver, &type, &message, &length);
        if (rc == 1) {
            int64_t writer, sequence;
            stress_verify(message, length, &writer, &sequence);
            CHECK_EQ(type, 1 + sequence % 5);
            CHECK(sequence > last);
            CHECK(receiver.lapped_count > 0 || sequence == last + 1);
            last = sequence;
            apy_fetch_add_i64(&progress->received, 1);
            stress_moved(&patience);
        } else if (rc == 0 && done) {
            break;
        } else if (rc == 0) {
            stress_wait(&patience);
        } else {
            CHECK_EQ(rc, APY_E_LAPPED);
        }
    }
    apy_store_release_i64(&progress->lapped, receiver.lapped_count);
    apy_broadcast_receiver_free(&receiver);
}

static void *run_thread(void *context)
{
    receive_all((int64_t)(intptr_t)context);
    return NULL;
}

static int64_t slowest(void)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < RECEIVERS; i++) {
        const int64_t received = apy_load_acquire_i64(&shared->receivers[i].received);
        least = received < least ? received : least;
    }
    return least;
}

static void transmit_all(int64_t count, bool paced)
{
    apy_broadcast_transmitter_t transmitter;
    stress_patience_t patience = {0};
    CHECK_EQ(apy_broadcast_transmitter_init(&transmitter, shared->buffer, LENGTH), APY_OK);
    int64_t floor = 0;
    for (int64_t sequence = 0; sequence < count; sequence++) {
        uint8_t body[STRESS_BODY_MAX];
        const int32_t length = stress_fill(body, 0, sequence);
        while (paced && sequence - floor >= WINDOW && sequence - (floor = slowest()) >= WINDOW) {
            stress_wait(&patience);
        }
        stress_moved(&patience);
        CHECK_EQ(apy_broadcast_transmit(&transmitter, (int32_t)(1 + sequence % 5), body, length), APY_OK);
        if (!paced && sequence % STEADY_EVERY == 0) {
            sched_yield();
        }
    }
}

/* Send count messages to all receivers and leave their tallies in shared. */
static void exchange(int64_t count, bool paced)
{
    shared = stress_share(sizeof *shared);
    pid_t processes[RECEIVERS];
    for (int i = 0; i < PROCESSES; i++) {
        processes[i] = fork();
        CHECK(processes[i] >= 0);
        if (processes[i] == 0) {
            receive_all(THREADS + i);
            _exit(0);
        }
    }
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)i), 0);
    }
    stress_patience_t patience = {0};
    for (int i = 0; i < RECEIVERS; i++) {
        while (apy_load_acquire_i64(&shared->receivers[i].ready) == 0) {
            stress_wait(&patience);
        }
    }

    transmit_all(count, paced);
    apy_store_release_i64(&shared->done, 1);
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        stress_join_process(processes[i]);
    }
}

static void receivers_that_keep_up_get_every_message(void)
{
    const int64_t count = stress_operations() / 2 / RECEIVERS + 1;
    exchange(count, true);
    for (int i = 0; i < RECEIVERS; i++) {
        CHECK_EQ(shared->receivers[i].received, count);
        CHECK_EQ(shared->receivers[i].lapped, 0);
    }
    munmap(shared, sizeof *shared);
}

static void receivers_that_are_lapped_never_get_a_wrong_message(void)
{
    const int64_t count = stress_operations() / 2;
    exchange(count, false);
    int64_t received = 0, lapped = 0;
    for (int i = 0; i < RECEIVERS; i++) {
        CHECK(shared->receivers[i].received <= count);
        CHECK(shared->receivers[i].received > 0);
        received += shared->receivers[i].received;
        lapped += shared->receivers[i].lapped;
    }
    fprintf(stderr, "    %" PRId64 " sent, %" PRId64 " received by %d, lapped %" PRId64 " times\n", count, received,
            RECEIVERS, lapped);
    CHECK(lapped > 0);
    munmap(shared, sizeof *shared);
}

int main(void)
{
    RUN(receivers_that_keep_up_get_every_message);
    RUN(receivers_that_are_lapped_never_get_a_wrong_message);
    return 0;
}
