#ifndef APY_FRAGMENT_ASSEMBLER_H
#define APY_FRAGMENT_ASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apy/image_reader.h"

/*
 * fragment_assembler puts the fragments of messages together again, for many sessions at once.
 *
 * A message that is one frame passes through without a copy.
 *
 * A buffer grows as its message does, up to the longest message that the stream's terms allow, or what the owner set:
 * a message that goes on past that is none of a publisher's, is dropped and counted.
 *
 * Threads: one at a time.  Allocates: a buffer per session that sends fragments; it grows and is reused.
 * Blocks: never.
 */

typedef struct apy_builder {
    uint8_t *buffer;
    int32_t capacity, limit;
    int32_t next_term_offset; /* -1: no message is being built */
    int32_t session_id;
    int32_t undo_limit, undo_term_offset; /* as they were before the last fragment */
    uint8_t first_flags;
    bool is_lent;                  /* somebody else frees the buffer: the next message needs another */
    _Alignas(8) apy_frame_t frame; /* as in a log, for handlers of users' own */
} apy_builder_t;

typedef struct apy_fragment_assembler {
    apy_builder_t **builders;
    int32_t count, capacity;
    int32_t last; /* index of the builder that was used last */
    /* What the owner may set after init: */
    int32_t initial_length;  /* of a new buffer; 4096 at least */
    int32_t unassembled_max; /* bytes that a message may reach; 0: what its stream allows */
    bool is_of_one_image;    /* one builder, whatever the session */
    /* What it may read: */
    int64_t refused_count; /* messages dropped since they went past unassembled_max */
} apy_fragment_assembler_t;

/* A whole message; valid until the next fragment of its session. */
typedef struct apy_message {
    const uint8_t *buffer;
    size_t length;
    const apy_header_t *header;
    apy_builder_t *builder; /* NULL: the message was one frame, and lies in its term */
    apy_header_t completed; /* what header points to for an assembled one */
} apy_message_t;

void apy_fragment_assembler_init(apy_fragment_assembler_t *assembler);
void apy_fragment_assembler_free(apy_fragment_assembler_t *assembler);

/*
 * 1: *message is whole; 0: more is needed, or the fragment is of no use; APY_E_MEMORY, or APY_E_TOO_LONG: this message
 * is lost, and the rest of it will be of no use.
 */
int apy_fragment_assembler_add(apy_fragment_assembler_t *assembler, const uint8_t *buffer, size_t length,
                               const apy_header_t *header, apy_message_t *message);

/* Take the last fragment of a message back: it will be given again. */
void apy_fragment_assembler_undo(const apy_message_t *message);

/* The buffer of an assembled message becomes the caller's, who frees it. */
uint8_t *apy_fragment_assembler_take(const apy_message_t *message);

/* Forget what one session sent (was there anything?), or all. */
bool apy_fragment_assembler_free_session(apy_fragment_assembler_t *assembler, int32_t session_id);
void apy_fragment_assembler_clear(apy_fragment_assembler_t *assembler);

/* An assembler before a handler: poll with apy_assembling_handler and one of these as context. */
typedef struct apy_assembling {
    apy_fragment_assembler_t *assembler;
    apy_fragment_fn handler;
    void *context;
    int error; /* of add, when a message had to be dropped */
} apy_assembling_t;

void apy_assembling_handler(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header);

#endif
