#ifndef APY_KEY_MAP_H
#define APY_KEY_MAP_H

#include <stdint.h>

/*
 * key_map finds what belongs to a 64-bit key, such as a stream and a session, in about one step.
 *
 * Threads: belongs to one agent.  Allocates: in put, when it grows.  Blocks: never.
 */

typedef struct apy_key_map_slot {
    int64_t key;
    void *value; /* NULL: free */
} apy_key_map_slot_t;

typedef struct apy_key_map {
    apy_key_map_slot_t *slots;
    int32_t count, capacity; /* capacity: 0 or a power of two */
} apy_key_map_t;

void apy_key_map_free(apy_key_map_t *map);
/* Insert or replace; value is not NULL. */
int apy_key_map_put(apy_key_map_t *map, int64_t key, void *value);
void *apy_key_map_get(const apy_key_map_t *map, int64_t key); /* NULL: not there */
void *apy_key_map_remove(apy_key_map_t *map, int64_t key);    /* what was there */

static inline int64_t apy_stream_key(int32_t stream_id, int32_t session_id)
{
    return (int64_t)(((uint64_t)(uint32_t)stream_id << 32) | (uint32_t)session_id);
}

#endif
