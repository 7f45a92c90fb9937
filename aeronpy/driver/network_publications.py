"""Publications that are sent over UDP (spec: client/driver protocol, sections 9 and 17.2)."""

from __future__ import annotations

from aeronpy._core.native import DriverLog, NetworkPublicationCore
from aeronpy.driver import replies
from aeronpy.driver.addresses import Address
from aeronpy.driver.channel_endpoints import ChannelEndpoints, when_there_is_room
from aeronpy.driver.channel_values import bad_value, parse_channel
from aeronpy.driver.clients import Clients
from aeronpy.driver.commands import AddPublication
from aeronpy.driver.counters import CounterType
from aeronpy.driver.error_code import ErrorCode, refuse
from aeronpy.driver.events import PublicationErrorEvent
from aeronpy.driver.flow_control import FlowControl
from aeronpy.driver.office import Office
from aeronpy.driver.publication_params import PublicationParams, session_tag_of
from aeronpy.driver.publications import FreshLog, Publication, Publications
from aeronpy.driver.responses import Responses
from aeronpy.driver.send_endpoints import SendEndpoint
from aeronpy.driver.tasks import UNTIL_CHANGE, Task
from aeronpy.driver.udp_channel import NO_TIMESTAMP, ControlMode, UdpChannel
from aeronpy.driver.wildcard_ports import WildcardPorts
from aeronpy.uri import ChannelUri


class NetworkPublication(Publication):
    """A log that the sender drains; spies read it in place."""

    core: NetworkPublicationCore

    def __init__(
        self,
        office: Office,
        command: AddPublication,
        params: PublicationParams,
        fresh: FreshLog,
        endpoint: SendEndpoint,
        *,
        flow_control: FlowControl,
    ) -> None:
        self.endpoint = endpoint
        self._flow_control = flow_control
        super().__init__(office, command, params, fresh)
        when_there_is_room(self.core.add)
        endpoint.publication_count += 1

    def _open(self, log: DriverLog) -> NetworkPublicationCore:
        params = self.params
        start = params.start_position
        settings = {
            "registration_id": self.image_id,
            "session_id": self.session_id,
            "stream_id": self.stream_id,
            "initial_term_id": params.initial_term_id,
            "start_position": start,
            "window_length": params.window_length,
            "linger_ns": params.linger_ns,
            "signal_eos": params.signal_eos,
            "spies_simulate_connection": params.spies_simulate_connection,
            "untethered_window_limit_ns": params.untethered_window_limit_ns,
            "untethered_linger_ns": params.untethered_linger_ns,
            "untethered_resting_ns": params.untethered_resting_ns,
            "max_resend": params.max_resend,
            "exclusive": self.is_exclusive,
            "send_response_setup": params.wants_response,
            "ttl": self.endpoint.channel.setup_ttl,
            "pub_pos_id": self.pub_pos_id,
            "pub_lmt_id": self.limit_id,
            "snd_pos_id": self._counters.add(CounterType.SND_POS, start),
            "snd_lmt_id": self._counters.add(CounterType.SND_LMT, start),
            "snd_bpe_id": self._counters.add(CounterType.SND_BPE, 0),
            "naks_received_id": self._counters.add(CounterType.SND_NAKS_RECEIVED, 0),
            "flow_control": self._flow_control.native_settings(
                self._counters.add(CounterType.FC_RECEIVERS, 0) if self._flow_control.remembers_receivers else None
            ),
        }
        return NetworkPublicationCore(self.office.core, self.endpoint.core, log, settings)

    def revoke(self) -> None:
        """It ends for all holders and readers, without draining; where it ends is known at once."""
        super().revoke()
        self.note_revoked()

    @property
    def status_id(self) -> int:
        """The status of its endpoint."""
        return self.endpoint.status_id

    def free(self) -> None:
        """Sender and core let go of it."""
        super().free()
        self.endpoint.publication_count -= 1
        self.endpoint.close_if_unused()


class NetworkPublications(Publications[NetworkPublication]):
    """All of them, and the endpoints they send from."""

    def __init__(self, office: Office, clients: Clients, responses: Responses) -> None:
        super().__init__(office)
        self._clients = clients
        self._responses = responses
        self._ports = WildcardPorts(office.context.sender_wildcard_port_range)
        self.endpoints: ChannelEndpoints[SendEndpoint] = ChannelEndpoints(office, self._open_endpoint, is_send=True)

    def _open_endpoint(self, office: Office, channel: UdpChannel, endpoint_id: int) -> SendEndpoint:
        return SendEndpoint(office, channel, endpoint_id, self._ports)

    def add(self, command: AddPublication) -> Task[NetworkPublication | None]:
        """ADD_PUBLICATION and its exclusive kin: the publication where a new one was made."""
        uri = parse_channel(command.channel)
        client = self._clients.get_or_add(command.client_id)
        params = PublicationParams.parse(uri, self._office.context, is_ipc=False)
        channel = yield from self._office.naming.parse_channel(command.channel, uri)
        params = self._adopt(params, uri)
        _check_addresses(channel)
        self._responses.check(params, uri)

        endpoint, publication = yield from self._shared(command, channel, params)
        is_group = (channel if endpoint is None else endpoint.channel).is_group  # a tag alone does not say
        flow_control = FlowControl.parse(uri, self._office.context, is_group=is_group)
        self._check_fits(channel, endpoint, params)
        is_new = publication is None
        if publication is None:
            publication = yield from self._make(command, params, channel, endpoint, flow_control)
        else:
            self._check_same(publication, params, uri)

        publication.holders += 1
        client.publications[command.correlation_id] = publication
        publication.tell_ready(command.correlation_id)
        if is_new:
            self._responses.started(params, publication.session_id)
        return publication if is_new else None

    def _adopt(self, params: PublicationParams, uri: ChannelUri) -> PublicationParams:
        """Where the channel names its session by the entity tag of another publication, that one's."""
        tag = session_tag_of(uri)
        if tag is None:
            return params
        for one in self:
            if one.params.entity_tag == tag:
                return params.adopt(one.session_id, one.params, uri)
        raise bad_value(uri, "session-id", "no network publication has this entity tag")

    def _shared(
        self, command: AddPublication, channel: UdpChannel, params: PublicationParams
    ) -> Task[tuple[SendEndpoint | None, NetworkPublication | None]]:
        """The endpoint and the publication that an add may have too; waits for one that is being made."""
        while True:
            endpoint = self.endpoints.find(channel)
            if endpoint is None or command.is_exclusive:
                return endpoint, None
            publication = self._shareable(endpoint, command.stream_id, params.response_correlation_id)
            if publication is not None or not self._is_shared_in_making(endpoint.endpoint_id, command.stream_id):
                return endpoint, publication
            yield UNTIL_CHANGE

    def _make(
        self,
        command: AddPublication,
        params: PublicationParams,
        channel: UdpChannel,
        endpoint: SendEndpoint | None,
        flow_control: FlowControl,
    ) -> Task[NetworkPublication]:
        def is_used(session_id: int) -> bool:
            return endpoint is not None and self._has_session_on(endpoint, command.stream_id, session_id)

        session_id = self._take_session(command, params, is_used)
        used = endpoint or self.endpoints.open(channel, command.correlation_id)
        log_settings = {
            "socket_sndbuf_length": used.so_sndbuf,
            "socket_rcvbuf_length": used.so_rcvbuf,
            "group": used.channel.is_group,
        }
        with used.held():
            fresh = yield from self._make_log(command, params, session_id, used.endpoint_id, log_settings)
            try:
                publication = NetworkPublication(self._office, command, params, fresh, used, flow_control=flow_control)
            except BaseException:
                self._office.logs.discard(fresh.log)
                raise
        self._publications[publication.image_id] = publication
        return publication

    def _has_session_on(self, endpoint: SendEndpoint, stream_id: int, session_id: int) -> bool:
        return self._is_taken(endpoint.endpoint_id, stream_id, session_id) or any(
            one.endpoint is endpoint and (one.stream_id, one.session_id) == (stream_id, session_id) for one in self
        )

    def _shareable(
        self, endpoint: SendEndpoint, stream_id: int, response_correlation_id: int
    ) -> NetworkPublication | None:
        for one in self:
            if (one.endpoint, one.stream_id, one.params.response_correlation_id, one.is_shareable) == (
                endpoint,
                stream_id,
                response_correlation_id,
                True,
            ):
                return one
        return None

    @staticmethod
    def _check_same(publication: NetworkPublication, params: PublicationParams, uri: ChannelUri) -> None:
        publication.params.check_same(params, publication.session_id, uri)
        existing, wanted = publication.params.spies_simulate_connection, params.spies_simulate_connection
        if existing != wanted:
            raise refuse(
                ErrorCode.GENERIC_ERROR,
                f"existing publication has different ssc: existing={existing} requested={wanted} in {uri}",
            )

    def _check_fits(self, channel: UdpChannel, endpoint: SendEndpoint | None, params: PublicationParams) -> None:
        if endpoint is not None:
            limit = endpoint.effective_sndbuf
        else:
            limit = channel.so_sndbuf or self._office.context.socket_so_sndbuf or self._office.os_sndbuf[0]
        if params.mtu > limit:
            raise refuse(
                ErrorCode.GENERIC_ERROR, f"mtu={params.mtu} is greater than so-sndbuf={limit}: channel={channel.text}"
            )

        offset = channel.timestamps.channel_send
        if endpoint is not None and offset not in (NO_TIMESTAMP, endpoint.channel.timestamps.channel_send):
            raise bad_value(
                channel.uri, "channel-snd-ts-offset", f"existingChannel={endpoint.channel.text} has another one"
            )

    def on_error(self, event: PublicationErrorEvent) -> None:
        """A receiver refused the stream: tell clients, and operators."""
        source = Address.unpack(event.source)
        self._office.send(
            replies.publication_error(
                event.registration_id,
                session_id=event.session_id,
                stream_id=event.stream_id,
                code=event.error_code,
                text=event.text,
                receiver_id=event.receiver_id,
                group_tag=event.group_tag,
                destination_id=event.destination_id,
                host=source.host,
                port=source.port,
            )
        )
        reason = event.text.decode("utf-8", "replace")
        self._office.warn(
            f"error frame received: sessionId={event.session_id} streamId={event.stream_id} "
            f"errorCode={event.error_code} source={source} message={reason}"
        )


def _check_addresses(channel: UdpChannel) -> None:
    has_mode = channel.control_mode is not ControlMode.NONE
    if channel.has_explicit_control and not channel.has_explicit_endpoint and not has_mode:
        raise refuse(
            ErrorCode.GENERIC_ERROR,
            f"'control' parameter requires that either 'endpoint' or 'control-mode' is specified: {channel.text}",
        )
    if channel.has_explicit_endpoint and channel.remote.port == 0 and not channel.is_mdc:
        raise refuse(ErrorCode.GENERIC_ERROR, f"endpoint has port=0 for publication: channel={channel.text}")
