"""The flow programs on the real C client."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pyaeron

from tests.interop.programs import flow


class Publishing:
    def __init__(self, publication: Any) -> None:
        self._publication = publication
        self.session_id: int = publication.session_id

    def offer(self, payload: bytes) -> int:
        if self._publication.offer(payload):
            return int(self._publication.last_position)
        return 0

    def check(self) -> None:
        if self._publication.is_closed:
            raise flow.FlowError("the publication was closed")

    def add_destination(self, channel: str) -> None:
        raise flow.FlowError(f"pyaeron's publications have no destinations: {channel}")


class Subscribing:
    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription
        self._on_message: Callable[[int, int, bytes], None] | None = None
        # pyaeron starts a new assembly, and drops the old one, whenever it sees another handler object.
        self._handler = self._on_fragment

    def _on_fragment(self, buffer: Any, header: Any) -> None:
        assert self._on_message is not None
        self._on_message(header.session_id, header.position, bytes(buffer))

    def poll(self, on_message: Callable[[int, int, bytes], None]) -> int:
        self._on_message = on_message
        if self._subscription.is_closed:
            raise flow.FlowError("the subscription was closed")
        return int(self._subscription.poll(self._handler, flow.FRAGMENTS_PER_POLL, assemble=True))

    def add_destination(self, channel: str) -> None:
        raise flow.FlowError("this Python binding of the C client has no destinations")

    def remove_destination(self, channel: str) -> None:
        raise flow.FlowError("this Python binding of the C client has no destinations")


class Client:
    def __init__(self, aeron_dir: str, driver_timeout_ms: int) -> None:
        self._aeron = pyaeron.Aeron.connect(dir=aeron_dir)

    def publish(self, channel: str, stream_id: int, exclusive: bool) -> Publishing:
        add = self._aeron.add_exclusive_publication if exclusive else self._aeron.add_publication
        return Publishing(add(channel, stream_id))

    def subscribe(
        self, channel: str, stream_id: int, on_image: Callable[[int], None], on_gone: Callable[[int], None]
    ) -> Subscribing:
        return Subscribing(
            self._aeron.add_subscription(
                channel,
                stream_id,
                available_image=lambda _, image: on_image(image.session_id),
                unavailable_image=lambda _, image: on_gone(image.session_id),
            )
        )

    def close(self) -> None:
        self._aeron.close()


if __name__ == "__main__":
    sys.exit(flow.main(Client))
