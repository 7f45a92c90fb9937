"""The options of a media driver: name, default, range (spec: client/driver protocol, section 23)."""

from __future__ import annotations

from typing import Final

from aeronpy.config import Choice, Settings, boolean, duration, integer, size, text
from aeronpy.config import Option as _Option
from aeronpy.driver.settings import option_values as values
from aeronpy.driver.settings.option_values import MI, MS, S, ThreadingMode

RING_TRAILER: Final = 768
BROADCAST_TRAILER: Final = 128
_TERM_MIN: Final = 1024  # shorter than any that is accepted: a start says so, as the reference driver does
_US: Final = 1000
_I32_MAX: Final = (1 << 31) - 1
_I64_MAX: Final = (1 << 63) - 1


class ProcessOptions(Settings):
    """Directory, files, threads, logging."""

    aeron_dir = text("aeron.dir", "", doc="shared directory; empty: the default of the platform")
    dir_warn_if_exists = boolean("aeron.dir.warn.if.exists", False)
    dir_delete_on_start = boolean("aeron.dir.delete.on.start", False)
    dir_delete_on_shutdown = boolean("aeron.dir.delete.on.shutdown", False)
    dir_permissions = _Option(
        "aeron.dir.permissions",
        0o777,
        values.parse_permissions,
        minimum=0o700,
        maximum=0o777,
        doc="mode of directories, and of files but for the execute bits; the umask is taken off",
    )
    driver_timeout = _Option("aeron.driver.timeout", 10 * S, values.parse_milliseconds, minimum=0)
    print_configuration = boolean("aeron.print.configuration", False)
    threading_mode = _Option("aeron.threading.mode", ThreadingMode.DEDICATED, values.parse_mode)
    profile = Choice(
        "aeronpy.driver.profile",
        "default",
        values.PROFILES,
        doc="default: threads idle by their strategies; quiet: they sleep up to 40 ms at a time, and are woken on need",
    )
    thread_naming = _Option("aeron.thread.naming", "classic", values.parse_naming)
    conductor_buffer_length = size("aeron.conductor.buffer.length", MI + RING_TRAILER, minimum=MI + RING_TRAILER)
    clients_buffer_length = size("aeron.clients.buffer.length", MI + BROADCAST_TRAILER, minimum=MI + BROADCAST_TRAILER)
    counters_buffer_length = size("aeron.counters.buffer.length", 8 * MI, minimum=MI, maximum=500 * MI)
    error_buffer_length = size("aeron.error.buffer.length", 4 * MI, minimum=4 * MI)
    loss_report_buffer_length = size("aeron.loss.report.buffer.length", MI, minimum=1024)
    file_page_size = size("aeron.file.page.size", 4 << 10, minimum=4 << 10)
    term_buffer_sparse_file = boolean("aeron.term.buffer.sparse.file", True)
    perform_storage_checks = boolean("aeron.perform.storage.checks", True)
    low_file_store_warning_threshold = size("aeron.low.file.store.warning.threshold", 160 * MI, maximum=_I64_MAX)
    counters_free_to_reuse_timeout = duration("aeron.counters.free.to.reuse.timeout", S)
    driver_termination_validator = Choice(
        "aeron.driver.termination.validator", "deny", values.TERMINATION_VALIDATORS, doc="who may end the driver"
    )
    enable_experimental_features = boolean("aeron.enable.experimental.features", False, doc="none are gated")
    driver_dynamic_libraries = text("aeron.driver.dynamic.libraries", "", doc="plug-ins of the C driver: refused")
    agent_on_start_function = text("aeron.agent.on.start.function", "", doc="hook of the C driver: refused")

    event_log = text("aeron.event.log", "", doc="events to log: names, numbers, all, admin, or a mask 0x..")
    event_log_disable = text("aeron.event.log.disable", "", doc="events not to log, of those that event_log names")
    event_log_filename = text("aeron.event.log.filename", "", doc="empty: standard output")
    event_log_file_max_length = size("aeron.event.log.file.max.length", 0, maximum=_I64_MAX, doc="0: no limit")


class TimeOptions(Settings):
    """Intervals, time-outs, thresholds; nanoseconds."""

    timer_interval = duration("aeron.timer.interval", S, minimum_ns=_US)
    client_liveness_timeout = duration("aeron.client.liveness.timeout", 10 * S, minimum_ns=_US)
    image_liveness_timeout = duration("aeron.image.liveness.timeout", 10 * S, minimum_ns=_US)
    publication_linger_timeout = duration("aeron.publication.linger.timeout", 5 * S, minimum_ns=_US)
    publication_unblock_timeout = duration("aeron.publication.unblock.timeout", 15 * S, minimum_ns=_US)
    publication_connection_timeout = duration("aeron.publication.connection.timeout", 5 * S, minimum_ns=_US)
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
    driver_resource_free_limit = integer(
        "aeron.driver.resource.free.limit", 1, minimum=1, maximum=_I32_MAX, doc="logs deleted per cycle"
    )


class StreamOptions(Settings):
    """What streams have unless their channel says otherwise."""

    term_buffer_length = size("aeron.term.buffer.length", 16 * MI, minimum=_TERM_MIN)
    ipc_term_buffer_length = size("aeron.ipc.term.buffer.length", 64 * MI, minimum=_TERM_MIN)
    mtu_length = size("aeron.mtu.length", 1408, minimum=32, maximum=65504)
    ipc_mtu_length = size("aeron.ipc.mtu.length", 1408, minimum=32, maximum=65504)
    publication_term_window_length = size("aeron.publication.term.window.length", 0, maximum=1 << 30)
    ipc_publication_term_window_length = size("aeron.ipc.publication.term.window.length", 0, maximum=1 << 30)
    spies_simulate_connection = boolean("aeron.spies.simulate.connection", False)
    reliable_stream = boolean("aeron.reliable.stream", True)
    tether_subscriptions = boolean("aeron.tether.subscriptions", True)
    rejoin_stream = boolean("aeron.rejoin.stream", True)
    receiver_group_consideration = _Option("aeron.receiver.group.consideration", "infer", values.parse_group)
    publication_reserved_session_id_low = _Option("aeron.publication.reserved.session.id.low", -1, values.parse_i32)
    publication_reserved_session_id_high = _Option("aeron.publication.reserved.session.id.high", 1000, values.parse_i32)
    stream_session_limit = integer("aeron.driver.stream.session.limit", _I32_MAX, minimum=1, maximum=_I32_MAX)
    rcv_initial_window_length = size("aeron.rcv.initial.window.length", 128 << 10, minimum=256)
    rcv_status_message_timeout = duration("aeron.rcv.status.message.timeout", 200 * MS, minimum_ns=_US)
    send_to_status_poll_ratio = integer("aeron.send.to.status.poll.ratio", 6, minimum=1, maximum=255)
    max_resend = integer("aeron.max.resend", 16, minimum=1, maximum=256)
    retransmit_unicast_delay = duration("aeron.retransmit.unicast.delay", 0)
    retransmit_unicast_linger = duration("aeron.retransmit.unicast.linger", 10 * MS, minimum_ns=_US)
    nak_unicast_delay = duration("aeron.nak.unicast.delay", 1000, minimum_ns=1000)
    nak_unicast_retry_delay_ratio = integer("aeron.nak.unicast.retry.delay.ratio", 100, minimum=1, maximum=_I64_MAX)
    nak_multicast_group_size = integer("aeron.nak.multicast.group.size", 10, minimum=1, maximum=_I32_MAX)
    nak_multicast_max_backoff = duration("aeron.nak.multicast.max.backoff", 10 * MS, minimum_ns=_US)


class SocketOptions(Settings):
    """Sockets, flow and congestion control, faults on purpose."""

    socket_so_rcvbuf = size("aeron.socket.so_rcvbuf", 128 << 10, doc="0: the system's default")
    socket_so_sndbuf = size("aeron.socket.so_sndbuf", 0, doc="0: the system's default")
    socket_multicast_ttl = integer("aeron.socket.multicast.ttl", 0, minimum=0, maximum=255)
    unicast_flow_control_supplier = Choice(
        "aeron.unicast.FlowControl.supplier",
        "unicast_max",
        values.FLOW_CONTROLS,
        aliases=("aeron.unicast.flow.control.strategy",),
    )
    multicast_flow_control_supplier = Choice(
        "aeron.multicast.FlowControl.supplier",
        "multicast_max",
        values.FLOW_CONTROLS,
        aliases=("aeron.multicast.flow.control.strategy",),
    )
    unicast_flow_control_rrwm = integer(
        "aeron.unicast.flow.control.rrwm", 16, minimum=1, maximum=_I32_MAX, doc="windows that one NAK may ask for"
    )
    multicast_flow_control_rrwm = integer("aeron.multicast.flow.control.rrwm", 4, minimum=1, maximum=_I32_MAX)
    flow_control_receiver_timeout = duration("aeron.flow.control.receiver.timeout", 5 * S)
    flow_control_group_tag = integer("aeron.flow.control.group.tag", -1, minimum=-(1 << 63), maximum=_I64_MAX)
    flow_control_group_min_size = _Option(
        "aeron.flow.control.group.min.size", 0, values.parse_i32, minimum=0, maximum=_I32_MAX
    )
    receiver_group_tag = _Option[int | None](
        "aeron.receiver.group.tag", None, values.parse_i64, doc="tag of status messages"
    )
    congestion_control_supplier = Choice(
        "aeron.CongestionControl.supplier", "default", values.CONGESTION_CONTROLS, doc="default: what cc= says"
    )
    cubic_measure_rtt = boolean("aeron.CubicCongestionControl.measureRtt", False)
    cubic_initial_rtt = duration("aeron.CubicCongestionControl.initialRtt", 100_000)
    cubic_tcp_mode = boolean("aeron.CubicCongestionControl.tcpMode", False)
    driver_connect = boolean("aeron.driver.connect", True)
    receiver_io_vector_capacity = integer("aeron.receiver.io.vector.capacity", 4, minimum=1, maximum=16)
    sender_io_vector_capacity = integer("aeron.sender.io.vector.capacity", 4, minimum=1, maximum=16)
    network_publication_max_messages_per_send = integer(
        "aeron.network.publication.max.messages.per.send", 4, minimum=1, maximum=16
    )
    sender_wildcard_port_range = _Option("aeron.sender.wildcard.port.range", (0, 0), values.parse_port_range)
    receiver_wildcard_port_range = _Option("aeron.receiver.wildcard.port.range", (0, 0), values.parse_port_range)
    udp_channel_transport_bindings = Choice(
        "aeron.udp.channel.transport.bindings.media", "default", values.TRANSPORT_BINDINGS
    )
    conductor_udp_channel_transport_bindings = Choice(
        "aeron.conductor.udp.channel.transport.bindings.media", "default", values.TRANSPORT_BINDINGS
    )
    udp_channel_outgoing_interceptors = text("aeron.udp.channel.outgoing.interceptors", "")
    udp_channel_incoming_interceptors = text("aeron.udp.channel.incoming.interceptors", "")
    udp_channel_transport_bindings_loss_args = text("aeron.udp.channel.transport.bindings.loss.args", "")
    udp_channel_transport_bindings_fixed_loss_args = text("aeron.udp.channel.transport.bindings.fixed.loss.args", "")
    udp_channel_transport_bindings_multi_gap_loss_args = text(
        "aeron.udp.channel.transport.bindings.multi.gap.loss.args", ""
    )


class AgentOptions(Settings):
    """How agents idle and where they run."""

    conductor_idle_strategy = Choice("aeron.conductor.idle.strategy", "backoff", values.IDLE_STRATEGIES)
    conductor_idle_strategy_init_args = text("aeron.conductor.idle.strategy.init.args", "")
    sender_idle_strategy = Choice("aeron.sender.idle.strategy", "backoff", values.IDLE_STRATEGIES)
    sender_idle_strategy_init_args = text("aeron.sender.idle.strategy.init.args", "")
    receiver_idle_strategy = Choice("aeron.receiver.idle.strategy", "backoff", values.IDLE_STRATEGIES)
    receiver_idle_strategy_init_args = text("aeron.receiver.idle.strategy.init.args", "")
    sharednetwork_idle_strategy = Choice("aeron.sharednetwork.idle.strategy", "backoff", values.IDLE_STRATEGIES)
    sharednetwork_idle_strategy_init_args = text("aeron.sharednetwork.idle.strategy.init.args", "")
    shared_idle_strategy = Choice("aeron.shared.idle.strategy", "backoff", values.IDLE_STRATEGIES)
    shared_idle_strategy_init_args = text("aeron.shared.idle.strategy.init.args", "")
    native_resource_agent_idle_strategy = Choice(
        "aeron.driver.native.resource.agent.idle.strategy",
        "sleep-ns",
        values.IDLE_STRATEGIES,
        doc="checked, and without effect: the agent's threads sleep until there is work for them",
    )
    native_resource_agent_idle_strategy_init_args = text(
        "aeron.driver.native.resource.agent.idle.strategy.init.args", ""
    )
    conductor_cpu_affinity = integer("aeron.conductor.cpu.affinity", -1, minimum=-1, maximum=255)
    sender_cpu_affinity = integer("aeron.sender.cpu.affinity", -1, minimum=-1, maximum=255)
    receiver_cpu_affinity = integer("aeron.receiver.cpu.affinity", -1, minimum=-1, maximum=255)
    native_resource_agent_cpu_affinity = integer(
        "aeron.driver.native.resource.agent.cpu.affinity", -1, minimum=-1, maximum=255
    )
    cpuset_affinity = boolean(
        "aeron.driver.cpuset.affinity",
        False,
        doc="affinities are places in the process's set",
    )
    cpuset_warnings_as_errors = boolean("aeron.driver.cpuset.warnings.as.errors", False)


class NameOptions(Settings):
    """How names become addresses."""

    name_resolver_supplier = Choice(
        "aeron.name.resolver.supplier", "default", values.NAME_RESOLVERS, plugins=True, doc="or module:function"
    )
    name_resolver_init_args = text("aeron.name.resolver.init.args", "")
    name_resolver_csv_lookup_table_args = text("aeron.name.resolver.csv.lookup.table.args", "")
    resolver_name = text("aeron.driver.resolver.name", "")
    resolver_interface = text("aeron.driver.resolver.interface", "")
    resolver_bootstrap_neighbor = text("aeron.driver.resolver.bootstrap.neighbor", "", doc="host:port[,host:port]")
    resolver_neighbor_timeout = duration("aeron.driver.resolver.neighbor.timeout", 10 * S)
    resolver_self_resolution_interval = duration("aeron.driver.resolver.self.resolution.interval", S)
    resolver_neighbor_resolution_interval = duration("aeron.driver.resolver.neighbor.resolution.interval", 2 * S)
    resolver_bootstrap_neighbor_resolution_interval = duration(
        "aeron.driver.resolver.bootstrap.neighbor.resolution.interval", 10 * S
    )
    reresolution_check_interval = duration(
        "aeron.driver.reresolution.check.interval", S, doc="how often silent streams look their names up; 0: never"
    )


class DriverOptions(ProcessOptions, TimeOptions, StreamOptions, SocketOptions, AgentOptions, NameOptions):
    """All of them."""


# Options of the reference drivers that mean nothing to this one: named here so that giving them is no surprise.
WITHOUT_EFFECT: Final = (
    "aeron.SendChannelEndpoint.supplier",
    "aeron.ReceiveChannelEndpoint.supplier",
    "aeron.flow.control.sm.applicationSpecificFeedback",
    "aeron.PreferredMulticastFlowControl.asf",
    "aeron.use.windows.high.res.timer",
)
