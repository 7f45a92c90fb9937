#ifndef APY_LOSS_INTERCEPTOR_H
#define APY_LOSS_INTERCEPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * loss_interceptor drops incoming datagrams on purpose, by a seed, so that a failing run can be repeated.
 *
 * Threads: belongs to one agent.  Allocates: never.  Blocks: never.
 */

typedef struct apy_loss_interceptor {
    double rate;   /* 0: nothing is dropped */
    uint32_t mask; /* of frame types: 1 << type */
    uint64_t state;
} apy_loss_interceptor_t;

void apy_loss_interceptor_init(apy_loss_interceptor_t *loss, double rate, uint32_t mask, uint64_t seed);
bool apy_loss_interceptor_drops(apy_loss_interceptor_t *loss, const uint8_t *datagram, size_t length);

#endif
