#ifndef APY_TEST_STRESS_H
#define APY_TEST_STRESS_H

/* stress is what tests with many writers share: how much to do, messages that prove themselves, processes. */

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "apy/atomic.h"

#include "check.h"

#if defined(__SANITIZE_ADDRESS__)
#define STRESS_DEFAULT INT64_C(1000000)
#elif APY_TSAN
#define STRESS_DEFAULT INT64_C(400000)
#else
#define STRESS_DEFAULT INT64_C(10000000)
#endif

enum {
    STRESS_BODY_MIN = 16, /* writer and sequence */
    STRESS_BODY_MAX = 200,
    STRESS_PATIENCE_S = 60,
};

static inline int64_t stress_operations(void)
{
    const char *text = getenv("APY_STRESS_OPERATIONS");
    return text == NULL ? STRESS_DEFAULT : strtoll(text, NULL, 10);
}

/* Memory that forked processes share. */
static inline void *stress_share(size_t length)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static inline uint64_t stress_mix(uint64_t value)
{
    value ^= value >> 31;
    value *= UINT64_C(0x9E3779B97F4A7C15);
    return value ^ value >> 29;
}

/* The length and all bytes of a message follow from who wrote it and which of his it is. */
static inline int32_t stress_fill(uint8_t *body, int64_t writer, int64_t sequence)
{
    const uint64_t seed = stress_mix((uint64_t)(writer * 1000003 + sequence));
    const int32_t length = STRESS_BODY_MIN + (int32_t)(seed % (STRESS_BODY_MAX - STRESS_BODY_MIN + 1));
    memcpy(body, &writer, sizeof writer);
    memcpy(body + 8, &sequence, sizeof sequence);
    for (int32_t at = STRESS_BODY_MIN; at < length; at++) {
        body[at] = (uint8_t)(seed >> (at % 7 * 8)) ^ (uint8_t)at;
    }
    return length;
}

/* Fails unless the message is whole; *writer and *sequence are what it says. */
static inline void stress_verify(const uint8_t *body, int32_t length, int64_t *writer, int64_t *sequence)
{
    uint8_t expected[STRESS_BODY_MAX];
    CHECK(length >= STRESS_BODY_MIN);
    memcpy(writer, body, sizeof *writer);
    memcpy(sequence, body + 8, sizeof *sequence);
    CHECK_EQ(stress_fill(expected, *writer, *sequence), length);
    CHECK(memcmp(body, expected, (size_t)length) == 0);
}

static inline int64_t stress_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Give way to those who are waited for; fail when nothing moved for long. */
typedef struct stress_patience {
    int64_t since_s;
    int calls;
} stress_patience_t;

static inline void stress_moved(stress_patience_t *patience)
{
    patience->since_s = 0;
}

static inline void stress_wait(stress_patience_t *patience)
{
    if (patience->since_s == 0) {
        patience->since_s = stress_seconds();
    }
    if (++patience->calls % 1024 == 0) {
        CHECK(stress_seconds() - patience->since_s < STRESS_PATIENCE_S);
    }
    sched_yield();
}

static inline void stress_join_process(pid_t pid)
{
    int status = -1;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
