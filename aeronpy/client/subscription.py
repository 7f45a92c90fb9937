"""Subscriptions: what a client receives from."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from aeronpy._core.native import FragmentAssembler, FragmentView, Header, Image, SubscriptionBase
from aeronpy.client import protocol
from aeronpy.client.message import Message
from aeronpy.client.protocol import Command
from aeronpy.client.resource import ChannelResource
from aeronpy.errors import ArgumentError, StateError
from aeronpy.uri import ChannelUri

if TYPE_CHECKING:
    from aeronpy.client.conductor import Conductor

_MESSAGES_PER_POLL: Final = 64


class Subscription(ChannelResource, SubscriptionBase):
    """Receives a stream from all who send it. Polls are for one thread at a time."""

    _ADD: ClassVar = Command.ADD_RCV_DESTINATION
    _REMOVE: ClassVar = Command.REMOVE_RCV_DESTINATION

    def __init__(self) -> None:
        ahead: deque[Message] = deque()

        def keep(buffer: FragmentView, header: Header) -> None:
            ahead.append(Message(bytes(buffer), header.position, header.session_id, header.reserved_value))

        self._ahead = ahead
        self._assembler_ahead = FragmentAssembler(keep)

    def messages(self, limit: int | None = None, *, timeout_s: float | None = None) -> Iterator[Message]:
        """Iterate over whole messages, each owning its bytes, waiting without the GIL where there are none.

        Ends after ``limit`` messages, when none came for ``timeout_s``, or when the subscription is closed. Up to 64
        fragments are read ahead: the position moves then, and where the caller stops in between, the next call goes
        on with the message that it would have got, as it does with one of which only a part has come.
        """
        ahead, assembler = self._ahead, self._assembler_ahead
        left = limit if limit is not None else -1
        deadline = time.monotonic() + timeout_s if timeout_s is not None else None
        while left != 0:
            if ahead:
                left -= 1
                yield ahead.popleft()
                if timeout_s is not None:
                    deadline = time.monotonic() + timeout_s
                continue
            if self.is_closed:
                return
            if self.poll(assembler, min(left, _MESSAGES_PER_POLL) if left > 0 else _MESSAGES_PER_POLL) == 0:
                rest = None if deadline is None else deadline - time.monotonic()
                if rest is not None and rest <= 0:
                    return
                self.wait(rest)

    def close(self) -> None:
        """Close here at once, with all images, and at the driver. Twice is fine."""
        conductor = self._conductor
        if conductor is None or self.is_closed:
            return
        client_id = conductor.core.client_id
        conductor.close_resource(
            self,
            Command.REMOVE_SUBSCRIPTION,
            lambda correlation_id: protocol.remove(client_id, correlation_id, self.registration_id),
        )
        self._aeron = None

    def __repr__(self) -> str:
        return (
            f"Subscription(channel={self.channel!r}, stream_id={self.stream_id}, "
            f"images={self.image_count}{', closed' if self.is_closed else ''})"
        )

    def _live_owner(self) -> Conductor:
        assert self._conductor is not None
        self._conductor.check_open()
        if self.is_closed:
            raise StateError(f"{self!r} cannot be changed any more")
        return self._conductor

    def _destinations_id(self) -> int:
        return self.registration_id

    @property
    def resolved_endpoint(self) -> str | None:
        """The first address bound to; None until there is one."""
        return next(iter(self.local_socket_addresses), None)

    def try_resolve_channel_endpoint_port(self) -> str | None:
        """The channel with its endpoint's port 0 replaced by the bound one; None until that is known."""
        channel = ChannelUri.parse(self.channel, strict=False)
        endpoint = channel.get("endpoint")
        if endpoint is None or not endpoint.endswith(":0") or channel.get("control-mode") == "manual":
            return self.channel
        bound = self.resolved_endpoint
        return None if bound is None else str(channel.replace_endpoint_wildcard_port(bound))

    def reject_image(self, image: Image, reason: str) -> None:
        """Refuse an image: its publisher is told why, and it goes away; waits for the driver.

        Raises RegistrationError, ArgumentError for reasons above 1011 characters, StateError for images of a spy.
        """
        if len(reason) > protocol.MAX_REASON_LENGTH:
            raise ArgumentError(f"a reason of {len(reason)} characters: at most {protocol.MAX_REASON_LENGTH}")
        if self.channel.startswith("aeron-spy:"):
            raise StateError(f"{image!r} is a spy's, and a spy only watches: it cannot reject the publisher's stream")
        self._live_owner().ask(
            Command.REJECT_IMAGE,
            lambda client_id, correlation_id: protocol.reject_image(
                client_id, correlation_id, image.correlation_id, image.position, reason
            ),
            f"REJECT_IMAGE {image.correlation_id}",
        )
