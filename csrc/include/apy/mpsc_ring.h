#ifndef APY_MPSC_RING_H
#define APY_MPSC_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/doorbell.h"

/*
 * mpsc_ring carries typed records from many producers to one consumer: the to-driver ring of the CnC
 * file, and, on the heap, the inboxes of agents.
 *
 * Threads: any number write, one reads.  Allocates: never, the memory is given.  Blocks: never.
 */

#define APY_RING_TRAILER 768
#define APY_RING_HEADER 8
#define APY_RING_PADDING_TYPE (-1)

typedef struct apy_mpsc_ring {
    uint8_t *buffer;
    int64_t capacity; /* without the trailer; a power of two */
    int32_t message_max;
    int64_t *tail, *head_cache, *head, *correlation, *heartbeat_ms;
    apy_doorbell_t *bell; /* of who reads it, behind the heartbeat, where other implementations have padding */
} apy_mpsc_ring_t;

typedef void (*apy_ring_handler)(void *context, int32_t type, const uint8_t *message, int32_t length);

/* length: with the trailer. APY_E_ARGUMENT unless a power of two remains. */
int apy_mpsc_ring_init(apy_mpsc_ring_t *ring, uint8_t *buffer, int64_t length);

/* APY_OK, APY_E_FULL (no text, an expected answer), APY_E_TOO_LONG, or APY_E_ARGUMENT. */
int apy_mpsc_ring_write(apy_mpsc_ring_t *ring, int32_t type, const void *message, int32_t length);

/* As write, of two pieces. */
int apy_mpsc_ring_write_two(apy_mpsc_ring_t *ring, int32_t type, const void *first, int32_t first_length,
                            const void *second, int32_t second_length);

/* Reserve length bytes; *message is where they go. End with commit or abort. */
int apy_mpsc_ring_claim(apy_mpsc_ring_t *ring, int32_t type, int32_t length, uint8_t **message);
void apy_mpsc_ring_commit(apy_mpsc_ring_t *ring, uint8_t *message);
void apy_mpsc_ring_abort(apy_mpsc_ring_t *ring, uint8_t *message);

/* Deliver up to limit records; returns how many. APY_E_CORRUPT when the first that is left breaks the format. */
int apy_mpsc_ring_read(apy_mpsc_ring_t *ring, apy_ring_handler handler, void *context, int limit);

/* Free the consumer from a record that its producer never finished. */
bool apy_mpsc_ring_unblock(apy_mpsc_ring_t *ring);

int64_t apy_mpsc_ring_next_correlation_id(apy_mpsc_ring_t *ring);
int64_t apy_mpsc_ring_size(const apy_mpsc_ring_t *ring);
int64_t apy_mpsc_ring_producer_position(const apy_mpsc_ring_t *ring);
int64_t apy_mpsc_ring_consumer_position(const apy_mpsc_ring_t *ring);

#endif
