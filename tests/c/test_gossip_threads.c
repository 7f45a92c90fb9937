/* Two name resolvers on threads of their own, found over loopback while other threads ask them. */

#include <pthread.h>
#include <time.h>

#include "apy/agent_runner.h"
#include "apy/gossip.h"
#include "driver_rig.h"

#define LIMIT_NS (60 * RIG_SECOND)
#define QUESTIONS_MIN 2000

typedef struct resolver {
    apy_gossip_t *gossip;
    apy_agent_runner_t runner;
    int64_t neighbor_count, cache_count;
} resolver_t;

static void start(rig_t *rig, resolver_t *resolver, const char *name)
{
    const apy_gossip_params_t params = {.name = name,
                                        .bind_to = rig_address(0),
                                        .neighbor_timeout_ms = 400,
                                        .self_interval_ms = 10,
                                        .neighbor_interval_ms = 10,
                                        .neighbor_count = &resolver->neighbor_count,
                                        .cache_count = &resolver->cache_count};
    CHECK_EQ(apy_gossip_open(&rig->context, &params, &resolver->gossip), APY_OK);
    const apy_agent_t agent = {.role_name = name, .do_work = apy_gossip_do_work, .state = resolver->gossip};
    apy_idle_t idle;
    CHECK_EQ(apy_idle_init(&idle, "sleep-ns", "1ms"), APY_OK);
    CHECK_EQ(apy_agent_runner_start(&resolver->runner, &agent, 1, &idle, name, -1), APY_OK);
}

static void stop(resolver_t *resolver)
{
    apy_agent_runner_stop(&resolver->runner);
    apy_gossip_free(resolver->gossip);
}

typedef struct asker {
    resolver_t *resolver;
    const char *name;
    struct sockaddr_storage address;
    int64_t deadline_ns, found, asked;
    int32_t *is_over;
} asker_t;

static void *ask(void *argument)
{
    asker_t *asker = argument;
    while (!apy_load_acquire_i32(asker->is_over)) {
        struct sockaddr_storage found;
        if (apy_gossip_find(asker->resolver->gossip, asker->name, &found) == 1) {
            CHECK_EQ(found.ss_family, AF_INET);
            CHECK_EQ(((struct sockaddr_in *)(void *)&found)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
            apy_fetch_add_i64(&asker->found, 1);
        }
        (void)apy_gossip_is_neighbor(asker->resolver->gossip, &asker->address);
        apy_fetch_add_i64(&asker->asked, 1);
        sched_yield();
    }
    return NULL;
}

static void await(const char *what, bool (*is_so)(const void *), const void *state)
{
    const apy_clock_t clock = apy_clock_system();
    const int64_t deadline_ns = apy_nano_time(&clock) + LIMIT_NS;
    const struct timespec pause = {0, 1000000};
    while (!is_so(state)) {
        if (apy_nano_time(&clock) > deadline_ns) {
            fprintf(stderr, "it never came: %s\n", what);
            exit(1);
        }
        nanosleep(&pause, NULL);
    }
}

static bool has_found_often(const void *state)
{
    const asker_t *askers = state;
    return apy_load_acquire_i64(&askers[0].found) > QUESTIONS_MIN &&
           apy_load_acquire_i64(&askers[1].found) > QUESTIONS_MIN;
}

static bool knows_nobody(const void *state)
{
    const resolver_t *resolver = state;
    return apy_load_acquire_i64(&resolver->neighbor_count) == 0 && apy_load_acquire_i64(&resolver->cache_count) == 0;
}

typedef struct neighbors {
    int added, removed, frames_in, frames_out;
} neighbors_t;

static void on_traced(void *context, int32_t event, const uint8_t *message, int32_t length)
{
    neighbors_t *seen = context;
    apy_traced_t head;
    memcpy(&head, message, sizeof(head));
    CHECK_EQ(head.address_length, sizeof(struct sockaddr_in));
    seen->added += event == APY_TRACE_NEIGHBOR_ADDED;
    seen->removed += event == APY_TRACE_NEIGHBOR_REMOVED;
    seen->frames_in += event == APY_TRACE_FRAME_IN;
    seen->frames_out += event == APY_TRACE_FRAME_OUT;
    CHECK_EQ(length, (int32_t)sizeof(head) + head.length); /* resolutions are kept whole */
}

static void resolvers_find_and_forget_each_other_while_they_are_asked(void)
{
    rig_t *rig = rig_open();
    rig->context.clock = apy_clock_system();
    CHECK_EQ(apy_event_trace_open(&rig->context.trace, UINT64_MAX, rig->context.clock), APY_OK);
    static resolver_t one, other;
    int32_t is_over = 0;
    pthread_t threads[2];
    start(rig, &one, "one");
    start(rig, &other, "other");
    asker_t askers[2] = {
        {.resolver = &one, .name = "other", .address = *apy_gossip_bound_address(other.gossip), .is_over = &is_over},
        {.resolver = &other, .name = "one", .address = *apy_gossip_bound_address(one.gossip), .is_over = &is_over}};
    CHECK_EQ(pthread_create(&threads[0], NULL, ask, &askers[0]), 0);
    CHECK_EQ(pthread_create(&threads[1], NULL, ask, &askers[1]), 0);

    apy_gossip_set_bootstrap(one.gossip, 0, &askers[0].address); /* the other learns of the first by being told */
    await("each is found by the other's name", has_found_often, askers);
    CHECK(apy_gossip_is_neighbor(one.gossip, &askers[0].address));
    CHECK(apy_gossip_is_neighbor(other.gossip, &askers[1].address));
    CHECK_EQ(apy_load_acquire_i64(&other.neighbor_count), 1);

    apy_store_release_i32(&is_over, 1);
    CHECK_EQ(pthread_join(threads[0], NULL), 0);
    CHECK_EQ(pthread_join(threads[1], NULL), 0);
    stop(&one);
    await("the silent one is forgotten", knows_nobody, &other);
    stop(&other);
    CHECK_EQ(rig->counters[APY_SC_INVALID_PACKETS], 0);
    CHECK_EQ(rig->counters[APY_SC_ERRORS], 0);
    neighbors_t seen = {0};
    while (apy_event_trace_read(rig->context.trace, on_traced, &seen, 1000) > 0) {
    }
    CHECK_EQ(seen.added, 2);
    CHECK_EQ(seen.removed, 1);
    CHECK(seen.frames_in >= 2);
    CHECK(seen.frames_out >= seen.frames_in);
    apy_event_trace_close(rig->context.trace);
    rig_close(rig);
}

int main(void)
{
    RUN(resolvers_find_and_forget_each_other_while_they_are_asked);
    return 0;
}
