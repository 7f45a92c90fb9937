#include "apy/image_reader.h"

#include "apy/error.h"
#include "apy/term_scan.h"

/* Where a poll begins: the current term, and how far it may go. */
typedef struct cursor {
    const uint8_t *term;
    int64_t start;
    int32_t start_offset, offset, end;
    int32_t term_id;
} cursor_t;

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

static inline bool cursor_from(const apy_image_reader_t *reader, cursor_t *cursor, int64_t start,
                               int64_t limit_position)
{
    if (start < 0 || start >= limit_position) {
        return false;
    }
    cursor->start = start;
    cursor->start_offset = cursor->offset = apy_position_offset(start, reader->term_length);
    cursor->term = reader->terms[apy_position_partition(start, reader->shift)];
    cursor->term_id = (int32_t)((uint32_t)reader->initial_term_id + (uint32_t)(start >> reader->shift));
    const int64_t left = limit_position - start;
    const int32_t left_in_term = reader->term_length - cursor->offset;
    cursor->end = left < left_in_term ? cursor->offset + (int32_t)left : reader->term_length;
    return true;
}

static inline bool cursor_at(const apy_image_reader_t *reader, cursor_t *cursor, int64_t limit_position)
{
    return !apy_load_acquire_i32(&reader->is_closed) &&
           cursor_from(reader, cursor, apy_load_relaxed_i64(reader->position), limit_position);
}

/*
 * The length of the frame at the cursor, or 0 where none is published. A reader that stood still for longer than its
 * liveness is waited for no more: what it finds then may be of a later term, and is not what it is due.
 */
static inline int32_t published_length(const cursor_t *cursor)
{
    const apy_frame_t *frame = (const apy_frame_t *)(const void *)(cursor->term + cursor->offset);
    const int32_t length = apy_load_acquire_i32(&frame->length);
    return length > 0 && frame->term_id == cursor->term_id ? length : 0;
}

/* A length that no frame here can have: less than a header, or past the end of the term. */
static inline bool is_corrupt(int32_t length, int32_t left)
{
    return (uint32_t)(length - APY_FRAME_HEADER) > (uint32_t)(left - APY_FRAME_HEADER);
}

static __attribute__((noinline, cold)) int fail_corrupt(const apy_image_reader_t *reader, const cursor_t *cursor,
                                                        int32_t length)
{
    return apy_fail(APY_E_CORRUPT, "session %d: a frame of %d bytes at term offset %d of %d, position %lld",
                    reader->session_id, length, cursor->offset, reader->term_length,
                    (long long)(cursor->start + cursor->offset - cursor->start_offset));
}

static inline void store_position(apy_image_reader_t *reader, const cursor_t *cursor)
{
    /* Once closed, the counter may be somebody else's. */
    if (cursor->offset > cursor->start_offset && !apy_load_acquire_i32(&reader->is_closed)) {
        apy_store_release_i64(reader->position, cursor->start + cursor->offset - cursor->start_offset);
    }
}

/* One loop for both polls; inlined with its handler's kind known, so that neither pays for the other. */
static inline __attribute__((always_inline)) int poll_fragments(apy_image_reader_t *reader, apy_fragment_fn handler,
                                                                apy_controlled_fn controlled, void *context, int limit,
                                                                int64_t limit_position)
{
    cursor_t cursor;
    if (!cursor_at(reader, &cursor, limit_position)) {
        return 0;
    }
    apy_header_t header = {.image = reader};
    int fragments = 0;
    int rc = 0;

    while (fragments < limit && cursor.offset < cursor.end && !apy_load_acquire_i32(&reader->is_closed)) {
        const apy_frame_t *frame = (const apy_frame_t *)(const void *)(cursor.term + cursor.offset);
        const int32_t length = published_length(&cursor);
        if (length == 0) {
            break;
        }
        if (__builtin_expect(is_corrupt(length, reader->term_length - cursor.offset), 0)) {
            rc = fail_corrupt(reader, &cursor, length);
            break;
        }
        const int32_t before = cursor.offset;
        cursor.offset += apy_frame_span(length);
        if (frame->type == APY_FRAME_PAD) {
            continue;
        }
        fragments++;
        header.frame = frame;
        header.position = cursor.start + cursor.offset - cursor.start_offset;
        const uint8_t *payload = (const uint8_t *)frame + APY_FRAME_HEADER;
        const size_t payload_length = (size_t)length - APY_FRAME_HEADER;
        if (handler != NULL) {
            handler(context, payload, payload_length, &header);
            continue;
        }

        const apy_action_t action = controlled(context, payload, payload_length, &header);
        if (action == APY_ACTION_ABORT) {
            cursor.offset = before;
            fragments--;
            break;
        }
        if (action == APY_ACTION_BREAK) {
            break;
        }
        if (action == APY_ACTION_COMMIT) {
            store_position(reader, &cursor);
            cursor.start += cursor.offset - cursor.start_offset;
            cursor.start_offset = cursor.offset;
        }
    }
    store_position(reader, &cursor);
    return fragments > 0 ? fragments : rc;
}

int apy_image_reader_poll(apy_image_reader_t *reader, apy_fragment_fn handler, void *context, int limit,
                          int64_t limit_position)
{
    return poll_fragments(reader, handler, NULL, context, limit, limit_position);
}

int apy_image_reader_controlled_poll(apy_image_reader_t *reader, apy_controlled_fn handler, void *context, int limit,
                                     int64_t limit_position)
{
    return poll_fragments(reader, NULL, handler, context, limit, limit_position);
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

    while (cursor.offset < cursor.end && !apy_load_acquire_i32(&reader->is_closed)) {
        const apy_frame_t *frame = (const apy_frame_t *)(const void *)(cursor.term + cursor.offset);
        const int32_t length = published_length(&cursor);
        if (length == 0) {
            break;
        }
        if (is_corrupt(length, reader->term_length - cursor.offset)) {
            const int failure = fail_corrupt(reader, &cursor, length);
            return reached > initial_position ? reached : failure;
        }
        cursor.offset += apy_frame_span(length);
        header.position = cursor.start + cursor.offset - cursor.start_offset;
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

/* The run's frames were walked by their lengths alone: none may leave the term. */
static int32_t block_length(const apy_image_reader_t *reader, const cursor_t *cursor, int32_t bytes_max)
{
    const int32_t left = reader->term_length - cursor->offset;
    const int32_t limit = bytes_max < left ? cursor->offset + bytes_max : reader->term_length;
    return apy_block_scan(cursor->term, cursor->offset, limit);
}

int apy_image_reader_block_poll(apy_image_reader_t *reader, apy_fragment_fn handler, void *context, int32_t bytes_max)
{
    cursor_t cursor;
    if (!cursor_at(reader, &cursor, APY_NO_LIMIT_POSITION) || cursor.offset >= cursor.end || bytes_max <= 0) {
        return 0;
    }
    const apy_frame_t *first = (const apy_frame_t *)(const void *)(cursor.term + cursor.offset);
    const int32_t first_length = published_length(&cursor);
    if (first_length == 0) {
        return 0;
    }
    if (is_corrupt(first_length, reader->term_length - cursor.offset)) {
        return fail_corrupt(reader, &cursor, first_length);
    }
    const int32_t length = block_length(reader, &cursor, bytes_max);
    if (length <= 0 || length > reader->term_length - cursor.offset) {
        return 0;
    }
    cursor.offset += length;
    const apy_header_t header = {.frame = first, .position = cursor.start + length, .image = reader};
    handler(context, (const uint8_t *)first, (size_t)length, &header);
    store_position(reader, &cursor);
    return length;
}

bool apy_image_reader_is_ready(const apy_image_reader_t *reader)
{
    cursor_t cursor;
    return cursor_at(reader, &cursor, APY_NO_LIMIT_POSITION) && cursor.offset < cursor.end &&
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
