"""What was dropped, sent again or refused, by cause: of the whole driver, as its system counters count it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from aeronpy.observe.counters import Counter
from aeronpy.observe.keys import SystemKey
from aeronpy.observe.processes import udp_drops
from aeronpy.observe.types import SystemCounter

_CAUSES: Final = {
    SystemCounter.INVALID_PACKETS: "datagrams that are no Aeron frames",
    SystemCounter.SHORT_SENDS: "datagrams that the kernel did not take to send",
    SystemCounter.FLOW_CONTROL_UNDER_RUNS: "frames behind what was consumed already",
    SystemCounter.FLOW_CONTROL_OVER_RUNS: "frames beyond the receiver's window",
    SystemCounter.NAKS_SENT: "gaps that were asked for again",
    SystemCounter.NAKS_RECEIVED: "gaps that receivers asked for",
    SystemCounter.RETRANSMITS_SENT: "gaps that were sent again",
    SystemCounter.RETRANSMITTED_BYTES: "bytes that were sent again",
    SystemCounter.RETRANSMIT_OVERFLOW: "gaps that could not be served at once",
    SystemCounter.LOSS_GAP_FILLS: "gaps that were filled with padding",
    SystemCounter.STATUS_MESSAGES_REJECTED: "status messages that were refused",
    SystemCounter.ERROR_FRAMES_RECEIVED: "error frames received",
    SystemCounter.ERROR_FRAMES_SENT: "error frames sent",
    SystemCounter.IMAGES_REJECTED: "images that subscribers rejected",
    SystemCounter.POSSIBLE_TTL_ASYMMETRY: "setups whose stream never came: a TTL may be too small",
}


@dataclass(frozen=True, slots=True)
class Drop:
    """A cause, how often since the driver started, and how often during the look."""

    cause: str
    count: int
    during: int
    system_counter_id: int | None


def count_drops(before: Iterable[Counter], after: Iterable[Counter], addresses: Iterable[str]) -> list[Drop]:
    """Causes that were seen at least once, and what the kernel dropped at sockets with these addresses."""
    earlier = {each.key.system_counter_id: each.value for each in before if isinstance(each.key, SystemKey)}
    found = []
    for each in after:
        if not isinstance(each.key, SystemKey) or each.value == 0:
            continue
        counter_id = each.key.system_counter_id
        cause = next((text for known, text in _CAUSES.items() if known == counter_id), None)
        if cause is not None:
            found.append(Drop(cause, each.value, each.value - earlier.get(counter_id, each.value), counter_id))
    ports = {int(port): address for address in addresses if (port := address.rpartition(":")[2]).isdecimal()}
    for socket in udp_drops():
        if socket.port in ports and socket.drops > 0:
            found.append(Drop(f"datagrams that the kernel dropped at {ports[socket.port]}", socket.drops, 0, None))
    return found
