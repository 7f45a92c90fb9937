#include "apy/message_batch.h"

#include <stdlib.h>
#include <string.h>

#include "apy/error.h"

/* Headers come from the publisher's cache: waiting for one after the other was most of what a batch cost. */
#define FRAMES_AHEAD 8

#define BATCH_BYTES_MIN (256 * 1024)

int apy_batch_init(apy_batch_t *batch, int32_t capacity)
{
    const size_t count = (size_t)capacity;
    *batch = (apy_batch_t){.capacity = capacity,
                           .payloads = malloc(count * sizeof(*batch->payloads)),
                           .positions = malloc(count * sizeof(*batch->positions)),
                           .lengths = malloc(count * sizeof(*batch->lengths)),
                           .session_ids = malloc(count * sizeof(*batch->session_ids))};
    if (batch->payloads == NULL || batch->positions == NULL || batch->lengths == NULL || batch->session_ids == NULL) {
        apy_batch_free(batch);
        return apy_fail(APY_E_MEMORY, "no memory for a batch of %d messages", capacity);
    }
    return APY_OK;
}

static void drop_assembled(apy_batch_t *batch)
{
    for (int32_t i = 0; i < batch->assembled_count; i++) {
        free(batch->assembled[i]);
    }
    batch->assembled_count = 0;
}

void apy_batch_free(apy_batch_t *batch)
{
    drop_assembled(batch);
    free(batch->payloads);
    free(batch->positions);
    free(batch->lengths);
    free(batch->session_ids);
    free(batch->parts);
    free(batch->assembled);
    free(batch->assembled_index);
    *batch = (apy_batch_t){0};
}

static int keep_assembled(apy_batch_t *batch, const apy_message_t *message)
{
    if (batch->assembled_count == batch->assembled_capacity) {
        const int32_t capacity = batch->assembled_capacity == 0 ? 16 : batch->assembled_capacity * 2;
        uint8_t **assembled = realloc(batch->assembled, sizeof(*assembled) * (size_t)capacity);
        if (assembled != NULL) {
            batch->assembled = assembled;
        }
        int32_t *index = realloc(batch->assembled_index, sizeof(*index) * (size_t)capacity);
        if (index != NULL) {
            batch->assembled_index = index;
        }
        if (assembled == NULL || index == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory for %d assembled messages", capacity);
        }
        batch->assembled_capacity = capacity;
    }
    batch->assembled[batch->assembled_count] = apy_fragment_assembler_take(message);
    batch->assembled_index[batch->assembled_count++] = batch->count;
    return APY_OK;
}

typedef struct filling {
    apy_batch_t *batch;
    apy_fragment_assembler_t *assembler;
    int32_t messages_max;
    int64_t position; /* reached in the image; -1: not looked at */
} filling_t;

static inline void put(apy_batch_t *batch, int32_t at, const uint8_t *payload, size_t length, int64_t position)
{
    batch->payloads[at] = payload;
    batch->lengths[at] = (int32_t)length;
    batch->positions[at] = position;
}

/* A fragment of a longer message: put it with the others, and take the message when it is whole. */
static int take_fragment(filling_t *filling, const apy_header_t *header, int32_t length)
{
    apy_batch_t *batch = filling->batch;
    const uint8_t *payload = (const uint8_t *)header->frame + APY_FRAME_HEADER;
    apy_message_t message;
    int rc =
        apy_fragment_assembler_add(filling->assembler, payload, (size_t)length - APY_FRAME_HEADER, header, &message);
    if (rc == APY_E_TOO_LONG) {
        batch->refused_count++; /* passed over: read again, it would be as long */
        return APY_OK;
    }
    if (rc <= 0) {
        return rc;
    }
    rc = keep_assembled(batch, &message);
    if (rc < 0) {
        apy_fragment_assembler_undo(&message);
        return rc;
    }
    put(batch, batch->count++, message.buffer, message.length, header->position);
    return APY_OK;
}

/* Takes no addresses of what the walk goes by, which would then live in memory. */
static __attribute__((noinline, cold)) int fail_corrupt(const apy_image_reader_t *reader, int32_t length,
                                                        int64_t offset)
{
    return apy_fail(APY_E_CORRUPT, "session %d: a frame of %d bytes at term offset %lld of %d", reader->session_id,
                    length, (long long)offset, reader->term_length);
}

static __attribute__((noinline)) int take_fragment_at(filling_t *filling, const apy_image_reader_t *reader,
                                                      const apy_frame_t *frame, int32_t length, int64_t position,
                                                      int32_t count)
{
    const apy_header_t header = {.frame = frame, .position = position, .image = reader};
    filling->batch->count = count;
    return take_fragment(filling, &header, length);
}

/* What a batch holds is not given back until it is closed: so much that its publisher hardly feels it. */
static int32_t bytes_of_batch(int32_t term_length)
{
    const int32_t of_window = term_length / 32;
    return of_window > BATCH_BYTES_MIN ? of_window : BATCH_BYTES_MIN;
}

/* Unfragmented data, by one comparison of version, flags and type. */
static inline bool is_whole_data(const apy_frame_t *frame)
{
    uint32_t word;
    memcpy(&word, &frame->version, sizeof(word));
    return (word & UINT32_C(0xFFFFC000)) == ((uint32_t)APY_FLAG_UNFRAGMENTED << 8 | (uint32_t)APY_FRAME_DATA << 16);
}

/* Walk the frames from the reader's position on, leaving the position alone. */
static int fill_from(filling_t *filling, apy_image_reader_t *reader)
{
    if (apy_load_acquire_i32(&reader->is_closed)) {
        return 0;
    }
    const int64_t start = apy_load_relaxed_i64(reader->position);
    if (start < 0) {
        return 0;
    }
    apy_batch_t *batch = filling->batch;
    const uint8_t *term = reader->terms[apy_position_partition(start, reader->shift)];
    const uint8_t *term_end = term + reader->term_length;
    const uint8_t *at = term + apy_position_offset(start, reader->term_length);
    const int32_t bytes_max = bytes_of_batch(reader->term_length);
    const uint8_t *end = term_end - at > bytes_max ? at + bytes_max : term_end; /* no frame is begun from here on */
    const int64_t bias = start - (int64_t)(intptr_t)at;                         /* turns addresses into positions */
    const int32_t term_id = (int32_t)((uint32_t)reader->initial_term_id + (uint32_t)(start >> reader->shift));
    const int32_t messages_max = filling->messages_max;
    const uint8_t **payloads = batch->payloads;
    int64_t *positions = batch->positions;
    int32_t *lengths = batch->lengths;
    int32_t count = batch->count; /* in a register: whole messages are the common case */
    int rc = 0;

    while (at < end && count < messages_max) {
        const apy_frame_t *frame = (const apy_frame_t *)(const void *)at;
        const int32_t length = apy_load_acquire_i32(&frame->length);
        if (length <= 0 || frame->term_id != term_id) { /* of a later lap it is not what the reader is due */
            break;
        }
        const uint32_t payload = (uint32_t)(length - APY_FRAME_HEADER);
        if (__builtin_expect(payload > (uint64_t)(term_end - at - APY_FRAME_HEADER), 0)) {
            rc = fail_corrupt(reader, length, at - term);
            break;
        }
        const int32_t span = apy_frame_span(length);
        const uint8_t *next = at + span;
        __builtin_prefetch(at + (ptrdiff_t)FRAMES_AHEAD * span); /* messages in a row are mostly alike */
        if (__builtin_expect(is_whole_data(frame), 1)) {
            payloads[count] = at + APY_FRAME_HEADER;
            lengths[count] = (int32_t)payload;
            positions[count++] = bias + (int64_t)(intptr_t)next;
        } else if (frame->type != APY_FRAME_PAD) {
            rc = take_fragment_at(filling, reader, frame, length, bias + (int64_t)(intptr_t)next, count);
            count = batch->count;
            if (rc < 0) {
                break;
            }
        }
        at = next;
    }
    batch->count = count;
    filling->position = bias + (int64_t)(intptr_t)at;
    return rc;
}

int apy_batch_fill(apy_batch_t *batch, apy_image_reader_t *const *readers, int count, int32_t *next,
                   apy_fragment_assembler_t *assembler, int32_t messages_max)
{
    batch->count = 0;
    batch->part_count = 0;
    batch->session_count = 0;
    batch->refused_count = 0;
    drop_assembled(batch);
    if (count > batch->part_capacity) {
        apy_batch_part_t *parts = realloc(batch->parts, sizeof(*parts) * (size_t)count);
        if (parts == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory for a batch from %d images", count);
        }
        batch->parts = parts;
        batch->part_capacity = count;
    }
    filling_t filling = {.batch = batch,
                         .assembler = assembler,
                         .messages_max = messages_max < batch->capacity ? messages_max : batch->capacity};
    const int start = apy_round_robin(next, count);
    for (int i = 0; i < count && batch->count < filling.messages_max; i++) {
        apy_image_reader_t *reader = readers[start + i < count ? start + i : start + i - count];
        const int32_t first = batch->count;
        filling.position = -1;
        const int rc = fill_from(&filling, reader);
        if (filling.position >= 0) {
            batch->parts[batch->part_count++] = (apy_batch_part_t){reader, filling.position, first};
        }
        if (rc < 0 && batch->count == 0) {
            return rc;
        }
    }
    return batch->count;
}

void apy_batch_commit(apy_batch_t *batch)
{
    for (int32_t i = 0; i < batch->part_count; i++) {
        const apy_batch_part_t *part = &batch->parts[i];
        if (!apy_load_acquire_i32(&part->reader->is_closed)) {
            apy_propose_max_i64(part->reader->position, part->position);
        }
    }
    batch->part_count = 0;
    batch->count = 0;
    drop_assembled(batch);
}

const int32_t *apy_batch_session_ids(apy_batch_t *batch)
{
    for (int32_t part = 0; part < batch->part_count; part++) {
        const int32_t end = part + 1 < batch->part_count ? batch->parts[part + 1].first : batch->count;
        for (; batch->session_count < end; batch->session_count++) {
            batch->session_ids[batch->session_count] = batch->parts[part].reader->session_id;
        }
    }
    return batch->session_ids;
}

uint8_t *apy_batch_take(apy_batch_t *batch, int32_t index)
{
    for (int32_t i = 0; i < batch->assembled_count; i++) {
        if (batch->assembled_index[i] == index) {
            uint8_t *buffer = batch->assembled[i];
            batch->assembled[i] = NULL;
            return buffer;
        }
    }
    return NULL;
}

int64_t apy_batch_stride(const apy_batch_t *batch)
{
    if (batch->count == 0 || batch->assembled_count > 0) {
        return 0;
    }
    for (int32_t i = 0; i < batch->part_count; i++) {
        if (batch->parts[i].first > 0 && batch->parts[i].first < batch->count) {
            return 0; /* from several images: no two of which lie in one mapping */
        }
    }
    const int32_t length = batch->lengths[0];
    const int64_t stride = apy_frame_span(length + APY_FRAME_HEADER);
    for (int32_t i = 1; i < batch->count; i++) {
        if (batch->lengths[i] != length || batch->payloads[i] - batch->payloads[i - 1] != stride) {
            return 0;
        }
    }
    return stride;
}

int64_t apy_batch_bytes(const apy_batch_t *batch)
{
    int64_t bytes = 0;
    for (int32_t i = 0; i < batch->count; i++) {
        bytes += batch->lengths[i];
    }
    return bytes;
}

void apy_batch_gather(const apy_batch_t *batch, uint8_t *target)
{
    for (int32_t i = 0; i < batch->count; i++) {
        memcpy(target, batch->payloads[i], (size_t)batch->lengths[i]);
        target += batch->lengths[i];
    }
}
