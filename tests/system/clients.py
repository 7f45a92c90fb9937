"""What the tests of the client share: connected pairs, and waiting with a deadline."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from aeronpy import Aeron, ExclusivePublication, FragmentView, Header, Subscription
from tests.waiting import until

CHANNEL = "aeron:ipc?term-length=64k"
DEADLINE_S = 20.0
STREAMS = itertools.count(1001)
Pair = tuple[ExclusivePublication, Subscription]


def connected_pair(aeron: Aeron) -> Pair:
    """An exclusive publication and a subscription that are connected, on a stream of their own."""
    stream_id = next(STREAMS)
    subscription = aeron.add_subscription(CHANNEL, stream_id)
    publication = aeron.add_exclusive_publication(CHANNEL, stream_id)
    until(lambda: subscription.is_connected and publication.is_connected and publication.available_window > 0)
    return publication, subscription


def poll_until(subscription: Subscription, handler: Callable[[FragmentView, Header], object], count: int) -> None:
    polled = 0

    def enough() -> bool:
        nonlocal polled
        polled += subscription.poll(handler, 10)
        return polled >= count

    until(enough)
