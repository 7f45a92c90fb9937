"""When a gap is asked for: the delays of single receivers and of groups, as they come and as they are set."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager

from tests.interop import ends
from tests.interop.capture import Sent, common, intervals
from tests.interop.conformance import Role, Scene, scene, with_java
from tests.interop.house import House
from tests.system.wire import DATA, NAK

FRAME_BYTES = 1408
MESSAGE = b"m" * (FRAME_BYTES - 32)
GAPS, STREAMS_MAX = 14, 5
# The defaults, and what is set where a busy machine would hide them.
BACKOFF_S, LONG_BACKOFF_S = 0.010, 0.200
LONG = {"AERON_NAK_MULTICAST_MAX_BACKOFF": "200ms"}
UNICAST = {"AERON_NAK_UNICAST_DELAY": "40ms", "AERON_NAK_UNICAST_RETRY_DELAY_RATIO": "5"}
# What a delay of nothing takes here at best, through the relay and two drivers.
PROMPT_S = 0.008


@contextmanager
def streaming(
    house: House, role: Role, *params: str, **settings: str
) -> Iterator[tuple[Scene, ends.Publication, ends.Subscription]]:
    """A stream through the relay, to a receiver that is set up so."""
    with scene(house, role, **settings) as wire:
        publication, subscription = wire.publish(), wire.subscribe(*params)
        ends.connected(publication)
        ends.image_of(subscription)
        yield wire, publication, subscription


def offset_of(frame: Sent) -> int:
    """Where in its term a frame of data is."""
    return frame.i32(8)


def is_data(frame: Sent) -> bool:
    return frame.type == DATA and not frame.is_heartbeat


def first_delays(wire: Scene, publication: ends.Publication, subscription: ends.Subscription) -> list[float]:
    """How long after what shows a gap it is asked for, for one gap after another, each filled by the first resend."""
    delays = []
    for gap in range(GAPS):
        start = gap * 3 * FRAME_BYTES
        lost = start + FRAME_BYTES
        seen: list[Sent] = []

        def loses(frame: Sent, lost: int = lost, seen: list[Sent] = seen) -> bool:
            if not is_data(frame) or offset_of(frame) != lost:
                return False
            seen.append(frame)
            return len(seen) == 1

        wire.relay.loses = loses
        publication.send(*[MESSAGE] * 3)
        shown = wire.wait(lambda each, at=start: is_data(each) and offset_of(each) == at + 2 * FRAME_BYTES)[0]
        asked = wire.wait(lambda each, at=lost: each.type == NAK and common(each.bytes)["term_offset"] == at)[0]
        assert common(asked.bytes)["length"] == FRAME_BYTES
        assert len(subscription.receive(3)) == 3
        delays.append(asked.time - shown.time)
    return delays


def best_delay(house: House, role: Role, *params: str) -> float:
    """The shortest of many: a busy machine makes each longer, a delay of the receiver's own makes all."""
    best = 1.0
    for _ in range(STREAMS_MAX):
        with streaming(house, role, *params) as (wire, publication, subscription):
            best = min(best, *first_delays(wire, publication, subscription))
        if best < PROMPT_S:
            break
    return best


def asked_again(wire: Scene, publication: ends.Publication, count: int) -> list[Sent]:
    """So many askings for a gap that nobody fills."""
    wire.relay.loses = lambda each: is_data(each) and offset_of(each) == FRAME_BYTES
    publication.send(*[MESSAGE] * 3)
    naks = wire.wait(lambda each: each.type == NAK, count)
    assert {common(each.bytes)["term_offset"] for each in naks} == {FRAME_BYTES}
    return naks


@with_java
def test_a_single_receiver_asks_at_once(house: House, role: Role) -> None:
    assert best_delay(house, role) < PROMPT_S


@with_java
def test_a_single_receiver_asks_again_soon_but_not_sooner_than_a_hundred_microseconds(house: House, role: Role) -> None:
    with streaming(house, role) as (wire, publication, _):
        naks = asked_again(wire, publication, 30)

    assert min(intervals(naks)) < PROMPT_S
    # One that is sent late may be close to the next; all of them together are not.
    assert naks[-1].time - naks[0].time >= 0.0001 * 28


@with_java
def test_a_single_receiver_asks_as_it_is_set(house: House, role: Role) -> None:
    with streaming(house, role, **UNICAST) as (wire, publication, subscription):
        delays = first_delays(wire, publication, subscription)
        assert 0.038 < min(delays) < 0.080

    with streaming(house, role, **UNICAST) as (wire, publication, _):
        naks = asked_again(wire, publication, 5)
        # The delay's ratio of five.
        assert statistics.median(intervals(naks)) > 0.190
        assert min(intervals(naks)) < 0.300


@with_java
def test_a_member_of_a_group_waits_for_up_to_ten_milliseconds(house: House, role: Role) -> None:
    with streaming(house, role, "group=true") as (wire, publication, subscription):
        delays = first_delays(wire, publication, subscription)

    # Of the draws 94 in a hundred are above three milliseconds.
    assert statistics.median(delays) > 0.003
    assert min(delays) < 2 * BACKOFF_S


@with_java
def test_a_member_of_a_group_draws_its_delay_anew(house: House, role: Role) -> None:
    # A delay of the channel's own is for single receivers.
    with streaming(house, role, "group=true", "nak-delay=1us", **LONG) as (wire, publication, subscription):
        delays = first_delays(wire, publication, subscription)

    # Half of the draws are above four fifths of the longest; one in fifty is below a tenth.
    assert statistics.median(delays) > 0.5 * LONG_BACKOFF_S
    assert min(delays) < LONG_BACKOFF_S
    assert max(delays) - min(delays) > 0.1 * LONG_BACKOFF_S


@with_java
def test_a_member_of_a_group_asks_again_after_another_draw(house: House, role: Role) -> None:
    with streaming(house, role, "group=true", **LONG) as (wire, publication, _):
        between = intervals(asked_again(wire, publication, 12))

    assert statistics.median(between) > 0.4 * LONG_BACKOFF_S
    assert min(between) < LONG_BACKOFF_S
    assert max(between) - min(between) > 0.05 * LONG_BACKOFF_S
