"""Subscriptions to IPC (spec: client/driver protocol, 10.2)."""

from __future__ import annotations

from aeronpy.driver.channels.channel_values import flag_of, i32_of, parse_channel
from aeronpy.driver.conductor import replies
from aeronpy.driver.conductor.commands import AddSubscription, Destination
from aeronpy.driver.conductor.counters import NULL_ID
from aeronpy.driver.subscriptions.streams import Stream, Subscription
from aeronpy.driver.subscriptions.subscriptions import Subscriptions
from aeronpy.uri import ChannelUri


class IpcSubscriptions(Subscriptions[Subscription]):
    """Subscriptions to ``aeron:ipc``."""

    def add(self, command: AddSubscription) -> Subscription:
        """Known, and answered; the caller links what matches."""
        uri = parse_channel(command.channel)
        self._clients.get_or_add(command.client_id)
        subscription = self._open(command, command.correlation_id, uri, command.stream_id)
        self._office.send(replies.subscription_ready(command.correlation_id, NULL_ID))
        return subscription

    def add_destination(self, command: Destination, stream_id: int) -> Subscription:
        """One more part of a multi-destination subscription; the caller answers, and links what matches."""
        return self._open(command, command.registration_id, parse_channel(command.channel), stream_id)

    def _open(
        self, command: AddSubscription | Destination, registration_id: int, uri: ChannelUri, stream_id: int
    ) -> Subscription:
        context = self._office.context
        subscription = Subscription(
            registration_id,
            command.client_id,
            stream_id,
            command.channel,
            i32_of(uri, "session-id"),
            flag_of(uri, "tether", context.tether_subscriptions),
            flag_of(uri, "rejoin", context.rejoin_stream),
            is_response=uri.get("control-mode") == "response",
        )
        self._subscriptions.append(subscription)
        return subscription

    def on_response(self, registration_id: int, session_id: int) -> Subscription | None:
        """A response subscription is told the session that answers it; the caller links what matches."""
        subscription = self.find(registration_id)
        if subscription is None or not subscription.is_response:
            return None
        subscription.session_id = session_id
        subscription.is_response = False
        return subscription

    def link(self, subscription: Subscription, stream: Stream) -> None:
        """Join them if they match."""
        if subscription.takes(stream.stream_id, stream.session_id):
            self._link(subscription, stream)
