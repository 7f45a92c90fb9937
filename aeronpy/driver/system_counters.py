"""The counters that every driver has: ids are positions in the table (spec: shared memory, section 7.5)."""

from __future__ import annotations

from typing import Final

from aeronpy.driver.settings.context import ThreadingMode
from aeronpy.uri import format_duration

AERON_VERSION: Final = (1 << 16) | (53 << 8) | 0
CONTROL_PROTOCOL_VERSION: Final = 1 << 16

ERRORS: Final = 15
FREE_FAILS: Final = 17
CLIENT_TIMEOUTS: Final = 24
RESOLUTION_CHANGES: Final = 25
CONDUCTOR_CYCLES_EXCEEDED: Final = 27
NAME_RESOLVER_MAX: Final = 32
NAME_RESOLVER_EXCEEDED: Final = 33
AERON_VERSION_ID: Final = 34
IMAGES_REJECTED: Final = 42
CONTROL_PROTOCOL_VERSION_ID: Final = 43

_LABELS: Final = """\
Bytes sent
Bytes received
Failed offers to ReceiverProxy
Failed offers to SenderProxy
Failed offers to DriverConductorProxy
NAKs sent
NAKs received
Status Messages sent
Status Messages received
Heartbeats sent
Heartbeats received
Retransmits sent
Flow control under runs
Flow control over runs
Invalid packets
Errors: {version}
Short sends
Failed attempts to free log buffers
Sender flow control limits, i.e. back-pressure events
Unblocked Publications
Unblocked Control Commands
Possible TTL Asymmetry
ControllableIdleStrategy status
Loss gap fills
Client liveness timeouts
Resolution changes: driverName=
Conductor max cycle time doing its work in ns: {mode}
Conductor work cycle exceeded threshold count: threshold={conductor} {mode}
Sender max cycle time doing its work in ns: {mode}
Sender work cycle exceeded threshold count: threshold={sender} {mode}
Receiver max cycle time doing its work in ns: {mode}
Receiver work cycle exceeded threshold count: threshold={receiver} {mode}
NameResolver max time in ns
NameResolver exceeded threshold count: threshold={resolver}
Aeron software: {version}
Bytes currently mapped
Retransmitted bytes
Retransmit Pool Overflow count
Error Frames received
Error Frames sent
Publications Revoked
Publication Images Revoked
Images rejected
Control protocol version
Status Messages rejected
Failed offers to NativeResourceAgentProxy""".split("\n")


def labels(
    version: str,
    mode: ThreadingMode,
    *,
    conductor_ns: int,
    sender_ns: int,
    receiver_ns: int,
    resolver_ns: int,
) -> list[bytes]:
    """Labels in the order of ids; times are the thresholds that the labels name."""
    values = {
        "version": f"version={version} commit=aeronpy",
        "mode": mode.name,
        "conductor": format_duration(conductor_ns),
        "sender": format_duration(sender_ns),
        "receiver": format_duration(receiver_ns),
        "resolver": format_duration(resolver_ns),
    }
    return [label.format(**values).encode() for label in _LABELS]
