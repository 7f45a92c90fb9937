#ifndef APY_IMAGE_READER_H
#define APY_IMAGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apy/atomic.h"
#include "apy/frame.h"
#include "apy/log_buffer.h"

/*
 * image_reader reads one stream from one source, as a client sees it: by fragments or by blocks, each poll
 * within one term, moving the subscriber position behind what was handed out.
 *
 * Threads: polls by one at a time; close and the questions by any.
 * Allocates: never.  Blocks: never, but as its handlers do.
 */

typedef struct apy_image_reader {
    const uint8_t *terms[APY_PARTITIONS];
    const apy_log_meta_t *meta;
    int64_t *position; /* of this subscriber; nobody else writes it */
    int32_t term_length, shift, initial_term_id, session_id;
    int32_t is_closed; /* release; the mappings stay longer than any poll */
    int32_t final_is_revoked;
    int64_t join_position, final_position, final_end_of_stream;
    void *owner;     /* whoever keeps the log mapped */
    apy_seat_t seat; /* of its subscription, which alone waits here */
    /* The term of the last poll, for the next one: the polls' own. */
    const uint8_t *term;
    int64_t term_begin;
    int32_t term_id;
} apy_image_reader_t;

/* What a handler may ask of a fragment, valid as long as its call. */
typedef struct apy_header {
    const apy_frame_t *frame; /* in the term; of an assembled message its first frame, completed */
    int64_t position;         /* of the stream behind this fragment */
    const apy_image_reader_t *image;
} apy_header_t;

typedef enum apy_action {
    APY_ACTION_ABORT = 1, /* stop before this fragment, and give it again */
    APY_ACTION_BREAK = 2, /* stop behind it */
    APY_ACTION_COMMIT = 3,
    APY_ACTION_CONTINUE = 4
} apy_action_t;

typedef void (*apy_fragment_fn)(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header);
typedef apy_action_t (*apy_controlled_fn)(void *context, const uint8_t *buffer, size_t length,
                                          const apy_header_t *header);

#define APY_NO_LIMIT_POSITION INT64_MAX

void apy_image_reader_init(apy_image_reader_t *reader, const apy_log_t *log, int32_t session_id, int64_t *position);
void apy_image_reader_close(apy_image_reader_t *reader); /* freezes what the questions answer */

/*
 * Hand out up to limit fragments that start before limit_position; returns how many, 0 once closed, or
 * APY_E_CORRUPT when the first one left breaks its format.
 */
int apy_image_reader_poll(apy_image_reader_t *reader, apy_fragment_fn handler, void *context, int limit,
                          int64_t limit_position);
int apy_image_reader_controlled_poll(apy_image_reader_t *reader, apy_controlled_fn handler, void *context, int limit,
                                     int64_t limit_position);

/*
 * Hand out fragments from initial_position up to limit_position, and leave the position where it is. Returns where the
 * last whole message (or padding) ends that was handed out and not refused: initial_position where there was none, or
 * once closed. COMMIT is as CONTINUE here. initial_position must be one that set_position would take, else
 * APY_E_ARGUMENT; APY_E_CORRUPT when the first frame breaks its format.
 */
int64_t apy_image_reader_controlled_peek(apy_image_reader_t *reader, int64_t initial_position,
                                         apy_controlled_fn handler, void *context, int64_t limit_position);

/*
 * Move on within the current term without reading: 1; 0 once closed; APY_E_ARGUMENT where the new position lies
 * behind the current one, past the end of its term, or on no frame boundary.
 */
int apy_image_reader_set_position(apy_image_reader_t *reader, int64_t new_position);

/* Hand out one run of whole frames of at most bytes_max; returns its length. The header is its first frame's. */
int apy_image_reader_block_poll(apy_image_reader_t *reader, apy_fragment_fn handler, void *context, int32_t bytes_max);

/* Where a block that lies in the log lies in the log's file. */
static inline int64_t apy_image_reader_file_offset(const apy_image_reader_t *reader, const uint8_t *block)
{
    return block - reader->terms[0];
}

/* Where a subscription announces that it sleeps; the log is mapped to write, though it reads only. */
static inline apy_waiters_t *apy_image_reader_waiters(const apy_image_reader_t *reader)
{
    return (apy_waiters_t *)(uintptr_t)&reader->meta->readers;
}

/* Is there anything to poll? */
bool apy_image_reader_is_ready(const apy_image_reader_t *reader);

int64_t apy_image_reader_position(const apy_image_reader_t *reader);
int64_t apy_image_reader_end_of_stream_position(const apy_image_reader_t *reader); /* INT64_MAX while unknown */
bool apy_image_reader_is_end_of_stream(const apy_image_reader_t *reader);
bool apy_image_reader_is_revoked(const apy_image_reader_t *reader);
int32_t apy_image_reader_transport_count(const apy_image_reader_t *reader);

/* --- all images of a subscription, from another one each time --- */

/* Where this turn starts among count images. */
static inline int apy_round_robin(int32_t *next, int count)
{
    const int start = (*next)++;
    if (start < count) {
        return start;
    }
    *next = 1;
    return 0;
}

int apy_images_poll(apy_image_reader_t *const *readers, int count, int32_t *next, apy_fragment_fn handler,
                    void *context, int limit);
bool apy_images_are_ready(apy_image_reader_t *const *readers, int count);

#endif
