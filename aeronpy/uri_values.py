"""Values of channel parameters, as text and as numbers: sizes, durations, truths, addresses, flow control."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TIMES: Final = {"": 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def nearest_text(given: str, names: Iterable[str]) -> str:
    """``; did you mean 'x'?`` where one of the names is near, or nothing."""
    import difflib

    found = difflib.get_close_matches(given, list(names), 1, 0.5)
    return f"; did you mean {found[0]!r}?" if found else ""


def parse_size(text: str) -> int:
    """Bytes of ``"64k"``, ``"8m"``, ``"1g"`` or a plain number; ValueError when it is none of these."""
    found = re.fullmatch(r"(\d+)([kmg]?)", text, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is not a size: a whole number, with k, m or g at the end if wanted")
    return int(found[1]) * _UNITS[found[2].lower()]


def parse_duration_ns(text: str) -> int:
    """Nanoseconds of ``"5s"``, ``"10ms"``, ``"1us"``, ``"100ns"`` or a plain number of ns; ValueError otherwise."""
    found = re.fullmatch(r"(\d+)(ns|us|ms|s)?", text, re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is not a duration: a whole number, with ns, us, ms or s at the end if wanted")
    duration_ns = int(found[1]) * _TIMES[(found[2] or "").lower()]
    if duration_ns >= 1 << 63:
        raise ValueError(f"{text!r} is longer than 64 bits of nanoseconds")
    return duration_ns


def parse_bool(text: str) -> bool:
    """True of ``"true"``, False of ``"false"``; ValueError for all else."""
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def format_size(length: int) -> str:
    """The shortest exact text: 65536 is ``"64k"``."""
    for unit in ("g", "m", "k"):
        if length and length % _UNITS[unit] == 0:
            return f"{length // _UNITS[unit]}{unit}"
    return str(length)


def format_duration(duration_ns: int) -> str:
    """The shortest exact text: 5_000_000_000 is ``"5s"``."""
    for unit in ("s", "ms", "us"):
        if duration_ns and duration_ns % _TIMES[unit] == 0:
            return f"{duration_ns // _TIMES[unit]}{unit}"
    return f"{duration_ns}ns"


def split_address(text: str) -> tuple[str, int]:
    """Host and port of ``host:port``, ``a.b.c.d:port`` or ``[v6]:port``; ValueError when it is none of these."""
    found = re.fullmatch(r"\[([^\]%]+)(?:%[^\]]*)?\]:(\d+)|([^:\[\]]+):(\d+)", text)
    if found is None:
        raise ValueError(f"{text!r} is not an address: host:port or [v6]:port")
    host, port = (found[1], found[2]) if found[1] is not None else (found[3], found[4])
    if int(port) > 65535:
        raise ValueError(f"port {port} is outside 0 to 65535")
    return host, int(port)


def parse_integer(text: str, low: int, high: int) -> int:
    """A whole number within bounds; ValueError otherwise."""
    if not re.fullmatch(r"-?\d+", text):
        raise ValueError(f"{text!r} is not a whole number")
    value = int(text)
    if not low <= value <= high:
        raise ValueError(f"{value} is outside {low} to {high}")
    return value


_FLOW_CONTROL_OPTIONS: Final = {"max": ("rrwm",), "min": ("g", "t", "rrwm"), "tagged": ("g", "t", "rrwm")}


def check_flow_control(text: str) -> str:
    """The text of a flow control strategy and its options; ValueError where it is none."""
    strategy, *options = text.split(",")
    known = _FLOW_CONTROL_OPTIONS.get(strategy)
    if known is None:
        near = nearest_text(strategy, _FLOW_CONTROL_OPTIONS)
        raise ValueError(f"{strategy!r} is no flow control strategy: max, min or tagged{near}")
    for option in options:
        name, colon, value = option.partition(":")
        if name not in known or not colon:
            near = nearest_text(name, known)
            raise ValueError(
                f"{option!r} is no option of {strategy!r}: {', '.join(f'{each}:' for each in known)}{near}"
            )
        if name == "t":
            parse_duration_ns(value)
        elif name == "rrwm":
            parse_integer(value, 1, (1 << 31) - 1)
        else:
            _check_group(value)
    return text


def _check_group(text: str) -> None:
    tag, slash, size = text.partition("/")
    if tag:
        parse_integer(tag, -(1 << 63), (1 << 63) - 1)
    if slash:
        parse_integer(size, 0, (1 << 31) - 1)
    if not tag and not slash:
        raise ValueError("g: needs a group tag, /<group size>, or both")


def tagged_flow_control(
    group_tag: int | None = None, min_group_size: int | None = None, timeout: str | None = None
) -> str:
    """The ``fc`` text of tagged flow control: the slowest among the receivers that carry the tag."""
    group = "" if group_tag is None else str(group_tag)
    group += "" if min_group_size is None else f"/{min_group_size}"
    return _with_options("tagged", group, timeout)


def min_flow_control(min_group_size: int | None = None, timeout: str | None = None) -> str:
    """The ``fc`` text of minimum flow control: the slowest receiver, of which there are to be so many."""
    return _with_options("min", "" if min_group_size is None else f"/{min_group_size}", timeout)


def _with_options(strategy: str, group: str, timeout: str | None) -> str:
    options = [f"g:{group}"] if group else []
    options += [f"t:{timeout}"] if timeout is not None else []
    return ",".join([strategy, *options])


TAG_PREFIX: Final = "tag:"


def is_tagged(text: str) -> bool:
    """Whether a value names another channel's entity: ``tag:<number>``."""
    return text.startswith(TAG_PREFIX)


def get_tag(text: str) -> str:
    """The tag behind ``tag:``; the text itself where it has none."""
    return text.removeprefix(TAG_PREFIX)
