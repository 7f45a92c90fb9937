#include "apy/loss_report.h"

#include <stddef.h>
#include <string.h>

#include "apy/atomic.h"
#include "apy/error.h"

typedef struct entry {
    int64_t observations, bytes_lost, first_ms, last_ms;
    int32_t session_id, stream_id;
    int32_t channel_length;
} entry_t;

enum {
    CHANNEL_LENGTH = 40,
    CHANNEL = 44,
    ENTRY_ALIGNMENT = 64,
};

_Static_assert(offsetof(entry_t, session_id) == 32 && offsetof(entry_t, channel_length) == CHANNEL_LENGTH,
               "loss entry");

static int64_t align_up(int64_t value, int64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

static int64_t source_length_offset(int64_t channel_length)
{
    return CHANNEL_LENGTH + align_up(4 + channel_length, 4);
}

static int64_t entry_span(int64_t channel_length, int64_t source_length)
{
    return align_up(source_length_offset(channel_length) + 4 + source_length, ENTRY_ALIGNMENT);
}

static entry_t *entry_at(const apy_loss_report_t *report, int64_t offset)
{
    return (entry_t *)(void *)(report->buffer + offset);
}

int apy_loss_report_init(apy_loss_report_t *report, uint8_t *buffer, int64_t capacity)
{
    if (capacity < ENTRY_ALIGNMENT) {
        return apy_fail(APY_E_ARGUMENT, "a loss report of %lld bytes holds no entry of %d", (long long)capacity,
                        ENTRY_ALIGNMENT);
    }
    report->buffer = buffer;
    report->capacity = capacity;
    report->next_offset = 0;
    return APY_OK;
}

int64_t apy_loss_report_create(apy_loss_report_t *report, int64_t bytes_lost, int64_t now_ms, int32_t session_id,
                               int32_t stream_id, const char *channel, const char *source)
{
    const int64_t channel_length = (int64_t)strlen(channel), source_length = (int64_t)strlen(source);
    const int64_t span = entry_span(channel_length, source_length);
    const int64_t offset = report->next_offset;
    if (span > report->capacity - offset) {
        return APY_E_FULL;
    }

    entry_t *entry = entry_at(report, offset);
    uint8_t *bytes = report->buffer + offset;
    const int64_t source_at = source_length_offset(channel_length);
    const int32_t source_length_32 = (int32_t)source_length;
    entry->bytes_lost = bytes_lost;
    entry->first_ms = now_ms;
    entry->last_ms = now_ms;
    entry->session_id = session_id;
    entry->stream_id = stream_id;
    entry->channel_length = (int32_t)channel_length;
    memcpy(bytes + CHANNEL, channel, (size_t)channel_length);
    memcpy(bytes + source_at, &source_length_32, sizeof source_length_32);
    memcpy(bytes + source_at + 4, source, (size_t)source_length);
    apy_store_release_i64(&entry->observations, 1);

    report->next_offset = offset + span;
    return offset;
}

void apy_loss_report_update(apy_loss_report_t *report, int64_t entry, int64_t bytes_lost, int64_t now_ms)
{
    entry_t *known = entry_at(report, entry);
    apy_store_release_i64(&known->last_ms, now_ms);
    apy_fetch_add_i64(&known->bytes_lost, bytes_lost);
    apy_fetch_add_i64(&known->observations, 1);
}

int apy_loss_report_next(const uint8_t *buffer, int64_t capacity, int64_t *offset, apy_loss_entry_t *entry)
{
    const int64_t at = *offset;
    if (at < 0 || at % 8 != 0) {
        return apy_fail(APY_E_ARGUMENT, "offset %lld is not an entry start of a loss report", (long long)at);
    }
    const int64_t left = capacity - at;
    if (left < (int64_t)sizeof(int64_t)) {
        return 0;
    }
    const entry_t *source = (const entry_t *)(const void *)(buffer + at);
    const int64_t observations = apy_load_acquire_i64(&source->observations);
    if (observations <= 0) {
        return 0;
    }

    const int32_t channel_length = left < CHANNEL ? -1 : source->channel_length;
    if (channel_length < 0 || source_length_offset(channel_length) + 4 > left) {
        return apy_fail(APY_E_CORRUPT, "loss entry at offset %lld of %lld: a channel of %d bytes does not fit",
                        (long long)at, (long long)capacity, channel_length);
    }
    const int64_t source_at = source_length_offset(channel_length);
    int32_t source_length;
    memcpy(&source_length, buffer + at + source_at, sizeof source_length);
    if (source_length < 0 || source_length > left - source_at - 4) {
        return apy_fail(APY_E_CORRUPT, "loss entry at offset %lld of %lld: a source of %d bytes does not fit",
                        (long long)at, (long long)capacity, source_length);
    }

    entry->observations = observations;
    entry->bytes_lost = apy_load_acquire_i64(&source->bytes_lost);
    entry->last_ms = apy_load_acquire_i64(&source->last_ms);
    entry->first_ms = source->first_ms;
    entry->session_id = source->session_id;
    entry->stream_id = source->stream_id;
    entry->channel_length = channel_length;
    entry->source_length = source_length;
    entry->channel = (const char *)buffer + at + CHANNEL;
    entry->source = (const char *)buffer + at + source_at + 4;
    *offset = at + entry_span(channel_length, source_length);
    return 1;
}
