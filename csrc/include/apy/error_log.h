#ifndef APY_ERROR_LOG_H
#define APY_ERROR_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "apy/clock.h"

/*
 * error_log keeps each distinct error once, with how often and when it was seen.
 *
 * Threads: any record (a lock guards the search), any may read.  Allocates: never.  Blocks: on the lock.
 */

typedef struct apy_error_log {
    uint8_t *buffer;
    int64_t capacity;
    int64_t next_offset;
    apy_clock_t clock;
    pthread_mutex_t lock;
} apy_error_log_t;

int apy_error_log_init(apy_error_log_t *log, uint8_t *buffer, int64_t capacity, apy_clock_t clock);
void apy_error_log_close(apy_error_log_t *log);

/* Count text once more, creating its record at first sight. APY_E_FULL when the log has no room for it. */
int apy_error_log_record(apy_error_log_t *log, const char *text, int32_t length);

typedef struct apy_error_record {
    int32_t observations, text_length;
    int64_t first_ms, last_ms;
    const char *text; /* in the buffer, not ended by a NUL */
} apy_error_record_t;

/* Iterate from *offset = 0. 1: *record filled and *offset moved; 0: the end; APY_E_CORRUPT. */
int apy_error_log_next(const uint8_t *buffer, int64_t capacity, int64_t *offset, apy_error_record_t *record);

#endif
