"""Options as the real C driver reads them: the same variables, whatever they say, give the same settings."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from aeronpy.config import Option
from aeronpy.driver import MediaDriverContext, ThreadingMode
from tests.interop import peers
from tests.interop.stage import Stage

MS = 1_000_000

# The C driver's names of its settings and ours; a number divides ours.
SETTINGS: dict[str, str | tuple[str, int]] = {
    "driver_timeout_ms": ("driver_timeout", MS),
    "print_configuration_on_start": "print_configuration",
    "dirs_delete_on_start": "dir_delete_on_start",
    "dirs_delete_on_shutdown": "dir_delete_on_shutdown",
    "warn_if_dirs_exists": "dir_warn_if_exists",
    "term_buffer_sparse_file": "term_buffer_sparse_file",
    "perform_storage_checks": "perform_storage_checks",
    "spies_simulate_connection": "spies_simulate_connection",
    "reliable_stream": "reliable_stream",
    "tether_subscriptions": "tether_subscriptions",
    "rejoin_stream": "rejoin_stream",
    "to_driver_buffer_length": "conductor_buffer_length",
    "to_clients_buffer_length": "clients_buffer_length",
    "counters_values_buffer_length": "counters_buffer_length",
    "error_buffer_length": "error_buffer_length",
    "timer_interval_ns": "timer_interval",
    "client_liveness_timeout_ns": "client_liveness_timeout",
    "image_liveness_timeout_ns": "image_liveness_timeout",
    "publication_unblock_timeout_ns": "publication_unblock_timeout",
    "publication_connection_timeout_ns": "publication_connection_timeout",
    "publication_linger_timeout_ns": "publication_linger_timeout",
    "untethered_window_limit_timeout_ns": "untethered_window_limit_timeout",
    "untethered_resting_timeout_ns": "untethered_resting_timeout",
    "max_resend": "max_resend",
    "retransmit_unicast_delay_ns": "retransmit_unicast_delay",
    "retransmit_unicast_linger_ns": "retransmit_unicast_linger",
    "nak_unicast_delay_ns": "nak_unicast_delay",
    "nak_unicast_retry_delay_ratio": "nak_unicast_retry_delay_ratio",
    "nak_multicast_max_backoff_ns": "nak_multicast_max_backoff",
    "nak_multicast_group_size": "nak_multicast_group_size",
    "status_message_timeout_ns": "rcv_status_message_timeout",
    "counter_free_to_reuse_ns": "counters_free_to_reuse_timeout",
    "conductor_cycle_threshold_ns": "driver_conductor_cycle_threshold",
    "sender_cycle_threshold_ns": "driver_sender_cycle_threshold",
    "receiver_cycle_threshold_ns": "driver_receiver_cycle_threshold",
    "name_resolver_threshold_ns": "name_resolver_threshold",
    "term_buffer_length": "term_buffer_length",
    "ipc_term_buffer_length": "ipc_term_buffer_length",
    "publication_window_length": "publication_term_window_length",
    "ipc_publication_window_length": "ipc_publication_term_window_length",
    "initial_window_length": "rcv_initial_window_length",
    "socket_sndbuf_length": "socket_so_sndbuf",
    "socket_rcvbuf_length": "socket_so_rcvbuf",
    "multicast_ttl": "socket_multicast_ttl",
    "mtu_length": "mtu_length",
    "ipc_mtu_length": "ipc_mtu_length",
    "file_page_size": "file_page_size",
    "low_file_store_warning_threshold": "low_file_store_warning_threshold",
    "publication_reserved_session_id_low": "publication_reserved_session_id_low",
    "publication_reserved_session_id_high": "publication_reserved_session_id_high",
    "loss_report_length": "loss_report_buffer_length",
    "send_to_sm_poll_ratio": "send_to_status_poll_ratio",
    "receiver_io_vector_capacity": "receiver_io_vector_capacity",
    "sender_io_vector_capacity": "sender_io_vector_capacity",
    "network_publication_max_messages_per_send": "network_publication_max_messages_per_send",
    "resource_free_limit": "driver_resource_free_limit",
    "conductor_cpu_affinity_no": "conductor_cpu_affinity",
    "receiver_cpu_affinity_no": "receiver_cpu_affinity",
    "sender_cpu_affinity_no": "sender_cpu_affinity",
    "native_resource_agent_cpu_affinity_no": "native_resource_agent_cpu_affinity",
    "cpuset_affinity": "cpuset_affinity",
    "cpuset_warnings_as_errors": "cpuset_warnings_as_errors",
    "flow_control.group_tag": "flow_control_group_tag",
    "flow_control.group_min_size": "flow_control_group_min_size",
    "flow_control_receiver_timeout_ns": "flow_control_receiver_timeout",
    "re_resolution_check_interval_ns": "reresolution_check_interval",
    "stream_session_limit": "stream_session_limit",
    "threading_mode": "threading_mode",
}


def theirs(variables: dict[str, str]) -> dict[str, str]:
    """What the C driver would run with."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AERON_")}
    done = subprocess.run(
        [peers.need_pyaeron(), "-m", "tests.interop.programs.aeronmd_pyaeron", "--print"],
        env={**environment, **variables},
        cwd=peers.ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return dict(line.strip().split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def ours(variables: dict[str, str]) -> dict[str, str]:
    """The same of ours, in the words of theirs."""
    context = MediaDriverContext(environment=variables)

    def text(setting: str | tuple[str, int]) -> str:
        name, divisor = setting if isinstance(setting, tuple) else (setting, 1)
        value: Any = getattr(context, name)
        if isinstance(value, ThreadingMode):
            return value.name
        return str(int(value) // divisor)

    return {name: text(setting) for name, setting in SETTINGS.items()}


def kind_of(option: Option[Any]) -> str:
    """What the option's text is: durations take units, sizes others, numbers none."""
    sample = {"duration": "3ms", "size": "4k", "flag": "off", "number": "3"}

    def reads(text: str) -> bool:
        try:
            option.parse(text)
        except ValueError:
            return False
        return True

    return next(kind for kind, text in sample.items() if reads(text))


# Numbers that the C driver cuts to fewer bits before it clamps them.
CUT = {"send_to_status_poll_ratio", *(name for name in SETTINGS.values() if "affinity" in name)}


def variables_of(value: str, kinds: Sequence[str]) -> dict[str, str]:
    """The variables of all options of these kinds, set to one text."""
    names = {setting[0] if isinstance(setting, tuple) else setting for setting in SETTINGS.values()}
    if len(value) == 20:
        names.discard("nak_unicast_delay")  # it would not fit into 64 bits, times its ratio
    names -= {"threading_mode", *(CUT if value.isdigit() and int(value) > 255 else ())}
    return {
        option.environment: value
        for option in MediaDriverContext.options()
        if option.name in names and kind_of(option) in kinds
    }


NUMBERS = ("duration", "size", "number")
ANY = (*NUMBERS, "flag")
VALUES: dict[str, Sequence[str]] = {
    **dict.fromkeys(("0", "1", "true", "on", "off", "false", "soon", "-", "x1"), ANY),
    **dict.fromkeys(("2", " 7", "100", "3000", "70000", "2000000000"), NUMBERS),
    **dict.fromkeys(("4k", "64k", "1m", "2M", "1g", "3g", "5000000000"), ("size",)),
    **dict.fromkeys(("1us", "500ns", "3ms", "20s", "5000000000", "99999999999999999999"), ("duration",)),
    **dict.fromkeys(("-1", "-2"), ("duration", "size")),
}
MODES = ("SHARED", "INVOKER", "SHARED_NETWORK", "DEDICATED", "NEITHER", "")


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({}, id="none"),
        *(pytest.param(variables_of(value, kinds), id=value) for value, kinds in VALUES.items()),
        *(pytest.param({"AERON_THREADING_MODE": mode}, id=mode) for mode in MODES),
    ],
)
def test_every_option_is_read_as_the_c_driver_reads_it(variables: dict[str, str]) -> None:
    their_settings, our_settings = theirs(variables), ours(variables)

    different = {
        name: f"ours {our_settings[name]}, theirs {their_settings[name]}"
        for name in SETTINGS
        if our_settings[name] != their_settings[name]
    }
    assert different == {}
    assert len(their_settings) > len(SETTINGS)


STARTS = (
    *("AERON_RCV_INITIAL_WINDOW_LENGTH=200000", "AERON_SOCKET_SO_RCVBUF=1g", "AERON_THREADING_MODE=foo"),
    *("AERON_THREAD_NAMING=foo", "AERON_CONDUCTOR_CPU_AFFINITY=77", "AERON_EVENT_LOG=foo", "AERON_MAX_RESEND=999"),
)
FAILS = (
    *("AERON_RCV_INITIAL_WINDOW_LENGTH=1g", "AERON_TIMER_INTERVAL=11s", "AERON_TERM_BUFFER_LENGTH=70000"),
    *("AERON_TERM_BUFFER_LENGTH=4k", "AERON_PUBLICATION_UNBLOCK_TIMEOUT=9s", "AERON_MTU_LENGTH=100"),
    *("AERON_CONDUCTOR_IDLE_STRATEGY=foo", "AERON_DRIVER_TERMINATION_VALIDATOR=foo", "AERON_FILE_PAGE_SIZE=5000"),
    *("AERON_NAME_RESOLVER_SUPPLIER=foo", "AERON_CONDUCTOR_IDLE_STRATEGY_INIT_ARGS=1-2-3"),
    *("AERON_CONDUCTOR_BUFFER_LENGTH=2m", "AERON_DRIVER_RESOLVER_INTERFACE=127.0.0.1:8050"),
    *("AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS=foo", "AERON_UNTETHERED_RESTING_TIMEOUT=500ms"),
    "AERON_NAK_UNICAST_DELAY=99999999999999999999",
)


def start(make: str, aeron_dir: Path, name: str, value: str) -> subprocess.Popen[str]:
    """A driver that only has its directory and one option."""
    environment = {key: text for key, text in os.environ.items() if not key.startswith("AERON_")}
    environment |= {"PYTHONPATH": str(peers.ROOT), "AERON_DIR": str(aeron_dir), name: value}
    python = sys.executable if make == "ours" else str(peers.need_pyaeron())
    module = "aeronpy.cli.driver" if make == "ours" else "tests.interop.programs.aeronmd_pyaeron"
    return subprocess.Popen(
        [python, "-m", module], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("setting", [*STARTS, *FAILS])
def test_the_same_settings_let_both_drivers_start_or_fail(stage: Stage, setting: str) -> None:
    drivers = {make: start(make, stage.base / make, *setting.split("=", 1)) for make in ("ours", "c")}
    deadline = time.monotonic() + 20
    for make, driver in drivers.items():
        while driver.poll() is None and not is_ready(stage.base / make / "cnc.dat"):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        driver.terminate()
    for make, driver in drivers.items():
        out, err = driver.communicate(timeout=20)
        assert driver.returncode == (15 if setting in STARTS else 1), (make, out, err)
        assert bool(err) == (setting in FAILS) or make == "c"


def is_ready(cnc: Path) -> bool:
    """Does the driver let clients in?"""
    if not cnc.exists():
        return False
    with cnc.open("rb") as file:
        return file.read(4) == b"\0\2\0\0"
