/* The table of aeronpy.h: what its functions answer, and images that change while another thread polls them. */
#include <pthread.h>
#include <stdatomic.h>

#include "apy/native_api.h"
#include "apy/publication.h"

#include "log_fixture.h"
#include "stress.h"

enum { TERM_LENGTH = 65536, MTU = 1408, SWAPS = 2000 };

static fixture_t fixture;
static const aeronpy_api_t *api;
static apy_publication_t publication;
static aeronpy_publication_t *pub;
static apy_image_reader_t reader;
static int64_t subscriber_position;
static apy_image_reader_t *readers[1] = {&reader};
static apy_image_set_t one = {readers, 1}, none = {readers, 0};
static apy_fragment_assembler_t assembler;
static apy_native_subscription_t subscription;
static aeronpy_subscription_t *sub;
static int32_t is_busy, image_polls;

typedef struct seen {
    int count, poll_inside;
    size_t length;
    int64_t position;
    int32_t session_id;
    uint8_t first, last;
    int answers[8];
} seen_t;

static seen_t seen;

static void open_stream(bool is_exclusive)
{
    fixture_open(&fixture, TERM_LENGTH, MTU);
    fixture.log.meta->is_connected = 1;
    api = apy_native_api();
    apy_publication_init(&publication, &fixture.log, &fixture.limit, is_exclusive);
    pub = (aeronpy_publication_t *)(void *)&publication;
    subscriber_position = 0;
    apy_image_reader_init(&reader, &fixture.log, SESSION, &subscriber_position);
    apy_fragment_assembler_init(&assembler);
    is_busy = image_polls = 0;
    apy_native_subscription_init(&subscription, &one, &is_busy, &image_polls, &assembler);
    sub = (aeronpy_subscription_t *)(void *)&subscription;
    memset(&seen, 0, sizeof(seen));
}

static void close_stream(void)
{
    apy_fragment_assembler_free(&assembler);
    fixture_close(&fixture);
}

static void on_fragment(void *context, const uint8_t *buffer, size_t length, const aeronpy_header_t *header)
{
    seen_t *into = context;
    into->length = length;
    into->position = header->position;
    into->session_id = header->frame->session_id;
    into->first = length > 0 ? buffer[0] : 0;
    into->last = length > 0 ? buffer[length - 1] : 0;
    into->count++;
    if (into->poll_inside) {
        CHECK_EQ(api->poll(sub, on_fragment, context, 1), AERONPY_BUSY);
        CHECK(api->subscription_is_connected(sub));
    }
}

static int on_controlled(void *context, const uint8_t *buffer, size_t length, const aeronpy_header_t *header)
{
    seen_t *into = context;
    const int answer = into->answers[into->count];
    on_fragment(context, buffer, length, header);
    return answer;
}

static void the_table_says_what_it_is(void)
{
    open_stream(false);
    CHECK_EQ(api->size, sizeof(aeronpy_api_t));
    CHECK_EQ(api->abi_major, AERONPY_ABI_MAJOR);
    CHECK(aeronpy_api_fits(api));
    aeronpy_api_t other = *api;
    other.abi_major++;
    CHECK(!aeronpy_api_fits(&other));
    other = *api;
    other.size--;
    CHECK(!aeronpy_api_fits(&other));
    other.size += 100; /* of a later minor version */
    CHECK(aeronpy_api_fits(&other));
    const void *const *entries = (const void *const *)(const void *)&api->error_text;
    for (size_t i = 0; i < (sizeof(*api) - offsetof(aeronpy_api_t, error_text)) / sizeof(*entries); i++) {
        CHECK(entries[i] != NULL);
    }
    close_stream();
}

static void offers_arrive_with_their_bytes_and_positions(void)
{
    for (int is_exclusive = 0; is_exclusive < 2; is_exclusive++) {
        open_stream(is_exclusive);
        const uint8_t message[3] = {7, 8, 9};
        CHECK_EQ(api->offer(pub, message, 3), 64);
        const aeronpy_part_t parts[2] = {{message, 2}, {message + 1, 2}};
        CHECK_EQ(api->offer_vectored(pub, parts, 2), 128);
        CHECK_EQ(api->offer_vectored(pub, parts, -1), AERONPY_ERROR);
        CHECK_EQ(api->position(pub), 128);
        CHECK_EQ(api->position_limit(pub), FAR);
        CHECK_EQ(api->max_payload_length(pub), MTU - 32);
        CHECK_EQ(api->max_message_length(pub), TERM_LENGTH / 8);
        CHECK(api->publication_is_connected(pub));
        CHECK_EQ(api->poll(sub, on_fragment, &seen, 1), 1);
        CHECK_EQ(seen.length, 3);
        CHECK_EQ(seen.position, 64);
        CHECK_EQ(seen.session_id, SESSION);
        CHECK_EQ(seen.first, 7);
        CHECK_EQ(api->poll(sub, on_fragment, &seen, 10), 1);
        CHECK_EQ(seen.length, 4);
        CHECK_EQ(seen.last, 9);
        CHECK_EQ(subscriber_position, 128);
        CHECK_EQ(api->offer(pub, message, (size_t)TERM_LENGTH), AERONPY_ERROR);
        CHECK(strstr(api->error_text(), "65536 bytes") != NULL);
        close_stream();
    }
}

static void claims_are_ended_once(void)
{
    open_stream(true);
    aeronpy_claim_t claim = {0};
    CHECK_EQ(api->commit(pub, &claim), AERONPY_ERROR);
    CHECK_EQ(api->try_claim(pub, MTU, &claim), AERONPY_ERROR);
    CHECK_EQ(api->try_claim(pub, (size_t)INT32_MAX + 1, &claim), AERONPY_ERROR);
    CHECK(claim.frame == NULL);
    CHECK_EQ(api->try_claim(pub, 5, &claim), 64);
    CHECK_EQ(claim.length, 5);
    CHECK_EQ(claim.position, 64);
    CHECK_EQ(api->poll(sub, on_fragment, &seen, 10), 0); /* not before it is committed */
    memset(claim.data, 'x', 5);
    CHECK_EQ(api->commit(pub, &claim), 0);
    CHECK_EQ(api->commit(pub, &claim), AERONPY_ERROR);
    CHECK_EQ(api->abort(pub, &claim), AERONPY_ERROR);
    CHECK_EQ(api->try_claim(pub, 5, &claim), 128);
    CHECK_EQ(api->abort(pub, &claim), 0);
    CHECK_EQ(api->poll(sub, on_fragment, &seen, 10), 1);
    CHECK_EQ(seen.first, 'x');
    CHECK_EQ(subscriber_position, 128);

    CHECK_EQ(api->try_claim(pub, 1, &claim), 192);
    apy_publication_close(&publication);
    CHECK_EQ(api->commit(pub, &claim), 0); /* else readers would wait for ever */
    CHECK_EQ(api->poll(sub, on_fragment, &seen, 10), 1);
    close_stream();
}

static void messages_of_many_fragments_come_whole(void)
{
    open_stream(false);
    uint8_t message[5000];
    fill_message(message, sizeof(message), 3);
    CHECK(api->offer(pub, message, sizeof(message)) > 0);
    CHECK_EQ(api->poll_assembled(sub, on_fragment, &seen, 2), 2);
    CHECK_EQ(seen.count, 0);
    CHECK_EQ(api->poll_assembled(sub, on_fragment, &seen, 10), 2);
    CHECK_EQ(seen.count, 1);
    CHECK_EQ(seen.length, sizeof(message));
    CHECK_EQ(seen.last, message[sizeof(message) - 1]);
    close_stream();
}

static void a_controlled_handler_steers_its_poll(void)
{
    open_stream(false);
    for (uint8_t i = 1; i <= 4; i++) {
        CHECK(api->offer(pub, &i, 1) > 0);
    }
    const int answers[8] = {AERONPY_COMMIT, AERONPY_ABORT, AERONPY_BREAK, AERONPY_CONTINUE, AERONPY_CONTINUE};
    memcpy(seen.answers, answers, sizeof(answers));
    CHECK_EQ(api->controlled_poll(sub, on_controlled, &seen, 10), 1);
    CHECK_EQ(subscriber_position, 64);
    CHECK_EQ(api->controlled_poll(sub, on_controlled, &seen, 10), 1);
    CHECK_EQ(seen.first, 2); /* given again, and behind it the poll ended */
    CHECK_EQ(api->controlled_poll(sub, on_controlled, &seen, 10), 2);
    CHECK_EQ(seen.first, 4);
    close_stream();
}

static void what_is_closed_says_so(void)
{
    open_stream(false);
    aeronpy_claim_t claim = {0};
    CHECK_EQ(api->offer(pub, "x", 1), 64);
    CHECK_EQ(api->image_count(sub), 1);
    apy_publication_close(&publication);
    apy_native_subscription_close(&subscription);
    CHECK_EQ(api->offer(pub, "x", 1), AERONPY_CLOSED);
    CHECK_EQ(api->try_claim(pub, 1, &claim), AERONPY_CLOSED);
    CHECK_EQ(api->position(pub), AERONPY_CLOSED);
    CHECK_EQ(api->position_limit(pub), AERONPY_CLOSED);
    CHECK(!api->publication_is_connected(pub));
    CHECK(api->publication_is_closed(pub));
    CHECK_EQ(api->poll(sub, on_fragment, &seen, 10), AERONPY_CLOSED);
    CHECK_EQ(api->poll_assembled(sub, on_fragment, &seen, 10), AERONPY_CLOSED);
    CHECK_EQ(api->controlled_poll(sub, on_controlled, &seen, 10), AERONPY_CLOSED);
    CHECK_EQ(api->image_count(sub), AERONPY_CLOSED);
    CHECK(!api->subscription_is_connected(sub));
    CHECK(api->subscription_is_closed(sub));
    CHECK_EQ(seen.count, 0);
    close_stream();
}

static void one_poll_at_a_time(void)
{
    open_stream(false);
    CHECK_EQ(api->offer(pub, "x", 1), 64);
    is_busy = 1; /* a poll or a batch of somebody else */
    CHECK_EQ(api->poll(sub, on_fragment, &seen, 10), AERONPY_BUSY);
    is_busy = 0;
    image_polls = 1;
    CHECK_EQ(api->poll(sub, on_fragment, &seen, 10), AERONPY_BUSY);
    CHECK_EQ(is_busy, 0);
    image_polls = 0;
    seen.poll_inside = 1;
    CHECK_EQ(api->poll(sub, on_fragment, &seen, 10), 1);
    CHECK_EQ(seen.count, 1);
    CHECK_EQ(is_busy, 0);
    close_stream();
}

static void a_broken_frame_is_an_error_with_its_place(void)
{
    open_stream(false);
    CHECK_EQ(api->offer(pub, "x", 1), 64);
    ((apy_frame_t *)(void *)fixture.log.terms[0])->length = 5;
    CHECK_EQ(api->poll(sub, on_fragment, &seen, 10), AERONPY_ERROR);
    CHECK(strstr(api->error_text(), "5 bytes") != NULL);
    CHECK_EQ(is_busy, 0);
    close_stream();
}

/* --- images that come and go under a poll: a set that is past is freed, so that ASan and TSan see a late reader --- */

static int32_t is_over;
static int64_t polled;

static void *keep_polling(void *unused)
{
    (void)unused;
    seen_t own = {0};
    int rc;
    while ((rc = api->poll(sub, on_fragment, &own, 10)) != AERONPY_CLOSED) {
        CHECK(rc >= 0);
        apy_fetch_add_i64(&polled, 1);
    }
    apy_store_release_i32(&is_over, 1);
    return NULL;
}

static apy_image_set_t *make_set(void)
{
    apy_image_set_t *set = malloc(sizeof(*set));
    apy_image_reader_t **list = malloc(sizeof(*list));
    apy_image_reader_t *own = malloc(sizeof(*own));
    CHECK(set != NULL && list != NULL && own != NULL);
    apy_image_reader_init(own, &fixture.log, SESSION, &subscriber_position);
    list[0] = own;
    *set = (apy_image_set_t){list, 1};
    return set;
}

static void free_set(apy_image_set_t *set)
{
    free(set->readers[0]);
    free(set->readers);
    free(set);
}

static void await_polls(int64_t more)
{
    stress_patience_t patience = {0};
    const int64_t from = apy_load_acquire_i64(&polled);
    while (apy_load_acquire_i64(&polled) - from < more) {
        stress_wait(&patience);
    }
}

static void images_change_while_another_thread_polls(void)
{
    open_stream(false);
    is_over = 0;
    polled = 0;
    apy_image_set_t *current = make_set();
    (void)apy_native_subscription_set(&subscription, current);
    pthread_t poller;
    CHECK_EQ(pthread_create(&poller, NULL, keep_polling, NULL), 0);
    for (int i = 0; i < SWAPS; i++) {
        apy_image_set_t *next = make_set();
        const int64_t turn = apy_native_subscription_set(&subscription, next);
        stress_patience_t patience = {0};
        while (!apy_native_subscription_is_past(&subscription, turn)) {
            stress_wait(&patience);
        }
        free_set(current);
        current = next;
        if (i % 100 == 0) {
            CHECK(api->offer(pub, "x", 1) > 0);
            await_polls(2);
        }
    }
    apy_native_subscription_close(&subscription);
    const int64_t turn = apy_native_subscription_set(&subscription, &none);
    stress_patience_t patience = {0};
    while (!apy_native_subscription_is_past(&subscription, turn)) {
        stress_wait(&patience);
    }
    free_set(current);
    pthread_join(poller, NULL);
    CHECK_EQ(is_over, 1);
    CHECK_EQ(subscriber_position, SWAPS / 100 * 64);
    close_stream();
}

int main(void)
{
    RUN(the_table_says_what_it_is);
    RUN(offers_arrive_with_their_bytes_and_positions);
    RUN(claims_are_ended_once);
    RUN(messages_of_many_fragments_come_whole);
    RUN(a_controlled_handler_steers_its_poll);
    RUN(what_is_closed_says_so);
    RUN(one_poll_at_a_time);
    RUN(a_broken_frame_is_an_error_with_its_place);
    RUN(images_change_while_another_thread_polls);
    return 0;
}
