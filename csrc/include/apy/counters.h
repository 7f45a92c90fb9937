#ifndef APY_COUNTERS_H
#define APY_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/atomic.h"
#include "apy/clock.h"

/*
 * counters are the numbers that a driver shows to the world: values in one buffer, what they mean in another.
 *
 * Threads: one thread allocates and frees; each value has its own writer; any may read.
 * Allocates: the free list of the manager.  Blocks: never.
 */

#define APY_COUNTER_VALUE_LENGTH 128
#define APY_COUNTER_METADATA_LENGTH 512
#define APY_COUNTER_KEY_MAX 112
#define APY_COUNTER_LABEL_MAX 380

enum { APY_COUNTER_UNUSED = 0, APY_COUNTER_ALLOCATED = 1, APY_COUNTER_RECLAIMED = -1 };

typedef struct apy_counters_reader {
    const uint8_t *metadata;
    const uint8_t *values;
    int32_t count_max;
} apy_counters_reader_t;

/* A copy of what is known about one counter, consistent by the rules of 10 section 7.3. */
typedef struct apy_counter_info {
    int32_t state, type_id;
    int32_t label_length;        /* 0 where the file's is impossible */
    int32_t broken_label_length; /* that of the file, where it is impossible; else 0 */
    int64_t value, registration_id, owner_id, reference_id, free_deadline_ms;
    uint8_t key[APY_COUNTER_KEY_MAX];
    char label[APY_COUNTER_LABEL_MAX + 4]; /* ended by a NUL */
} apy_counter_info_t;

int apy_counters_reader_init(apy_counters_reader_t *reader, const uint8_t *metadata, int64_t metadata_length,
                             const uint8_t *values, int64_t values_length);

/*
 * 1 and *info filled (of a reclaimed counter only the state has a meaning); 0 when the slot was never used:
 * the end; APY_E_ARGUMENT out of range. A label whose length is impossible spoils itself and nothing else.
 */
int apy_counters_get(const apy_counters_reader_t *reader, int32_t counter_id, apy_counter_info_t *info);

/* The first allocated counter of the type whose registration id, or whose i64 at key offset 0, is this; -1 if none. */
int32_t apy_counters_find_by_registration(const apy_counters_reader_t *reader, int32_t type_id,
                                          int64_t registration_id);
int32_t apy_counters_find_by_key_i64(const apy_counters_reader_t *reader, int32_t type_id, int64_t key);

/* Address of a value; the caller checked the id. */
static inline int64_t *apy_counter_address(const apy_counters_reader_t *reader, int32_t counter_id)
{
    return (int64_t *)(uintptr_t)(reader->values + (int64_t)counter_id * APY_COUNTER_VALUE_LENGTH);
}

/* State of an id, and when one that was given back may be used again (INT64_MAX before); the caller checked the id. */
int32_t apy_counter_state(const apy_counters_reader_t *reader, int32_t counter_id);
int64_t apy_counter_free_deadline_ms(const apy_counters_reader_t *reader, int32_t counter_id);

typedef struct apy_counters_manager {
    apy_counters_reader_t reader;
    apy_clock_t clock;
    int64_t reuse_timeout_ms;
    int32_t next_id;   /* never used before */
    int32_t *free_ids; /* a queue in order of freeing */
    int32_t free_head, free_count, free_capacity;
} apy_counters_manager_t;

int apy_counters_manager_init(apy_counters_manager_t *manager, uint8_t *metadata, int64_t metadata_length,
                              uint8_t *values, int64_t values_length, apy_clock_t clock, int64_t reuse_timeout_ms);
void apy_counters_manager_close(apy_counters_manager_t *manager);

/* Allocate; key and label are clipped to their limits. Returns the id, or APY_E_FULL. */
int32_t apy_counters_allocate(apy_counters_manager_t *manager, int32_t type_id, const void *key, int32_t key_length,
                              const char *label, int32_t label_length, int64_t registration_id, int64_t owner_id,
                              int64_t reference_id, int64_t value);
int apy_counters_free(apy_counters_manager_t *manager, int32_t counter_id);
int apy_counters_append_label(const apy_counters_reader_t *reader, int32_t counter_id, const char *text,
                              int32_t length);
/* Rewrite key bytes of an allocated counter (an address that became known). */
int apy_counters_set_key(apy_counters_manager_t *manager, int32_t counter_id, const void *key, int32_t key_length);

/* For values with one writer, and for those with several. */
static inline void apy_counter_add_ordered(int64_t *value, int64_t delta)
{
    apy_store_release_i64(value, apy_load_relaxed_i64(value) + delta);
}

#endif
