/*
 * fuzz_resolution feeds RES datagrams to a driver's gossip. An input is a run of datagrams, each behind two bytes of
 * length; the lowest bit of the first says whether time passes after it, so that timers tell and forget.
 */

#include "apy/gossip.h"

#include "../c/driver_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rig_t *rig = rig_open();
    int64_t neighbors = 0, names = 0;
    apy_gossip_t *gossip = NULL;
    const struct sockaddr_storage stranger = rig_address(1);
    const apy_gossip_params_t params = {
        .name = "fuzzed",
        .bind_to = rig_address(0),
        .neighbor_timeout_ms = 1000,
        .self_interval_ms = 100,
        .neighbor_interval_ms = 200,
        .neighbor_count = &neighbors,
        .cache_count = &names,
    };
    CHECK_EQ(apy_gossip_open(&rig->context, &params, &gossip), APY_OK);
    while (size >= 2) {
        const size_t wanted = (size_t)(data[0] >> 1) + ((size_t)data[1] << 7);
        const size_t length = wanted < size - 2 ? wanted : size - 2;
        /* A copy of its exact size, so that a byte too far is seen. */
        uint8_t *datagram = malloc(length > 0 ? length : 1);
        memcpy(datagram, data + 2, length);
        apy_gossip_on_datagram(gossip, datagram, length, &stranger, rig->hand.nano_time / RIG_MS);
        free(datagram);
        if (data[0] & 1) {
            rig_advance(rig, 100 * RIG_MS);
            apy_gossip_do_work(gossip);
        }
        data += 2 + length;
        size -= 2 + length;
    }
    CHECK(names <= APY_GOSSIP_NAMES_MAX && neighbors <= APY_GOSSIP_NEIGHBORS_MAX);
    apy_gossip_free(gossip);
    rig_close(rig);
    return 0;
}
