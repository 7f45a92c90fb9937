"""Settings of a media driver, by the real driver's names (spec: client/driver protocol, section 23)."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

from aeronpy.config import Option as _Option
from aeronpy.config import Settings, boolean, default_aeron_dir, duration, integer, size, text
from aeronpy.driver.loss import Loss, parse_loss
from aeronpy.errors import ArgumentError

MS: Final = 1_000_000
S: Final = 1_000_000_000
MI: Final = 1 << 20

RING_TRAILER: Final = 768
BROADCAST_TRAILER: Final = 128
_TERM_MIN: Final = 64 << 10
_TERM_MAX: Final = 1 << 30


class ThreadingMode(IntEnum):
    """Which native threads a driver has."""

    DEDICATED = 0
    SHARED_NETWORK = 1
    SHARED = 2
    INVOKER = 3


# Options of which only these values can be served: another one is refused, not ignored.
_SUPPORTED: Final[dict[str, tuple[str, ...]]] = {
    "unicast_flow_control_supplier": ("unicast_max", "aeron_unicast_flow_control_strategy_supplier"),
    "congestion_control_supplier": ("default", "static", "aeron_congestion_control_default_strategy_supplier"),
    "name_resolver_supplier": ("default",),
    "sender_wildcard_port_range": ("", "0 0"),
    "receiver_wildcard_port_range": ("", "0 0"),
}


def _parse_mode(given: str) -> ThreadingMode:
    try:
        return ThreadingMode[given.strip().upper()]
    except KeyError:
        raise ValueError(f"{given!r} is none of {', '.join(ThreadingMode.__members__)}") from None


def _parse_milliseconds(given: str) -> int:
    return int(given) * MS


def _parse_group(given: str) -> str:
    word = given.strip().lower()
    return word if word in ("infer", "true") else "false"


class MediaDriverContext(Settings):
    """How a media driver runs. Durations are nanoseconds, lengths bytes."""

    aeron_dir = text("aeron.dir", "", doc="shared directory; empty: the default of the platform")
    dir_warn_if_exists = boolean("aeron.dir.warn.if.exists", False)
    dir_delete_on_start = boolean("aeron.dir.delete.on.start", False)
    dir_delete_on_shutdown = boolean("aeron.dir.delete.on.shutdown", False)
    driver_timeout = _Option("aeron.driver.timeout", 10 * S, _parse_milliseconds, minimum=0)
    print_configuration = boolean("aeron.print.configuration", False)
    threading_mode = _Option("aeron.threading.mode", ThreadingMode.DEDICATED, _parse_mode)
    thread_naming = text("aeron.thread.naming", "classic")
    conductor_buffer_length = size("aeron.conductor.buffer.length", MI + RING_TRAILER, minimum=MI + RING_TRAILER)
    clients_buffer_length = size("aeron.clients.buffer.length", MI + BROADCAST_TRAILER, minimum=MI + BROADCAST_TRAILER)
    counters_buffer_length = size("aeron.counters.buffer.length", 8 * MI, minimum=MI, maximum=500 * MI)
    error_buffer_length = size("aeron.error.buffer.length", 4 * MI, minimum=4 * MI)
    loss_report_buffer_length = size("aeron.loss.report.buffer.length", MI, minimum=1024)
    file_page_size = size("aeron.file.page.size", 4 << 10, minimum=4 << 10, maximum=1 << 30)
    term_buffer_sparse_file = boolean("aeron.term.buffer.sparse.file", True)
    perform_storage_checks = boolean("aeron.perform.storage.checks", True)
    low_file_store_warning_threshold = size("aeron.low.file.store.warning.threshold", 160 * MI, maximum=(1 << 63) - 1)
    counters_free_to_reuse_timeout = duration("aeron.counters.free.to.reuse.timeout", S)
    driver_termination_validator = text("aeron.driver.termination.validator", "deny")

    timer_interval = duration("aeron.timer.interval", S, minimum_ns=1)
    client_liveness_timeout = duration("aeron.client.liveness.timeout", 10 * S)
    image_liveness_timeout = duration("aeron.image.liveness.timeout", 10 * S)
    publication_linger_timeout = duration("aeron.publication.linger.timeout", 5 * S)
    publication_unblock_timeout = duration("aeron.publication.unblock.timeout", 15 * S)
    publication_connection_timeout = duration("aeron.publication.connection.timeout", 5 * S)
    untethered_window_limit_timeout = duration("aeron.untethered.window.limit.timeout", 5 * S)
    untethered_linger_timeout = duration(
        "aeron.untethered.linger.timeout", -1, minimum_ns=-1, doc="-1: the window limit time-out"
    )
    untethered_resting_timeout = duration("aeron.untethered.resting.timeout", 10 * S)
    driver_conductor_cycle_threshold = duration("aeron.driver.conductor.cycle.threshold", 100 * MS)
    driver_sender_cycle_threshold = duration("aeron.driver.sender.cycle.threshold", 100 * MS)
    driver_receiver_cycle_threshold = duration("aeron.driver.receiver.cycle.threshold", 100 * MS)
    name_resolver_threshold = duration(
        "aeron.name.resolver.threshold", 5 * S, environment="AERON_DRIVER_NAME_RESOLVER_THRESHOLD"
    )

    term_buffer_length = size("aeron.term.buffer.length", 16 * MI, minimum=_TERM_MIN, maximum=_TERM_MAX)
    ipc_term_buffer_length = size("aeron.ipc.term.buffer.length", 64 * MI, minimum=_TERM_MIN, maximum=_TERM_MAX)
    mtu_length = size("aeron.mtu.length", 1408, minimum=32, maximum=65504)
    ipc_mtu_length = size("aeron.ipc.mtu.length", 1408, minimum=32, maximum=65504)
    publication_term_window_length = size("aeron.publication.term.window.length", 0)
    ipc_publication_term_window_length = size("aeron.ipc.publication.term.window.length", 0)
    spies_simulate_connection = boolean("aeron.spies.simulate.connection", False)
    reliable_stream = boolean("aeron.reliable.stream", True)
    tether_subscriptions = boolean("aeron.tether.subscriptions", True)
    rejoin_stream = boolean("aeron.rejoin.stream", True)
    receiver_group_consideration = _Option("aeron.receiver.group.consideration", "infer", _parse_group)
    publication_reserved_session_id_low = integer("aeron.publication.reserved.session.id.low", -1)
    publication_reserved_session_id_high = integer("aeron.publication.reserved.session.id.high", 1000)
    stream_session_limit = integer("aeron.driver.stream.session.limit", (1 << 31) - 1, minimum=1)
    rcv_initial_window_length = size("aeron.rcv.initial.window.length", 128 << 10, minimum=256)
    rcv_status_message_timeout = duration("aeron.rcv.status.message.timeout", 200 * MS)
    send_to_status_poll_ratio = integer("aeron.send.to.status.poll.ratio", 6, minimum=1)
    max_resend = integer("aeron.max.resend", 16, minimum=1, maximum=256)
    retransmit_unicast_delay = duration("aeron.retransmit.unicast.delay", 0)
    retransmit_unicast_linger = duration("aeron.retransmit.unicast.linger", 10 * MS)
    nak_unicast_delay = duration("aeron.nak.unicast.delay", 1000, minimum_ns=1000)
    nak_unicast_retry_delay_ratio = integer("aeron.nak.unicast.retry.delay.ratio", 100, minimum=1)
    nak_multicast_group_size = integer("aeron.nak.multicast.group.size", 10, minimum=1)
    nak_multicast_max_backoff = duration("aeron.nak.multicast.max.backoff", 10 * MS)

    socket_so_rcvbuf = size("aeron.socket.so_rcvbuf", 128 << 10)
    socket_so_sndbuf = size("aeron.socket.so_sndbuf", 0)
    socket_multicast_ttl = integer("aeron.socket.multicast.ttl", 0, minimum=0, maximum=255)
    driver_connect = boolean("aeron.driver.connect", True)
    receiver_io_vector_capacity = integer("aeron.receiver.io.vector.capacity", 4, minimum=1, maximum=16)
    sender_io_vector_capacity = integer("aeron.sender.io.vector.capacity", 4, minimum=1, maximum=16)
    network_publication_max_messages_per_send = integer(
        "aeron.network.publication.max.messages.per.send", 4, minimum=1, maximum=16
    )

    udp_channel_incoming_interceptors = text("aeron.udp.channel.incoming.interceptors", "")
    udp_channel_transport_bindings_loss_args = text("aeron.udp.channel.transport.bindings.loss.args", "")
    unicast_flow_control_supplier = text(
        "aeron.unicast.FlowControl.supplier", "unicast_max", environment="AERON_UNICAST_FLOWCONTROL_SUPPLIER"
    )
    congestion_control_supplier = text(
        "aeron.CongestionControl.supplier", "default", environment="AERON_CONGESTIONCONTROL_SUPPLIER"
    )
    name_resolver_supplier = text("aeron.name.resolver.supplier", "default")
    sender_wildcard_port_range = text("aeron.sender.wildcard.port.range", "")
    receiver_wildcard_port_range = text("aeron.receiver.wildcard.port.range", "")

    conductor_idle_strategy = text("aeron.conductor.idle.strategy", "backoff")
    conductor_idle_strategy_init_args = text("aeron.conductor.idle.strategy.init.args", "")
    sender_idle_strategy = text("aeron.sender.idle.strategy", "backoff")
    sender_idle_strategy_init_args = text("aeron.sender.idle.strategy.init.args", "")
    receiver_idle_strategy = text("aeron.receiver.idle.strategy", "backoff")
    receiver_idle_strategy_init_args = text("aeron.receiver.idle.strategy.init.args", "")
    sharednetwork_idle_strategy = text("aeron.sharednetwork.idle.strategy", "backoff")
    sharednetwork_idle_strategy_init_args = text("aeron.sharednetwork.idle.strategy.init.args", "")
    shared_idle_strategy = text("aeron.shared.idle.strategy", "backoff")
    shared_idle_strategy_init_args = text("aeron.shared.idle.strategy.init.args", "")
    conductor_cpu_affinity = integer("aeron.conductor.cpu.affinity", -1)
    sender_cpu_affinity = integer("aeron.sender.cpu.affinity", -1)
    receiver_cpu_affinity = integer("aeron.receiver.cpu.affinity", -1)

    @property
    def directory(self) -> str:
        """The directory in use: ``aeron_dir``, or the platform's default."""
        return self.aeron_dir or default_aeron_dir()

    @property
    def untethered_linger(self) -> int:
        """The untethered linger time-out in use."""
        given = self.untethered_linger_timeout
        return self.untethered_window_limit_timeout if given < 0 else given

    def loss(self) -> Loss:
        """Which incoming datagrams are dropped on purpose; raises `ArgumentError` for what cannot be meant."""
        try:
            return parse_loss(self.udp_channel_incoming_interceptors, self.udp_channel_transport_bindings_loss_args)
        except ValueError as error:
            raise ArgumentError(str(error)) from None

    def conclude(self) -> None:
        """Check what must fit together; raises `ArgumentError` that names the settings."""
        self.loss()
        for name in ("term_buffer_length", "ipc_term_buffer_length", "file_page_size"):
            value = getattr(self, name)
            if value & (value - 1):
                raise ArgumentError(f"{name} is {value}, which is no power of two")
        for name in ("mtu_length", "ipc_mtu_length"):
            value = getattr(self, name)
            if value <= 32 or value % 32:
                raise ArgumentError(f"{name} is {value}, which is no multiple of 32 from 64 to 65504")
        for name, trailer in (("conductor_buffer_length", RING_TRAILER), ("clients_buffer_length", BROADCAST_TRAILER)):
            capacity = getattr(self, name) - trailer
            if capacity & (capacity - 1):
                raise ArgumentError(f"{name} is {capacity + trailer}: without {trailer} it must be a power of two")
        self._check_order()
        if self.driver_termination_validator not in ("allow", "deny"):
            raise ArgumentError(
                f"driver_termination_validator is {self.driver_termination_validator!r}, neither 'allow' nor 'deny'"
            )
        if self.thread_naming not in ("classic", "new"):
            raise ArgumentError(f"thread_naming is {self.thread_naming!r}, neither 'classic' nor 'new'")

        for name, supported in _SUPPORTED.items():
            if getattr(self, name) not in supported:
                raise ArgumentError(
                    f"{name}={getattr(self, name)!r} is not supported yet; supported: {', '.join(map(repr, supported))}"
                )

    def _check_order(self) -> None:
        for greater, lesser in (
            ("publication_unblock_timeout", "client_liveness_timeout"),
            ("client_liveness_timeout", "timer_interval"),
            ("untethered_window_limit_timeout", "timer_interval"),
            ("untethered_linger", "timer_interval"),
            ("untethered_resting_timeout", "timer_interval"),
        ):
            high, low = getattr(self, greater), getattr(self, lesser)
            if high <= low:
                raise ArgumentError(f"{greater} of {high} ns must be greater than {lesser} of {low} ns")
        low, high = self.publication_reserved_session_id_low, self.publication_reserved_session_id_high
        if low > high:
            raise ArgumentError(f"reserved session ids: low {low} is above high {high}")

    def core_config(self) -> dict[str, Any]:
        """The settings that the native agents share, by the names of their structs."""
        loss = self.loss()
        return {
            "timer_interval_ns": self.timer_interval,
            "client_liveness_timeout_ns": self.client_liveness_timeout,
            "image_liveness_timeout_ns": self.image_liveness_timeout,
            "publication_connection_timeout_ns": self.publication_connection_timeout,
            "publication_unblock_timeout_ns": self.publication_unblock_timeout,
            "status_message_timeout_ns": self.rcv_status_message_timeout,
            "nak_unicast_delay_ns": self.nak_unicast_delay,
            "nak_unicast_retry_ratio": self.nak_unicast_retry_delay_ratio,
            "nak_multicast_max_backoff_ns": self.nak_multicast_max_backoff,
            "nak_multicast_group_size": self.nak_multicast_group_size,
            "retransmit_delay_ns": self.retransmit_unicast_delay,
            "retransmit_linger_ns": self.retransmit_unicast_linger,
            "cycle_threshold_ns": self.driver_conductor_cycle_threshold,
            "send_to_status_poll_ratio": self.send_to_status_poll_ratio,
            "messages_per_send": self.network_publication_max_messages_per_send,
            "sender_io_vector": self.sender_io_vector_capacity,
            "receiver_io_vector": self.receiver_io_vector_capacity,
            "initial_window_length": self.rcv_initial_window_length,
            "mtu_length": self.mtu_length,
            "stream_session_limit": self.stream_session_limit,
            "counters_free_to_reuse_ms": -(-self.counters_free_to_reuse_timeout // MS),
            "connect_send_sockets": self.driver_connect,
            "loss_rate": loss.rate,
            "loss_mask": loss.mask,
            "loss_seed": loss.seed,
            "to_driver_length": self.conductor_buffer_length,
            "to_clients_length": self.clients_buffer_length,
            "counters_values_length": self.counters_buffer_length,
            "error_log_length": self.error_buffer_length,
            "file_page_size": self.file_page_size,
            "loss_report_length": self.loss_report_buffer_length,
        }

    def agent_settings(self) -> list[tuple[bytes, bytes, int, bytes | None]]:
        """How each native thread idles, where it runs and what it is called, in the order that the core takes them."""
        names: dict[ThreadingMode, list[tuple[str, str, str, str]]] = {
            ThreadingMode.DEDICATED: [
                ("conductor", "conductor", "conductor", "aeron-md-cnd"),
                ("sender", "sender", "sender", "aeron-md-snd"),
                ("receiver", "receiver", "receiver", "aeron-md-rcv"),
            ],
            ThreadingMode.SHARED_NETWORK: [
                ("conductor", "conductor", "conductor", "aeron-md-cnd"),
                ("sharednetwork", "sender", "[sender, receiver]", "aeron-md-net"),
            ],
            ThreadingMode.SHARED: [("shared", "conductor", "[conductor, sender, receiver]", "aeron-md-shd")],
            ThreadingMode.INVOKER: [("shared", "conductor", "invoker", "invoker")],
        }
        agents = names[self.threading_mode]
        agents = agents + agents[-1:] * (3 - len(agents))
        return [
            (
                getattr(self, f"{idle}_idle_strategy").encode(),
                getattr(self, f"{idle}_idle_strategy_init_args").encode(),
                getattr(self, f"{cpu}_cpu_affinity"),
                (classic if self.thread_naming == "classic" else new).encode(),
            )
            for idle, cpu, classic, new in agents
        ]
