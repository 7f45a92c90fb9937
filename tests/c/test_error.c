/* The last error: formatted, cut, wrapped in the next, and private to its thread. */
#include "apy/error.h"

#include <errno.h>
#include <pthread.h>

#include "check.h"

static void failing_returns_its_code_and_keeps_the_sentence(void)
{
    CHECK_EQ(apy_fail(APY_E_CORRUPT, "%d bytes at %s", 7, "here"), APY_E_CORRUPT);
    CHECK(strcmp(apy_error_text(), "7 bytes at here") == 0);
}

static void a_sentence_may_be_wrapped_in_the_next(void)
{
    (void)apy_fail(APY_E_CORRUPT, "inner");
    (void)apy_fail(APY_E_CORRUPT, "outer: %s", apy_error_text());
    CHECK(strcmp(apy_error_text(), "outer: inner") == 0);
}

static void a_long_sentence_is_cut(void)
{
    (void)apy_fail(APY_E_CORRUPT, "%2000d", 1);
    CHECK_EQ(strlen(apy_error_text()), APY_ERROR_TEXT_MAX - 1);
}

static void a_system_error_carries_its_reason_and_number(void)
{
    errno = ENOENT;
    CHECK_EQ(apy_fail_os("cannot open %s", "x"), APY_E_OS);
    char expected[128];
    snprintf(expected, sizeof(expected), "cannot open x: %s (errno %d)", strerror(ENOENT), ENOENT);
    CHECK(strcmp(apy_error_text(), expected) == 0);
}

static void *fail_elsewhere(void *argument)
{
    (void)argument;
    const int was_empty = apy_error_text()[0] == '\0';
    (void)apy_fail(APY_E_STATE, "elsewhere");
    return was_empty ? (void *)1 : NULL;
}

static void each_thread_has_its_own(void)
{
    (void)apy_fail(APY_E_STATE, "mine");
    pthread_t thread;
    void *was_empty = NULL;
    CHECK_EQ(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    CHECK_EQ(pthread_join(thread, &was_empty), 0);
    CHECK(was_empty != NULL);
    CHECK(strcmp(apy_error_text(), "mine") == 0);
}

int main(void)
{
    RUN(failing_returns_its_code_and_keeps_the_sentence);
    RUN(a_sentence_may_be_wrapped_in_the_next);
    RUN(a_long_sentence_is_cut);
    RUN(a_system_error_carries_its_reason_and_number);
    RUN(each_thread_has_its_own);
    return 0;
}
