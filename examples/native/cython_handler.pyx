# cython: language_level=3
# distutils: extra_compile_args=-O2
"""The strategy's handler in Cython: nothing in it needs the interpreter."""
from libc.stdint cimport int32_t, int64_t, uint8_t

from aeronpy cimport native_api

cdef enum:
    WINDOW = 64

ctypedef struct tick_t:
    int64_t time_ns
    int64_t price
    int32_t instrument
    int32_t size

ctypedef struct order_t:
    int64_t time_ns
    int64_t price
    int32_t instrument
    int32_t side

# STATE of market.py; the table is the one that this module was compiled for.
ctypedef struct strategy_t:
    const native_api.aeronpy_api_t *api
    native_api.aeronpy_publication_t *orders
    native_api.aeronpy_claim_t claim
    int64_t seen
    int64_t sum
    int64_t sent
    int64_t refused
    int64_t[WINDOW] prices

cdef const native_api.aeronpy_api_t *api = native_api.aeronpy_import()


cdef void send_order(strategy_t *strategy, const tick_t *tick, int32_t side) noexcept nogil:
    cdef int64_t position = native_api.AERONPY_ADMIN_ACTION
    cdef order_t *order
    while position == native_api.AERONPY_ADMIN_ACTION:
        position = api.try_claim(strategy.orders, sizeof(order_t), &strategy.claim)
    if position < 0:
        strategy.refused += 1
        return
    order = <order_t *>strategy.claim.data
    order.time_ns = tick.time_ns
    order.price = tick.price
    order.instrument = tick.instrument
    order.side = side
    api.commit(strategy.orders, &strategy.claim)
    strategy.sent += 1


cdef void on_tick(void *context, const uint8_t *buffer, size_t length,
                  const native_api.aeronpy_header_t *header) noexcept nogil:
    cdef strategy_t *strategy = <strategy_t *>context
    cdef const tick_t *tick = <const tick_t *>buffer
    cdef int64_t scaled
    cdef int64_t *place
    if length != sizeof(tick_t):
        return
    place = &strategy.prices[strategy.seen % WINDOW]
    strategy.sum += tick.price - place[0]
    place[0] = tick.price
    strategy.seen += 1
    if strategy.seen < WINDOW:
        return
    scaled = tick.price * WINDOW * 1000
    if scaled > strategy.sum * 1002:
        send_order(strategy, tick, -1)
    elif scaled < strategy.sum * 998:
        send_order(strategy, tick, 1)


def handler():
    """The handler's address, for ``Subscription.poll_native``."""
    return <size_t>&on_tick
