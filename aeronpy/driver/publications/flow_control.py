"""Which receivers a publication waits for (spec: network protocol, section 3.8)."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Any, Final, NamedTuple

from aeronpy.driver.channels.channel_values import bad_value
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.uri import ChannelUri, parse_duration_ns, parse_integer


class FlowControlKind(IntEnum):
    """The values of ``apy_flow_control_kind_t``."""

    UNICAST = 0
    MAX = 1
    MIN = 2
    TAGGED = 3


_SUPPLIERS: Final = {
    "unicast_max": FlowControlKind.UNICAST,
    "multicast_max": FlowControlKind.MAX,
    "multicast_min": FlowControlKind.MIN,
    "multicast_tagged": FlowControlKind.TAGGED,
}
_NAMES: Final = {"max": FlowControlKind.MAX, "min": FlowControlKind.MIN, "tagged": FlowControlKind.TAGGED}
_GROUP: Final = re.compile(r"(-?\d+)?(?:/(\d+))?")


class FlowControl(NamedTuple):
    """Of one publication."""

    kind: FlowControlKind
    retransmit_windows: int
    receiver_timeout_ns: int
    group_tag: int
    group_min: int

    @classmethod
    def parse(cls, uri: ChannelUri, context: MediaDriverContext, *, is_group: bool) -> FlowControl:
        """What the channel says, where many receive; else the driver's settings. Error 11 for bad values."""
        default = cls(
            kind=_SUPPLIERS[
                context.multicast_flow_control_supplier if is_group else context.unicast_flow_control_supplier
            ],
            retransmit_windows=context.multicast_flow_control_rrwm if is_group else context.unicast_flow_control_rrwm,
            receiver_timeout_ns=context.flow_control_receiver_timeout,
            group_tag=context.flow_control_group_tag,
            group_min=context.flow_control_group_min_size,
        )
        given = uri.get("fc")
        if not is_group or given is None:
            return default
        name, *options = given.split(",")
        if name not in _NAMES:
            raise bad_value(uri, "fc", f"{name!r} is none of {', '.join(_NAMES)}")
        found = default._replace(kind=_NAMES[name])
        for option in options:
            found = found._with(option, uri)
        return found

    def _with(self, option: str, uri: ChannelUri) -> FlowControl:
        key, _, text = option.partition(":")
        try:
            if key == "rrwm":
                return self._replace(retransmit_windows=_whole(text, 1))
            if key == "t" and self.remembers_receivers:
                return self._replace(receiver_timeout_ns=parse_duration_ns(text))
            if key == "g" and self.remembers_receivers:
                return self._with_group(text)
        except ValueError as error:
            raise bad_value(uri, "fc", f"option {option!r}: {error}") from None
        known = "t, g, rrwm" if self.remembers_receivers else "rrwm"
        raise bad_value(uri, "fc", f"option {option!r} is none of {known}")

    def _with_group(self, text: str) -> FlowControl:
        found = _GROUP.fullmatch(text)
        if found is None or not text:
            raise ValueError("it is no tag, nor tag/size, nor /size")
        tag = self.group_tag if found[1] is None else parse_integer(found[1], -(1 << 63), (1 << 63) - 1)
        return self._replace(group_tag=tag, group_min=self.group_min if found[2] is None else _whole(found[2], 0))

    @property
    def remembers_receivers(self) -> bool:
        """Does it wait for the slowest of a group, and count it?"""
        return self.kind in (FlowControlKind.MIN, FlowControlKind.TAGGED)

    def native_settings(self, receiver_count_id: int | None) -> dict[str, Any]:
        """For the native half."""
        return {
            "kind": int(self.kind),
            "retransmit_windows": self.retransmit_windows,
            "group_min": self.group_min,
            "group_tag": self.group_tag,
            "receiver_timeout_ns": self.receiver_timeout_ns,
            "receiver_count_id": receiver_count_id,
        }


def _whole(text: str, least: int) -> int:
    return parse_integer(text, least, (1 << 31) - 1)
