"""What threads in C saw, as the event log words it: records of the core's trace, made into lines."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, NamedTuple

from aeronpy._core import native
from aeronpy.driver import event_texts, frame_texts
from aeronpy.driver.commands import CommandType
from aeronpy.driver.log_events import FRAMES, LogEvent

ChannelOf = Callable[[int], str]

_GAP: Final = struct.Struct("<qiiiii")
_RECEIVER: Final = struct.Struct("<qqiii")
_REVOKED: Final = struct.Struct("<qqii")

NEIGHBORS: Final = frozenset({LogEvent.NAME_RESOLUTION_NEIGHBOR_ADDED, LogEvent.NAME_RESOLUTION_NEIGHBOR_REMOVED})
RECEIVERS: Final = frozenset({LogEvent.FLOW_CONTROL_RECEIVER_ADDED, LogEvent.FLOW_CONTROL_RECEIVER_REMOVED})
GAPS: Final = frozenset({LogEvent.NAK_SENT, LogEvent.NAK_RECEIVED, LogEvent.RESEND})
TRACED: Final = (
    FRAMES
    | NEIGHBORS
    | RECEIVERS
    | GAPS
    | {
        LogEvent.CMD_IN_KEEPALIVE_CLIENT,
        LogEvent.PUBLICATION_IMAGE_REVOKE,
    }
)
"""Events that only threads in C see."""


class Record(NamedTuple):
    """One of the core's trace; ``address`` is a ``sockaddr_storage`` or nothing, ``length`` a datagram's."""

    event: int
    time_ns: int
    address: bytes
    length: int
    body: bytes


def mask_of(events: frozenset[LogEvent]) -> int:
    """What the core is to trace for these events, as bits of their numbers; 0: nothing."""
    return sum(1 << event for event in events & TRACED)


def of_record(record: Record, channel_of: ChannelOf) -> str:
    """A record's words; ``channel_of`` knows the channel of an endpoint's id."""
    event = LogEvent(record.event)
    if event in FRAMES:
        return f"address={native.format_address(record.address)} {frame_texts.of_frame(record.body)}"
    if event is LogEvent.CMD_IN_KEEPALIVE_CLIENT:
        return event_texts.of_command(CommandType.CLIENT_KEEPALIVE, record.body)
    if event in NEIGHBORS:
        return native.format_address(record.address)
    if event in RECEIVERS:
        endpoint, receiver, session, stream, count = _RECEIVER.unpack_from(record.body)
        what = f"receiverCount={count} receiverId={receiver} sessionId={session} streamId={stream}"
    elif event in GAPS:
        endpoint, session, stream, term, offset, length = _GAP.unpack_from(record.body)
        what = f"sessionId={session} streamId={stream} termId={term} termOffset={offset} length={length}"
        if record.address:
            what = f"address={native.format_address(record.address)} {what}"
    else:
        endpoint, position, session, stream = _REVOKED.unpack_from(record.body)
        what = f"revokedPos={position} sessionId={session} streamId={stream}"
    return f"{what} channel={channel_of(endpoint)}"
