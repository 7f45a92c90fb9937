#ifndef APY_BROADCAST_H
#define APY_BROADCAST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * broadcast carries typed records from one transmitter to any number of receivers, which may be lapped.
 *
 * A transmitter of ours wakes receivers that sleep, by two words behind the trailer's fields, where other implementations
 * have padding: there receivers wait by looking again.
 *
 * Threads: one transmits; each receiver belongs to one thread; wake by any.  Allocates: a receiver's copy buffer.
 * Blocks: sleep, as told.
 */

#define APY_BROADCAST_TRAILER 128

typedef struct apy_broadcast_transmitter {
    uint8_t *buffer;
    int64_t capacity;
    int32_t message_max;
    int64_t *tail_intent, *tail, *latest;
    int32_t *asleep; /* whether anybody may be; the word that sleepers wait on */
} apy_broadcast_transmitter_t;

typedef struct apy_broadcast_receiver {
    const uint8_t *buffer;
    int64_t capacity;
    const int64_t *tail_intent, *tail, *latest;
    int32_t *asleep;      /* of a mapping to write to; used by the three for sleep only */
    const int32_t *wakes; /* 1 where the transmitter does */
    int64_t cursor, next_record;
    int64_t record_offset;
    int64_t lapped_count;
    uint8_t *copy; /* the message of the last receive */
    int32_t copy_capacity;
} apy_broadcast_receiver_t;

int apy_broadcast_transmitter_init(apy_broadcast_transmitter_t *transmitter, uint8_t *buffer, int64_t length);
int apy_broadcast_transmit(apy_broadcast_transmitter_t *transmitter, int32_t type, const void *message, int32_t length);

/* Starts at the current tail: only what is sent from now on is received. */
int apy_broadcast_receiver_init(apy_broadcast_receiver_t *receiver, const uint8_t *buffer, int64_t length);
void apy_broadcast_receiver_free(apy_broadcast_receiver_t *receiver);

/*
 * 1: *type, *message (valid until the next call) and *length are set; 0: nothing new; APY_E_LAPPED: messages
 * were lost, the next call goes on with the newest; APY_E_CORRUPT or APY_E_MEMORY: nothing was consumed.
 */
int apy_broadcast_receive(apy_broadcast_receiver_t *receiver, int32_t *type, const uint8_t **message, int32_t *length);

/*
 * Sleep until there may be something to receive, woken, or timeout_ns passed. begin announces it, and is false where
 * nobody would wake us; what the caller looks at between the two is not missed.
 */
bool apy_broadcast_sleep_begin(const apy_broadcast_receiver_t *receiver);
void apy_broadcast_sleep(const apy_broadcast_receiver_t *receiver, int64_t timeout_ns);
void apy_broadcast_wake(const apy_broadcast_receiver_t *receiver);

#endif
