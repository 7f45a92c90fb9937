"""Subscriptions to IPC (spec: client/driver protocol, 10.2)."""

from __future__ import annotations

from dataclasses import dataclass

from aeronpy.driver import replies
from aeronpy.driver.channel_values import flag_of, i32_of, parse_channel
from aeronpy.driver.commands import AddSubscription
from aeronpy.driver.counters import NULL_ID
from aeronpy.driver.streams import Stream, Subscription
from aeronpy.driver.subscriptions import Subscriptions


@dataclass(eq=False, slots=True)
class IpcSubscription(Subscription):
    """Reads IPC publications; one that waits for answers takes nothing until it knows their session."""

    awaits_response: bool

    def takes(self, stream_id: int, session_id: int) -> bool:
        """Does it want this stream of this session?"""
        return not self.awaits_response and Subscription.takes(self, stream_id, session_id)


class IpcSubscriptions(Subscriptions[IpcSubscription]):
    """Subscriptions to ``aeron:ipc``."""

    def add(self, command: AddSubscription) -> IpcSubscription:
        """Known, and answered; the caller links what matches."""
        uri = parse_channel(command.channel)
        context = self._office.context
        subscription = IpcSubscription(
            command.correlation_id,
            command.client_id,
            command.stream_id,
            command.channel,
            i32_of(uri, "session-id"),
            flag_of(uri, "tether", context.tether_subscriptions),
            flag_of(uri, "rejoin", context.rejoin_stream),
            awaits_response=uri.get("control-mode") == "response",
        )
        self._clients.get_or_add(command.client_id)
        self._subscriptions.append(subscription)
        self._office.send(replies.subscription_ready(command.correlation_id, NULL_ID))
        return subscription

    def expect(self, registration_id: int, session_id: int) -> None:
        """The answers that a subscription waits for come in this session."""
        for one in self:
            if one.registration_id == registration_id and one.awaits_response:
                one.session_id = session_id
                one.awaits_response = False

    def link(self, subscription: IpcSubscription, stream: Stream) -> None:
        """Join them if they match."""
        if subscription.takes(stream.stream_id, stream.session_id):
            self._link(subscription, stream)
