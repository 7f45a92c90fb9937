#include "apy/error_log.h"

#include <stddef.h>
#include <string.h>

#include "apy/atomic.h"
#include "apy/error.h"

typedef struct record {
    int32_t length, observations;
    int64_t last_ms, first_ms;
} record_t;

enum {
    HEADER = 24,
    ALIGNMENT = 8,
};

_Static_assert(sizeof(record_t) == HEADER && offsetof(record_t, first_ms) == 16, "error record");

static int64_t record_span(int64_t length)
{
    return (length + ALIGNMENT - 1) & ~(int64_t)(ALIGNMENT - 1);
}

int apy_error_log_init(apy_error_log_t *log, uint8_t *buffer, int64_t capacity, apy_clock_t clock)
{
    if (capacity < HEADER) {
        return apy_fail(APY_E_ARGUMENT, "an error log of %lld bytes holds no record of %d", (long long)capacity,
                        HEADER);
    }
    /* Records that are there already stay: new ones go behind them. */
    int64_t end = 0;
    apy_error_record_t record;
    int rc;
    do {
        rc = apy_error_log_next(buffer, capacity, &end, &record);
    } while (rc == 1);
    if (rc < 0) {
        return rc;
    }
    if (pthread_mutex_init(&log->lock, NULL) != 0) {
        return apy_fail(APY_E_MEMORY, "no memory for the error log's lock");
    }
    log->buffer = buffer;
    log->capacity = capacity;
    log->next_offset = end;
    log->clock = clock;
    return APY_OK;
}

void apy_error_log_close(apy_error_log_t *log)
{
    pthread_mutex_destroy(&log->lock);
    log->buffer = NULL;
}

/* The record of this text, or NULL; the caller holds the lock. */
static record_t *find(const apy_error_log_t *log, const char *text, int32_t length)
{
    int64_t offset = 0;
    while (offset < log->next_offset) {
        record_t *record = (record_t *)(void *)(log->buffer + offset);
        const int32_t record_length = apy_load_relaxed_i32(&record->length);
        if (record_length == length + HEADER && memcmp(log->buffer + offset + HEADER, text, (size_t)length) == 0) {
            return record;
        }
        offset += record_span(record_length);
    }
    return NULL;
}

/* A new record without observations, or NULL when there is no room; the caller holds the lock. */
static record_t *append(apy_error_log_t *log, const char *text, int32_t length, int64_t now_ms)
{
    const int64_t offset = log->next_offset;
    if (length > log->capacity - offset - HEADER) {
        return NULL;
    }
    record_t *record = (record_t *)(void *)(log->buffer + offset);
    memcpy(log->buffer + offset + HEADER, text, (size_t)length);
    record->first_ms = now_ms;
    apy_store_release_i32(&record->length, length + HEADER);
    log->next_offset = offset + record_span((int64_t)length + HEADER);
    return record;
}

int apy_error_log_record(apy_error_log_t *log, const char *text, int32_t length)
{
    if (length < 0 || length > INT32_MAX - HEADER) {
        return apy_fail(APY_E_ARGUMENT, "an error text of %d bytes", length);
    }
    const int64_t now_ms = apy_epoch_ms(&log->clock);

    pthread_mutex_lock(&log->lock);
    record_t *record = find(log, text, length);
    if (record == NULL) {
        record = append(log, text, length, now_ms);
    }
    const int64_t used = log->next_offset;
    pthread_mutex_unlock(&log->lock);

    if (record == NULL) {
        return apy_fail(APY_E_FULL, "the error log has %lld of %lld bytes left, an error of %d bytes does not fit",
                        (long long)(log->capacity - used), (long long)log->capacity, length);
    }
    apy_fetch_add_i32(&record->observations, 1);
    apy_store_release_i64(&record->last_ms, now_ms);
    return APY_OK;
}

int apy_error_log_next(const uint8_t *buffer, int64_t capacity, int64_t *offset, apy_error_record_t *record)
{
    const int64_t at = *offset;
    if (at < 0 || at % ALIGNMENT != 0) {
        return apy_fail(APY_E_ARGUMENT, "offset %lld is not a record start of an error log", (long long)at);
    }
    if (capacity - at < (int64_t)sizeof(int32_t)) {
        return 0;
    }
    const record_t *source = (const record_t *)(const void *)(buffer + at);
    const int32_t length = apy_load_acquire_i32(&source->length);
    if (length == 0) {
        return 0;
    }
    if (length < HEADER || length > capacity - at) {
        return apy_fail(APY_E_CORRUPT, "error record of %d bytes at offset %lld of an error log of %lld", length,
                        (long long)at, (long long)capacity);
    }
    record->last_ms = apy_load_acquire_i64(&source->last_ms);
    record->first_ms = source->first_ms;
    record->observations = apy_load_relaxed_i32(&source->observations);
    record->text_length = length - HEADER;
    record->text = (const char *)buffer + at + HEADER;
    *offset = at + record_span(length);
    return 1;
}
