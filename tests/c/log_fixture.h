#ifndef APY_TEST_LOG_FIXTURE_H
#define APY_TEST_LOG_FIXTURE_H

/* log_fixture is a log of a test's own in shared memory, with the limit counter that appends ask for. */

#include <unistd.h>

#include "apy/append.h"
#include "apy/atomic.h"
#include "apy/frame.h"
#include "apy/log_buffer.h"
#include "check.h"

#define SESSION 0x11223344
#define STREAM 1001
#define FAR (INT64_C(1) << 62)

typedef struct fixture {
    apy_log_t log;
    int64_t limit;
    char path[64];
} fixture_t;

static inline apy_log_params_t fixture_params(int32_t term_length, int32_t mtu)
{
    return (apy_log_params_t){.correlation_id = 42,
                              .session_id = SESSION,
                              .stream_id = STREAM,
                              .initial_term_id = 7,
                              .start_term_id = 7,
                              .term_length = term_length,
                              .mtu = mtu,
                              .page_size = 4096,
                              .sparse = 1};
}

static inline void fixture_open_with(fixture_t *fixture, const apy_log_params_t *params)
{
    memset(fixture, 0, sizeof(*fixture));
    snprintf(fixture->path, sizeof(fixture->path), "/dev/shm/apy-test-log-%d.logbuffer", (int)getpid());
    unlink(fixture->path);
    CHECK_EQ(apy_log_create(&fixture->log, fixture->path, params), APY_OK);
    fixture->limit = FAR;
}

static inline void fixture_open(fixture_t *fixture, int32_t term_length, int32_t mtu)
{
    const apy_log_params_t params = fixture_params(term_length, mtu);
    fixture_open_with(fixture, &params);
}

static inline void fixture_close(fixture_t *fixture)
{
    apy_log_close(&fixture->log);
    unlink(fixture->path);
}

static inline const apy_frame_t *frame_in(const fixture_t *fixture, int partition, int32_t offset)
{
    return (const apy_frame_t *)(const void *)(fixture->log.terms[partition] + offset);
}

static inline void check_frame(const fixture_t *fixture, int partition, int32_t offset, int32_t length, int flags,
                               int type)
{
    const apy_frame_t *frame = frame_in(fixture, partition, offset);
    CHECK_EQ(frame->length, length);
    CHECK_EQ(frame->version, 0);
    CHECK_EQ(frame->flags, flags);
    CHECK_EQ(frame->type, type);
    CHECK_EQ(frame->term_offset, offset);
    CHECK_EQ(frame->session_id, SESSION);
    CHECK_EQ(frame->stream_id, STREAM);
}

/* Byte i of a message whose first byte is seed. */
static inline void fill_message(uint8_t *message, size_t length, int seed)
{
    for (size_t i = 0; i < length; i++) {
        message[i] = (uint8_t)((size_t)seed + i * 7 + i / 251);
    }
}

#endif
