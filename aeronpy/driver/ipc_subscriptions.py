"""Subscriptions to IPC (spec: client/driver protocol, 10.2)."""

from __future__ import annotations

from aeronpy.driver import replies
from aeronpy.driver.channel_values import flag_of, i32_of, parse_channel, refuse_unsupported
from aeronpy.driver.commands import AddSubscription
from aeronpy.driver.counters import NULL_ID
from aeronpy.driver.streams import Stream, Subscription
from aeronpy.driver.subscriptions import Subscriptions


class IpcSubscriptions(Subscriptions[Subscription]):
    """Subscriptions to ``aeron:ipc``."""

    def add(self, command: AddSubscription) -> Subscription:
        """Known, and answered; the caller links what matches."""
        uri = parse_channel(command.channel)
        refuse_unsupported(uri)
        context = self._office.context
        subscription = Subscription(
            command.correlation_id,
            command.client_id,
            command.stream_id,
            command.channel,
            i32_of(uri, "session-id"),
            flag_of(uri, "tether", context.tether_subscriptions),
            flag_of(uri, "rejoin", context.rejoin_stream),
        )
        self._clients.get_or_add(command.client_id)
        self._subscriptions.append(subscription)
        self._office.send(replies.subscription_ready(command.correlation_id, NULL_ID))
        return subscription

    def link(self, subscription: Subscription, stream: Stream) -> None:
        """Join them if they match."""
        if subscription.takes(stream.stream_id, stream.session_id):
            self._link(subscription, stream)
