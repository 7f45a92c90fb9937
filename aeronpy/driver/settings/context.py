"""Settings of a media driver: checked against each other, and in the form that the native agents take."""

from __future__ import annotations

import os
from typing import Any, Final

from aeronpy.config import default_aeron_dir
from aeronpy.driver.settings.loss import Loss, parse_loss
from aeronpy.driver.settings.option_values import MS, ThreadingMode
from aeronpy.driver.settings.options import BROADCAST_TRAILER, RING_TRAILER, DriverOptions
from aeronpy.errors import ArgumentError

__all__ = ["MS", "MediaDriverContext", "ThreadingMode"]

TERM_MIN: Final = 64 << 10
# Sleeps of the quiet profile: a part of every interval of the protocol, so that no time-out of any client minds.
QUIET_PARK_NS: Final = 40 * MS
PAGE_MIN: Final = 4 << 10


class MediaDriverContext(DriverOptions):
    """How a media driver runs. Durations are nanoseconds, lengths bytes."""

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
            return parse_loss(
                self.udp_channel_incoming_interceptors,
                {
                    "loss": self.udp_channel_transport_bindings_loss_args,
                    "fixed-loss": self.udp_channel_transport_bindings_fixed_loss_args,
                    "multi-gap-loss": self.udp_channel_transport_bindings_multi_gap_loss_args,
                },
            )
        except ValueError as error:
            raise ArgumentError(str(error)) from None

    def conclude(self) -> None:
        """Check what must fit together; raises `ArgumentError` that names the settings."""
        self.check_choices()
        self.loss()
        for name in ("term_buffer_length", "ipc_term_buffer_length", "file_page_size"):
            value = getattr(self, name)
            least = PAGE_MIN if name == "file_page_size" else TERM_MIN
            if value & (value - 1) or not least <= value <= 1 << 30:
                raise ArgumentError(f"{name} is {value}, which is no power of two from {least} to {1 << 30}")
        for name in ("mtu_length", "ipc_mtu_length"):
            value = getattr(self, name)
            if value <= 32 or value % 32:
                raise ArgumentError(f"{name} is {value}, which is no multiple of 32 from 64 to 65504")
        for name, trailer in (("conductor_buffer_length", RING_TRAILER), ("clients_buffer_length", BROADCAST_TRAILER)):
            capacity = getattr(self, name) - trailer
            if capacity & (capacity - 1):
                raise ArgumentError(f"{name} is {capacity + trailer}: without {trailer} it must be a power of two")
        self._check_order()
        self._check_refused()
        if self.name_resolver_supplier == "driver" and not self.resolver_interface:
            raise ArgumentError(
                "name_resolver_supplier is 'driver' without resolver_interface: set aeron.driver.resolver.interface, "
                "the host:port where other drivers reach this one"
            )
        if self.resolver_interface and not self.resolver_name:
            raise ArgumentError(
                f"resolver_interface is {self.resolver_interface!r} without resolver_name: other drivers could not "
                "name this one; set aeron.driver.resolver.name"
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
        if self.nak_unicast_delay * self.nak_unicast_retry_delay_ratio >= 1 << 63:
            raise ArgumentError(
                f"nak_unicast_delay of {self.nak_unicast_delay} ns times nak_unicast_retry_delay_ratio of "
                f"{self.nak_unicast_retry_delay_ratio} is longer than 64 bits of nanoseconds"
            )
        low, high = self.publication_reserved_session_id_low, self.publication_reserved_session_id_high
        if low > high:
            raise ArgumentError(f"reserved session ids: low {low} is above high {high}")

    def _check_refused(self) -> None:
        """What only the C driver's own binary can load."""
        for name in ("driver_dynamic_libraries", "agent_on_start_function", "udp_channel_outgoing_interceptors"):
            if getattr(self, name):
                raise ArgumentError(f"{name}={getattr(self, name)!r}: this driver loads no plug-ins of the C driver")

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
            "conductor_threshold_ns": self.driver_conductor_cycle_threshold,
            "sender_threshold_ns": self.driver_sender_cycle_threshold,
            "receiver_threshold_ns": self.driver_receiver_cycle_threshold,
            "reresolution_check_interval_ns": self.reresolution_check_interval,
            "quiet_park_ns": QUIET_PARK_NS if self.profile == "quiet" else 0,
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
            "fixed_loss": tuple(loss.fixed),
            "gap_loss": tuple(loss.gaps),
            "to_driver_length": self.conductor_buffer_length,
            "to_clients_length": self.clients_buffer_length,
            "counters_values_length": self.counters_buffer_length,
            "error_log_length": self.error_buffer_length,
            "file_page_size": self.file_page_size,
            "loss_report_length": self.loss_report_buffer_length,
        }

    def cpu_of(self, agent: str) -> int:
        """The processor of an agent, -1 for any: with ``cpuset_affinity`` its place in the set of the process."""
        place: int = getattr(self, f"{agent}_cpu_affinity")
        return sorted(os.sched_getaffinity(0))[place] if self.cpuset_affinity and place >= 0 else place

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
                self.cpu_of(cpu),
                (classic if self.thread_naming == "classic" else new).encode(),
            )
            for idle, cpu, classic, new in agents
        ]
