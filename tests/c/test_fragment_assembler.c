/* How messages are put together from fragments, with loss, late joins and refusals. */
#include "apy/fragment_assembler.h"

#include "check.h"

enum { PAYLOAD = 96, SPAN = 128 };

static apy_fragment_assembler_t assembler;
static apy_image_reader_t image = {.term_length = 1 << 20, .shift = 20};
static uint8_t bytes[1 << 16];

/* Feed length bytes from bytes[at] as a fragment at a term offset. */
static int add(int32_t session, int32_t term_offset, int flags, size_t at, size_t length, apy_message_t *message)
{
    static apy_frame_t frame;
    static apy_header_t header;
    frame = (apy_frame_t){.length = (int32_t)length + APY_FRAME_HEADER,
                          .flags = (uint8_t)flags,
                          .type = APY_FRAME_DATA,
                          .term_offset = term_offset,
                          .session_id = session,
                          .reserved_value = term_offset};
    header = (apy_header_t){.frame = &frame, .position = term_offset + apy_frame_span(frame.length), .image = &image};
    return apy_fragment_assembler_add(&assembler, bytes + at, length, &header, message);
}

static void start(void)
{
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 31 + i / 256);
    }
    apy_fragment_assembler_init(&assembler);
}

static void a_whole_message_passes_uncopied(void)
{
    start();
    apy_message_t message;
    CHECK_EQ(add(1, 0, 0xC0, 5, 40, &message), 1);
    CHECK(message.buffer == bytes + 5);
    CHECK_EQ(message.length, 40);
    CHECK(message.builder == NULL);
    CHECK_EQ(assembler.count, 0);
    apy_fragment_assembler_free(&assembler);
}

static void fragments_become_one_message_with_the_first_header_completed(void)
{
    start();
    apy_message_t message;
    CHECK_EQ(add(1, 256, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(1, 384, 0, PAYLOAD, PAYLOAD, &message), 0);
    CHECK_EQ(add(1, 512, 0x40, 2 * PAYLOAD, 10, &message), 1);
    CHECK_EQ(message.length, 2 * PAYLOAD + 10);
    CHECK(memcmp(message.buffer, bytes, message.length) == 0);
    const apy_frame_t *frame = message.header->frame;
    CHECK_EQ(frame->length, 32 + 2 * PAYLOAD + 10);
    CHECK_EQ(frame->flags, 0xC0);
    CHECK_EQ(frame->term_offset, 256);
    CHECK_EQ(frame->reserved_value, 256);
    CHECK_EQ(message.header->position, 256 + apy_framed_length(2 * PAYLOAD + 10, PAYLOAD));
    apy_fragment_assembler_free(&assembler);
}

static void sessions_do_not_mix(void)
{
    start();
    apy_message_t message;
    CHECK_EQ(add(1, 0, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(2, 640, 0x80, 1000, PAYLOAD, &message), 0);
    CHECK_EQ(add(1, SPAN, 0x40, PAYLOAD, PAYLOAD, &message), 1);
    CHECK(memcmp(message.buffer, bytes, 2 * PAYLOAD) == 0);
    CHECK_EQ(add(2, 640 + SPAN, 0x40, 1000 + PAYLOAD, PAYLOAD, &message), 1);
    CHECK(memcmp(message.buffer, bytes + 1000, 2 * PAYLOAD) == 0);
    CHECK(apy_fragment_assembler_free_session(&assembler, 1));
    CHECK(!apy_fragment_assembler_free_session(&assembler, 1));
    CHECK_EQ(assembler.count, 1);
    apy_fragment_assembler_free(&assembler);
}

static void a_gap_drops_the_message_and_the_next_one_is_whole(void)
{
    start();
    apy_message_t message;
    CHECK_EQ(add(1, 0, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(1, 2 * SPAN, 0x40, 0, PAYLOAD, &message), 0); /* one is missing between */
    CHECK_EQ(add(1, 3 * SPAN, 0x40, 0, PAYLOAD, &message), 0); /* an end without a beginning */
    CHECK_EQ(add(1, 4 * SPAN, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(1, 5 * SPAN, 0x40, PAYLOAD, PAYLOAD, &message), 1);
    CHECK_EQ(message.length, 2 * PAYLOAD);
    apy_fragment_assembler_free(&assembler);
}

static void joining_in_the_middle_of_a_message_ignores_the_rest_of_it(void)
{
    start();
    apy_message_t message;
    CHECK_EQ(add(7, 0, 0, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(7, SPAN, 0x40, 0, PAYLOAD, &message), 0);
    CHECK_EQ(assembler.count, 0);
    apy_fragment_assembler_free(&assembler);
}

static void a_refused_message_is_given_again_by_its_last_fragment(void)
{
    start();
    apy_message_t message;
    CHECK_EQ(add(1, 0, 0x80, 0, PAYLOAD, &message), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(add(1, SPAN, 0x40, PAYLOAD, 50, &message), 1);
        CHECK_EQ(message.length, PAYLOAD + 50);
        CHECK(memcmp(message.buffer, bytes, PAYLOAD + 50) == 0);
        CHECK_EQ(message.header->frame->flags, 0xC0);
        apy_fragment_assembler_undo(&message);
    }
    apy_fragment_assembler_free(&assembler);
}

static void a_taken_buffer_is_left_alone_by_what_comes_next(void)
{
    start();
    apy_message_t message;
    CHECK_EQ(add(1, 0, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(1, SPAN, 0x40, PAYLOAD, PAYLOAD, &message), 1);
    uint8_t *taken = apy_fragment_assembler_take(&message);
    CHECK_EQ(add(1, 0, 0x80, 5000, PAYLOAD, &message), 0);
    CHECK_EQ(add(1, SPAN, 0x40, 5000 + PAYLOAD, PAYLOAD, &message), 1);
    CHECK(message.buffer != taken);
    CHECK(memcmp(taken, bytes, 2 * PAYLOAD) == 0);
    CHECK(memcmp(message.buffer, bytes + 5000, 2 * PAYLOAD) == 0);
    apy_fragment_assembler_free(&assembler);
    free(taken);
}

static void long_messages_grow_the_buffer(void)
{
    start();
    apy_message_t message;
    const size_t step = 1376;
    int32_t offset = 0;
    CHECK_EQ(add(1, offset, 0x80, 0, step, &message), 0);
    size_t at = step;
    for (; at + step < 40000; at += step) {
        offset += apy_frame_span((int32_t)step + 32);
        CHECK_EQ(add(1, offset, 0, at, step, &message), 0);
    }
    offset += apy_frame_span((int32_t)step + 32);
    CHECK_EQ(add(1, offset, 0x40, at, 40000 - at, &message), 1);
    CHECK_EQ(message.length, 40000);
    CHECK(memcmp(message.buffer, bytes, 40000) == 0);
    /* From 4096 on by halves: 6144, 9216, 13824, 20736, 31104, 46656. */
    CHECK_EQ(message.builder->capacity, 46656);
    apy_fragment_assembler_free(&assembler);
}

static void a_message_whose_end_never_comes_is_dropped_and_counted(void)
{
    start();
    apy_message_t message;
    const apy_image_reader_t small = {.term_length = 65536, .shift = 16}; /* messages of 8192 bytes at most */
    const apy_image_reader_t before = image;
    image = small;
    CHECK_EQ(add(9, 0, 0x80, 0, PAYLOAD, &message), 0);
    int32_t offset = SPAN;
    for (; offset / SPAN < 8192 / PAYLOAD; offset += SPAN) {
        CHECK_EQ(add(9, offset, 0, 0, PAYLOAD, &message), 0);
    }
    CHECK_EQ(add(9, offset, 0, 0, 8192 % PAYLOAD + 1, &message), APY_E_TOO_LONG);
    CHECK(strstr(apy_error_text(), "session 9 sends a message of 8193 bytes") != NULL);
    CHECK_EQ(assembler.refused_count, 1);
    CHECK_EQ(add(9, offset + SPAN, 0x40, 0, PAYLOAD, &message), 0); /* the rest of it */
    CHECK_EQ(add(9, 0, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(9, SPAN, 0x40, PAYLOAD, PAYLOAD, &message), 1);
    image = before;

    assembler.unassembled_max = 100;
    CHECK_EQ(add(9, 0, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(9, SPAN, 0x40, PAYLOAD, 4, &message), 1);
    CHECK_EQ(add(9, 0, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(9, SPAN, 0x40, PAYLOAD, 5, &message), APY_E_TOO_LONG);
    CHECK_EQ(add(9, 0, 0x80, 0, 101, &message), APY_E_TOO_LONG);
    CHECK_EQ(add(9, 0, 0xC0, 0, 101, &message), 1); /* nothing is kept of a whole one */
    CHECK_EQ(assembler.refused_count, 3);
    apy_fragment_assembler_free(&assembler);
}

static void buffers_begin_as_long_as_told(void)
{
    start();
    apy_message_t message;
    assembler.initial_length = 10000;
    CHECK_EQ(add(1, 0, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(assembler.builders[0]->capacity, 10000);
    assembler.initial_length = 10;
    CHECK_EQ(add(2, 0, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(assembler.builders[1]->capacity, 4096);
    apy_fragment_assembler_free(&assembler);
}

static void one_images_assembler_has_one_buffer(void)
{
    start();
    apy_message_t message;
    assembler.is_of_one_image = true;
    CHECK_EQ(add(1, 0, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(1, SPAN, 0x40, PAYLOAD, PAYLOAD, &message), 1);
    CHECK_EQ(message.header->frame->session_id, 1);
    CHECK_EQ(add(1, 0, 0x80, 0, PAYLOAD, &message), 0);
    CHECK_EQ(add(2, SPAN, 0x40, PAYLOAD, PAYLOAD, &message), 0); /* of another image: not what was begun */
    CHECK_EQ(add(2, 0, 0x80, 0, PAYLOAD, &message), 0);          /* the image that came after it */
    CHECK_EQ(add(2, SPAN, 0x40, PAYLOAD, PAYLOAD, &message), 1);
    CHECK_EQ(message.header->frame->session_id, 2);
    CHECK_EQ(assembler.count, 1);
    apy_fragment_assembler_clear(&assembler);
    CHECK_EQ(add(2, 2 * SPAN, 0x40, 0, PAYLOAD, &message), 0);
    CHECK_EQ(assembler.count, 0);
    apy_fragment_assembler_free(&assembler);
}

int main(void)
{
    RUN(a_whole_message_passes_uncopied);
    RUN(fragments_become_one_message_with_the_first_header_completed);
    RUN(sessions_do_not_mix);
    RUN(a_gap_drops_the_message_and_the_next_one_is_whole);
    RUN(joining_in_the_middle_of_a_message_ignores_the_rest_of_it);
    RUN(a_refused_message_is_given_again_by_its_last_fragment);
    RUN(a_taken_buffer_is_left_alone_by_what_comes_next);
    RUN(long_messages_grow_the_buffer);
    RUN(a_message_whose_end_never_comes_is_dropped_and_counted);
    RUN(buffers_begin_as_long_as_told);
    RUN(one_images_assembler_has_one_buffer);
    return 0;
}
