/*
 * One thread allocates and frees counters as fast as it can, others read: whatever they are given belongs to one
 * owner only. APY_STRESS_OPERATIONS sets how many allocations and frees there are.
 */
#include "apy/counters.h"

#include <pthread.h>

#include "stress.h"

enum {
    COUNT = 16,
    READERS = 2,
    GIVE_WAY_EVERY = 256,
};

static _Alignas(128) uint8_t metadata[COUNT * APY_COUNTER_METADATA_LENGTH], values[COUNT * APY_COUNTER_VALUE_LENGTH];
static int64_t done, ready;

/* All that a counter holds follows from its registration id. */
static int32_t label_of(char *label, int64_t registration_id)
{
    return snprintf(label, 64, "counter of registration %" PRId64, registration_id);
}

static void verify(const apy_counter_info_t *info)
{
    const int64_t id = info->registration_id;
    char label[64];
    int64_t key;
    memcpy(&key, info->key, sizeof key);
    CHECK_EQ(info->label_length, label_of(label, id));
    CHECK(memcmp(info->label, label, (size_t)info->label_length) == 0);
    CHECK_EQ(key, id);
    CHECK_EQ(info->type_id, id % 1000);
    CHECK_EQ(info->owner_id, id + 1);
    CHECK_EQ(info->reference_id, id + 2);
    CHECK_EQ(info->value, id * 3);
}

static void *read_all(void *context)
{
    apy_counters_reader_t reader;
    int64_t *seen = context;
    CHECK_EQ(apy_counters_reader_init(&reader, metadata, sizeof metadata, values, sizeof values), APY_OK);
    apy_fetch_add_i64(&ready, 1);
    while (apy_load_acquire_i64(&done) == 0 || *seen == 0) {
        for (int32_t id = 0; id < COUNT; id++) {
            apy_counter_info_t info;
            if (apy_counters_get(&reader, id, &info) == 1 && info.state == APY_COUNTER_ALLOCATED) {
                verify(&info);
                (*seen)++;
            }
        }
    }
    return NULL;
}

static void what_is_read_belongs_to_one_owner(void)
{
    const int64_t operations = stress_operations() / 2;
    apy_counters_manager_t manager;
    CHECK_EQ(
        apy_counters_manager_init(&manager, metadata, sizeof metadata, values, sizeof values, apy_clock_system(), 0),
        APY_OK);
    pthread_t readers[READERS];
    int64_t seen[READERS * APY_CACHE_LINE / sizeof(int64_t)] = {0};
    for (int i = 0; i < READERS; i++) {
        CHECK_EQ(pthread_create(&readers[i], NULL, read_all, &seen[i * APY_CACHE_LINE / sizeof(int64_t)]), 0);
    }
    stress_patience_t patience = {0};
    while (apy_load_acquire_i64(&ready) < READERS) {
        stress_wait(&patience);
    }

    int32_t held[COUNT / 2];
    for (int32_t i = 0; i < COUNT / 2; i++) {
        held[i] = -1;
    }
    for (int64_t n = 1; n <= operations; n++) {
        int32_t *slot = &held[n % (COUNT / 2)];
        char label[64];
        if (*slot >= 0) {
            CHECK_EQ(apy_counters_free(&manager, *slot), APY_OK);
        }
        const int32_t length = label_of(label, n);
        *slot =
            apy_counters_allocate(&manager, (int32_t)(n % 1000), &n, sizeof n, label, length, n, n + 1, n + 2, n * 3);
        CHECK(*slot >= 0);
        if (n % GIVE_WAY_EVERY == 0) {
            sched_yield();
        }
    }
    apy_store_release_i64(&done, 1);
    for (int i = 0; i < READERS; i++) {
        CHECK_EQ(pthread_join(readers[i], NULL), 0);
        CHECK(seen[i * APY_CACHE_LINE / sizeof(int64_t)] > 0);
    }
    apy_counters_manager_close(&manager);
}

int main(void)
{
    RUN(what_is_read_belongs_to_one_owner);
    return 0;
}
