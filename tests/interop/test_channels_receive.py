"""Our driver receives what a real one sends, by every kind of channel that there is."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from aeronpy import Aeron, FragmentView, Header
from aeronpy._core.native import CncFile
from aeronpy.observe.counters import read_counters
from tests.faults.links import need_root, run
from tests.interop import flows
from tests.interop.lines import JavaHost, Lines
from tests.interop.matrix import cell
from tests.interop.rows import Cell, by_id
from tests.interop.stage import Driver, Make, Stage, free_port
from tests.system.protocol_client import eventually

PEERS: tuple[Make, ...] = ("c", "java")
MESSAGES = 120
LOCAL = "127.0.0.1"
BOTH = "fc=min,g:/2"  # the slower of two receivers sets the pace


class Drivers:
    """Ours, and a real one of each make, for all tests of the module."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._there: dict[Make, Driver] = {}

    def __getitem__(self, make: Make) -> Driver:
        if make not in self._there:
            settings = {"AERON_CUBICCONGESTIONCONTROL_MEASURERTT": "true"} if make == "ours" else None
            self._there[make] = self._stage.driver(make, make, settings=settings)
        return self._there[make]


@pytest.fixture(scope="module")
def drivers(java_host: Callable[[], JavaHost]) -> Iterator[Drivers]:
    stage = Stage(java_host)
    yield Drivers(stage)
    stage.close()


def counter(driver: Driver, type_id: int, text: str) -> int | None:
    """The value of the counter of a type whose label has this text."""
    with CncFile(str(driver.aeron_dir)) as cnc:
        for one in read_counters(cnc.counters):
            if one.type_id == type_id and text in one.label:
                return one.value
    return None


def subscribe(stage: Stage, driver: Driver, channel: str, destinations: tuple[str, ...] = ()) -> Lines:
    subscriber = stage.program("ours", "subscribe", driver, channel, until=MESSAGES)
    subscriber.expect("READY")
    for destination in destinations:
        subscriber.tell(f"add {destination}")
        subscriber.expect("ADDED")
    return subscriber


def publish(stage: Stage, driver: Driver, channel: str) -> tuple[Lines, str]:
    publisher = stage.program(driver.make, "publish", driver, f"{channel}|term-length=64k", count=MESSAGES)
    return publisher, publisher.expect("READY")["session"]


def cross(publisher: Lines, session: str, *subscribers: Lines) -> None:
    """All of the flow, at each of them."""
    flows.same(publisher.expect("SENT"), 0, MESSAGES)
    for subscriber in subscribers:
        flows.same(subscriber.expect("DONE", session=session), 0, MESSAGES)


def cells(*rows: str) -> list[pytest.ParameterSet]:
    """One case for each peer, which fills the cells of these rows where our driver receives."""
    return [
        pytest.param(
            make,
            marks=[
                cell(row, "driver", make, "in")
                for row in rows
                if by_id()[row].reason(Cell("driver", make, "in")) is None
            ],
            id=make,
        )
        for make in PEERS
    ]


@pytest.mark.parametrize(
    "theirs", cells("multicast.receiving", "multicast.ipv4", "multicast.interfaces", "multicast.group_receivers")
)
def test_multicast_reaches_two_receivers_of_ours(stage: Stage, drivers: Drivers, theirs: Make) -> None:
    channel = f"aeron:udp?endpoint=224.20.30.51:{free_port()}|interface={LOCAL}"
    other = stage.driver("ours", "other")
    subscribers = [subscribe(stage, driver, channel) for driver in (drivers["ours"], other)]
    publisher, session = publish(stage, drivers[theirs], f"{channel}|{BOTH}")
    cross(publisher, session, *subscribers)


@pytest.mark.parametrize("theirs", cells("multicast.ttl"))
def test_a_ttl_that_reaches_farther_than_ours_is_counted(stage: Stage, drivers: Drivers, theirs: Make) -> None:
    channel = f"aeron:udp?endpoint=224.20.30.53:{free_port()}|interface={LOCAL}"
    first = subscribe(stage, drivers["ours"], f"{channel}|ttl=8")
    publisher, session = publish(stage, drivers[theirs], f"{channel}|ttl=8")
    cross(publisher, session, first)
    before = counter(drivers["ours"], 0, "Possible TTL Asymmetry")
    late_driver = stage.driver("ours", "late")
    stage.program("ours", "subscribe", late_driver, f"{channel}|ttl=1").expect("READY")
    # It hears heartbeats only, asks for the SETUP, and sees in it how far the publisher reaches.
    eventually(lambda: counter(late_driver, 0, "Possible TTL Asymmetry") == 1, "the asymmetry is counted")
    assert counter(drivers["ours"], 0, "Possible TTL Asymmetry") == before


@pytest.mark.parametrize("theirs", cells("mds.manual", "mds.network", "mds.many"))
def test_one_stream_by_three_destinations_is_one_image(stage: Stage, drivers: Drivers, theirs: Make) -> None:
    control = f"control={LOCAL}:{free_port()}|control-mode=dynamic"
    wanted = tuple(f"aeron:udp?endpoint={LOCAL}:{free_port()}|{control}" for _ in range(3))
    subscriber = subscribe(stage, drivers["ours"], "aeron:udp?control-mode=manual", wanted)
    publisher, session = publish(stage, drivers[theirs], f"aeron:udp?{control}")
    cross(publisher, session, subscriber)
    flows.finish(subscriber, 0, MESSAGES, session)


def test_streams_of_two_real_drivers_meet_in_one_subscription(stage: Stage, drivers: Drivers) -> None:
    ports = {make: free_port() for make in PEERS}
    wanted = tuple(f"aeron:udp?endpoint={LOCAL}:{ports[make]}" for make in PEERS)
    subscriber = subscribe(stage, drivers["ours"], "aeron:udp?control-mode=manual", wanted)
    for make in PEERS:
        publisher, session = publish(stage, drivers[make], f"aeron:udp?endpoint={LOCAL}:{ports[make]}")
        cross(publisher, session, subscriber)
    subscriber.tell(f"remove {wanted[0]}")
    subscriber.expect("REMOVED")
    subscriber.expect("GONE", flows.DEATH_S)


@pytest.mark.parametrize("theirs", cells("congestion.cubic", "congestion.rtt", "congestion.cc"))
def test_cubic_measures_round_trips_and_loses_nothing(stage: Stage, drivers: Drivers, theirs: Make) -> None:
    channel = f"aeron:udp?endpoint={LOCAL}:{free_port()}"
    subscriber = subscribe(stage, drivers["ours"], f"{channel}|cc=cubic")
    publisher, session = publish(stage, drivers[theirs], channel)
    cross(publisher, session, subscriber)
    eventually(lambda: (counter(drivers["ours"], 10, "rcv-cc-cubic-rtt") or 0) > 0, "a round trip was measured")
    window = counter(drivers["ours"], 10, "rcv-cc-cubic-wnd")
    assert window is not None
    assert window % 1408 == 0
    assert 1408 <= window <= 32768


# --- time stamps ---


@pytest.mark.parametrize("theirs", PEERS)
@pytest.mark.parametrize("parameter", ["channel-rcv-ts-offset=reserved", "media-rcv-ts-offset=reserved"])
def test_messages_say_when_they_came(stage: Stage, drivers: Drivers, theirs: Make, parameter: str) -> None:
    channel = f"aeron:udp?endpoint={LOCAL}:{free_port()}"
    first_frames: list[int] = []
    later_frames: list[int] = []

    def on_fragment(buffer: FragmentView, header: Header) -> None:
        (first_frames if header.flags & 0x80 else later_frames).append(header.reserved_value)

    with Aeron.connect(aeron_dir=str(drivers["ours"].aeron_dir)) as aeron:
        subscription = aeron.add_subscription(f"{channel}|{parameter}", 1001)
        before_ns = time.time_ns()
        publisher, _ = publish(stage, drivers[theirs], channel)

        def poll() -> bool:
            subscription.poll(on_fragment, 50)
            return len(first_frames) == MESSAGES

        eventually(poll, "all messages came", timeout_s=30.0)
        publisher.expect("SENT")
    assert first_frames == sorted(first_frames)
    assert before_ns < first_frames[0]
    assert first_frames[-1] < time.time_ns()
    assert later_frames
    assert set(later_frames) == {0}  # only the beginning of a message says it


# --- loss in a group, and IPv6 ---


@pytest.mark.parametrize("theirs", cells("multicast.nak_backoff", "multicast.group_receivers"))
def test_receivers_of_a_group_ask_for_what_they_lose(stage: Stage, drivers: Drivers, theirs: Make) -> None:
    lossy = {
        "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
        "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.05|recv-msg-mask=0x2|seed=11",
    }
    channel = f"aeron:udp?endpoint=224.20.30.55:{free_port()}|interface={LOCAL}"
    lossy_drivers = [stage.driver("ours", name, settings=lossy) for name in ("one", "two")]
    subscribers = [subscribe(stage, driver, channel) for driver in lossy_drivers]
    publisher, session = publish(stage, drivers[theirs], f"{channel}|{BOTH}")
    cross(publisher, session, *subscribers)
    for driver in lossy_drivers:
        assert (counter(driver, 20, f" {session} ") or 0) > 0


@pytest.fixture
def link() -> Iterator[list[tuple[str, str]]]:
    """Two namespaces with one IPv6 address each, joined by a cable: (name, address) of both."""
    need_root("ip")
    tag = f"apy6{os.getpid()}"
    ends = [(f"{tag}{one}", f"v{tag}{one}", f"fd07:{os.getpid() % 0x8000:x}::{one}") for one in "12"]
    try:
        for name, _, _ in ends:
            run("ip", "netns", "add", name)
        run("ip", "link", "add", ends[0][1], "type", "veth", "peer", "name", ends[1][1])
        for name, end, address in ends:
            run("ip", "link", "set", end, "netns", name)
            for command in (f"address add {address}/64 dev {end} nodad", f"link set {end} up", "link set lo up"):
                run("ip", "-n", name, *command.split())
        yield [(name, address) for name, _, address in ends]
    finally:
        for name, _, _ in ends:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True, timeout=20)


@pytest.mark.parametrize("theirs", [cells("multicast.ipv6")[0]])
def test_ipv6_multicast_between_two_machines(stage: Stage, link: list[tuple[str, str]], theirs: Make) -> None:
    (there, from_address), (here, to_address) = link
    prefix = ("ip", "netns", "exec")
    source = stage.driver(theirs, "source", prefix=(*prefix, there))
    target = stage.driver("ours", "target", prefix=(*prefix, here))
    group = f"aeron:udp?endpoint=[ff12::aeb:31]:{free_port()}"
    subscriber = subscribe(stage, target, f"{group}|interface=[{to_address}]")
    publisher, session = publish(stage, source, f"{group}|interface=[{from_address}]")
    cross(publisher, session, subscriber)
