#ifndef APY_LOSS_REPORT_H
#define APY_LOSS_REPORT_H

#include <stdint.h>

/*
 * loss_report holds one entry for each image that saw loss: how often, how much, when, from whom.
 *
 * Threads: one creates entries; an entry is updated by its creator; any may read.
 * Allocates: never.  Blocks: never.
 */

typedef struct apy_loss_report {
    uint8_t *buffer;
    int64_t capacity;
    int64_t next_offset;
} apy_loss_report_t;

int apy_loss_report_init(apy_loss_report_t *report, uint8_t *buffer, int64_t capacity);

/* Returns the entry's offset, or APY_E_FULL (no text). */
int64_t apy_loss_report_create(apy_loss_report_t *report, int64_t bytes_lost, int64_t now_ms, int32_t session_id,
                               int32_t stream_id, const char *channel, const char *source);
void apy_loss_report_update(apy_loss_report_t *report, int64_t entry, int64_t bytes_lost, int64_t now_ms);

typedef struct apy_loss_entry {
    int64_t observations, bytes_lost, first_ms, last_ms;
    int32_t session_id, stream_id, channel_length, source_length;
    const char *channel, *source; /* in the buffer, not ended by a NUL */
} apy_loss_entry_t;

/* Iterate from *offset = 0. 1: *entry filled and *offset moved; 0: the end; APY_E_CORRUPT. */
int apy_loss_report_next(const uint8_t *buffer, int64_t capacity, int64_t *offset, apy_loss_entry_t *entry);

#endif
