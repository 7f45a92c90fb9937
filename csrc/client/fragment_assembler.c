#include "apy/fragment_assembler.h"

#include <stdlib.h>
#include <string.h>

#include "apy/error.h"

enum { BUFFER_INITIAL = 4096, BUFFER_MAX = INT32_MAX - 8, BUILDERS_INITIAL = 8, NO_MESSAGE = -1 };

void apy_fragment_assembler_init(apy_fragment_assembler_t *assembler)
{
    *assembler = (apy_fragment_assembler_t){0};
}

static void free_builder(apy_builder_t *builder)
{
    if (!builder->is_lent) {
        free(builder->buffer);
    }
    free(builder);
}

void apy_fragment_assembler_clear(apy_fragment_assembler_t *assembler)
{
    for (int32_t i = 0; i < assembler->count; i++) {
        free_builder(assembler->builders[i]);
    }
    assembler->count = 0;
}

void apy_fragment_assembler_free(apy_fragment_assembler_t *assembler)
{
    apy_fragment_assembler_clear(assembler);
    free(assembler->builders);
    *assembler = (apy_fragment_assembler_t){0};
}

bool apy_fragment_assembler_free_session(apy_fragment_assembler_t *assembler, int32_t session_id)
{
    for (int32_t i = 0; i < assembler->count; i++) {
        if (assembler->builders[i]->session_id == session_id) {
            free_builder(assembler->builders[i]);
            assembler->builders[i] = assembler->builders[--assembler->count];
            return true;
        }
    }
    return false;
}

static apy_builder_t *find(apy_fragment_assembler_t *assembler, int32_t session_id)
{
    if (assembler->is_of_one_image) {
        return assembler->count > 0 ? assembler->builders[0] : NULL;
    }
    const int32_t last = assembler->last;
    if (last < assembler->count && assembler->builders[last]->session_id == session_id) {
        return assembler->builders[last];
    }
    for (int32_t i = 0; i < assembler->count; i++) {
        if (assembler->builders[i]->session_id == session_id) {
            assembler->last = i;
            return assembler->builders[i];
        }
    }
    return NULL;
}

static apy_builder_t *find_or_create(apy_fragment_assembler_t *assembler, int32_t session_id)
{
    apy_builder_t *builder = find(assembler, session_id);
    if (builder != NULL) {
        return builder;
    }
    if (assembler->count == assembler->capacity) {
        const int32_t capacity = assembler->capacity == 0 ? BUILDERS_INITIAL : assembler->capacity * 2;
        apy_builder_t **builders = realloc(assembler->builders, sizeof(*builders) * (size_t)capacity);
        if (builders == NULL) {
            return NULL;
        }
        assembler->builders = builders;
        assembler->capacity = capacity;
    }
    builder = calloc(1, sizeof(*builder));
    if (builder != NULL) {
        builder->session_id = session_id;
        builder->next_term_offset = NO_MESSAGE;
        assembler->builders[assembler->count++] = builder;
    }
    return builder;
}

static int reserve(const apy_fragment_assembler_t *assembler, apy_builder_t *builder, size_t length)
{
    const int64_t needed = (int64_t)builder->limit + (int64_t)length;
    if (!builder->is_lent && needed <= builder->capacity) {
        return APY_OK;
    }
    const int32_t initial = assembler->initial_length > BUFFER_INITIAL ? assembler->initial_length : BUFFER_INITIAL;
    int64_t capacity = builder->capacity > initial ? builder->capacity : initial;
    while (capacity < needed) {
        capacity += capacity / 2;
    }
    capacity = capacity < BUFFER_MAX ? capacity : BUFFER_MAX;
    uint8_t *buffer = NULL;
    if (needed <= capacity) {
        buffer = builder->is_lent ? malloc((size_t)capacity) : realloc(builder->buffer, (size_t)capacity);
    }
    if (buffer == NULL) {
        return apy_fail(APY_E_MEMORY, "no memory to assemble a message of %lld bytes from session %d",
                        (long long)needed, builder->session_id);
    }
    if (builder->is_lent && builder->limit > 0) { /* an undone message whose bytes were lent meanwhile */
        memcpy(buffer, builder->buffer, (size_t)builder->limit);
    }
    builder->buffer = buffer;
    builder->capacity = (int32_t)capacity;
    builder->is_lent = false;
    return APY_OK;
}

static int check_length(apy_fragment_assembler_t *assembler, const apy_builder_t *builder, size_t length,
                        const apy_image_reader_t *image)
{
    const int64_t reached = (int64_t)builder->limit + (int64_t)length;
    const int32_t length_max =
        assembler->unassembled_max > 0 ? assembler->unassembled_max : apy_message_length_max(image->term_length);
    if (reached <= length_max) {
        return APY_OK;
    }
    assembler->refused_count++;
    return apy_fail(APY_E_TOO_LONG, "session %d sends a message of %lld bytes or more in fragments: here at most %d",
                    builder->frame.session_id, (long long)reached, length_max);
}

static int append(apy_fragment_assembler_t *assembler, apy_builder_t *builder, const uint8_t *buffer, size_t length,
                  const apy_header_t *header)
{
    const apy_frame_t *frame = header->frame;
    int rc = check_length(assembler, builder, length, header->image);
    rc = rc < 0 ? rc : reserve(assembler, builder, length);
    if (rc < 0) {
        builder->next_term_offset = NO_MESSAGE;
        builder->limit = 0;
        return rc;
    }
    memcpy(builder->buffer + builder->limit, buffer, length);
    builder->undo_limit = builder->limit;
    builder->undo_term_offset = frame->term_offset;
    builder->limit += (int32_t)length;
    builder->next_term_offset = frame->term_offset + apy_frame_span((int32_t)length + APY_FRAME_HEADER);
    return APY_OK;
}

static void complete(apy_builder_t *builder, const apy_header_t *last, apy_message_t *message)
{
    builder->next_term_offset = NO_MESSAGE;
    builder->frame.length = APY_FRAME_HEADER + builder->limit;
    builder->frame.flags = builder->first_flags | last->frame->flags;
    message->completed = (apy_header_t){.frame = &builder->frame, .position = last->position, .image = last->image};
    message->header = &message->completed;
    message->buffer = builder->buffer;
    message->length = (size_t)builder->limit;
    message->builder = builder;
}

int apy_fragment_assembler_add(apy_fragment_assembler_t *assembler, const uint8_t *buffer, size_t length,
                               const apy_header_t *header, apy_message_t *message)
{
    const apy_frame_t *frame = header->frame;
    if ((frame->flags & APY_FLAG_UNFRAGMENTED) == APY_FLAG_UNFRAGMENTED) {
        message->buffer = buffer;
        message->length = length;
        message->header = header;
        message->builder = NULL;
        return 1;
    }
    if ((frame->flags & APY_FLAG_BEGIN) != 0) {
        apy_builder_t *builder = find_or_create(assembler, frame->session_id);
        if (builder == NULL) {
            return apy_fail(APY_E_MEMORY, "no memory to assemble messages from session %d", frame->session_id);
        }
        builder->limit = 0;
        builder->frame = *frame;
        builder->first_flags = frame->flags;
        return append(assembler, builder, buffer, length, header);
    }

    apy_builder_t *builder = find(assembler, frame->session_id);
    if (builder == NULL || builder->next_term_offset == NO_MESSAGE) {
        return 0; /* joined in the middle of a message */
    }
    if (builder->next_term_offset != frame->term_offset || builder->frame.session_id != frame->session_id) {
        builder->next_term_offset = NO_MESSAGE; /* a fragment was lost, and with it the message */
        return 0;
    }
    const int rc = append(assembler, builder, buffer, length, header);
    if (rc < 0 || (frame->flags & APY_FLAG_END) == 0) {
        return rc;
    }
    complete(builder, header, message);
    return 1;
}

void apy_fragment_assembler_undo(const apy_message_t *message)
{
    apy_builder_t *builder = message->builder;
    if (builder != NULL) {
        builder->limit = builder->undo_limit;
        builder->next_term_offset = builder->undo_term_offset;
    }
}

uint8_t *apy_fragment_assembler_take(const apy_message_t *message)
{
    message->builder->is_lent = true;
    return message->builder->buffer;
}

void apy_assembling_handler(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header)
{
    apy_assembling_t *assembling = context;
    apy_message_t message;
    const int rc = apy_fragment_assembler_add(assembling->assembler, buffer, length, header, &message);
    if (rc > 0) {
        assembling->handler(assembling->context, message.buffer, message.length, message.header);
    } else if (rc < 0) {
        assembling->error = rc;
    }
}
