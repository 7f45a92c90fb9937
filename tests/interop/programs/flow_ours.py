"""The flow programs on our client."""

from __future__ import annotations

import sys
from collections.abc import Callable

from aeronpy import (
    Aeron,
    ExclusivePublication,
    FragmentAssembler,
    FragmentView,
    Header,
    Image,
    OfferResult,
    Publication,
    Subscription,
)
from tests.interop.programs import flow

LASTING = (OfferResult.CLOSED, OfferResult.MAX_POSITION_EXCEEDED)


class Publishing:
    def __init__(self, aeron: Aeron, publication: Publication | ExclusivePublication) -> None:
        self._aeron = aeron
        self._publication = publication
        self.session_id: int = publication.session_id

    def offer(self, payload: bytes) -> int:
        result = self._publication.offer(payload)
        if result > 0:
            return int(result)
        if result in LASTING:
            self.check()
            raise flow.FlowError(f"offer answered {result!r}")
        return 0

    def check(self) -> None:
        if self._aeron.is_closed:
            # Raises what ended the client.
            self._aeron.next_correlation_id()

    def add_destination(self, channel: str) -> None:
        self._publication.add_destination(channel)


class Subscribing:
    def __init__(self, aeron: Aeron, subscription: Subscription) -> None:
        self._aeron = aeron
        self._subscription = subscription
        self._on_message: Callable[[int, int, bytes], None] | None = None
        self._assembler = FragmentAssembler(self._on_fragment)

    def _on_fragment(self, buffer: FragmentView, header: Header) -> None:
        assert self._on_message is not None
        self._on_message(header.session_id, header.position, bytes(buffer))

    def poll(self, on_message: Callable[[int, int, bytes], None]) -> int:
        self._on_message = on_message
        if self._aeron.is_closed:
            self._aeron.next_correlation_id()
        return self._subscription.poll(self._assembler, flow.FRAGMENTS_PER_POLL)

    def add_destination(self, channel: str) -> None:
        self._subscription.add_destination(channel)

    def remove_destination(self, channel: str) -> None:
        self._subscription.remove_destination(channel)


class Client:
    def __init__(self, aeron_dir: str, driver_timeout_ms: int) -> None:
        self._aeron = Aeron.connect(aeron_dir=aeron_dir, driver_timeout_ms=driver_timeout_ms)

    def publish(self, channel: str, stream_id: int, exclusive: bool) -> Publishing:
        add = self._aeron.add_exclusive_publication if exclusive else self._aeron.add_publication
        return Publishing(self._aeron, add(channel, stream_id))

    def subscribe(
        self, channel: str, stream_id: int, on_image: Callable[[int], None], on_gone: Callable[[int], None]
    ) -> Subscribing:
        def available(image: Image) -> None:
            on_image(image.session_id)

        def unavailable(image: Image) -> None:
            on_gone(image.session_id)

        return Subscribing(self._aeron, self._aeron.add_subscription(channel, stream_id, available, unavailable))

    def close(self) -> None:
        self._aeron.close()


if __name__ == "__main__":
    sys.exit(flow.main(Client))
