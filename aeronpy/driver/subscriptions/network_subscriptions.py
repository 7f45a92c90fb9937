"""Subscriptions to the network, and the endpoints they receive on (spec: client/driver protocol, 10.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aeronpy.driver.channels.channel_endpoints import ChannelEndpoints
from aeronpy.driver.channels.channel_values import (
    bad_value,
    duration_of,
    flag_of,
    i32_of,
    parse_channel,
    size_of,
)
from aeronpy.driver.channels.udp_channel import ControlMode, UdpChannel
from aeronpy.driver.channels.wildcard_ports import WildcardPorts
from aeronpy.driver.conductor import replies
from aeronpy.driver.conductor.clients import Clients
from aeronpy.driver.conductor.commands import AddSubscription
from aeronpy.driver.conductor.office import Office
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.driver.conductor.tasks import Task
from aeronpy.driver.event_log.log_events import LogEvent
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.driver.subscriptions.congestion import congestion_of
from aeronpy.driver.subscriptions.receive_endpoints import ReceiveEndpoint
from aeronpy.driver.subscriptions.streams import Stream, Subscription
from aeronpy.driver.subscriptions.subscriptions import Subscriptions
from aeronpy.protocol import ErrorCode
from aeronpy.uri import ChannelUri

_GROUPS = {None: None, "infer": None, "true": True, "false": False}


class NetworkSubscription(Subscription):
    """Receives on an endpoint."""

    def __init__(
        self,
        *subscription: Any,
        is_response: bool,
        endpoint: ReceiveEndpoint,
        reliable: bool,
        sparse: bool,
        group: bool | None,
        congestion: str,
        window_length: int,
        nak_delay_ns: int,
        untethered_window_limit_ns: int,
        untethered_linger_ns: int,
        untethered_resting_ns: int,
    ) -> None:
        super().__init__(*subscription, is_response=is_response)
        self.endpoint = endpoint
        self.reliable = reliable
        self.sparse = sparse
        self.group = group
        self.congestion = congestion
        self.window_length = window_length
        self.nak_delay_ns = nak_delay_ns
        self.untethered_window_limit_ns = untethered_window_limit_ns
        self.untethered_linger_ns = untethered_linger_ns
        self.untethered_resting_ns = untethered_resting_ns

    def check_agrees(self, other: NetworkSubscription) -> None:
        """Error 11 where two subscriptions to the same stream want it otherwise."""
        for name in ("reliable", "rejoin", "is_response"):
            existing, wanted = getattr(self, name), getattr(other, name)
            if existing != wanted:
                raise refuse(
                    ErrorCode.GENERIC_ERROR,
                    f"option conflicts with existing subscription: {name}={str(wanted).lower()} "
                    f"existingChannel={self.channel} channel={other.channel}",
                )


class NetworkSubscriptions(Subscriptions[NetworkSubscription]):
    """Subscriptions to ``aeron:udp``, and the endpoints they receive on."""

    def __init__(self, office: Office, clients: Clients) -> None:
        super().__init__(office, clients)
        self._ports = WildcardPorts(office.context.receiver_wildcard_port_range)
        self.endpoints: ChannelEndpoints[ReceiveEndpoint] = ChannelEndpoints(office, self._open_endpoint, is_send=False)

    def _open_endpoint(self, office: Office, channel: UdpChannel, endpoint_id: int) -> ReceiveEndpoint:
        return ReceiveEndpoint(office, channel, endpoint_id, self._ports)

    def add(self, command: AddSubscription) -> Task[NetworkSubscription]:
        """Known to the receiver, and answered; the caller links images that are there."""
        uri = parse_channel(command.channel)
        self._clients.get_or_add(command.client_id)
        udp = yield from self._office.naming.parse_channel(command.channel, uri)
        if udp.has_explicit_control and not udp.is_multicast and udp.local.port == 0:
            raise refuse(ErrorCode.GENERIC_ERROR, f"control has port=0 for subscription: channel={command.channel}")
        found = self.endpoints.find(udp)
        if found is not None:
            _check_timestamps(found, udp)
        window_length = self._window_length(uri, udp, found)
        subscription = _network_subscription(
            command,
            uri,
            self._office.context,
            lambda: found or self.endpoints.open(udp, command.correlation_id),
            window_length,
        )
        endpoint = subscription.endpoint
        try:
            self._check_agrees(subscription)
            self._add_interest(subscription)
        except BaseException:
            endpoint.close_if_unused()
            raise
        self._subscriptions.append(subscription)
        self._office.send(replies.subscription_ready(command.correlation_id, endpoint.status_id))
        return subscription

    def on_response(self, registration_id: int, session_id: int) -> NetworkSubscription | None:
        """A responder told which session answers a response subscription; what changed, the caller links.

        Told again, it is asked for again: what was asked may have been lost.
        """
        subscription = self.find(registration_id)
        if subscription is None or subscription.endpoint.channel.control_mode is not ControlMode.RESPONSE:
            return None
        endpoint = subscription.endpoint
        if subscription.session_id is not None:
            endpoint.elicit(subscription.stream_id, subscription.session_id)
            return None
        subscription.session_id = session_id
        subscription.is_response = False
        endpoint.add_interest(subscription.stream_id, session_id)
        endpoint.response_count -= 1
        return subscription

    def of(self, endpoint: ReceiveEndpoint, stream_id: int, session_id: int) -> list[NetworkSubscription]:
        """Who wants this stream of this session on an endpoint."""
        return [one for one in self if one.endpoint is endpoint and one.takes(stream_id, session_id)]

    def link(self, subscription: NetworkSubscription, stream: Stream, endpoint: ReceiveEndpoint) -> None:
        """Join them if they match."""
        if subscription.endpoint is endpoint and subscription.takes(stream.stream_id, stream.session_id):
            self._link(subscription, stream)

    @staticmethod
    def _add_interest(subscription: NetworkSubscription) -> None:
        if subscription.is_response and subscription.session_id is None:
            subscription.endpoint.response_count += 1
        else:
            subscription.endpoint.add_interest(subscription.stream_id, subscription.session_id)

    def _check_agrees(self, subscription: NetworkSubscription) -> None:
        for one in self:
            if (one.endpoint, one.stream_id, one.session_id) == (
                subscription.endpoint,
                subscription.stream_id,
                subscription.session_id,
            ):
                one.check_agrees(subscription)

    def _window_length(self, uri: ChannelUri, udp: UdpChannel, endpoint: ReceiveEndpoint | None) -> int:
        context = self._office.context
        length = size_of(uri, "rcv-wnd", context.rcv_initial_window_length)
        if udp.so_rcvbuf is not None:
            limit = udp.so_rcvbuf or self._office.os_rcvbuf[0]
        elif endpoint is not None:
            limit = endpoint.effective_rcvbuf
        else:
            limit = context.socket_so_rcvbuf or self._office.os_rcvbuf[0]
        if length > limit:
            raise bad_value(uri, "rcv-wnd", f"initial window of {length} is greater than so-rcvbuf={limit}")
        return length

    def drop(self, subscription: NetworkSubscription) -> None:
        """Forget one; its client is not told."""
        super().drop(subscription)
        self._office.note(
            LogEvent.REMOVE_SUBSCRIPTION_CLEANUP,
            f"streamId={subscription.stream_id} id={subscription.registration_id} channel={subscription.channel}",
        )
        if subscription.is_response and subscription.session_id is None:
            subscription.endpoint.response_count -= 1
        else:
            subscription.endpoint.remove_interest(subscription.stream_id, subscription.session_id)
        subscription.endpoint.close_if_unused()


def _check_timestamps(endpoint: ReceiveEndpoint, udp: UdpChannel) -> None:
    """Error 11 where a second subscription wants time stamps elsewhere in the same frames."""
    existing, wanted = endpoint.channel.timestamps, udp.timestamps
    for key, ours, theirs in (
        ("media-rcv-ts-offset", existing.media_receive, wanted.media_receive),
        ("channel-rcv-ts-offset", existing.channel_receive, wanted.channel_receive),
    ):
        if theirs != ours:
            raise refuse(
                ErrorCode.GENERIC_ERROR,
                f"option conflicts with existing subscription: {key}={udp.uri.get(key) or 'none'} "
                f"existingChannel={endpoint.channel.text} channel={udp.text}",
            )


def _network_subscription(
    command: AddSubscription,
    uri: ChannelUri,
    context: MediaDriverContext,
    open_endpoint: Callable[[], ReceiveEndpoint],
    window_length: int,
) -> NetworkSubscription:
    """What the channel says is read first, so that a bad value opens no socket."""
    group = uri.get("group") or context.receiver_group_consideration
    if group not in _GROUPS:
        raise bad_value(uri, "group", "it is none of true, false, infer")
    window_limit = duration_of(uri, "untethered-window-limit-timeout", context.untethered_window_limit_timeout)
    linger_default = window_limit if context.untethered_linger_timeout < 0 else context.untethered_linger_timeout
    return NetworkSubscription(
        command.correlation_id,
        command.client_id,
        command.stream_id,
        command.channel,
        i32_of(uri, "session-id"),
        flag_of(uri, "tether", context.tether_subscriptions),
        flag_of(uri, "rejoin", context.rejoin_stream),
        reliable=flag_of(uri, "reliable", context.reliable_stream),
        sparse=flag_of(uri, "sparse", context.term_buffer_sparse_file),
        group=_GROUPS[group],
        is_response=uri.get("control-mode") == "response",
        congestion=congestion_of(uri, context),
        window_length=window_length,
        nak_delay_ns=duration_of(uri, "nak-delay", -1),
        untethered_window_limit_ns=window_limit,
        untethered_linger_ns=duration_of(uri, "untethered-linger-timeout", linger_default),
        untethered_resting_ns=duration_of(uri, "untethered-resting-timeout", context.untethered_resting_timeout),
        endpoint=open_endpoint(),
    )
