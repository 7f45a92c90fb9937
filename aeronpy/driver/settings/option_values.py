"""What the driver's settings may say, in the spellings of the C and the Java driver, and how it is read."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from aeronpy.uri import parse_integer

MS: Final = 1_000_000
S: Final = 1_000_000_000
MI: Final = 1 << 20

_AGRONA: Final = "org.agrona.concurrent"
_DRIVER: Final = "io.aeron.driver"

Spellings = dict[str, tuple[str, ...]]


class ThreadingMode(IntEnum):
    """Which native threads a driver has."""

    DEDICATED = 0
    SHARED_NETWORK = 1
    SHARED = 2
    INVOKER = 3


IDLE_STRATEGIES: Final[Spellings] = {
    "backoff": (f"{_AGRONA}.BackoffIdleStrategy",),
    "spin": ("busy-spin", f"{_AGRONA}.BusySpinIdleStrategy"),
    "yield": (f"{_AGRONA}.YieldingIdleStrategy",),
    "noop": (f"{_AGRONA}.NoOpIdleStrategy",),
    "sleep-ns": ("sleeping", f"{_AGRONA}.SleepingIdleStrategy"),
    "sleep-ms": (f"{_AGRONA}.SleepingMillisIdleStrategy",),
    "controllable": (f"{_AGRONA}.ControllableIdleStrategy",),
}

PROFILES: Final[Spellings] = {"default": (), "quiet": ()}

TERMINATION_VALIDATORS: Final[Spellings] = {
    "deny": (f"{_DRIVER}.DefaultDenyTerminationValidator", "aeron_driver_termination_validator_default_deny"),
    "allow": (f"{_DRIVER}.DefaultAllowTerminationValidator", "aeron_driver_termination_validator_default_allow"),
}

FLOW_CONTROLS: Final[Spellings] = {
    "unicast_max": (
        "aeron_unicast_flow_control_strategy_supplier",
        f"{_DRIVER}.UnicastFlowControl",
        f"{_DRIVER}.DefaultUnicastFlowControlSupplier",
    ),
    "multicast_max": (
        "aeron_max_multicast_flow_control_strategy_supplier",
        f"{_DRIVER}.MaxMulticastFlowControl",
        f"{_DRIVER}.DefaultMulticastFlowControlSupplier",
    ),
    "multicast_min": (
        "aeron_min_flow_control_strategy_supplier",
        f"{_DRIVER}.MinMulticastFlowControl",
        f"{_DRIVER}.MinMulticastFlowControlSupplier",
    ),
    "multicast_tagged": (
        "aeron_tagged_flow_control_strategy_supplier",
        f"{_DRIVER}.TaggedMulticastFlowControl",
        f"{_DRIVER}.TaggedMulticastFlowControlSupplier",
    ),
}

CONGESTION_CONTROLS: Final[Spellings] = {
    "default": (
        "aeron_congestion_control_default_strategy_supplier",
        f"{_DRIVER}.DefaultCongestionControlSupplier",
    ),
    "static": (
        "aeron_static_window_congestion_control_strategy_supplier",
        f"{_DRIVER}.StaticWindowCongestionControl",
    ),
    "cubic": (
        "aeron_cubic_congestion_control_strategy_supplier",
        f"{_DRIVER}.ext.CubicCongestionControl",
        f"{_DRIVER}.ext.CubicCongestionControlSupplier",
    ),
}

NAME_RESOLVERS: Final[Spellings] = {
    "default": ("aeron_default_name_resolver_supplier",),
    "driver": ("aeron_driver_name_resolver_supplier",),
    "csv_table": ("aeron_csv_table_name_resolver_supplier",),
}

TRANSPORT_BINDINGS: Final[Spellings] = {"default": ("aeron_udp_channel_transport_bindings_default",)}


def parse_mode(given: str) -> ThreadingMode:
    """A threading mode by its name; ValueError for no such name."""
    try:
        return ThreadingMode[given.strip().upper()]
    except KeyError:
        raise ValueError(f"{given!r} is none of {', '.join(ThreadingMode.__members__)}") from None


def parse_naming(given: str) -> str:
    """``classic`` or ``new``; ValueError for anything else."""
    if given not in ("classic", "new"):
        raise ValueError(f"{given!r} is neither classic nor new")
    return given


def parse_milliseconds(given: str) -> int:
    """Nanoseconds of a plain number of milliseconds."""
    return parse_integer(given.strip(), -(1 << 43), 1 << 43) * MS


def parse_group(given: str) -> str:
    """``infer``, ``true`` or ``false``; any other text is false, as in the C driver."""
    word = given.strip().lower()
    return word if word in ("infer", "true") else "false"


def parse_permissions(given: str) -> int:
    """Mode bits of an octal text such as ``0770``."""
    if not re.fullmatch(r"(0o)?[0-7]{1,4}", given.strip()):
        raise ValueError(f"{given!r} is no octal mode such as 0770")
    return int(given.strip().removeprefix("0o"), 8)


def parse_port_range(given: str) -> tuple[int, int]:
    """``"low high"`` as two ports; ``(0, 0)``: whatever the system gives."""
    found = re.fullmatch(r"\s*(\d{1,5})\s+(\d{1,5})\s*", given)
    if found is None:
        raise ValueError(f"{given!r} is not a range of ports: two numbers with a space between, such as 20700 20800")
    low, high = int(found[1]), int(found[2])
    if high > 65535 or low > high or (low == 0) != (high == 0):
        raise ValueError(f"{given!r} is not a range of ports: low to high within 1 to 65535, or 0 0")
    return low, high


def parse_i32(given: str) -> int:
    """A number of 32 bits; ValueError for any other."""
    return parse_integer(given.strip(), -(1 << 31), (1 << 31) - 1)


def parse_i64(given: str) -> int:
    """A number of 64 bits; ValueError for any other."""
    return parse_integer(given.strip(), -(1 << 63), (1 << 63) - 1)
