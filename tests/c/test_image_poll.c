/* How an image is read: by fragments, under control, by blocks and in batches. */
#include "apy/fragment_assembler.h"
#include "apy/image_reader.h"
#include "apy/message_batch.h"

#include "log_fixture.h"

enum { TERM_LENGTH = 65536, MTU = 1408, SEEN_MAX = 4096 };

typedef struct seen {
    int count;
    size_t lengths[SEEN_MAX];
    int64_t positions[SEEN_MAX];
    int32_t term_offsets[SEEN_MAX];
    const uint8_t *last;
    apy_action_t answers[SEEN_MAX];
    apy_image_reader_t *close_at_second;
} seen_t;

static fixture_t fixture;
static apy_append_t append;
static int64_t position;
static apy_image_reader_t reader;
static seen_t seen;

static void open_stream(void)
{
    fixture_open(&fixture, TERM_LENGTH, MTU);
    apy_append_init(&append, &fixture.log, &fixture.limit);
    position = 0;
    apy_image_reader_init(&reader, &fixture.log, SESSION, &position);
    memset(&seen, 0, sizeof(seen));
    for (int i = 0; i < SEEN_MAX; i++) {
        seen.answers[i] = APY_ACTION_CONTINUE;
    }
}

static int64_t offer(size_t length)
{
    static uint8_t message[8192];
    const struct iovec part = {message, length};
    int64_t result;
    do {
        result = apy_append_offer(&append, &part, 1, NULL, NULL);
    } while (result == APY_ADMIN_ACTION);
    CHECK(result > 0);
    return result;
}

static void note(seen_t *into, const uint8_t *buffer, size_t length, const apy_header_t *header)
{
    CHECK(into->count < SEEN_MAX);
    into->lengths[into->count] = length;
    into->positions[into->count] = header->position;
    into->term_offsets[into->count] = header->frame->term_offset;
    into->last = buffer;
    into->count++;
    if (into->close_at_second != NULL && into->count == 2) {
        apy_image_reader_close(into->close_at_second);
    }
}

static void on_fragment(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header)
{
    note(context, buffer, length, header);
}

static apy_action_t on_controlled(void *context, const uint8_t *buffer, size_t length, const apy_header_t *header)
{
    seen_t *into = context;
    const apy_action_t answer = into->answers[into->count];
    note(into, buffer, length, header);
    return answer;
}

static int poll(int limit)
{
    return apy_image_reader_poll(&reader, on_fragment, &seen, limit, APY_NO_LIMIT_POSITION);
}

static void a_poll_gives_what_was_offered_and_moves_the_position(void)
{
    open_stream();
    CHECK_EQ(poll(10), 0);
    CHECK(!apy_image_reader_is_ready(&reader));
    CHECK_EQ(offer(0), 32);
    CHECK_EQ(offer(31), 96);
    CHECK_EQ(offer(33), 192);
    CHECK(apy_image_reader_is_ready(&reader));
    CHECK_EQ(poll(2), 2);
    CHECK_EQ(position, 96);
    CHECK_EQ(poll(10), 1);
    CHECK_EQ(position, 192);
    CHECK_EQ(seen.lengths[0], 0);
    CHECK_EQ(seen.lengths[1], 31);
    CHECK_EQ(seen.lengths[2], 33);
    CHECK_EQ(seen.positions[0], 32);
    CHECK_EQ(seen.positions[2], 192);
    CHECK_EQ(seen.term_offsets[2], 96);
    CHECK_EQ(poll(10), 0);
    fixture_close(&fixture);
}

static void padding_is_skipped_uncounted_and_polls_end_with_their_term(void)
{
    open_stream();
    int64_t clean = 0;
    int offered = 0;
    while (position < 5 * TERM_LENGTH) {
        offer(1000); /* 1056 in the log, of which no whole number fits a term */
        offered++;
        const int before = seen.count;
        while (poll(10) > 0 || (position & (TERM_LENGTH - 1)) == 0) {
            if (seen.count > before) {
                break;
            }
        }
        CHECK_EQ(seen.count, before + 1);
        apy_log_clean(&fixture.log, &clean, position); /* as the driver does behind all readers */
    }
    CHECK_EQ(seen.count, offered);
    for (int i = 1; i < seen.count; i++) {
        const int64_t start = seen.positions[i] - 1056;
        CHECK(start == seen.positions[i - 1] || start % TERM_LENGTH == 0);
    }
    fixture_close(&fixture);
}

static void a_bounded_poll_may_straddle_its_limit_but_not_start_behind_it(void)
{
    open_stream();
    for (int i = 0; i < 4; i++) {
        offer(64); /* 96 each */
    }
    CHECK_EQ(apy_image_reader_poll(&reader, on_fragment, &seen, 10, 0), 0);
    CHECK_EQ(apy_image_reader_poll(&reader, on_fragment, &seen, 10, 97), 2);
    CHECK_EQ(position, 192);
    CHECK_EQ(apy_image_reader_poll(&reader, on_fragment, &seen, 10, 192), 0);
    CHECK_EQ(apy_image_reader_controlled_poll(&reader, on_controlled, &seen, 10, 193), 1);
    fixture_close(&fixture);
}

static void controlled_actions_move_the_position_as_named(void)
{
    open_stream();
    for (int i = 0; i < 6; i++) {
        offer(0);
    }
    seen.answers[1] = APY_ACTION_ABORT;
    CHECK_EQ(apy_image_reader_controlled_poll(&reader, on_controlled, &seen, 10, APY_NO_LIMIT_POSITION), 1);
    CHECK_EQ(position, 32);
    CHECK_EQ(seen.count, 2);
    seen.answers[2] = APY_ACTION_BREAK; /* the aborted one, again */
    CHECK_EQ(apy_image_reader_controlled_poll(&reader, on_controlled, &seen, 10, APY_NO_LIMIT_POSITION), 1);
    CHECK_EQ(seen.positions[2], seen.positions[1]);
    CHECK_EQ(position, 64);
    seen.answers[3] = APY_ACTION_COMMIT;
    seen.answers[4] = APY_ACTION_ABORT; /* what was committed before stays committed */
    CHECK_EQ(apy_image_reader_controlled_poll(&reader, on_controlled, &seen, 10, APY_NO_LIMIT_POSITION), 1);
    CHECK_EQ(position, 96);
    CHECK_EQ(apy_image_reader_controlled_poll(&reader, on_controlled, &seen, 10, APY_NO_LIMIT_POSITION), 3);
    CHECK_EQ(position, 192);
    fixture_close(&fixture);
}

static void a_block_is_a_run_of_frames_and_padding_comes_alone(void)
{
    open_stream();
    while (position == 0 && apy_append_position(&append) < TERM_LENGTH - 1056) {
        offer(1000);
    }
    offer(1000); /* pads the first term and goes on in the second */
    const int64_t used = TERM_LENGTH / 1056 * 1056;
    CHECK_EQ(apy_image_reader_block_poll(&reader, on_fragment, &seen, 1055), 0);
    CHECK_EQ(apy_image_reader_block_poll(&reader, on_fragment, &seen, 3000), 2112);
    CHECK_EQ(position, 2112);
    CHECK_EQ(apy_image_reader_block_poll(&reader, on_fragment, &seen, TERM_LENGTH), used - 2112);
    CHECK_EQ(apy_image_reader_block_poll(&reader, on_fragment, &seen, TERM_LENGTH), TERM_LENGTH - used);
    CHECK_EQ(((const apy_frame_t *)(const void *)seen.last)->type, APY_FRAME_PAD);
    CHECK_EQ(apy_image_reader_block_poll(&reader, on_fragment, &seen, TERM_LENGTH), 1056);
    fixture_close(&fixture);
}

static void a_frame_that_leaves_its_term_is_an_error_and_not_read(void)
{
    open_stream();
    offer(0);
    ((apy_frame_t *)(void *)fixture.log.terms[0])->length = TERM_LENGTH + 1;
    CHECK_EQ(poll(10), APY_E_CORRUPT);
    CHECK_EQ(apy_image_reader_block_poll(&reader, on_fragment, &seen, TERM_LENGTH), APY_E_CORRUPT);
    ((apy_frame_t *)(void *)fixture.log.terms[0])->length = 31;
    CHECK_EQ(poll(10), APY_E_CORRUPT);
    CHECK_EQ(seen.count, 0);
    CHECK_EQ(position, 0);
    fixture_close(&fixture);
}

static void what_a_later_lap_wrote_is_not_read(void)
{
    open_stream();
    while (offer(1000) < 4 * TERM_LENGTH) {
        if (position < 3 * TERM_LENGTH) {
            poll(100);
        }
    }
    /* It stood still at the beginning of a term that is three terms on by now. */
    position = TERM_LENGTH;
    const int before = seen.count;
    CHECK_EQ(poll(10), 0);
    CHECK(!apy_image_reader_is_ready(&reader));
    CHECK_EQ(apy_image_reader_block_poll(&reader, on_fragment, &seen, TERM_LENGTH), 0);
    CHECK_EQ(apy_image_reader_controlled_peek(&reader, position, on_controlled, &seen, APY_NO_LIMIT_POSITION),
             TERM_LENGTH);
    CHECK_EQ(seen.count, before);
    CHECK_EQ(position, TERM_LENGTH);
    fixture_close(&fixture);
}

static void closing_ends_a_poll_and_freezes_what_is_known(void)
{
    open_stream();
    for (int i = 0; i < 4; i++) {
        offer(0);
    }
    CHECK_EQ(poll(1), 1);
    seen.count = 0;
    seen.close_at_second = &reader;
    CHECK_EQ(poll(10), 2);
    CHECK_EQ(position, 32); /* the counter may be another's by now: it is left alone */
    CHECK_EQ(poll(10), 0);
    position = 12345;
    CHECK_EQ(apy_image_reader_position(&reader), 32);
    CHECK_EQ(apy_image_reader_transport_count(&reader), 0);
    CHECK(!apy_image_reader_is_end_of_stream(&reader));
    CHECK_EQ(apy_image_reader_end_of_stream_position(&reader), INT64_MAX);
    fixture.log.meta->end_of_stream_position = 32; /* what comes after the close is not this image's */
    fixture.log.meta->is_publication_revoked = 1;
    fixture.log.meta->active_transport_count = 1;
    CHECK(!apy_image_reader_is_end_of_stream(&reader));
    CHECK(!apy_image_reader_is_revoked(&reader));
    CHECK_EQ(apy_image_reader_transport_count(&reader), 0);
    fixture_close(&fixture);
}

static int64_t peek(int64_t from, int64_t limit_position)
{
    return apy_image_reader_controlled_peek(&reader, from, on_controlled, &seen, limit_position);
}

static void a_peek_looks_ahead_and_moves_nothing(void)
{
    open_stream();
    CHECK_EQ(peek(0, APY_NO_LIMIT_POSITION), 0);
    offer(0);    /* to 32 */
    offer(3000); /* two fragments of 1408 and one of 280: to 3136 */
    offer(32);   /* to 3200 */
    CHECK_EQ(peek(0, APY_NO_LIMIT_POSITION), 3200);
    CHECK_EQ(seen.count, 5);
    CHECK_EQ(seen.positions[4], 3200);
    CHECK_EQ(position, 0);
    CHECK_EQ(peek(32, APY_NO_LIMIT_POSITION), 3200); /* from where the first ends */
    CHECK_EQ(seen.count, 9);
    CHECK_EQ(peek(0, 33), 32); /* the first fragment begins below the limit, but its message ends behind it */
    CHECK_EQ(seen.count, 11);
    CHECK_EQ(peek(32, 32), 32);

    memset(&seen, 0, sizeof(seen));
    seen.answers[0] = APY_ACTION_COMMIT; /* has nothing to commit */
    seen.answers[1] = APY_ACTION_ABORT;
    CHECK_EQ(peek(0, APY_NO_LIMIT_POSITION), 32);
    seen.answers[2] = APY_ACTION_BREAK; /* behind the first fragment of three */
    CHECK_EQ(peek(32, APY_NO_LIMIT_POSITION), 32);
    seen.answers[3] = seen.answers[4] = APY_ACTION_CONTINUE;
    seen.answers[5] = APY_ACTION_BREAK;
    CHECK_EQ(peek(32, APY_NO_LIMIT_POSITION), 3136);
    CHECK_EQ(position, 0);
    fixture_close(&fixture);
}

static void a_peek_begins_within_the_term_that_is_read(void)
{
    open_stream();
    while (apy_append_position(&append) < TERM_LENGTH - 1056) {
        offer(1000);
    }
    offer(1000);                                           /* pads, and goes on in the next term */
    CHECK_EQ(peek(0, APY_NO_LIMIT_POSITION), TERM_LENGTH); /* padding included, the next term not */
    CHECK_EQ(seen.count, TERM_LENGTH / 1056);
    CHECK_EQ(peek(TERM_LENGTH, APY_NO_LIMIT_POSITION), TERM_LENGTH + 1056);
    CHECK_EQ(poll(2), 2);
    CHECK_EQ(peek(1056, APY_NO_LIMIT_POSITION), APY_E_ARGUMENT);
    CHECK(strstr(apy_error_text(), "within 2112 and 65536") != NULL);
    CHECK_EQ(peek(TERM_LENGTH + 32, APY_NO_LIMIT_POSITION), APY_E_ARGUMENT);
    CHECK_EQ(peek(2113, APY_NO_LIMIT_POSITION), APY_E_ARGUMENT);
    ((apy_frame_t *)(void *)(fixture.log.terms[0] + 3168))->length = TERM_LENGTH;
    CHECK_EQ(peek(2112, APY_NO_LIMIT_POSITION), 3168);
    CHECK_EQ(peek(3168, APY_NO_LIMIT_POSITION), APY_E_CORRUPT);
    apy_image_reader_close(&reader);
    CHECK_EQ(peek(7, APY_NO_LIMIT_POSITION), 7);
    fixture_close(&fixture);
}

static void a_position_is_set_forward_within_its_term(void)
{
    open_stream();
    for (int i = 0; i < 4; i++) {
        offer(0);
    }
    CHECK_EQ(apy_image_reader_set_position(&reader, 64), 1);
    CHECK_EQ(position, 64);
    CHECK_EQ(poll(10), 2);
    CHECK_EQ(seen.positions[0], 96);
    CHECK_EQ(apy_image_reader_set_position(&reader, 128), 1);
    CHECK_EQ(apy_image_reader_set_position(&reader, 96), APY_E_ARGUMENT);
    CHECK_EQ(apy_image_reader_set_position(&reader, 130), APY_E_ARGUMENT);
    CHECK_EQ(apy_image_reader_set_position(&reader, TERM_LENGTH + 32), APY_E_ARGUMENT);
    CHECK_EQ(position, 128);
    CHECK_EQ(apy_image_reader_set_position(&reader, TERM_LENGTH), 1);
    CHECK_EQ(apy_image_reader_set_position(&reader, TERM_LENGTH + 32), 1); /* the next term, by now */
    apy_image_reader_close(&reader);
    CHECK_EQ(apy_image_reader_set_position(&reader, TERM_LENGTH + 64), 0);
    CHECK_EQ(position, TERM_LENGTH + 32);
    fixture_close(&fixture);
}

static void a_block_is_found_in_its_file(void)
{
    open_stream();
    while (apy_append_position(&append) < TERM_LENGTH) {
        offer(992); /* 64 frames of 1024 fill a term */
    }
    offer(40);
    CHECK_EQ(apy_image_reader_block_poll(&reader, on_fragment, &seen, 1024), 1024);
    CHECK_EQ(apy_image_reader_file_offset(&reader, seen.last), 0);
    CHECK_EQ(apy_image_reader_block_poll(&reader, on_fragment, &seen, TERM_LENGTH), TERM_LENGTH - 1024);
    CHECK_EQ(apy_image_reader_file_offset(&reader, seen.last), 1024);
    CHECK_EQ(apy_image_reader_block_poll(&reader, on_fragment, &seen, TERM_LENGTH), 96);
    CHECK_EQ(apy_image_reader_file_offset(&reader, seen.last), TERM_LENGTH); /* partition 1, offset 0 */
    fixture_close(&fixture);
}

static void images_take_turns(void)
{
    open_stream();
    for (int i = 0; i < 8; i++) {
        offer(0);
    }
    int64_t other_position = 0;
    apy_image_reader_t other;
    apy_image_reader_init(&other, &fixture.log, SESSION, &other_position);
    apy_image_reader_t *both[2] = {&reader, &other};
    int32_t next = 0;
    CHECK_EQ(apy_images_poll(both, 2, &next, on_fragment, &seen, 3), 3);
    CHECK_EQ(position, 96);
    CHECK_EQ(other_position, 0);
    CHECK_EQ(apy_images_poll(both, 2, &next, on_fragment, &seen, 3), 3);
    CHECK_EQ(other_position, 96);
    CHECK_EQ(apy_images_poll(both, 2, &next, on_fragment, &seen, 100), 10);
    CHECK(!apy_images_are_ready(both, 2));
    next = 5; /* three of five images went away */
    offer(0);
    CHECK_EQ(apy_images_poll(both, 2, &next, on_fragment, &seen, 1), 1);
    CHECK_EQ(position, 9 * 32);
    CHECK_EQ(next, 1);
    CHECK_EQ(apy_images_poll(both, 0, &next, on_fragment, &seen, 1), 0);
    CHECK_EQ(next, 1);
    fixture_close(&fixture);
}

static void a_batch_moves_the_position_when_it_is_committed(void)
{
    open_stream();
    apy_batch_t batch;
    apy_fragment_assembler_t assembler;
    apy_image_reader_t *one[1] = {&reader};
    int32_t next = 0;
    apy_fragment_assembler_init(&assembler);
    CHECK_EQ(apy_batch_init(&batch, 16), APY_OK);
    for (int i = 0; i < 5; i++) {
        offer(40);
    }
    CHECK_EQ(apy_batch_fill(&batch, one, 1, &next, &assembler, 16), 5);
    CHECK_EQ(position, 0);
    CHECK_EQ(apy_batch_stride(&batch), 96);
    CHECK_EQ(apy_batch_bytes(&batch), 200);
    CHECK_EQ(batch.positions[4], 480);
    apy_batch_commit(&batch);
    CHECK_EQ(position, 480);

    offer(3000); /* three fragments */
    offer(40);
    CHECK_EQ(apy_batch_fill(&batch, one, 1, &next, &assembler, 1), 1);
    CHECK_EQ(batch.lengths[0], 3000);
    CHECK_EQ(apy_batch_stride(&batch), 0);
    apy_batch_commit(&batch);
    CHECK_EQ(apy_batch_fill(&batch, one, 1, &next, &assembler, 4), 1);
    CHECK_EQ(batch.lengths[0], 40);
    apy_image_reader_close(&reader);
    apy_batch_commit(&batch);
    CHECK_EQ(position, 480 + 2 * 1408 + 288); /* 3000 = 2 * 1376 + 248 */
    apy_batch_free(&batch);
    apy_fragment_assembler_free(&assembler);
    fixture_close(&fixture);
}

static void a_batch_leaves_window_to_its_publisher(void)
{
    enum { MESSAGES = 400, SPAN = 1056, BYTES_MAX = 256 * 1024, FIRST = BYTES_MAX / SPAN + 1 };
    fixture_open(&fixture, 1024 * 1024, MTU);
    apy_append_init(&append, &fixture.log, &fixture.limit);
    position = 0;
    apy_image_reader_init(&reader, &fixture.log, SESSION, &position);
    for (int i = 0; i < MESSAGES; i++) {
        offer(1000);
    }
    apy_batch_t batch;
    apy_fragment_assembler_t assembler;
    apy_image_reader_t *one[1] = {&reader};
    int32_t next = 0;
    apy_fragment_assembler_init(&assembler);
    CHECK_EQ(apy_batch_init(&batch, 1000), APY_OK);
    CHECK_EQ(apy_batch_fill(&batch, one, 1, &next, &assembler, 1000), FIRST);
    apy_batch_commit(&batch);
    CHECK_EQ(position, FIRST * SPAN);
    CHECK_EQ(apy_batch_fill(&batch, one, 1, &next, &assembler, 1000), MESSAGES - FIRST);
    CHECK_EQ(batch.positions[0], (FIRST + 1) * SPAN);
    CHECK_EQ(apy_batch_session_ids(&batch)[MESSAGES - FIRST - 1], SESSION);
    apy_batch_commit(&batch);
    apy_batch_free(&batch);
    apy_fragment_assembler_free(&assembler);
    fixture_close(&fixture);
}

static void a_batch_passes_over_a_message_that_is_too_long(void)
{
    open_stream();
    apy_batch_t batch;
    apy_fragment_assembler_t assembler;
    apy_image_reader_t *one[1] = {&reader};
    int32_t next = 0;
    apy_fragment_assembler_init(&assembler);
    assembler.unassembled_max = 2999;
    CHECK_EQ(apy_batch_init(&batch, 16), APY_OK);
    offer(3000);
    CHECK_EQ(apy_batch_fill(&batch, one, 1, &next, &assembler, 16), 0);
    CHECK_EQ(batch.refused_count, 1);
    offer(2999);
    offer(3000);
    offer(40);
    CHECK_EQ(apy_batch_fill(&batch, one, 1, &next, &assembler, 16), 2);
    CHECK_EQ(batch.refused_count, 2); /* the first was not committed, and came again */
    CHECK_EQ(batch.lengths[0], 2999);
    CHECK_EQ(batch.lengths[1], 40);
    apy_batch_commit(&batch);
    CHECK_EQ(apy_batch_fill(&batch, one, 1, &next, &assembler, 16), 0);
    CHECK_EQ(batch.refused_count, 0);
    CHECK_EQ(assembler.refused_count, 3);
    apy_batch_free(&batch);
    apy_fragment_assembler_free(&assembler);
    fixture_close(&fixture);
}

int main(void)
{
    RUN(a_poll_gives_what_was_offered_and_moves_the_position);
    RUN(padding_is_skipped_uncounted_and_polls_end_with_their_term);
    RUN(a_bounded_poll_may_straddle_its_limit_but_not_start_behind_it);
    RUN(controlled_actions_move_the_position_as_named);
    RUN(a_block_is_a_run_of_frames_and_padding_comes_alone);
    RUN(a_frame_that_leaves_its_term_is_an_error_and_not_read);
    RUN(what_a_later_lap_wrote_is_not_read);
    RUN(closing_ends_a_poll_and_freezes_what_is_known);
    RUN(a_peek_looks_ahead_and_moves_nothing);
    RUN(a_peek_begins_within_the_term_that_is_read);
    RUN(a_position_is_set_forward_within_its_term);
    RUN(a_block_is_found_in_its_file);
    RUN(images_take_turns);
    RUN(a_batch_moves_the_position_when_it_is_committed);
    RUN(a_batch_leaves_window_to_its_publisher);
    RUN(a_batch_passes_over_a_message_that_is_too_long);
    return 0;
}
