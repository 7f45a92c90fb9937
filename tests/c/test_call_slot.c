/* Calls onto another thread: direct while none serves, else on the server's, with result and error text. */
#include "apy/call_slot.h"

#include <pthread.h>
#include <sched.h>

#include "apy/atomic.h"
#include "check.h"

enum { CALLS = 5000 };

typedef struct server {
    apy_call_slot_t slot;
    int32_t is_running;
    pthread_t thread;
    int64_t sum; /* owned by the serving thread */
    pthread_t last_caller;
} server_t;

static int add(void *owner, void *argument)
{
    server_t *server = owner;
    server->sum += *(const int64_t *)argument;
    server->last_caller = pthread_self();
    return (int)(server->sum & 0x7FFFFFFF);
}

static int refuse(void *owner, void *argument)
{
    (void)owner;
    return apy_fail(APY_E_CHANNEL, "refused %" PRId64, *(const int64_t *)argument);
}

static void *serve(void *argument)
{
    server_t *server = argument;
    while (apy_load_acquire_i32(&server->is_running)) {
        if (apy_call_slot_serve(&server->slot, server) == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void direct_calls_run_in_place(void)
{
    server_t server = {.sum = 0};
    apy_call_slot_init(&server.slot);
    int64_t number = 5;
    CHECK_EQ(apy_call_slot_call(&server.slot, add, &server, &number), 5);
    CHECK(pthread_equal(server.last_caller, pthread_self()));
    CHECK_EQ(apy_call_slot_serve(&server.slot, &server), 0);
}

static void served_calls_run_on_the_server_and_bring_back_the_text(void)
{
    server_t server = {.is_running = 1};
    apy_call_slot_init(&server.slot);
    apy_call_slot_set_direct(&server.slot, false);
    CHECK_EQ(pthread_create(&server.thread, NULL, serve, &server), 0);

    int64_t sum = 0;
    for (int64_t i = 0; i < CALLS; i++) {
        sum += i;
        CHECK_EQ(apy_call_slot_call(&server.slot, add, &server, &i), sum & 0x7FFFFFFF);
    }
    int64_t number = 77;
    CHECK_EQ(apy_call_slot_call(&server.slot, refuse, &server, &number), APY_E_CHANNEL);
    CHECK(strcmp(apy_error_text(), "refused 77") == 0);

    apy_store_release_i32(&server.is_running, 0);
    CHECK_EQ(pthread_join(server.thread, NULL), 0);
    CHECK(pthread_equal(server.last_caller, server.thread));
    CHECK_EQ(server.sum, sum);
    apy_call_slot_set_direct(&server.slot, true);
    number = 1;
    CHECK_EQ(apy_call_slot_call(&server.slot, add, &server, &number), (sum + 1) & 0x7FFFFFFF);
}

int main(void)
{
    RUN(direct_calls_run_in_place);
    RUN(served_calls_run_on_the_server_and_bring_back_the_text);
    return 0;
}
