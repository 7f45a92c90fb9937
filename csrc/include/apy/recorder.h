#ifndef APY_RECORDER_H
#define APY_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/clock.h"
#include "apy/idle.h"
#include "apy/recording_session.h"

/*
 * recorder is the agent that works all recordings of one archive, and keeps its mark file alive meanwhile.
 *
 * Threads: create, start, stop and free by the owner. add and abort by one thread at a time: they run on
 * the agent's thread, between duty cycles (before start and after stop: on the caller's). wait by one thread,
 * wake by any. do_work by the agent's thread, or by the caller while none is started.
 * Allocates: in create and add.  Blocks: do_work on the file system; add and abort for a cycle; wait as told.
 */

typedef struct apy_recorder apy_recorder_t;

typedef struct apy_recorder_params {
    const char *directory;
    int32_t block_max;
    int32_t sync_level;
    int64_t *activity_ms; /* of the mark file: refreshed every second */
    apy_clock_t clock;
} apy_recorder_params_t;

/* How a recording came to its end. */
typedef struct apy_recording_ended {
    int64_t recording_id;
    int64_t stop_position;
    int code; /* APY_OK, or why it failed */
    char text[APY_ERROR_TEXT_MAX];
} apy_recording_ended_t;

int apy_recorder_create(const apy_recorder_params_t *params, apy_recorder_t **recorder);
void apy_recorder_free(apy_recorder_t *recorder); /* stops it first */
int apy_recorder_do_work(void *recorder);

int apy_recorder_start(apy_recorder_t *recorder, const apy_idle_t *idle, int cpu);
void apy_recorder_stop(apy_recorder_t *recorder);

/* Record from now on. Of params, directory_fd, block_max and sync_level are the recorder's to set. */
int apy_recorder_add(apy_recorder_t *recorder, const apy_recording_params_t *params);

/* Let a recording end where it is; 1, or 0 when there is none of this id. Its end is reported as any other. */
int apy_recorder_abort(apy_recorder_t *recorder, int64_t recording_id);

/* 1: *ended filled; 0: woken, or timeout_ns passed. */
int apy_recorder_wait(apy_recorder_t *recorder, int64_t timeout_ns, apy_recording_ended_t *ended);
void apy_recorder_wake(apy_recorder_t *recorder);

#endif
