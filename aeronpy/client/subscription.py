"""Subscriptions: what a client receives from."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from aeronpy._core.native import FragmentAssembler, FragmentView, Header, Image, SubscriptionBase
from aeronpy.client import protocol
from aeronpy.client.message import Message
from aeronpy.client.protocol import Command
from aeronpy.client.status import channel_status, local_socket_addresses
from aeronpy.client.values import ChannelStatus
from aeronpy.errors import ArgumentError, StateError
from aeronpy.uri import ChannelUri

if TYPE_CHECKING:
    from aeronpy.client.aeron import Aeron
    from aeronpy.client.conductor import Conductor

_MESSAGES_PER_POLL: Final = 64


class Subscription(SubscriptionBase):
    """Receives a stream from all who send it. Polls are for one thread at a time."""

    _aeron: Aeron | None = None
    _conductor: Conductor | None = None

    def _own(self, aeron: Aeron | None, conductor: Conductor) -> None:
        self._aeron = aeron
        self._conductor = conductor

    def messages(self, limit: int | None = None, *, timeout_s: float | None = None) -> Iterator[Message]:
        """Iterate over whole messages, each owning its bytes, waiting without the GIL where there are none.

        Ends after ``limit`` messages, when none came for ``timeout_s``, or when the subscription is closed. The
        position moves when messages are read ahead, by at most 64 fragments.
        """
        found: list[Message] = []

        def keep(buffer: FragmentView, header: Header) -> None:
            found.append(Message(bytes(buffer), header.position, header.session_id, header.reserved_value))

        assembler = FragmentAssembler(keep)
        left = limit if limit is not None else -1
        deadline = time.monotonic() + timeout_s if timeout_s is not None else None
        while left != 0 and not self.is_closed:
            if self.poll(assembler, min(left, _MESSAGES_PER_POLL) if left > 0 else _MESSAGES_PER_POLL) == 0:
                rest = None if deadline is None else deadline - time.monotonic()
                if rest is not None and rest <= 0:
                    return
                self.wait(rest)
                continue
            for message in found:
                yield message
                left -= 1
            if found and timeout_s is not None:
                deadline = time.monotonic() + timeout_s
            found.clear()

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

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"Subscription(channel={self.channel!r}, stream_id={self.stream_id}, "
            f"images={self.image_count}{', closed' if self.is_closed else ''})"
        )

    def _owner(self) -> Conductor:
        assert self._conductor is not None
        self._conductor.check_open()
        return self._conductor

    @property
    def channel_status(self) -> ChannelStatus:
        """State of the channel's endpoint."""
        return channel_status(self._owner().core.counters, self.channel_status_id, self.is_closed)

    @property
    def local_socket_addresses(self) -> list[str]:
        """Addresses that the receiving endpoint is bound to, one per destination."""
        return local_socket_addresses(self._owner().core.counters, self.channel_status_id)

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
        if bound is None:
            return None
        return str(channel.with_params(endpoint=f"{endpoint[: -len(':0')]}:{bound.rpartition(':')[2]}"))

    def _destination(self, command: Command, channel: str) -> int:
        conductor = self._owner()
        correlation_id = conductor.core.next_correlation_id()
        body = protocol.destination(conductor.core.client_id, correlation_id, self.registration_id, channel)
        return conductor.call(command, body, correlation_id, f"{command.name} {channel}")

    def add_destination(self, channel: object) -> int:
        """Receive from one more destination (``control-mode=manual``); returns its id. Raises RegistrationError."""
        return self._destination(Command.ADD_RCV_DESTINATION, str(channel))

    def remove_destination(self, channel: object) -> None:
        """Receive from this destination no more. Raises RegistrationError."""
        self._destination(Command.REMOVE_RCV_DESTINATION, str(channel))

    def reject_image(self, image: Image, reason: str) -> None:
        """Refuse an image: its publisher is told why, and it goes away.

        Raises RegistrationError, StateError for a spy, which its publisher does not know of, and ArgumentError.
        """
        if self.channel.startswith("aeron-spy:"):
            raise StateError(f"{self.channel} is a spy: it has no publisher that could be told")
        if len(reason) > protocol.MAX_REASON_LENGTH:
            raise ArgumentError(f"a reason of {len(reason)} characters: at most {protocol.MAX_REASON_LENGTH}")
        conductor = self._owner()
        correlation_id = conductor.core.next_correlation_id()
        body = protocol.reject_image(
            conductor.core.client_id, correlation_id, image.correlation_id, image.position, reason
        )
        conductor.call(Command.REJECT_IMAGE, body, correlation_id, f"REJECT_IMAGE {image.correlation_id}")
