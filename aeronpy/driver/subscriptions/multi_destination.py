"""Destinations of multi-destination subscriptions (spec: client/driver protocol, 11.2)."""

from __future__ import annotations

from aeronpy.driver.channels.channel_values import IPC_PREFIX, SPY_CHANNEL_PREFIX, check_destination, parse_channel
from aeronpy.driver.channels.udp_channel import UdpChannel
from aeronpy.driver.conductor import replies
from aeronpy.driver.conductor.commands import Destination
from aeronpy.driver.conductor.office import Office
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.driver.conductor.tasks import Task
from aeronpy.driver.subscriptions.ipc_subscriptions import IpcSubscriptions
from aeronpy.driver.subscriptions.network_subscriptions import NetworkSubscription, NetworkSubscriptions
from aeronpy.driver.subscriptions.spy_subscriptions import SpySubscription, SpySubscriptions
from aeronpy.driver.subscriptions.streams import Subscription
from aeronpy.driver.subscriptions.subscriptions import S, Subscriptions
from aeronpy.protocol import ErrorCode


class MultiDestination:
    """Adds and removes them; what is local is one more subscription with the same registration id."""

    def __init__(
        self, office: Office, network: NetworkSubscriptions, ipc: IpcSubscriptions, spies: SpySubscriptions
    ) -> None:
        self._office = office
        self._network = network
        self._ipc = ipc
        self._spies = spies

    def add(self, command: Destination) -> Task[Subscription | SpySubscription | None]:
        """Known and answered; what is returned, the caller links to what matches."""
        subscription = self._find(command)
        added: Subscription | None = None
        if command.channel.startswith(IPC_PREFIX):
            added = self._ipc.add_destination(command, subscription.stream_id)
        elif command.channel.startswith(SPY_CHANNEL_PREFIX):
            added = yield from self._spies.add_destination(command, subscription.stream_id)
        else:
            check_destination(parse_channel(command.channel))
            udp = yield from self._parse(command)
            self._find(command).endpoint.add_destination(udp, command.correlation_id)
        self._office.send(replies.operation_success(command.correlation_id))
        return added

    def remove(self, command: Destination) -> Task[None]:
        """Gone and answered, also where a network destination was not there."""
        subscription = self._find(command)
        if command.channel.startswith(IPC_PREFIX):
            self._remove_local(self._ipc, command)
        elif command.channel.startswith(SPY_CHANNEL_PREFIX):
            self._remove_local(self._spies, command)
        else:
            udp = yield from self._parse(command)
            subscription.endpoint.remove_destination(udp)
            self._office.send(replies.operation_success(command.correlation_id))

    def _remove_local(self, kind: Subscriptions[S], command: Destination) -> None:
        found = kind.find_destination(command.client_id, command.registration_id, command.channel)
        if found is None:
            raise refuse(
                ErrorCode.UNKNOWN_SUBSCRIPTION,
                f"unknown destination: client_id={command.client_id} registration_id={command.registration_id} "
                f"channel={command.channel}",
            )
        self._office.send(replies.operation_success(command.correlation_id))
        for stream in found.streams:
            stream.tell_unavailable(found)
        kind.drop(found)

    def _find(self, command: Destination) -> NetworkSubscription:
        """The subscription whose destinations these are."""
        found = self._network.find(command.registration_id, command.client_id)
        if found is None:
            raise refuse(
                ErrorCode.UNKNOWN_SUBSCRIPTION,
                f"unknown subscription: client_id={command.client_id} registration_id={command.registration_id}",
            )
        if not found.endpoint.is_multi_destination:
            raise refuse(
                ErrorCode.INVALID_CHANNEL,
                f"channel does not allow manual control of destinations, it needs control-mode=manual: {found.channel}",
            )
        return found

    def _parse(self, command: Destination) -> Task[UdpChannel]:
        uri = parse_channel(command.channel)
        return (yield from self._office.naming.parse_channel(command.channel, uri, is_destination=True))
