#include "apy/loss_interceptor.h"

#include <string.h>

#include "apy/frame.h"

void apy_loss_interceptor_init(apy_loss_interceptor_t *loss, double rate, uint32_t mask, uint64_t seed)
{
    *loss = (apy_loss_interceptor_t){.rate = rate, .mask = mask, .state = seed};
}

/* Uniform in [0, 1): a Weyl sequence, mixed. */
static double next_uniform(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t mixed = *state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    mixed ^= mixed >> 31;
    return (double)(mixed >> 11) * 0x1.0p-53;
}

bool apy_loss_interceptor_drops(apy_loss_interceptor_t *loss, const uint8_t *datagram, size_t length)
{
    uint16_t type = 0;
    if (loss->rate <= 0 || length < offsetof(apy_frame_t, type) + sizeof(type)) {
        return false;
    }
    memcpy(&type, datagram + offsetof(apy_frame_t, type), sizeof(type));
    if (type >= 32 || (loss->mask & (UINT32_C(1) << type)) == 0) {
        return false;
    }
    return next_uniform(&loss->state) <= loss->rate;
}
