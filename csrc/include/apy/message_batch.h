#ifndef APY_MESSAGE_BATCH_H
#define APY_MESSAGE_BATCH_H

#include <stdint.h>

#include "apy/fragment_assembler.h"

/*
 * message_batch takes many messages in one go: where they lie, how long they are, whose they are. They stay
 * where they are until the batch is committed, which is when the subscriber positions move.
 *
 * Threads: one at a time.  Allocates: in init, and for messages that came in fragments.  Blocks: never.
 */

/* How far one image was read. */
typedef struct apy_batch_part {
    apy_image_reader_t *reader;
    int64_t position;
    int32_t first; /* index of its first message */
} apy_batch_part_t;

typedef struct apy_batch {
    int32_t capacity, count;
    const uint8_t **payloads;
    int64_t *positions; /* of the stream behind each message */
    int32_t *lengths;
    int32_t *session_ids; /* the first session_count are there: ask apy_batch_session_ids */
    int32_t session_count;
    apy_batch_part_t *parts;
    int32_t part_count, part_capacity;
    uint8_t **assembled; /* buffers of messages put together from fragments, in order */
    int32_t *assembled_index;
    int32_t assembled_count, assembled_capacity;
    int32_t refused_count; /* messages passed over, being longer than the assembler takes */
} apy_batch_t;

int apy_batch_init(apy_batch_t *batch, int32_t capacity);
void apy_batch_free(apy_batch_t *batch);

/*
 * Read from the images until messages_max are there, of each within its term and no more than the larger of 256 KiB and
 * a 32nd of a term: what is held until commit is missing from the publisher's window. Returns how many, or negative.
 */
int apy_batch_fill(apy_batch_t *batch, apy_image_reader_t *const *readers, int count, int32_t *next,
                   apy_fragment_assembler_t *assembler, int32_t messages_max);

/* Move the positions, and free what was assembled. */
void apy_batch_commit(apy_batch_t *batch);

/* Whose each message is: written down when they are asked for, since few ask. */
const int32_t *apy_batch_session_ids(apy_batch_t *batch);

/* The buffer that message index was assembled in, now the caller's; NULL when it lies in its term. */
uint8_t *apy_batch_take(apy_batch_t *batch, int32_t index);

/* Bytes from one message to the next when all are alike: one length, one distance, one image; else 0. */
int64_t apy_batch_stride(const apy_batch_t *batch);

int64_t apy_batch_bytes(const apy_batch_t *batch);                /* of all payloads */
void apy_batch_gather(const apy_batch_t *batch, uint8_t *target); /* them, one after the other */

#endif
