#ifndef APY_RECORDING_SESSION_H
#define APY_RECORDING_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "apy/error.h"
#include "apy/image_reader.h"
#include "apy/position.h"

/*
 * recording_session writes what one image receives into segment files, block by block, as it lies in the log.
 *
 * The subscriber position moves only after the bytes are in the file and the recorded position says so: a
 * failed write loses nothing that was counted, and the producer cannot overrun what is not yet written.
 *
 * Threads: one at a time; others read the recorded position.  Allocates: never.  Blocks: on the file system.
 */

enum { APY_SYNC_NONE = 0, APY_SYNC_DATA = 1, APY_SYNC_ALL = 2 };

#define APY_SEGMENT_NAME_MAX 64

/* The image that is recorded. All of it outlives the session: the caller keeps the mappings. */
typedef struct apy_recording_source {
    const uint8_t *terms[APY_PARTITIONS];
    const int64_t *end_of_stream_position; /* in the log's metadata */
    const int32_t *is_closed;              /* not 0 once the client let go of the image; acquire */
    int64_t *position;                     /* value of the subscriber position counter */
    int32_t term_length;
} apy_recording_source_t;

typedef struct apy_recording_params {
    apy_recording_source_t source;
    int64_t recording_id;
    int64_t start_position;     /* where the recording began: segment bases count from its term */
    int64_t *recorded_position; /* value of the recording's counter */
    int32_t segment_length;
    int32_t block_max; /* bytes of one write */
    int32_t sync_level;
    int directory_fd; /* open as long as the session */
} apy_recording_params_t;

typedef struct apy_recording_session {
    apy_recording_source_t source;
    int64_t recording_id;
    int64_t position; /* up to which the files hold the stream */
    int64_t segment_base;
    int64_t *recorded_position;
    int32_t segment_length, block_max, sync_level, shift;
    int directory_fd, segment_fd;
    bool is_over;
} apy_recording_session_t;

/* Base position of the segment that holds position, in a recording that began at start_position. */
static inline int64_t apy_segment_base(int64_t start_position, int64_t position, int32_t term_length,
                                       int32_t segment_length)
{
    const int64_t first = start_position - (start_position & (term_length - 1));
    return first + ((position - first) & ~(int64_t)(segment_length - 1));
}

void apy_recording_source_init(apy_recording_source_t *source, const apy_image_reader_t *reader);

/* "<recording id>-<segment base>.rec" into APY_SEGMENT_NAME_MAX bytes. */
void apy_segment_name(char *name, int64_t recording_id, int64_t segment_base);

/* Create the first segment file. APY_E_STATE when it is there already. */
int apy_recording_session_open(apy_recording_session_t *session, const apy_recording_params_t *params);

/*
 * Write at most one block. Returns the bytes of the stream that went by, 0 when there is nothing now (is_over
 * tells an ended stream or a closed image), or APY_E_STORAGE, APY_E_STATE or APY_E_OS, after which it is over.
 */
int apy_recording_session_work(apy_recording_session_t *session);

/* Close the file. Safe twice. */
void apy_recording_session_close(apy_recording_session_t *session);

#endif
