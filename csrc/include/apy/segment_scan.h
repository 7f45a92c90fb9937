#ifndef APY_SEGMENT_SCAN_H
#define APY_SEGMENT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * segment_scan turns the frames of a recording's segment into columns, a row a message or a row a frame.
 *
 * The caller walks a recording: it gives memory that begins at scan->position and goes on from the position that
 * the call leaves behind. A message that is open where memory ends is taken back, so that the next call sees it whole:
 * a message lies within one term, so memory to the term's end is always enough. Every header is checked against what
 * its position and the descriptor say; the first that disagrees ends the walk as a fault, never as a crash.
 *
 * Threads: one a scan.  Allocates: never.  Blocks: never.
 */

typedef enum apy_segment_status {
    APY_SEGMENT_MORE = 0, /* memory ends here: give what follows, more of it if position did not move */
    APY_SEGMENT_FULL = 1, /* columns are full; with no row in them, bytes_max is too small for the next message */
    APY_SEGMENT_DONE = 2, /* all rows that begin before `to`, or up to `limit`, are out */
    APY_SEGMENT_FAULT = 3 /* scan->fault says what is wrong at scan->position; rows before it are good */
} apy_segment_status_t;

typedef enum apy_segment_fault_kind {
    APY_SEGMENT_OK = 0,
    APY_SEGMENT_EMPTY = 1,       /* no frame within the readable range */
    APY_SEGMENT_SHORT = 2,       /* a length below that of a header */
    APY_SEGMENT_VERSION = 3,     /* not frame version 0 */
    APY_SEGMENT_TYPE = 4,        /* neither data nor padding */
    APY_SEGMENT_TERM_OFFSET = 5, /* not the offset that the position has */
    APY_SEGMENT_TERM_ID = 6,     /* not the term that the position has */
    APY_SEGMENT_STREAM_ID = 7,   /* of another stream */
    APY_SEGMENT_PAST_TERM = 8,   /* runs past its term's end */
    APY_SEGMENT_PAST_LIMIT = 9   /* runs past the readable end */
} apy_segment_fault_kind_t;

typedef struct apy_segment_fault {
    apy_segment_fault_kind_t kind;
    int64_t position;   /* of the frame in the stream */
    int64_t offset;     /* of the frame in the memory given */
    uint8_t header[32]; /* as found */
} apy_segment_fault_t;

enum {
    APY_ROW_WHOLE = 0,
    APY_ROW_NO_BEGIN = 1, /* bits: the message's first fragment is missing */
    APY_ROW_NO_END = 2    /* its last one is */
};

/* Where rows go; an array that is NULL is not wanted. A call appends after row_count rows. */
typedef struct apy_segment_columns {
    int64_t *position;     /* start of the first frame */
    int64_t *end_position; /* after the last frame */
    int32_t *term_id;      /* of the first frame, as all below */
    int32_t *term_offset;
    int16_t *flags;
    int16_t *type;
    int32_t *session_id; /* as in the file: a checksum where the archive wrote checksums */
    int64_t *reserved_value;
    int32_t *fragments;
    int32_t *length;          /* payload bytes; of padding the bytes that it skips, which payload lacks */
    uint8_t *incomplete;      /* APY_ROW_* */
    int32_t *payload_offsets; /* rows_max + 1 of them; set with payload */
    uint8_t *payload;
    int64_t rows_max;
    int64_t bytes_max; /* of payload; at most INT32_MAX */
    int64_t row_count;
    int64_t byte_count;
} apy_segment_columns_t;

typedef struct apy_segment_scan {
    /* facts of the descriptor */
    int32_t initial_term_id;
    int32_t term_length;
    int32_t stream_id;
    /* what is asked: rows that begin in [from, to), from bytes below limit */
    bool frames;          /* a row a frame, padding too */
    bool emit_incomplete; /* rows for messages that lack a fragment; they are counted in any case */
    bool live;            /* a message that is open at limit may be completed later: it is held back */
    int64_t from;
    int64_t to;
    int64_t limit;
    /* progress */
    int64_t position;
    int64_t frame_count;
    int64_t incomplete_count;
    int64_t incomplete_position; /* of the first such message; -1 */
    apy_segment_fault_t fault;
} apy_segment_scan_t;

/* position is a frame's start. APY_E_ARGUMENT if a number is outside its bounds. */
int apy_segment_scan_init(apy_segment_scan_t *scan, int32_t initial_term_id, int32_t term_length, int32_t stream_id,
                          int64_t position, int64_t limit);

/* An apy_segment_status_t, or APY_E_ARGUMENT. memory begins at scan->position and must not be written meanwhile. */
int apy_segment_scan_run(apy_segment_scan_t *scan, const uint8_t *memory, int64_t length,
                         apy_segment_columns_t *columns);

#endif
