/* From a publication to its image over sockets that lose, repeat and reorder: every byte arrives, in order, once. */

#include <pthread.h>

#include "loop_rig.h"

#define TOTAL (4u << 20)
#define ALL_TYPES 0x6F
#define CYCLES_MAX 3000000

/* --- a relay between the two sockets --- */

typedef struct held {
    uint8_t bytes[2048];
    size_t length;
    bool to_receiver;
} held_t;

typedef struct relay {
    int towards_publisher, towards_receiver;
    struct sockaddr_storage address, publisher, receiver;
    uint32_t seed;
    held_t held[24];
    int held_count;
    int lost, repeated, reordered;
} relay_t;

static uint32_t draw(relay_t *relay, uint32_t below)
{
    relay->seed = relay->seed * 1664525 + 1013904223;
    return (relay->seed >> 16) % below;
}

static void deliver(relay_t *relay, const held_t *held)
{
    rig_give(held->to_receiver ? relay->towards_receiver : relay->towards_publisher,
             held->to_receiver ? &relay->receiver : &relay->publisher, held->bytes, held->length);
}

/* A tenth is lost, a tenth comes twice, and some wait while others pass. */
static void pass_on(relay_t *relay, const held_t *datagram)
{
    const uint32_t lot = draw(relay, 100);
    if (lot < 10) {
        relay->lost++;
        return;
    }
    if (lot < 20) {
        relay->repeated++;
        deliver(relay, datagram);
    }
    if (lot < 40 && relay->held_count < 24) {
        relay->reordered++;
        relay->held[relay->held_count++] = *datagram;
        return;
    }
    deliver(relay, datagram);
}

static void relay_cycle(relay_t *relay)
{
    held_t datagram;
    int length = 0;
    while ((length = rig_take_from(relay->towards_publisher, datagram.bytes, sizeof(datagram.bytes),
                                   &relay->publisher)) >= 0) {
        datagram.length = (size_t)length;
        datagram.to_receiver = true;
        pass_on(relay, &datagram);
    }
    while ((length = rig_take(relay->towards_receiver, datagram.bytes, sizeof(datagram.bytes))) >= 0) {
        datagram.length = (size_t)length;
        datagram.to_receiver = false;
        pass_on(relay, &datagram);
    }
    while (relay->held_count > 0 && draw(relay, 3) == 0) {
        const int at = (int)draw(relay, (uint32_t)relay->held_count);
        deliver(relay, &relay->held[at]);
        relay->held[at] = relay->held[--relay->held_count];
    }
}

/* --- by hand --- */

static void run_to_the_end(loop_t *loop, relay_t *relay)
{
    int cycles = 0;
    while (loop->taken < TOTAL) {
        CHECK(++cycles < CYCLES_MAX);
        rig_advance(loop->rig, 20000);
        while (loop_offer(loop, TOTAL)) {
        }
        apy_sender_do_work(loop->sender);
        if (relay != NULL) {
            relay_cycle(relay);
        }
        apy_receiver_do_work(loop->receiver);
        loop_core(loop);
        loop_take(loop);
    }
    CHECK_EQ(loop->taken, TOTAL);
    CHECK_EQ(loop->sub_pos, apy_exclusive_position(&loop->append));
}

/* The end of the stream travels, is answered, and both sides let go. */
static void end_it(loop_t *loop, relay_t *relay)
{
    int cycles = 0;
    const int wanted = APY_TICK_RELEASE | APY_IMAGE_TICK_UNAVAILABLE << 8;
    apy_network_publication_close(loop->publication, loop->rig->hand.nano_time);
    while ((loop->ticks & wanted) != wanted) {
        CHECK(++cycles < 10000);
        rig_advance(loop->rig, 10 * RIG_MS);
        apy_sender_do_work(loop->sender);
        if (relay != NULL) {
            relay_cycle(relay);
        }
        apy_receiver_do_work(loop->receiver);
        loop_core(loop);
    }
    CHECK_EQ(loop->image_log.meta->end_of_stream_position, loop->sub_pos);
    CHECK_EQ(loop_take(loop), 0);
}

static void without_loss_nothing_is_resent(void)
{
    rig_t *rig = rig_open();
    struct sockaddr_storage address;
    loop_t *loop = loop_open(rig, NULL, &address);
    run_to_the_end(loop, NULL);
    CHECK_EQ(rig->counters[APY_SC_NAKS_SENT], 0);
    CHECK_EQ(rig->counters[APY_SC_RETRANSMITS_SENT], 0);
    CHECK_EQ(rig->counters[APY_SC_INVALID_PACKETS], 0);
    CHECK_EQ(rig->counters[APY_SC_ERRORS], 0);
    end_it(loop, NULL);
    loop_close(loop);
    rig_close(rig);
}

static void a_tenth_lost_both_ways_changes_no_byte(void)
{
    rig_t *rig = rig_open();
    struct sockaddr_storage address;
    rig->context.config.loss.rate = 0.1;
    rig->context.config.loss.mask = ALL_TYPES;
    rig->context.config.loss.seed = 7;
    loop_t *loop = loop_open(rig, NULL, &address);
    run_to_the_end(loop, NULL);
    CHECK(rig->counters[APY_SC_NAKS_SENT] > 100);
    CHECK(rig->counters[APY_SC_NAKS_RECEIVED] < rig->counters[APY_SC_NAKS_SENT]);
    CHECK(rig->counters[APY_SC_RETRANSMITS_SENT] > 100);
    CHECK_EQ(rig->counters[APY_SC_INVALID_PACKETS], 0);
    end_it(loop, NULL);
    loop_close(loop);
    rig_close(rig);
}

static void a_relay_that_loses_repeats_and_reorders_changes_no_byte(void)
{
    rig_t *rig = rig_open();
    relay_t *relay = calloc(1, sizeof(*relay));
    struct sockaddr_storage ignored;
    CHECK(relay != NULL);
    relay->seed = 99;
    relay->towards_publisher = rig_socket(&relay->address);
    relay->towards_receiver = rig_socket(&ignored);
    loop_t *loop = loop_open(rig, &relay->address, &relay->receiver);
    run_to_the_end(loop, relay);
    CHECK(relay->lost > 300);
    CHECK(relay->repeated > 300);
    CHECK(relay->reordered > 300);
    CHECK_EQ(rig->counters[APY_SC_INVALID_PACKETS], 0);
    end_it(loop, relay);
    close(relay->towards_publisher);
    close(relay->towards_receiver);
    free(relay);
    loop_close(loop);
    rig_close(rig);
}

/* --- on threads --- */

typedef struct threads {
    loop_t *loop;
    int32_t is_stopped;
} threads_t;

static void *run_sender(void *argument)
{
    threads_t *threads = argument;
    while (!apy_load_acquire_i32(&threads->is_stopped)) {
        if (apy_sender_do_work(threads->loop->sender) == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void *run_receiver(void *argument)
{
    threads_t *threads = argument;
    while (!apy_load_acquire_i32(&threads->is_stopped)) {
        if (apy_receiver_do_work(threads->loop->receiver) == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void *run_core(void *argument)
{
    threads_t *threads = argument;
    while (!apy_load_acquire_i32(&threads->is_stopped)) {
        if (loop_core(threads->loop) == 0) {
            sched_yield();
        }
    }
    return NULL;
}

static void each_agent_on_its_own_thread_keeps_every_byte(void)
{
    rig_t *rig = rig_open();
    struct sockaddr_storage address;
    pthread_t agents[3];
    rig->context.clock = apy_clock_system();
    rig->context.config.loss.rate = 0.1;
    rig->context.config.loss.mask = ALL_TYPES;
    rig->context.config.loss.seed = 3;
    loop_t *loop = loop_open(rig, NULL, &address);
    threads_t threads = {loop, 0};
    CHECK_EQ(pthread_create(&agents[0], NULL, run_sender, &threads), 0);
    CHECK_EQ(pthread_create(&agents[1], NULL, run_receiver, &threads), 0);
    CHECK_EQ(pthread_create(&agents[2], NULL, run_core, &threads), 0);

    const int64_t deadline_ns = apy_nano_time(&rig->context.clock) + 120 * RIG_SECOND;
    while (loop->taken < TOTAL) {
        CHECK(apy_nano_time(&rig->context.clock) < deadline_ns);
        if (loop_offer(loop, TOTAL) + loop_take(loop) == 0) {
            sched_yield();
        }
    }
    apy_store_release_i32(&threads.is_stopped, 1);
    for (int i = 0; i < 3; i++) {
        pthread_join(agents[i], NULL);
    }
    CHECK(rig->counters[APY_SC_RETRANSMITS_SENT] > 0);
    loop_close(loop);
    rig_close(rig);
}

int main(void)
{
    RUN(without_loss_nothing_is_resent);
    RUN(a_tenth_lost_both_ways_changes_no_byte);
    RUN(a_relay_that_loses_repeats_and_reorders_changes_no_byte);
    RUN(each_agent_on_its_own_thread_keeps_every_byte);
    return 0;
}
