/* Keys are found, replaced and removed, whatever their neighbours. */

#include <stdbool.h>

#include "apy/key_map.h"
#include "check.h"

static void it_agrees_with_a_plain_table_through_a_random_history(void)
{
    enum { KEYS = 512 };
    static char values[KEYS];
    static bool expected[KEYS];
    apy_key_map_t map = {0};
    uint32_t seed = 12345;
    int32_t count = 0;
    for (int i = 0; i < 200000; i++) {
        seed = seed * 1664525 + 1013904223;
        const int at = (int)(seed >> 16) % KEYS;
        const int64_t key = apy_stream_key(at % 7, at * 1000003);
        if (seed & 0x8000) {
            CHECK_EQ(apy_key_map_put(&map, key, &values[at]), APY_OK);
            count += !expected[at];
            expected[at] = true;
        } else {
            CHECK(apy_key_map_remove(&map, key) == (expected[at] ? &values[at] : NULL));
            count -= expected[at];
            expected[at] = false;
        }
        CHECK_EQ(map.count, count);
    }
    for (int at = 0; at < KEYS; at++) {
        CHECK(apy_key_map_get(&map, apy_stream_key(at % 7, at * 1000003)) == (expected[at] ? &values[at] : NULL));
    }
    apy_key_map_free(&map);
}

static void an_empty_one_has_nothing(void)
{
    apy_key_map_t map = {0};
    CHECK(apy_key_map_get(&map, 0) == NULL);
    CHECK(apy_key_map_remove(&map, 0) == NULL);
    apy_key_map_free(&map);
}

int main(void)
{
    RUN(it_agrees_with_a_plain_table_through_a_random_history);
    RUN(an_empty_one_has_nothing);
    return 0;
}
