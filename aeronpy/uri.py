"""Channel URIs: ``aeron:udp?endpoint=...|mtu=8k``, parsed, checked, built and written (spec: client API, section 14).

Parsing is strict unless asked otherwise: an unknown or misspelt key, a key given twice or a value outside its
grammar raises `ChannelError` with the nearest valid name. ``strict=False`` accepts what Aeron's own driver
accepts: unknown keys are kept, values are checked when they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Unpack

from aeronpy.errors import ChannelError
from aeronpy.uri_params import (
    PARAMS,
    PROTOTYPE_CORRELATION_ID,
    RESERVED_OFFSET,
    SIZES,
    ChannelParams,
    UdpParams,
    keywords_of,
    parse_tags,
)
from aeronpy.uri_values import (
    format_duration,
    format_size,
    get_tag,
    is_tagged,
    min_flow_control,
    nearest_text,
    parse_bool,
    parse_duration_ns,
    parse_integer,
    parse_size,
    split_address,
    tagged_flow_control,
)

if TYPE_CHECKING:
    from aeronpy.uri_explain import Explanation

__all__ = [
    "MAX_LENGTH",
    "NULL_VALUE",
    "PROTOTYPE_CORRELATION_ID",
    "RESERVED_OFFSET",
    "SPY_PREFIX",
    "Channel",
    "ChannelUri",
    "format_duration",
    "format_size",
    "get_tag",
    "is_tagged",
    "min_flow_control",
    "parse_bool",
    "parse_duration_ns",
    "parse_integer",
    "parse_size",
    "split_address",
    "tagged_flow_control",
]

MAX_LENGTH: Final = 4095
SPY_PREFIX: Final = "aeron-spy"
NULL_VALUE: Final = -1
_MEDIA: Final = ("udp", "ipc")


class ChannelUri(NamedTuple):
    """A channel: media, prefix and parameters. Immutable; ``str()`` is the URI as Aeron writes it."""

    media: str
    params: Mapping[str, str] = MappingProxyType({})
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
        if media not in _MEDIA:
            raise ChannelError(f"media {media!r} in {text!r} is neither 'udp' nor 'ipc'{nearest_text(media, _MEDIA)}")
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

    # --- building ---

    @classmethod
    def udp(cls, endpoint: str | None = None, **params: Unpack[UdpParams]) -> ChannelUri:
        """Build a UDP channel; keywords are Aeron's keys in snake_case, as ``mtu_bytes``, ``linger_ns``.

        Raises `ChannelError` for what `parse` would refuse, and for unknown keywords.
        """
        return cls._build("udp", {"endpoint": endpoint, **params})

    @classmethod
    def ipc(cls, **params: Unpack[ChannelParams]) -> ChannelUri:
        """Build an IPC channel; keywords as in `udp`."""
        return cls._build("ipc", params)

    @classmethod
    def _build(cls, media: str, params: Mapping[str, object]) -> ChannelUri:
        known = keywords_of(media)
        texts: dict[str, str] = {}
        for name, value in params.items():
            if name not in known:
                key = name.replace("_", "-")
                by_unit = [each for each in known if SIZES.get(each) == key or each == f"{name}_ns"]
                near = nearest_text(by_unit[0] if by_unit else name, known) or f"; known are {', '.join(known)}"
                raise ChannelError(f"Channel.{media} has no keyword {name!r}{near}")
            if value is None:
                continue
            if name in SIZES:
                texts[SIZES[name]] = cls._text_of(name, value, format_size)
            elif name.endswith("_ns"):
                texts[name[:-3].replace("_", "-")] = cls._text_of(name, value, format_duration)
            else:
                texts[name.replace("_", "-")] = str(value).lower() if isinstance(value, bool) else str(value)
        channel = cls(media, texts)
        channel.validate()
        return channel

    @staticmethod
    def _text_of(name: str, value: object, write: Callable[[int], str]) -> str:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
            raise ChannelError(f"{name} is {value!r}: a whole number of 0 or more")
        return write(value)

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

    def as_spy(self) -> ChannelUri:
        """The channel of a subscription that spies on a publication of this one."""
        return ChannelUri(self.media, self.params, SPY_PREFIX)

    def initial_position(self, position: int, initial_term_id: int, term_length: int) -> ChannelUri:
        """A copy of which a publication starts at a position; raises `ChannelError`."""
        if position < 0 or position % 32:
            raise ChannelError(f"initial position {position} is not a multiple of 32 from 0 on")
        if term_length < 1 or term_length & (term_length - 1):
            raise ChannelError(f"term length {term_length} is not a power of two")
        terms, offset = divmod(position, term_length)
        term_id = (initial_term_id + terms + (1 << 31)) % (1 << 32) - (1 << 31)
        texts = {
            "term-length": format_size(term_length),
            "init-term-id": str(initial_term_id),
            "term-id": str(term_id),
            "term-offset": format_size(offset),
        }
        channel = ChannelUri(self.media, {**self.params, **texts}, self.prefix)
        channel.validate()
        return channel

    def with_alias_if_absent(self, alias: str) -> ChannelUri:
        """A copy with an alias, or this one where it has one."""
        return self if "alias" in self.params else self.with_params(alias=alias)

    def transform_alias(self, transform: Callable[[str | None], str | None]) -> ChannelUri:
        """A copy with the alias that a function makes of this one's; None where there is none, to have none."""
        return self.with_params(alias=transform(self.get("alias")))

    def destination(self, endpoint: str) -> ChannelUri:
        """The destination of this media at an endpoint, by this channel's interface."""
        texts = {key: value for key in ("interface",) if (value := self.get(key)) is not None}
        return ChannelUri(self.media, {"endpoint": endpoint, **texts})

    def replace_endpoint_wildcard_port(self, resolved: str) -> ChannelUri:
        """A copy whose endpoint has the port of a resolved address in place of port 0; raises `ChannelError`."""
        endpoint = self.get("endpoint")
        if endpoint is None or not endpoint.endswith(":0"):
            return self
        port = resolved.rpartition(":")[2]
        if not port.isdigit() or int(port) == 0:
            raise ChannelError(f"resolved endpoint {resolved!r} has no port: host:port, and the port is not 0")
        return self.with_params(endpoint=f"{endpoint[: -len('0')]}{port}")

    # --- checking ---

    def validate(self) -> None:
        """Check every key and value, and the rules between them; raises `ChannelError`."""
        for key, value in self.params.items():
            param = PARAMS.get(key)
            if param is None:
                near = nearest_text(key, PARAMS) or f"; known are {', '.join(PARAMS)}"
                raise ChannelError(f"unknown parameter {key!r} in {self}{near}")
            if self.media[0] not in param.media:
                raise ChannelError(f"parameter {key!r} has no meaning for {self.media!r} in {self}")
            if "|" in value:
                raise ChannelError(f"parameter {key!r} in {self}: {value!r} has a '|' in it, which ends a parameter")
            try:
                param.parse(value)
            except ValueError as error:
                raise ChannelError(f"parameter {key!r} in {self}: {error}") from None
        self._validate_position()
        self._validate_windows()
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

    def _validate_windows(self) -> None:
        window, term, mtu = self.size("pub-wnd"), self.size("term-length"), self.size("mtu")
        if window is not None and term is not None and window > term // 2:
            raise ChannelError(f"pub-wnd in {self} is more than half of term-length: at most {format_size(term // 2)}")
        if window is not None and mtu is not None and window < mtu:
            raise ChannelError(f"pub-wnd in {self} is less than mtu: at least {format_size(mtu)}")
        receiver, buffer = self.size("rcv-wnd"), self.size("so-rcvbuf")
        if receiver is not None and buffer is not None and receiver > buffer:
            raise ChannelError(f"rcv-wnd in {self} is more than so-rcvbuf: at most {format_size(buffer)}")

    # --- reading ---

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
        return self._value(key, lambda text: parse_integer(text, -(1 << 63), (1 << 63) - 1))

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
            found = parse_tags(text)
        except ValueError as error:
            raise ChannelError(f"parameter 'tags' in {self}: {error}") from None
        return found[0], found[1] if len(found) > 1 else None

    def explain(self) -> Explanation:
        """Who binds what, which defaults apply, and what memory a stream takes; ``str()`` of it is for people.

        Raises `ChannelError` where the channel cannot be used.
        """
        from aeronpy.uri_explain import explain

        return explain(self)

    def __str__(self) -> str:
        known = [key for key in PARAMS if key in self.params]
        keys = known + [key for key in self.params if key not in PARAMS]
        query = "|".join(f"{key}={self.params[key]}" for key in keys)
        prefix = f"{self.prefix}:" if self.prefix else ""
        return f"{prefix}aeron:{self.media}" + (f"?{query}" if query else "")


Channel = ChannelUri
