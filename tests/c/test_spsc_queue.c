/* The queue between two threads: bounds, order, nothing lost. */
#include "apy/spsc_queue.h"

#include <pthread.h>
#include <sched.h>

#include "check.h"

enum { ELEMENTS = 200000 };

typedef struct element {
    int64_t number, twice, thrice;
} element_t;

static void full_and_empty_are_answers(void)
{
    apy_spsc_queue_t queue;
    CHECK_EQ(apy_spsc_queue_init(&queue, sizeof(int32_t), 3), APY_OK); /* rounded up to 4 */
    int32_t value = 0;
    for (int round = 0; round < 5; round++) {
        CHECK(!apy_spsc_queue_poll(&queue, &value));
        for (int32_t i = 0; i < 4; i++) {
            CHECK(apy_spsc_queue_offer(&queue, &i));
        }
        CHECK(!apy_spsc_queue_offer(&queue, &value));
        CHECK_EQ(apy_spsc_queue_size(&queue), 4);
        for (int32_t i = 0; i < 4; i++) {
            CHECK(apy_spsc_queue_poll(&queue, &value));
            CHECK_EQ(value, i);
        }
        CHECK_EQ(apy_spsc_queue_size(&queue), 0);
    }
    apy_spsc_queue_free(&queue);
    CHECK_EQ(apy_spsc_queue_init(&queue, 0, 3), APY_E_ARGUMENT);
    CHECK_EQ(apy_spsc_queue_init(&queue, 8, 0), APY_E_ARGUMENT);
}

static void *produce(void *argument)
{
    apy_spsc_queue_t *queue = argument;
    for (int64_t i = 0; i < ELEMENTS; i++) {
        const element_t element = {i, 2 * i, 3 * i};
        while (!apy_spsc_queue_offer(queue, &element)) {
            sched_yield();
        }
    }
    return NULL;
}

static void elements_arrive_whole_and_in_order(void)
{
    apy_spsc_queue_t queue;
    CHECK_EQ(apy_spsc_queue_init(&queue, sizeof(element_t), 64), APY_OK);
    pthread_t producer;
    CHECK_EQ(pthread_create(&producer, NULL, produce, &queue), 0);
    for (int64_t i = 0; i < ELEMENTS; i++) {
        element_t element;
        while (!apy_spsc_queue_poll(&queue, &element)) {
            sched_yield();
        }
        CHECK_EQ(element.number, i);
        CHECK_EQ(element.twice, 2 * i);
        CHECK_EQ(element.thrice, 3 * i);
    }
    CHECK_EQ(pthread_join(producer, NULL), 0);
    apy_spsc_queue_free(&queue);
}

int main(void)
{
    RUN(full_and_empty_are_answers);
    RUN(elements_arrive_whole_and_in_order);
    return 0;
}
