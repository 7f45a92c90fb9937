"""Channel URIs: ``aeron:udp?endpoint=...|mtu=8k``, parsed, checked, built and written (spec: client API, section 14).

Parsing is strict unless asked otherwise: an unknown or misspelt key, a key given twice or a value outside its
grammar raises `ChannelError` with the nearest valid name. ``strict=False`` accepts what Aeron's own driver
accepts: unknown keys are kept, values are checked when they are used.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from aeronpy.errors import ChannelError

MAX_LENGTH: Final = 4095
SPY_PREFIX: Final = "aeron-spy"
NULL_VALUE: Final = -1
PROTOTYPE_CORRELATION_ID: Final = -2
RESERVED_OFFSET: Final = -8

_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TIMES: Final = {"": 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


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


def _integer(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"-?\d+", text):
            raise ValueError(f"{text!r} is not a whole number")
        value = int(text)
        if not low <= value <= high:
            raise ValueError(f"{value} is outside {low} to {high}")
        return value

    return parse


_i32 = _integer(-(1 << 31), (1 << 31) - 1)
_i64 = _integer(-(1 << 63), (1 << 63) - 1)


def _term_length(text: str) -> int:
    length = parse_size(text)
    if not 65536 <= length <= 1 << 30 or length & (length - 1):
        raise ValueError(f"{length} is not a power of two from 64k to 1g")
    return length


def _mtu(text: str) -> int:
    length = parse_size(text)
    if not 32 < length <= 65504 or length % 32:
        raise ValueError(f"{length} is not a multiple of 32 from 64 to 65504")
    return length


def _term_offset(text: str) -> int:
    offset = parse_size(text)
    if offset > 1 << 30 or offset % 32:
        raise ValueError(f"{offset} is not a multiple of 32 up to 1g")
    return offset


def _session_id(text: str) -> int:
    return _i64(text[4:]) if text.startswith("tag:") else _i32(text)


def _tags(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if len(parts) > 2 or not parts[0]:
        raise ValueError(f"{text!r} is not a channel tag, or a channel tag and an entity tag")
    return tuple(_i64(part) for part in parts if part)


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is none of {', '.join(words)}")
        return text

    return parse


def _address(text: str) -> str:
    split_address(text)
    return text


def _timestamp_offset(text: str) -> int:
    return RESERVED_OFFSET if text == "reserved" else _integer(0, (1 << 31) - 1)(text)


def _response_correlation_id(text: str) -> int:
    return PROTOTYPE_CORRELATION_ID if text == "prototype" else _integer(-1, (1 << 63) - 1)(text)


def split_address(text: str) -> tuple[str, int]:
    """Host and port of ``host:port``, ``a.b.c.d:port`` or ``[v6]:port``; ValueError when it is none of these."""
    found = re.fullmatch(r"\[([^\]%]+)(?:%[^\]]*)?\]:(\d+)|([^:\[\]]+):(\d+)", text)
    if found is None:
        raise ValueError(f"{text!r} is not an address: host:port or [v6]:port")
    host, port = (found[1], found[2]) if found[1] is not None else (found[3], found[4])
    if int(port) > 65535:
        raise ValueError(f"port {port} is outside 0 to 65535")
    return host, int(port)


# In the order in which Aeron's own builder writes them, so that texts are equal byte for byte.
_PARSERS: Final[dict[str, Callable[[str], object]]] = {
    "tags": _tags,
    "endpoint": _address,
    "interface": str,
    "control": _address,
    "control-mode": _one_of("manual", "dynamic", "response"),
    "mtu": _mtu,
    "term-length": _term_length,
    "init-term-id": _i32,
    "term-id": _i32,
    "term-offset": _term_offset,
    "session-id": _session_id,
    "ttl": _integer(0, 255),
    "reliable": parse_bool,
    "linger": parse_duration_ns,
    "alias": str,
    "cc": _one_of("static", "cubic"),
    "fc": str,
    "gtag": _i64,
    "sparse": parse_bool,
    "eos": parse_bool,
    "tether": parse_bool,
    "group": _one_of("true", "false", "infer"),
    "rejoin": parse_bool,
    "ssc": parse_bool,
    "so-sndbuf": parse_size,
    "so-rcvbuf": parse_size,
    "rcv-wnd": parse_size,
    "media-rcv-ts-offset": _timestamp_offset,
    "channel-rcv-ts-offset": _timestamp_offset,
    "channel-snd-ts-offset": _timestamp_offset,
    "response-endpoint": _address,
    "response-correlation-id": _response_correlation_id,
    "nak-delay": parse_duration_ns,
    "untethered-window-limit-timeout": parse_duration_ns,
    "untethered-linger-timeout": parse_duration_ns,
    "untethered-resting-timeout": parse_duration_ns,
    "max-resend": _integer(1, 256),
    "stream-id": _i32,
    "pub-wnd": parse_size,
    "ats": parse_bool,
}

_UDP_ONLY: Final = frozenset(
    "endpoint interface control fc ttl max-resend reliable group gtag cc rcv-wnd nak-delay so-sndbuf so-rcvbuf "
    "media-rcv-ts-offset channel-rcv-ts-offset channel-snd-ts-offset ats".split()
)

# Keyword arguments of Channel.udp and Channel.ipc that carry their unit in their name.
_SIZES: Final = {
    "mtu_bytes": "mtu",
    "term_bytes": "term-length",
    "pub_wnd_bytes": "pub-wnd",
    "rcv_wnd_bytes": "rcv-wnd",
    "so_sndbuf_bytes": "so-sndbuf",
    "so_rcvbuf_bytes": "so-rcvbuf",
}


@dataclass(frozen=True)
class ChannelUri:
    """A channel: media, prefix and parameters. Immutable; ``str()`` is the URI as Aeron writes it."""

    media: str
    params: Mapping[str, str] = field(default_factory=dict)
    prefix: str = ""

    @classmethod
    def parse(cls, text: str, strict: bool = True) -> ChannelUri:
        """Parse a URI; raises `ChannelError` that names the part at fault."""
        if len(text) > MAX_LENGTH:
            raise ChannelError(f"channel of {len(text)} characters: at most {MAX_LENGTH} are allowed")
        if not text.isascii():
            raise ChannelError(f"channel {text!r} is not ASCII")
        prefix, rest = "", text
        if text.startswith(SPY_PREFIX + ":"):
            prefix, rest = SPY_PREFIX, text[len(SPY_PREFIX) + 1 :]
        if not rest.startswith("aeron:"):
            raise ChannelError(f"Aeron URIs must start with 'aeron:', found: {text!r}")
        media, question, query = rest[len("aeron:") :].partition("?")
        if media not in ("udp", "ipc"):
            raise ChannelError(f"media {media!r} in {text!r} is neither 'udp' nor 'ipc'")
        params = cls._params(text, query, strict) if question else {}
        channel = cls(media, params, prefix)
        if strict:
            channel.validate()
        return channel

    @staticmethod
    def _params(text: str, query: str, strict: bool) -> dict[str, str]:
        params: dict[str, str] = {}
        for part in query.split("|"):
            key, equals, value = part.partition("=")
            if not key or (strict and not equals):
                if strict or "=" in part:
                    raise ChannelError(f"parameter {part!r} in {text!r} is not key=value")
                continue
            if not equals:
                continue  # the reference driver skips a key without a value
            if strict and key in params:
                raise ChannelError(f"parameter {key!r} stands twice in {text!r}")
            params[key] = value
        return params

    @classmethod
    def udp(cls, endpoint: str | None = None, **params: object) -> ChannelUri:
        """Build a UDP channel; keywords are Aeron's keys in snake_case, as ``mtu_bytes``, ``linger_ns``."""
        return cls._build("udp", {"endpoint": endpoint, **params})

    @classmethod
    def ipc(cls, **params: object) -> ChannelUri:
        """Build an IPC channel; keywords as in `udp`."""
        return cls._build("ipc", params)

    @classmethod
    def _build(cls, media: str, params: Mapping[str, object]) -> ChannelUri:
        texts: dict[str, str] = {}
        for name, value in params.items():
            if value is None:
                continue
            if name in _SIZES:
                texts[_SIZES[name]] = format_size(int(str(value)))
            elif name.endswith("_ns"):
                texts[name[:-3].replace("_", "-")] = format_duration(int(str(value)))
            else:
                texts[name.replace("_", "-")] = str(value).lower() if isinstance(value, bool) else str(value)
        channel = cls(media, texts)
        channel.validate()
        return channel

    def validate(self) -> None:
        """Check every key and value, and the rules between them; raises `ChannelError`."""
        for key, value in self.params.items():
            parser = _PARSERS.get(key)
            if parser is None:
                near = difflib.get_close_matches(key, _PARSERS, 1, 0.5)
                hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(_PARSERS)}"
                raise ChannelError(f"unknown parameter {key!r} in {self}{hint}")
            if key in _UDP_ONLY and self.media != "udp":
                raise ChannelError(f"parameter {key!r} has no meaning for {self.media!r} in {self}")
            try:
                parser(value)
            except ValueError as error:
                raise ChannelError(f"parameter {key!r} in {self}: {error}") from None
        self._validate_position()
        if self.media == "udp" and not ({"endpoint", "control", "tags"} & self.params.keys()):
            if self.params.get("control-mode") not in ("manual", "response"):
                raise ChannelError(f"{self} needs an endpoint, a control address, tags or control-mode=manual")
        if self.params.get("control-mode") == "dynamic" and "control" not in self.params:
            raise ChannelError(f"control-mode=dynamic in {self} needs control=host:port")

    def _validate_position(self) -> None:
        names = [name for name in ("init-term-id", "term-id", "term-offset") if name in self.params]
        if not names:
            return
        if len(names) < 3:
            raise ChannelError(
                f"{', '.join(names)} in {self}: init-term-id, term-id and term-offset come together or not at all"
            )
        behind = (int(self.params["term-id"]) - int(self.params["init-term-id"])) & 0xFFFFFFFF
        if behind >= 1 << 31:
            raise ChannelError(f"term-id is before init-term-id in {self}")
        length = self.size("term-length")
        if length is not None and parse_size(self.params["term-offset"]) > length:
            raise ChannelError(f"term-offset is beyond term-length in {self}")

    @property
    def is_udp(self) -> bool:
        """True for UDP."""
        return self.media == "udp"

    @property
    def is_ipc(self) -> bool:
        """True for IPC."""
        return self.media == "ipc"

    @property
    def is_spy(self) -> bool:
        """True with the ``aeron-spy`` prefix."""
        return self.prefix == SPY_PREFIX

    def get(self, key: str) -> str | None:
        """The value of a key as text, or None."""
        return self.params.get(key)

    def _value(self, key: str, parse: Callable[[str], int]) -> int | None:
        text = self.params.get(key)
        if text is None:
            return None
        try:
            return parse(text)
        except ValueError as error:
            raise ChannelError(f"parameter {key!r} in {self}: {error}") from None

    def size(self, key: str) -> int | None:
        """Bytes of a size parameter, or None when absent; raises `ChannelError`."""
        return self._value(key, parse_size)

    def duration_ns(self, key: str) -> int | None:
        """Nanoseconds of a duration parameter, or None when absent; raises `ChannelError`."""
        return self._value(key, parse_duration_ns)

    def integer(self, key: str) -> int | None:
        """A whole-number parameter, or None when absent; raises `ChannelError`."""
        return self._value(key, _i64)

    def boolean(self, key: str) -> bool | None:
        """A true/false parameter, or None when absent; raises `ChannelError`."""
        value = self._value(key, parse_bool)
        return None if value is None else bool(value)

    def tags(self) -> tuple[int | None, int | None]:
        """Channel tag and entity tag, None where absent; raises `ChannelError`."""
        text = self.params.get("tags")
        if text is None:
            return None, None
        try:
            found = _tags(text)
        except ValueError as error:
            raise ChannelError(f"parameter 'tags' in {self}: {error}") from None
        return found[0], found[1] if len(found) > 1 else None

    def with_params(self, **params: object) -> ChannelUri:
        """A copy with keys (in snake_case) set, or removed where the value is None."""
        texts = dict(self.params)
        for name, value in params.items():
            key = name.replace("_", "-")
            if value is None:
                texts.pop(key, None)
            else:
                texts[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return ChannelUri(self.media, texts, self.prefix)

    def __str__(self) -> str:
        known = [key for key in _PARSERS if key in self.params]
        keys = known + [key for key in self.params if key not in _PARSERS]
        query = "|".join(f"{key}={self.params[key]}" for key in keys)
        prefix = f"{self.prefix}:" if self.prefix else ""
        return f"{prefix}aeron:{self.media}" + (f"?{query}" if query else "")


Channel = ChannelUri
