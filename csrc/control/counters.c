#include "apy/counters.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "apy/error.h"

typedef struct metadata {
    int32_t state, type_id;
    int64_t free_deadline_ms;
    uint8_t key[APY_COUNTER_KEY_MAX];
    int32_t label_length;
    char label[APY_COUNTER_LABEL_MAX];
} metadata_t;

typedef struct value {
    int64_t value, registration_id, owner_id, reference_id;
    uint8_t padding[96];
} value_t;

static_assert(sizeof(metadata_t) == APY_COUNTER_METADATA_LENGTH, "metadata record");
static_assert(offsetof(metadata_t, key) == 16 && offsetof(metadata_t, label_length) == 128, "metadata fields");
static_assert(sizeof(value_t) == APY_COUNTER_VALUE_LENGTH, "value record");

enum {
    READ_ATTEMPTS_MAX = 1000,
    FREE_QUEUE_INITIAL = 64,
};

static metadata_t *metadata_of(const apy_counters_reader_t *reader, int32_t counter_id)
{
    return (metadata_t *)(uintptr_t)(reader->metadata + (int64_t)counter_id * APY_COUNTER_METADATA_LENGTH);
}

static value_t *value_of(const apy_counters_reader_t *reader, int32_t counter_id)
{
    return (value_t *)(uintptr_t)(reader->values + (int64_t)counter_id * APY_COUNTER_VALUE_LENGTH);
}

int32_t apy_counter_state(const apy_counters_reader_t *reader, int32_t counter_id)
{
    return apy_load_acquire_i32(&metadata_of(reader, counter_id)->state);
}

int64_t apy_counter_free_deadline_ms(const apy_counters_reader_t *reader, int32_t counter_id)
{
    return apy_load_acquire_i64(&metadata_of(reader, counter_id)->free_deadline_ms);
}

static int check_id(const apy_counters_reader_t *reader, int32_t counter_id)
{
    if (counter_id < 0 || counter_id >= reader->count_max) {
        return apy_fail(APY_E_ARGUMENT, "counter id %d: ids are 0 to %d", counter_id, reader->count_max - 1);
    }
    return APY_OK;
}

static int corrupt_label(int32_t counter_id, int32_t length)
{
    return apy_fail(APY_E_CORRUPT, "counter %d has a label of %d bytes at metadata offset %lld: labels have 0 to %d",
                    counter_id, length, (long long)counter_id * APY_COUNTER_METADATA_LENGTH + 128,
                    APY_COUNTER_LABEL_MAX);
}

int apy_counters_reader_init(apy_counters_reader_t *reader, const uint8_t *metadata, int64_t metadata_length,
                             const uint8_t *values, int64_t values_length)
{
    const int64_t count = values_length / APY_COUNTER_VALUE_LENGTH;
    if (count < 1 || count > INT32_MAX || metadata_length / APY_COUNTER_METADATA_LENGTH < count) {
        return apy_fail(APY_E_ARGUMENT, "counters of %lld value bytes and %lld metadata bytes: use 128 and 512 each",
                        (long long)values_length, (long long)metadata_length);
    }
    reader->metadata = metadata;
    reader->values = values;
    reader->count_max = (int32_t)count;
    return APY_OK;
}

/* Copy one record; false when it changed hands meanwhile. */
static bool copy_record(const apy_counters_reader_t *reader, int32_t counter_id, apy_counter_info_t *info)
{
    const metadata_t *metadata = metadata_of(reader, counter_id);
    const value_t *value = value_of(reader, counter_id);

    info->registration_id = apy_load_acquire_i64(&value->registration_id);
    info->state = apy_load_acquire_i32(&metadata->state);
    info->type_id = apy_load_relaxed_i32(&metadata->type_id);
    info->free_deadline_ms = apy_load_relaxed_i64(&metadata->free_deadline_ms);
    apy_copy_racing(info->key, metadata->key, sizeof info->key);
    info->label_length = apy_load_acquire_i32(&metadata->label_length);
    const bool has_label = info->label_length >= 0 && info->label_length <= APY_COUNTER_LABEL_MAX;
    info->broken_label_length = has_label ? 0 : info->label_length;
    info->label_length = has_label ? info->label_length : 0;
    apy_copy_racing(info->label, metadata->label, (size_t)info->label_length);
    info->label[info->label_length] = '\0';
    info->value = apy_load_acquire_i64(&value->value);
    info->owner_id = apy_load_relaxed_i64(&value->owner_id);
    info->reference_id = apy_load_relaxed_i64(&value->reference_id);

    apy_fence_acquire();
    return apy_load_acquire_i64(&value->registration_id) == info->registration_id &&
           apy_load_acquire_i32(&metadata->state) == info->state;
}

int apy_counters_get(const apy_counters_reader_t *reader, int32_t counter_id, apy_counter_info_t *info)
{
    const int rc = check_id(reader, counter_id);
    if (rc < 0) {
        return rc;
    }
    if (apy_load_acquire_i32(&metadata_of(reader, counter_id)->state) == APY_COUNTER_UNUSED) {
        return 0;
    }

    apy_counter_info_t copy = {0};
    bool stable = false;
    for (int attempt = 0; attempt < READ_ATTEMPTS_MAX && !stable; attempt++) {
        stable = copy_record(reader, counter_id, &copy);
    }
    if (!stable) {
        copy.state = APY_COUNTER_RECLAIMED; /* changing hands all the time: nobody's for now */
    }
    *info = copy;
    return 1;
}

int32_t apy_counters_find_by_registration(const apy_counters_reader_t *reader, int32_t type_id, int64_t registration_id)
{
    for (int32_t id = 0; id < reader->count_max; id++) {
        const metadata_t *metadata = metadata_of(reader, id);
        const int32_t state = apy_load_acquire_i32(&metadata->state);
        if (state == APY_COUNTER_UNUSED) {
            break;
        }
        if (state == APY_COUNTER_ALLOCATED && apy_load_relaxed_i32(&metadata->type_id) == type_id &&
            apy_load_acquire_i64(&value_of(reader, id)->registration_id) == registration_id &&
            apy_load_acquire_i32(&metadata->state) == APY_COUNTER_ALLOCATED) {
            return id;
        }
    }
    return -1;
}

int32_t apy_counters_find_by_key_i64(const apy_counters_reader_t *reader, int32_t type_id, int64_t key)
{
    for (int32_t id = 0; id < reader->count_max; id++) {
        const metadata_t *metadata = metadata_of(reader, id);
        const int32_t state = apy_load_acquire_i32(&metadata->state);
        if (state == APY_COUNTER_UNUSED) {
            break;
        }
        int64_t found;
        if (state == APY_COUNTER_ALLOCATED && apy_load_relaxed_i32(&metadata->type_id) == type_id) {
            apy_copy_racing(&found, metadata->key, sizeof found);
            apy_fence_acquire();
            if (found == key && apy_load_acquire_i32(&metadata->state) == APY_COUNTER_ALLOCATED) {
                return id;
            }
        }
    }
    return -1;
}

int apy_counters_manager_init(apy_counters_manager_t *manager, uint8_t *metadata, int64_t metadata_length,
                              uint8_t *values, int64_t values_length, apy_clock_t clock, int64_t reuse_timeout_ms)
{
    if (reuse_timeout_ms < 0) {
        return apy_fail(APY_E_ARGUMENT, "a counter reuse timeout of %lld ms", (long long)reuse_timeout_ms);
    }
    apy_counters_reader_t reader;
    const int rc = apy_counters_reader_init(&reader, metadata, metadata_length, values, values_length);
    if (rc < 0) {
        return rc;
    }
    *manager = (apy_counters_manager_t){.reader = reader, .clock = clock, .reuse_timeout_ms = reuse_timeout_ms};
    return APY_OK;
}

void apy_counters_manager_close(apy_counters_manager_t *manager)
{
    free(manager->free_ids);
    manager->free_ids = NULL;
    manager->free_head = manager->free_count = manager->free_capacity = 0;
}

/* An id to use next, or APY_E_FULL. Every wait is the same, so the id freed first is the first to be due. */
static int32_t take_id(apy_counters_manager_t *manager)
{
    if (manager->free_count > 0) {
        const int32_t id = manager->free_ids[manager->free_head];
        if (metadata_of(&manager->reader, id)->free_deadline_ms <= apy_epoch_ms(&manager->clock)) {
            manager->free_head = (manager->free_head + 1) % manager->free_capacity;
            manager->free_count--;
            return id;
        }
    }
    if (manager->next_id < manager->reader.count_max) {
        return manager->next_id++;
    }
    return apy_fail(APY_E_FULL,
                    "all %d counters are in use, %d of them waiting to be reused: raise the "
                    "counters buffer length",
                    manager->reader.count_max, manager->free_count);
}

/* Write text into a fixed field that readers may be copying. */
static int32_t fill(void *field, int32_t field_length, const void *from, int32_t length)
{
    const int32_t clipped = length < 0 ? 0 : length < field_length ? length : field_length;
    if (clipped > 0) {
        apy_copy_racing(field, from, (size_t)clipped);
    }
    return clipped;
}

static void fill_key(metadata_t *metadata, const void *key, int32_t key_length)
{
    static const uint8_t zeroes[APY_COUNTER_KEY_MAX];
    const int32_t used = fill(metadata->key, APY_COUNTER_KEY_MAX, key, key_length);
    fill(metadata->key + used, APY_COUNTER_KEY_MAX - used, zeroes, APY_COUNTER_KEY_MAX - used);
}

int32_t apy_counters_allocate(apy_counters_manager_t *manager, int32_t type_id, const void *key, int32_t key_length,
                              const char *label, int32_t label_length, int64_t registration_id, int64_t owner_id,
                              int64_t reference_id, int64_t value)
{
    const int32_t id = take_id(manager);
    if (id < 0) {
        return id;
    }
    metadata_t *metadata = metadata_of(&manager->reader, id);
    value_t *record = value_of(&manager->reader, id);

    /* A reader that began with the former owner sees the registration id change, and starts again. */
    apy_store_release_i64(&record->registration_id, 0);
    apy_fence_release();
    apy_store_relaxed_i64(&record->owner_id, owner_id);
    apy_store_relaxed_i64(&record->reference_id, reference_id);
    apy_store_release_i64(&record->value, value);

    apy_store_relaxed_i32(&metadata->type_id, type_id);
    apy_store_relaxed_i64(&metadata->free_deadline_ms, INT64_MAX);
    fill_key(metadata, key, key_length);
    apy_store_release_i32(&metadata->label_length, fill(metadata->label, APY_COUNTER_LABEL_MAX, label, label_length));

    /* Who sees the counter allocated sees whose it is: a client finds it at its first look. */
    apy_store_release_i64(&record->registration_id, registration_id);
    apy_store_release_i32(&metadata->state, APY_COUNTER_ALLOCATED);
    return id;
}

/* Make room for one more id in the queue of free ones. */
static int reserve_free(apy_counters_manager_t *manager)
{
    if (manager->free_count < manager->free_capacity) {
        return APY_OK;
    }
    const int32_t capacity = manager->free_capacity == 0 ? FREE_QUEUE_INITIAL : manager->free_capacity * 2;
    int32_t *larger = malloc((size_t)capacity * sizeof *larger);
    if (larger == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory to remember %d free counters", capacity);
    }
    for (int32_t i = 0; i < manager->free_count; i++) {
        larger[i] = manager->free_ids[(manager->free_head + i) % manager->free_capacity];
    }
    free(manager->free_ids);
    manager->free_ids = larger;
    manager->free_capacity = capacity;
    manager->free_head = 0;
    return APY_OK;
}

static int check_allocated(const apy_counters_reader_t *reader, int32_t counter_id)
{
    const int rc = check_id(reader, counter_id);
    if (rc < 0) {
        return rc;
    }
    const int32_t state = apy_load_acquire_i32(&metadata_of(reader, counter_id)->state);
    if (state != APY_COUNTER_ALLOCATED) {
        return apy_fail(APY_E_ARGUMENT, "counter %d is not allocated: its state is %d", counter_id, state);
    }
    return APY_OK;
}

int apy_counters_free(apy_counters_manager_t *manager, int32_t counter_id)
{
    int rc = check_allocated(&manager->reader, counter_id);
    if (rc == APY_OK) {
        rc = reserve_free(manager);
    }
    if (rc < 0) {
        return rc;
    }
    metadata_t *metadata = metadata_of(&manager->reader, counter_id);
    apy_store_release_i32(&metadata->state, APY_COUNTER_RECLAIMED);
    apy_fence_release();
    fill_key(metadata, NULL, 0);
    apy_store_relaxed_i64(&metadata->free_deadline_ms, apy_epoch_ms(&manager->clock) + manager->reuse_timeout_ms);

    const int32_t end = (manager->free_head + manager->free_count) % manager->free_capacity;
    manager->free_ids[end] = counter_id;
    manager->free_count++;
    return APY_OK;
}

int apy_counters_append_label(const apy_counters_reader_t *reader, int32_t counter_id, const char *text, int32_t length)
{
    const int rc = check_allocated(reader, counter_id);
    if (rc < 0) {
        return rc;
    }
    metadata_t *metadata = metadata_of(reader, counter_id);
    const int32_t used = apy_load_acquire_i32(&metadata->label_length);
    if (used < 0 || used > APY_COUNTER_LABEL_MAX) {
        return corrupt_label(counter_id, used);
    }
    const int32_t added = fill(metadata->label + used, APY_COUNTER_LABEL_MAX - used, text, length);
    apy_store_release_i32(&metadata->label_length, used + added);
    return APY_OK;
}

int apy_counters_set_key(apy_counters_manager_t *manager, int32_t counter_id, const void *key, int32_t key_length)
{
    const int rc = check_allocated(&manager->reader, counter_id);
    if (rc < 0) {
        return rc;
    }
    fill_key(metadata_of(&manager->reader, counter_id), key, key_length);
    return APY_OK;
}
