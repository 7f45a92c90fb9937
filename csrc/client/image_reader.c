#include "apy/image_reader.h"

#include "apy/error.h"
#include "apy/term_scan.h"

/* Where a poll is, and how far it may go: addresses in one term, which bias turns into positions. */
typedef struct cursor {
    const uint8_t *at;
    const uint8_t *end;      /* no frame is begun from here on */
    const uint8_t *term_end; /* none goes past this */
    int64_t bias;
    int32_t term_id;
} cursor_t;

static inline int64_t position_at(const cursor_t *cursor, const uint8_t *at)
{
    return cursor->bias + (int64_t)(intptr_t)at;
}

void apy_image_reader_init(apy_image_reader_t *reader, const apy_log_t *log, int32_t session_id, int64_t *position)
{
    *reader = (apy_image_reader_t){.meta = log->meta,
                                   .position = position,
                                   .term_length = log->term_length,
                                   .shift = log->shift,
                                   .initial_term_id = log->initial_term_id,
                                   .session_id = session_id,
                                   .join_position = apy_load_acquire_i64(position)};
    for (int i = 0; i < APY_PARTITIONS; i++) {
        reader->terms[i] = log->terms[i];
    }
    reader->term_begin = INT64_MAX; /* of no position */
}

static bool is_revoked_now(const apy_image_reader_t *reader)
{
    return apy_load_acquire_u8(&reader->meta->is_publication_revoked) != 0;
}

void apy_image_reader_close(apy_image_reader_t *reader)
{
    if (!apy_load_acquire_i32(&reader->is_closed)) {
        reader->final_position = apy_load_acquire_i64(reader->position);
        reader->final_end_of_stream = apy_load_acquire_i64(&reader->meta->end_of_stream_position);
        reader->final_is_revoked = is_revoked_now(reader);
        apy_store_release_i32(&reader->is_closed, 1);
    }
}

/* false: there is nothing before the limit. */
static inline bool cursor_in(const apy_image_reader_t *reader, cursor_t *cursor, const uint8_t *term,
                             int64_t term_begin, int32_t term_id, int64_t start, int64_t limit_position)
{
    cursor->at = term + (start - term_begin);
    cursor->term_end = cursor->end = term + reader->term_length;
    cursor->bias = term_begin - (int64_t)(intptr_t)term;
    cursor->term_id = term_id;
    if (__builtin_expect(limit_position - start < cursor->end - cursor->at, 0)) {
        cursor->end = cursor->at + (limit_position - start);
    }
    return cursor->at < cursor->end;
}

/* From any position, without a trace in the reader. */
static bool cursor_from(const apy_image_reader_t *reader, cursor_t *cursor, int64_t start, int64_t limit_position)
{
    const int32_t term_id = (int32_t)((uint32_t)reader->initial_term_id + (uint32_t)(start >> reader->shift));
    return start >= 0 &&
           cursor_in(reader, cursor, reader->terms[apy_position_partition(start, reader->shift)],
                     start - apy_position_offset(start, reader->term_length), term_id, start, limit_position);
}

static __attribute__((noinline, cold)) bool enter_term(apy_image_reader_t *reader, int64_t start)
{
    if (start < 0) {
        return false;
    }
    reader->term = reader->terms[apy_position_partition(start, reader->shift)];
    reader->term_begin = start - apy_position_offset(start, reader->term_length);
    reader->term_id = (int32_t)((uint32_t)reader->initial_term_id + (uint32_t)(start >> reader->shift));
    return true;
}

/* For the polls: from the reader's position, in the term that it last was in, if it still is. */
static inline bool cursor_at(apy_image_reader_t *reader, cursor_t *cursor, int64_t limit_position)
{
    if (apy_load_acquire_i32(&reader->is_closed)) {
        return false;
    }
    const int64_t start = apy_load_relaxed_i64(reader->position);
    if (__builtin_expect((uint64_t)start - (uint64_t)reader->term_begin >= (uint64_t)reader->term_length, 0) &&
        !enter_term(reader, start)) {
        return false;
    }
    return cursor_in(reader, cursor, reader->term, reader->term_begin, reader->term_id, start, limit_position);
}

/*
 * The length of the frame at the cursor, or 0 where none is published. A reader that stood still for longer than its
 * liveness is waited for no more: what it finds then may be of a later term, and is not what it is due.
 */
static inline int32_t published_length(const cursor_t *cursor)
{
    const apy_frame_t *frame = (const apy_frame_t *)(const void *)cursor->at;
    const int32_t length = apy_load_acquire_i32(&frame->length);
    return length > 0 && frame->term_id == cursor->term_id ? length : 0;
}

/* A length that no frame here can have: less than a header, or past the end of the term. */
static inline bool is_corrupt(const cursor_t *cursor, int32_t length)
{
    return (uint32_t)(length - APY_FRAME_HEADER) > (uint64_t)(cursor->term_end - cursor->at - APY_FRAME_HEADER);
}

/* Takes no cursor: one whose address went out would live in memory all through the poll. */
static __attribute__((noinline, cold)) int fail_corrupt(const apy_image_reader_t *reader, int64_t position,
                                                        int32_t length)
{
    return apy_fail(APY_E_CORRUPT, "session %d: a frame of %d bytes at term offset %d of %d, position %lld",
                    reader->session_id, length, apy_position_offset(position, reader->term_length), reader->term_length,
                    (long long)position);
}

static inline void store_position(apy_image_reader_t *reader, const cursor_t *cursor, const uint8_t *start)
{
    /* Once closed, the counter may be somebody else's. */
    if (cursor->at > start && !apy_load_acquire_i32(&reader->is_closed)) {
        apy_store_release_i64(reader->position, position_at(cursor, cursor->at));
    }
}

/* One loop for both polls; inlined with its handler's kind known, so that neither pays for the other. */
static inline __attribute__((always_inline)) int poll_fragments(apy_image_reader_t *reader, bool is_controlled,
                                                                apy_fragment_fn handler, apy_controlled_fn controlled,
                                                                void *context, int limit, int64_t limit_position)
{
    cursor_t cursor;
    if (!cursor_at(reader, &cursor, limit_position)) {
        return 0;
    }
    apy_header_t header = {.image = reader};
    const uint8_t *stored = cursor.at;
    int fragments = 0;
    int rc = 0;

    while (fragments < limit && cursor.at < cursor.end && !apy_load_acquire_i32(&reader->is_closed)) {
        const apy_frame_t *frame = (const apy_frame_t *)(const void *)cursor.at;
        const int32_t length = published_length(&cursor);
        if (length == 0) {
            break;
        }
        if (__builtin_expect(is_corrupt(&cursor, length), 0)) {
            rc = fail_corrupt(reader, position_at(&cursor, cursor.at), length);
            break;
        }
        cursor.at += apy_frame_span(length);
        if (frame->type == APY_FRAME_PAD) {
            continue;
        }
        fragments++;
        header.frame = frame;
        header.position = position_at(&cursor, cursor.at);
        const uint8_t *payload = (const uint8_t *)frame + APY_FRAME_HEADER;
        const size_t payload_length = (size_t)length - APY_FRAME_HEADER;
        if (!is_controlled) {
            handler(context, payload, payload_length, &header);
            continue;
        }

        const apy_action_t action = controlled(context, payload, payload_length, &header);
        if (action == APY_ACTION_ABORT) {
            cursor.at = (const uint8_t *)frame;
            fragments--;
            break;
        }
        if (action == APY_ACTION_BREAK) {
            break;
        }
        if (action == APY_ACTION_COMMIT) {
            store_position(reader, &cursor, stored);
            stored = cursor.at;
        }
    }
    store_position(reader, &cursor, stored);
    return fragments > 0 ? fragments : rc;
}

int apy_image_reader_poll(apy_image_reader_t *reader, apy_fragment_fn handler, void *context, int limit,
                          int64_t limit_position)
{
    return poll_fragments(reader, false, handler, NULL, context, limit, limit_position);
}

int apy_image_reader_controlled_poll(apy_image_reader_t *reader, apy_controlled_fn handler, void *context, int limit,
                                     int64_t limit_position)
{
    return poll_fragments(reader, true, NULL, handler, context, limit, limit_position);
}

static int check_position(const apy_image_reader_t *reader, int64_t position)
{
    const int64_t current = apy_load_relaxed_i64(reader->position);
    const int64_t term_end = current - apy_position_offset(current, reader->term_length) + reader->term_length;
    if (position < current || position > term_end || position % APY_FRAME_ALIGN != 0) {
        return apy_fail(APY_E_ARGUMENT, "position %lld: it must be a multiple of %d within %lld and %lld",
                        (long long)position, APY_FRAME_ALIGN, (long long)current, (long long)term_end);
    }
    return APY_OK;
}

int64_t apy_image_reader_controlled_peek(apy_image_reader_t *reader, int64_t initial_position,
                                         apy_controlled_fn handler, void *context, int64_t limit_position)
{
    cursor_t cursor;
    if (apy_load_acquire_i32(&reader->is_closed)) {
        return initial_position;
    }
    const int rc = check_position(reader, initial_position);
    if (rc < 0) {
        return rc;
    }
    if (!cursor_from(reader, &cursor, initial_position, limit_position)) {
        return initial_position;
    }
    apy_header_t header = {.image = reader};
    int64_t reached = initial_position;

    while (cursor.at < cursor.end && !apy_load_acquire_i32(&reader->is_closed)) {
        const apy_frame_t *frame = (const apy_frame_t *)(const void *)cursor.at;
        const int32_t length = published_length(&cursor);
        if (length == 0) {
            break;
        }
        if (is_corrupt(&cursor, length)) {
            const int failure = fail_corrupt(reader, position_at(&cursor, cursor.at), length);
            return reached > initial_position ? reached : failure;
        }
        cursor.at += apy_frame_span(length);
        header.position = position_at(&cursor, cursor.at);
        if (frame->type == APY_FRAME_PAD) {
            reached = header.position;
            continue;
        }
        header.frame = frame;
        const apy_action_t action =
            handler(context, (const uint8_t *)frame + APY_FRAME_HEADER, (size_t)length - APY_FRAME_HEADER, &header);
        if (action == APY_ACTION_ABORT) {
            break;
        }
        if ((frame->flags & APY_FLAG_END) != 0) {
            reached = header.position; /* between fragments nobody can begin to read */
        }
        if (action == APY_ACTION_BREAK) {
            break;
        }
    }
    return reached;
}

int apy_image_reader_set_position(apy_image_reader_t *reader, int64_t new_position)
{
    if (apy_load_acquire_i32(&reader->is_closed)) {
        return 0;
    }
    const int rc = check_position(reader, new_position);
    if (rc < 0) {
        return rc;
    }
    apy_store_release_i64(reader->position, new_position);
    return 1;
}

int apy_image_reader_block_poll(apy_image_reader_t *reader, apy_fragment_fn handler, void *context, int32_t bytes_max)
{
    cursor_t cursor;
    if (!cursor_at(reader, &cursor, APY_NO_LIMIT_POSITION) || bytes_max <= 0) {
        return 0;
    }
    const uint8_t *start = cursor.at;
    const int32_t first_length = published_length(&cursor);
    if (first_length == 0) {
        return 0;
    }
    if (is_corrupt(&cursor, first_length)) {
        return fail_corrupt(reader, position_at(&cursor, start), first_length);
    }
    /* The run's frames are walked by their lengths alone: none may leave the term. */
    const int32_t left = (int32_t)(cursor.term_end - start);
    const int32_t offset = reader->term_length - left;
    const int32_t length =
        apy_block_scan(reader->term, offset, bytes_max < left ? offset + bytes_max : reader->term_length);
    if (length <= 0 || length > left) {
        return 0;
    }
    cursor.at += length;
    const apy_header_t header = {.frame = (const apy_frame_t *)(const void *)start,
                                 .position = position_at(&cursor, cursor.at),
                                 .image = reader};
    handler(context, start, (size_t)length, &header);
    store_position(reader, &cursor, start);
    return length;
}

bool apy_image_reader_is_ready(const apy_image_reader_t *reader)
{
    cursor_t cursor;
    return !apy_load_acquire_i32(&reader->is_closed) &&
           cursor_from(reader, &cursor, apy_load_relaxed_i64(reader->position), APY_NO_LIMIT_POSITION) &&
           published_length(&cursor) > 0;
}

int64_t apy_image_reader_position(const apy_image_reader_t *reader)
{
    return apy_load_acquire_i32(&reader->is_closed) ? reader->final_position : apy_load_acquire_i64(reader->position);
}

int64_t apy_image_reader_end_of_stream_position(const apy_image_reader_t *reader)
{
    return apy_load_acquire_i32(&reader->is_closed) ? reader->final_end_of_stream
                                                    : apy_load_acquire_i64(&reader->meta->end_of_stream_position);
}

bool apy_image_reader_is_end_of_stream(const apy_image_reader_t *reader)
{
    return apy_image_reader_position(reader) >= apy_image_reader_end_of_stream_position(reader);
}

bool apy_image_reader_is_revoked(const apy_image_reader_t *reader)
{
    return apy_load_acquire_i32(&reader->is_closed) ? reader->final_is_revoked != 0 : is_revoked_now(reader);
}

int32_t apy_image_reader_transport_count(const apy_image_reader_t *reader)
{
    return apy_load_acquire_i32(&reader->is_closed) ? 0 : apy_load_acquire_i32(&reader->meta->active_transport_count);
}

int apy_images_poll(apy_image_reader_t *const *readers, int count, int32_t *next, apy_fragment_fn handler,
                    void *context, int limit)
{
    if (__builtin_expect(count == 1, 1)) { /* whose turn it is, is no question */
        return limit > 0 ? apy_image_reader_poll(*readers, handler, context, limit, APY_NO_LIMIT_POSITION) : 0;
    }
    int fragments = 0;
    const int start = apy_round_robin(next, count);
    for (int i = 0; i < count && fragments < limit; i++) {
        const int index = start + i < count ? start + i : start + i - count;
        const int rc =
            apy_image_reader_poll(readers[index], handler, context, limit - fragments, APY_NO_LIMIT_POSITION);
        if (rc < 0) {
            return fragments > 0 ? fragments : rc;
        }
        fragments += rc;
    }
    return fragments;
}

bool apy_images_are_ready(apy_image_reader_t *const *readers, int count)
{
    for (int i = 0; i < count; i++) {
        if (apy_image_reader_is_ready(readers[i])) {
            return true;
        }
    }
    return false;
}
