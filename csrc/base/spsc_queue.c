#include "apy/spsc_queue.h"

#include <stdlib.h>

#include "apy/error.h"

int apy_spsc_queue_init(apy_spsc_queue_t *queue, size_t element_size, int32_t capacity)
{
    if (element_size == 0 || capacity < 1 || capacity > 1 << 30) {
        return apy_fail(APY_E_ARGUMENT, "a queue of %d elements of %zu bytes cannot be", capacity, element_size);
    }
    int64_t rounded = 1;
    while (rounded < capacity) {
        rounded *= 2;
    }
    uint8_t *elements = calloc((size_t)rounded, element_size);
    if (elements == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory for a queue of %lld elements of %zu bytes", (long long)rounded,
                        element_size);
    }
    *queue = (apy_spsc_queue_t){.elements = elements, .element_size = element_size, .capacity = rounded};
    return APY_OK;
}

void apy_spsc_queue_free(apy_spsc_queue_t *queue)
{
    free(queue->elements);
    queue->elements = NULL;
    queue->capacity = 0;
}

static uint8_t *slot(const apy_spsc_queue_t *queue, int64_t at)
{
    return queue->elements + (size_t)(at & (queue->capacity - 1)) * queue->element_size;
}

bool apy_spsc_queue_offer(apy_spsc_queue_t *queue, const void *element)
{
    const int64_t tail = apy_load_relaxed_i64(&queue->tail);
    if (tail - queue->head_seen >= queue->capacity) {
        queue->head_seen = apy_load_acquire_i64(&queue->head);
        if (tail - queue->head_seen >= queue->capacity) {
            return false;
        }
    }
    memcpy(slot(queue, tail), element, queue->element_size);
    apy_store_release_i64(&queue->tail, tail + 1);
    return true;
}

bool apy_spsc_queue_poll(apy_spsc_queue_t *queue, void *element)
{
    const int64_t head = apy_load_relaxed_i64(&queue->head);
    if (head >= queue->tail_seen) {
        queue->tail_seen = apy_load_acquire_i64(&queue->tail);
        if (head >= queue->tail_seen) {
            return false;
        }
    }
    memcpy(element, slot(queue, head), queue->element_size);
    apy_store_release_i64(&queue->head, head + 1);
    return true;
}

int64_t apy_spsc_queue_size(const apy_spsc_queue_t *queue)
{
    /* Head first: the tail read after it is never behind it. */
    const int64_t head = apy_load_acquire_i64(&queue->head);
    return apy_load_acquire_i64(&queue->tail) - head;
}
