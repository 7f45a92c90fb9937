/* Which sessions of which streams are wanted, and what their frames lead to. */

#include "apy/dispatcher.h"
#include "apy/frame.h"
#include "check.h"

#define NO_LIMIT INT32_MAX

static char places[2]; /* an image is only an address here */
static apy_image_t *const image_a = (apy_image_t *)(void *)&places[0];
static apy_image_t *const image_b = (apy_image_t *)(void *)&places[1];

static apy_verdict_t on_data(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id)
{
    apy_image_t *image = NULL;
    const apy_verdict_t verdict = apy_dispatcher_on_data(dispatcher, stream_id, session_id, 0xC0, &image);
    CHECK_EQ(image != NULL, verdict == APY_VERDICT_IMAGE);
    return verdict;
}

static apy_verdict_t on_setup(apy_dispatcher_t *dispatcher, int32_t stream_id, int32_t session_id)
{
    apy_image_t *image = NULL;
    const apy_verdict_t verdict = apy_dispatcher_on_setup(dispatcher, stream_id, session_id, NO_LIMIT, &image);
    CHECK_EQ(image != NULL, verdict == APY_VERDICT_IMAGE);
    return verdict;
}

static void an_unknown_stream_is_ignored_and_leaves_no_trace(void)
{
    apy_dispatcher_t dispatcher = {0};
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_IGNORE);
    CHECK_EQ(on_setup(&dispatcher, 1001, 5), APY_VERDICT_IGNORE);
    CHECK_EQ(dispatcher.sessions.count, 0);
    apy_dispatcher_free(&dispatcher);
}

static void data_elicits_a_setup_and_a_setup_an_image(void)
{
    apy_dispatcher_t dispatcher = {0};
    apy_image_t *image = NULL;
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1001), APY_OK);
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_ELICIT);
    CHECK_EQ(apy_dispatcher_mark(&dispatcher, 1001, 5, APY_SESSION_PENDING_SETUP), APY_OK);
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_IGNORE);
    CHECK_EQ(on_setup(&dispatcher, 1001, 5), APY_VERDICT_CREATE);
    CHECK_EQ(apy_dispatcher_mark(&dispatcher, 1001, 5, APY_SESSION_INIT), APY_OK);
    CHECK_EQ(on_setup(&dispatcher, 1001, 5), APY_VERDICT_IGNORE);
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_IGNORE);
    CHECK_EQ(on_setup(&dispatcher, 1001, 6), APY_VERDICT_CREATE); /* at once, without data before */

    CHECK_EQ(apy_dispatcher_add_image(&dispatcher, 1001, 5, image_a), APY_OK);
    CHECK_EQ(apy_dispatcher_on_data(&dispatcher, 1001, 5, 0xC0, &image), APY_VERDICT_IMAGE);
    CHECK(image == image_a);
    CHECK_EQ(on_setup(&dispatcher, 1001, 5), APY_VERDICT_IMAGE);
    apy_dispatcher_free(&dispatcher);
}

static void the_end_of_a_stream_elicits_nothing(void)
{
    apy_dispatcher_t dispatcher = {0};
    apy_image_t *image = NULL;
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1001), APY_OK);
    CHECK_EQ(apy_dispatcher_on_data(&dispatcher, 1001, 5, 0xE0, &image), APY_VERDICT_IGNORE);
    CHECK_EQ(dispatcher.sessions.count, 0);
    apy_dispatcher_free(&dispatcher);
}

static void a_refused_or_unanswered_session_may_ask_again(void)
{
    apy_dispatcher_t dispatcher = {0};
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1001), APY_OK);
    CHECK_EQ(apy_dispatcher_mark(&dispatcher, 1001, 5, APY_SESSION_INIT), APY_OK);
    apy_dispatcher_clear(&dispatcher, 1001, 5, APY_SESSION_PENDING_SETUP); /* not its state */
    CHECK_EQ(on_setup(&dispatcher, 1001, 5), APY_VERDICT_IGNORE);
    apy_dispatcher_clear(&dispatcher, 1001, 5, APY_SESSION_INIT);
    CHECK_EQ(on_setup(&dispatcher, 1001, 5), APY_VERDICT_CREATE);
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_ELICIT);
    CHECK_EQ(dispatcher.foreign_count, 0);
    apy_dispatcher_free(&dispatcher);
}

static void only_subscribed_sessions_are_wanted(void)
{
    apy_dispatcher_t dispatcher = {0};
    CHECK_EQ(apy_dispatcher_add_session(&dispatcher, 1001, 5), APY_OK);
    CHECK_EQ(on_data(&dispatcher, 1001, 6), APY_VERDICT_IGNORE);
    CHECK_EQ(dispatcher.foreign_count, 0); /* strangers leave no trace */
    CHECK_EQ(on_setup(&dispatcher, 1001, 7), APY_VERDICT_IGNORE);
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_ELICIT);

    CHECK_EQ(apy_dispatcher_add_session(&dispatcher, 1001, 6), APY_OK);
    CHECK_EQ(on_setup(&dispatcher, 1001, 6), APY_VERDICT_CREATE);
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1001), APY_OK);
    CHECK_EQ(on_setup(&dispatcher, 1001, 7), APY_VERDICT_CREATE);
    apy_dispatcher_free(&dispatcher);
}

static void an_image_removed_before_the_end_cools_down(void)
{
    apy_dispatcher_t dispatcher = {0};
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1001), APY_OK);
    CHECK_EQ(apy_dispatcher_add_image(&dispatcher, 1001, 5, image_a), APY_OK);
    apy_dispatcher_remove_image(&dispatcher, 1001, 5, image_b, false); /* an older one */
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_IMAGE);
    apy_dispatcher_remove_image(&dispatcher, 1001, 5, image_a, false);
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_IGNORE);
    CHECK_EQ(on_setup(&dispatcher, 1001, 5), APY_VERDICT_IGNORE);
    apy_dispatcher_clear(&dispatcher, 1001, 5, APY_SESSION_COOL_DOWN);
    CHECK_EQ(on_setup(&dispatcher, 1001, 5), APY_VERDICT_CREATE);

    CHECK_EQ(apy_dispatcher_add_image(&dispatcher, 1001, 5, image_b), APY_OK);
    apy_dispatcher_remove_image(&dispatcher, 1001, 5, image_b, true);
    CHECK_EQ(on_setup(&dispatcher, 1001, 5), APY_VERDICT_CREATE);
    apy_dispatcher_free(&dispatcher);
}

static void interest_goes_with_its_subscriptions(void)
{
    apy_dispatcher_t dispatcher = {0};
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1001), APY_OK);
    CHECK_EQ(apy_dispatcher_add_session(&dispatcher, 1001, 5), APY_OK);
    CHECK_EQ(apy_dispatcher_add_image(&dispatcher, 1001, 5, image_a), APY_OK);
    CHECK_EQ(apy_dispatcher_add_image(&dispatcher, 1001, 6, image_b), APY_OK);
    apy_dispatcher_remove_stream(&dispatcher, 1001);
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_IMAGE);
    CHECK_EQ(on_data(&dispatcher, 1001, 6), APY_VERDICT_IGNORE);
    apy_dispatcher_remove_session(&dispatcher, 1001, 5);
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_IGNORE);
    CHECK_EQ(dispatcher.sessions.count, 0);
    CHECK_EQ(dispatcher.streams.count, 0);
    CHECK_EQ(dispatcher.foreign_count, 0);

    /* An image that comes late for it is not taken. */
    CHECK_EQ(apy_dispatcher_add_image(&dispatcher, 1001, 5, image_a), APY_OK);
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_IGNORE);

    CHECK_EQ(apy_dispatcher_add_session(&dispatcher, 1001, 5), APY_OK);
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1001), APY_OK);
    CHECK_EQ(apy_dispatcher_add_image(&dispatcher, 1001, 5, image_a), APY_OK);
    apy_dispatcher_remove_session(&dispatcher, 1001, 5);
    CHECK_EQ(on_data(&dispatcher, 1001, 5), APY_VERDICT_IMAGE); /* all sessions are wanted still */
    apy_dispatcher_free(&dispatcher);
}

static void a_stream_takes_no_more_sessions_than_its_limit(void)
{
    apy_dispatcher_t dispatcher = {0};
    apy_image_t *image = NULL;
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1001), APY_OK);
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1002), APY_OK);
    CHECK_EQ(apy_dispatcher_add_image(&dispatcher, 1001, 5, image_a), APY_OK);
    CHECK_EQ(apy_dispatcher_on_setup(&dispatcher, 1001, 6, 1, &image), APY_VERDICT_SESSION_LIMIT);
    CHECK_EQ(apy_dispatcher_on_setup(&dispatcher, 1001, 5, 1, &image), APY_VERDICT_IMAGE);
    CHECK_EQ(apy_dispatcher_on_setup(&dispatcher, 1002, 6, 1, &image), APY_VERDICT_CREATE);
    CHECK_EQ(apy_dispatcher_on_setup(&dispatcher, 1001, 6, 2, &image), APY_VERDICT_CREATE);
    apy_dispatcher_free(&dispatcher);
}

static void foreign_sessions_are_remembered_up_to_a_limit_that_others_do_not_feel(void)
{
    apy_dispatcher_t dispatcher = {0};
    CHECK_EQ(apy_dispatcher_add_session(&dispatcher, 1001, -1), APY_OK);
    for (int i = 0; i < 5000; i++) {
        CHECK_EQ(on_data(&dispatcher, 1001, i), APY_VERDICT_IGNORE);
        CHECK_EQ(on_setup(&dispatcher, 1001, i), APY_VERDICT_IGNORE);
    }
    CHECK_EQ(dispatcher.sessions.count, 1);
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1002), APY_OK);
    for (int i = 0; i < APY_FOREIGN_SESSIONS_MAX; i++) {
        CHECK_EQ(apy_dispatcher_mark(&dispatcher, 1002, i, APY_SESSION_INIT), APY_OK);
    }
    CHECK_EQ(apy_dispatcher_mark(&dispatcher, 1002, 4999, APY_SESSION_INIT), APY_E_FULL);
    CHECK_EQ(on_setup(&dispatcher, 1001, -1), APY_VERDICT_CREATE);
    CHECK_EQ(apy_dispatcher_mark(&dispatcher, 1001, -1, APY_SESSION_INIT), APY_OK);
    apy_dispatcher_free(&dispatcher);
}

static void many_that_cool_down_keep_no_new_session_out(void)
{
    apy_dispatcher_t dispatcher = {0};
    CHECK_EQ(apy_dispatcher_add_stream(&dispatcher, 1001), APY_OK);
    for (int i = 0; i < 3 * APY_FOREIGN_SESSIONS_MAX; i++) { /* none of them may rejoin */
        CHECK_EQ(on_setup(&dispatcher, 1001, i), APY_VERDICT_CREATE);
        CHECK_EQ(apy_dispatcher_mark(&dispatcher, 1001, i, APY_SESSION_INIT), APY_OK);
        CHECK_EQ(apy_dispatcher_add_image(&dispatcher, 1001, i, image_a), APY_OK);
        apy_dispatcher_remove_image(&dispatcher, 1001, i, image_a, false);
        CHECK_EQ(on_setup(&dispatcher, 1001, i), APY_VERDICT_IGNORE);
        CHECK(dispatcher.sessions.count <= APY_FOREIGN_SESSIONS_MAX);
    }
    apy_dispatcher_free(&dispatcher);
}

int main(void)
{
    RUN(an_unknown_stream_is_ignored_and_leaves_no_trace);
    RUN(data_elicits_a_setup_and_a_setup_an_image);
    RUN(the_end_of_a_stream_elicits_nothing);
    RUN(a_refused_or_unanswered_session_may_ask_again);
    RUN(only_subscribed_sessions_are_wanted);
    RUN(an_image_removed_before_the_end_cools_down);
    RUN(interest_goes_with_its_subscriptions);
    RUN(a_stream_takes_no_more_sessions_than_its_limit);
    RUN(foreign_sessions_are_remembered_up_to_a_limit_that_others_do_not_feel);
    RUN(many_that_cool_down_keep_no_new_session_out);
    return 0;
}
