#ifndef APY_SPSC_QUEUE_H
#define APY_SPSC_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apy/atomic.h"

/*
 * spsc_queue hands fixed-size elements from one thread to one other, in order.
 *
 * Threads: one producer, one consumer.  Allocates: in init only.  Blocks: never.
 */

typedef struct apy_spsc_queue {
    _Alignas(2 * APY_CACHE_LINE) int64_t head; /* consumer */
    int64_t tail_seen;
    _Alignas(2 * APY_CACHE_LINE) int64_t tail; /* producer */
    int64_t head_seen;
    _Alignas(2 * APY_CACHE_LINE) uint8_t *elements;
    size_t element_size;
    int64_t capacity; /* a power of two */
} apy_spsc_queue_t;

/* capacity is rounded up to a power of two. */
int apy_spsc_queue_init(apy_spsc_queue_t *queue, size_t element_size, int32_t capacity);
void apy_spsc_queue_free(apy_spsc_queue_t *queue);
bool apy_spsc_queue_offer(apy_spsc_queue_t *queue, const void *element); /* false: full */
bool apy_spsc_queue_poll(apy_spsc_queue_t *queue, void *element);        /* false: empty */
int64_t apy_spsc_queue_size(const apy_spsc_queue_t *queue);

#endif
