"""Subscriptions that read network publications of this driver in place (spec: client/driver protocol, 10.3)."""

from __future__ import annotations

from typing import Any

from aeronpy.driver.channels.channel_values import SPY_CHANNEL_PREFIX, flag_of, i32_of, parse_channel
from aeronpy.driver.channels.udp_channel import UdpChannel
from aeronpy.driver.conductor import replies
from aeronpy.driver.conductor.commands import AddSubscription, Destination
from aeronpy.driver.conductor.counters import NULL_ID
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.driver.conductor.tasks import Task
from aeronpy.driver.subscriptions.streams import Stream, Subscription
from aeronpy.driver.subscriptions.subscriptions import Subscriptions
from aeronpy.protocol import ErrorCode


class SpySubscription(Subscription):
    """Reads a network publication of this driver in place."""

    def __init__(self, *subscription: Any, udp: UdpChannel) -> None:
        super().__init__(*subscription)
        self.udp = udp

    def sees(self, stream_id: int, session_id: int, udp: UdpChannel) -> bool:
        """Does it want this publication?"""
        if stream_id != self.stream_id:
            return False
        if self.udp.channel_tag is not None and self.udp.channel_tag == udp.channel_tag:
            return True
        return self.takes(stream_id, session_id) and self.udp.canonical_form == udp.canonical_form


class SpySubscriptions(Subscriptions[SpySubscription]):
    """Subscriptions to ``aeron-spy:aeron:udp``."""

    def add(self, command: AddSubscription) -> Task[SpySubscription]:
        """Known, and answered; the caller links what matches."""
        self._clients.get_or_add(command.client_id)
        subscription = yield from self._open(command, command.correlation_id, command.stream_id)
        self._office.send(replies.subscription_ready(command.correlation_id, NULL_ID))
        return subscription

    def add_destination(self, command: Destination, stream_id: int) -> Task[SpySubscription]:
        """One more part of a multi-destination subscription; the caller answers, and links what matches."""
        return (yield from self._open(command, command.registration_id, stream_id))

    def _open(
        self, command: AddSubscription | Destination, registration_id: int, stream_id: int
    ) -> Task[SpySubscription]:
        uri = parse_channel(command.channel)
        if not uri.is_udp:
            raise refuse(ErrorCode.INVALID_CHANNEL, f"a spy needs a UDP channel: {command.channel}")
        context = self._office.context
        plain = command.channel.removeprefix(SPY_CHANNEL_PREFIX)
        subscription = SpySubscription(
            registration_id,
            command.client_id,
            stream_id,
            command.channel,
            i32_of(uri, "session-id"),
            flag_of(uri, "tether", context.tether_subscriptions),
            flag_of(uri, "rejoin", context.rejoin_stream),
            udp=(yield from self._office.naming.parse_channel(plain, uri)),
        )
        self._subscriptions.append(subscription)
        return subscription

    def link(self, subscription: SpySubscription, stream: Stream, udp: UdpChannel) -> None:
        """Join them if they match; ``udp`` is the publication's channel."""
        if subscription.sees(stream.stream_id, stream.session_id, udp):
            self._link(subscription, stream)
