#include "apy/key_map.h"

#include <assert.h>
#include <stdlib.h>

#include "apy/error.h"

#define CAPACITY_FIRST 16

static uint32_t home_of(const apy_key_map_t *map, int64_t key)
{
    uint64_t mixed = (uint64_t)key;
    mixed = (mixed ^ (mixed >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(mixed >> 32) & (uint32_t)(map->capacity - 1);
}

/* The slot that holds key, or the free one where it would go. */
static uint32_t find(const apy_key_map_t *map, int64_t key)
{
    uint32_t at = home_of(map, key);
    while (map->slots[at].value != NULL && map->slots[at].key != key) {
        at = (at + 1) & (uint32_t)(map->capacity - 1);
    }
    return at;
}

void apy_key_map_free(apy_key_map_t *map)
{
    free(map->slots);
    *map = (apy_key_map_t){NULL, 0, 0};
}

static int grow(apy_key_map_t *map)
{
    const int32_t capacity = map->capacity == 0 ? CAPACITY_FIRST : 2 * map->capacity;
    apy_key_map_t grown = {calloc((size_t)capacity, sizeof(apy_key_map_slot_t)), map->count, capacity};
    if (grown.slots == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for a map of %d keys", capacity);
    }
    for (int32_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].value != NULL) {
            grown.slots[find(&grown, map->slots[i].key)] = map->slots[i];
        }
    }
    free(map->slots);
    *map = grown;
    return APY_OK;
}

int apy_key_map_put(apy_key_map_t *map, int64_t key, void *value)
{
    assert(value != NULL);
    if (2 * (map->count + 1) > map->capacity) {
        const int rc = grow(map);
        if (rc != APY_OK) {
            return rc;
        }
    }
    apy_key_map_slot_t *slot = &map->slots[find(map, key)];
    map->count += slot->value == NULL;
    *slot = (apy_key_map_slot_t){key, value};
    return APY_OK;
}

void *apy_key_map_get(const apy_key_map_t *map, int64_t key)
{
    return map->capacity == 0 ? NULL : map->slots[find(map, key)].value;
}

void *apy_key_map_remove(apy_key_map_t *map, int64_t key)
{
    if (map->capacity == 0) {
        return NULL;
    }
    const uint32_t mask = (uint32_t)(map->capacity - 1);
    uint32_t hole = find(map, key);
    void *removed = map->slots[hole].value;
    if (removed == NULL) {
        return NULL;
    }
    /* Move back what only stands further on because this slot was taken. */
    for (uint32_t at = (hole + 1) & mask; map->slots[at].value != NULL; at = (at + 1) & mask) {
        const uint32_t home = home_of(map, map->slots[at].key);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].value = NULL;
    map->count--;
    return removed;
}
