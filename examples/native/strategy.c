/* The strategy in C: a handler for polls, which needs nothing but aeronpy.h. */
#include "aeronpy.h"

#define WINDOW 64

typedef struct tick {
    int64_t time_ns, price;
    int32_t instrument, size;
} tick_t;

typedef struct order {
    int64_t time_ns, price;
    int32_t instrument, side;
} order_t;

/* STATE of market.py. */
typedef struct strategy {
    const aeronpy_api_t *api;
    aeronpy_publication_t *orders;
    aeronpy_claim_t claim;
    int64_t seen, sum, sent, refused;
    int64_t prices[WINDOW];
} strategy_t;

static void send_order(strategy_t *strategy, const tick_t *tick, int32_t side)
{
    const aeronpy_api_t *api = strategy->api;
    int64_t position;
    do {
        position = api->try_claim(strategy->orders, sizeof(order_t), &strategy->claim);
    } while (position == AERONPY_ADMIN_ACTION);
    if (position < 0) {
        strategy->refused++;
        return;
    }
    order_t *order = (order_t *)(void *)strategy->claim.data;
    *order = (order_t){tick->time_ns, tick->price, tick->instrument, side};
    api->commit(strategy->orders, &strategy->claim);
    strategy->sent++;
}

static void on_tick(void *context, const uint8_t *buffer, size_t length, const aeronpy_header_t *header)
{
    strategy_t *strategy = context;
    const tick_t *tick = (const tick_t *)(const void *)buffer;
    (void)header;
    if (length != sizeof(*tick)) {
        return;
    }
    int64_t *place = &strategy->prices[strategy->seen++ % WINDOW];
    strategy->sum += tick->price - *place;
    *place = tick->price;
    if (strategy->seen < WINDOW) {
        return;
    }
    const int64_t scaled = tick->price * WINDOW * 1000;
    const int32_t side = scaled > strategy->sum * 1002 ? -1 : scaled < strategy->sum * 998 ? 1 : 0;
    if (side != 0) {
        send_order(strategy, tick, side);
    }
}
