"""Sockets and who shares them (spec: client/driver protocol, 9.3 and 17.4; network protocol, 2.9)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Generic, TypeVar

from aeronpy._core.native import ReceiveEndpointCore, SendEndpointCore
from aeronpy.driver.counters import EndpointCounters
from aeronpy.driver.error_code import ErrorCode, refuse
from aeronpy.driver.log_events import LogEvent
from aeronpy.driver.office import Office
from aeronpy.driver.udp_channel import UdpChannel
from aeronpy.errors import AeronTimeoutError, CapacityError

_QUEUE_WAIT_S: Final = 5.0
_QUEUE_POLL_S: Final = 0.001


def when_there_is_room(act: Callable[[], None]) -> None:
    """Do what puts something into an agent's queue, again while the queue is full."""
    deadline = time.monotonic() + _QUEUE_WAIT_S
    while True:
        try:
            return act()
        except CapacityError:
            if time.monotonic() > deadline:
                raise AeronTimeoutError(f"an agent's queue had no room for {_QUEUE_WAIT_S} s") from None
            time.sleep(_QUEUE_POLL_S)


class ChannelEndpoint:
    """What send and receive endpoints have in common: a channel, its counters, the life of a socket."""

    def __init__(self, office: Office, channel: UdpChannel, endpoint_id: int, *, is_send: bool) -> None:
        self.office = office
        self.channel = channel
        self.endpoint_id = endpoint_id
        self.remote = channel.remote  # by now: names may get new addresses
        self.is_closing = False
        self._holds = 0
        office.name_endpoint(endpoint_id, channel.text)
        settings = self._settings()
        self.so_sndbuf: int = settings["so_sndbuf"]
        self.so_rcvbuf: int = settings["so_rcvbuf"]
        self.counters = EndpointCounters(
            office.core, is_send=is_send, channel=channel.text, registration_id=endpoint_id
        )
        make = SendEndpointCore if is_send else ReceiveEndpointCore
        try:
            self._core: SendEndpointCore | ReceiveEndpointCore = make(
                office.core, settings, endpoint_id, self.counters.status_id
            )
        except BaseException:
            self.counters.free()
            raise
        try:
            self._start()
        except BaseException:
            self.free()
            raise
        self.office.note(LogEvent.SEND_CHANNEL_CREATION if is_send else LogEvent.RECEIVE_CHANNEL_CREATION, self._text())

    def _text(self) -> str:
        return f"localData: {self.channel.local}, remoteData: {self.remote}, ttl: {self.channel.ttl}"

    def _settings(self) -> dict[str, Any]:
        """For the native half."""
        return self.channel.native_settings(self.office.context)

    def _start(self) -> None:
        """Its agent gets to know it, and its counters where it is bound."""
        raise NotImplementedError

    @property
    def status_id(self) -> int:
        """The channel's status counter."""
        return self.counters.status_id

    @property
    def effective_sndbuf(self) -> int:
        """What the socket can send at once."""
        return self.so_sndbuf or self.office.os_sndbuf[0]

    @property
    def effective_rcvbuf(self) -> int:
        """What the socket can hold."""
        return self.so_rcvbuf or self.office.os_rcvbuf[0]

    @property
    def is_used(self) -> bool:
        """Does anything need it?"""
        raise NotImplementedError

    @contextmanager
    def held(self) -> Iterator[None]:
        """It stays open meanwhile: somebody makes what will use it."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self.close_if_unused()

    def close_if_unused(self) -> None:
        """After the last user its agent lets go of it; `free` follows."""
        if not self.is_used and self._holds == 0 and not self.is_closing:
            self.is_closing = True
            self._closing()
            when_there_is_room(self._core.remove)

    def _closing(self) -> None:
        """Its counters say that it is on its way out."""
        self.counters.closing()

    def free(self) -> None:
        """Its agent let go of it."""
        self._core.free()
        self.counters.free()
        is_send = isinstance(self._core, SendEndpointCore)
        self.office.note(LogEvent.SEND_CHANNEL_CLOSE if is_send else LogEvent.RECEIVE_CHANNEL_CLOSE, self._text())


E = TypeVar("E", bound=ChannelEndpoint)


class ChannelEndpoints(Generic[E]):
    """All send endpoints, or all receive endpoints: whoever receives may name nothing but a tag, and get any port."""

    def __init__(self, office: Office, make: Callable[[Office, UdpChannel, int], E], *, is_send: bool) -> None:
        self._office = office
        self._make = make
        self._is_send = is_send
        self._endpoints: dict[int, E] = {}

    def __iter__(self) -> Iterator[E]:
        return iter(list(self._endpoints.values()))

    def get(self, endpoint_id: int) -> E | None:
        """An endpoint that is not freed yet."""
        return self._endpoints.get(endpoint_id)

    def find(self, channel: UdpChannel) -> E | None:
        """The endpoint that a channel shares, by tag or by canonical form; error 10 while that one is closing."""
        found = self._by_tag(channel) or self._by_form(channel)
        if found is None:
            if self._is_send and channel.channel_tag is not None and not channel.is_original:
                raise refuse(
                    ErrorCode.GENERIC_ERROR,
                    "URI must have explicit control, endpoint, or be manual control-mode when original: "
                    f"channel={channel.text}",
                )
            return None
        if found.is_closing:
            raise refuse(
                ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE,
                f"{found.channel.canonical_form} found in CLOSING state, please retry",
            )
        self._check_same(found, channel)
        return found

    def _by_tag(self, channel: UdpChannel) -> E | None:
        if channel.channel_tag is None:
            return None
        for one in self:
            if one.channel.channel_tag == channel.channel_tag:
                channel.check_tag_match(one.channel, one.remote)
                return one
        return None

    def _by_form(self, channel: UdpChannel) -> E | None:
        for one in self:
            tags = {one.channel.channel_tag, channel.channel_tag} - {None}
            if one.channel.canonical_form == channel.canonical_form and len(tags) < 2:
                return one
        return None

    @staticmethod
    def _check_same(endpoint: E, channel: UdpChannel) -> None:
        for name, existing, wanted in (
            ("so-sndbuf", endpoint.so_sndbuf, channel.so_sndbuf),
            ("so-rcvbuf", endpoint.so_rcvbuf, channel.so_rcvbuf),
        ):
            if wanted is not None and wanted != existing:
                raise refuse(
                    ErrorCode.GENERIC_ERROR,
                    f"{name}={wanted} does not match existing value of {existing}: "
                    f"existingChannel={endpoint.channel.text} channel={channel.text}",
                )

    def open(self, channel: UdpChannel, endpoint_id: int) -> E:
        """A new endpoint with its socket bound."""
        endpoint = self._make(self._office, channel, endpoint_id)
        self._endpoints[endpoint_id] = endpoint
        return endpoint

    def on_gone(self, endpoint_id: int) -> None:
        """The agent let go of one."""
        endpoint = self._endpoints.pop(endpoint_id, None)
        if endpoint is not None:
            endpoint.free()
