"""The event log beside the C driver's: the same commands leave the same lines, but for times and fields' order."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from pathlib import Path

from aeronpy import Aeron
from aeronpy.errors import RegistrationError
from tests.interop.stage import Make, Stage, free_port
from tests.waiting import until

PORT = free_port()

# The lines of these are the same for the same commands; frames come when they come, and counters have more words here.
EVENTS = (
    *("CMD_IN_ADD_PUBLICATION", "CMD_IN_REMOVE_PUBLICATION", "CMD_IN_ADD_SUBSCRIPTION", "CMD_IN_REMOVE_SUBSCRIPTION"),
    *("CMD_IN_ADD_EXCLUSIVE_PUBLICATION", "CMD_IN_REMOVE_COUNTER", "CMD_IN_REJECT_IMAGE", "CMD_IN_CLIENT_CLOSE"),
    *("CMD_IN_ADD_DESTINATION", "CMD_IN_REMOVE_DESTINATION"),
    *("CMD_IN_ADD_RCV_DESTINATION", "CMD_IN_REMOVE_RCV_DESTINATION"),
    *("CMD_OUT_PUBLICATION_READY", "CMD_OUT_EXCLUSIVE_PUBLICATION_READY", "CMD_OUT_SUBSCRIPTION_READY"),
    *("CMD_OUT_AVAILABLE_IMAGE", "CMD_OUT_ON_OPERATION_SUCCESS", "CMD_OUT_ERROR"),
    *("SEND_CHANNEL_CREATION", "RECEIVE_CHANNEL_CREATION", "SEND_CHANNEL_CLOSE", "RECEIVE_CHANNEL_CLOSE"),
    *("REMOVE_PUBLICATION_CLEANUP", "REMOVE_SUBSCRIPTION_CLEANUP", "REMOVE_IMAGE_CLEANUP", "PUBLICATION_REVOKE"),
    *("NAME_RESOLUTION_LOOKUP", "NAME_RESOLUTION_RESOLVE"),
)
STATES = "UNTETHERED_SUBSCRIPTION_STATE_CHANGE"
FAST = {
    "AERON_TIMER_INTERVAL": "50ms",
    "AERON_IMAGE_LIVENESS_TIMEOUT": "600ms",
    "AERON_PUBLICATION_LINGER_TIMEOUT": "100ms",
    "AERON_UNTETHERED_WINDOW_LIMIT_TIMEOUT": "200ms",
    "AERON_UNTETHERED_LINGER_TIMEOUT": "200ms",
    "AERON_UNTETHERED_RESTING_TIMEOUT": "200ms",
}


def lines_of(stage: Stage, make: Make, events: str, speak: Callable[[Aeron, Path], None]) -> list[str]:
    """What one driver wrote of what one client did."""
    log = stage.base / f"{make}.log"
    driver = stage.driver(make, make, settings=FAST | {"AERON_EVENT_LOG": events, "AERON_EVENT_LOG_FILENAME": str(log)})
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        speak(aeron, log)
    until(lambda: "CMD_IN_CLIENT_CLOSE" not in events or "CMD_IN_CLIENT_CLOSE" in log.read_text())
    driver.close()
    return [line for line in map(same_words, log.read_text().splitlines()) if line]


def same_words(line: str) -> str:
    """A line without its time, its length, its directory and what differs by chance; errors without their own words."""
    found = re.match(r"\[\d+\.\d{9}\] DRIVER: (\w+) \[\d+/\d+\]: (.*)", line)
    if found is None:
        return ""
    text = re.sub(r"(sourceIdentity|localData:)[= ]127.0.0.1:\d+", r"\1 ADDRESS", found[2])
    text = re.sub(r"durationNs=\d+", "durationNs=", text)
    text = re.sub(r" isRe(Lookup|Resolution)=\w+", "", text)  # the C driver says true for what is removed
    text = re.sub(r"(PositionId|CounterId)=\d+", r"\1=", text)  # ids of counters: free ones are taken as they come
    text = re.sub(r" message=.*| logFileName=\S*| registrationCorrelationId=-1", "", text)
    # The C driver names a publication by the channel of the first on its socket, and forgets a space.
    text = re.sub(r"channel=.*", "channel=", text) if "REVOKE" in line or "PUBLICATION_CLEANUP" in line else text
    return f"{found[1]} {text.replace('position=', ' position=').replace('  position=', ' position=')}"


def speak(aeron: Aeron, log: Path) -> None:
    """Add and remove a little of everything, one after the other: each step waits for what it starts."""
    for channel in ("aeron:ipc?term-length=64k", f"aeron:udp?endpoint=localhost:{PORT}|term-length=64k"):
        come_and_go(aeron, channel)
    until(lambda: log.read_text().count("REMOVE_IMAGE_CLEANUP") == 2)
    until(lambda: "SEND_CHANNEL_CLOSE" in log.read_text() and "RECEIVE_CHANNEL_CLOSE" in log.read_text())
    rejected(aeron)
    destinations(aeron)
    aeron.add_counter(5000, "mine").close()
    for refused in ("aeron:udp?endpoint=nowhere.invalid:4000", "aeron:udp"):
        with contextlib.suppress(RegistrationError):
            aeron.add_publication(refused, 3, strict=False)


def come_and_go(aeron: Aeron, channel: str) -> None:
    """A subscription and two publications; images take their ids from the counter of the commands' ids."""
    subscription = aeron.add_subscription(channel, 7)
    publication = aeron.add_publication(f"{channel}|session-id=77", 7)
    until(lambda: subscription.image_count == 1)
    exclusive = aeron.add_exclusive_publication(f"{channel}|session-id=78", 7)
    until(lambda: subscription.image_count == 2)
    for each in (publication, exclusive, subscription):
        each.close()


def rejected(aeron: Aeron) -> None:
    """An image that its reader does not want, of a publication that is revoked then."""
    subscription = aeron.add_subscription("aeron:ipc?term-length=64k", 8)
    publication = aeron.add_exclusive_publication("aeron:ipc?term-length=64k|session-id=6", 8)
    until(lambda: subscription.image_count == 1)
    until(lambda: publication.offer(bytes(100)) > 0)
    subscription.images[0].reject("because")
    until(lambda: subscription.image_count == 0)
    publication.revoke()
    subscription.close()


def destinations(aeron: Aeron) -> None:
    """Those of a publication and of a subscription come and go."""
    publication = aeron.add_exclusive_publication("aeron:udp?control-mode=manual|session-id=9|term-length=64k", 9)
    subscription = aeron.add_subscription("aeron:udp?control-mode=manual", 9)
    channel = f"aeron:udp?endpoint=127.0.0.1:{PORT + 1}"
    subscription.add_destination(channel)
    publication.add_destination(channel)
    until(lambda: subscription.image_count == 1)
    publication.remove_destination(channel)
    subscription.remove_destination(channel)
    subscription.close()
    publication.close()


def lag(aeron: Aeron, log: Path) -> None:
    """An untethered reader stands still beside one that reads on, until it was let in again."""
    lazy = aeron.add_subscription("aeron:ipc?tether=false|term-length=64k", 10)
    eager = aeron.add_subscription("aeron:ipc?term-length=64k", 10)
    publication = aeron.add_exclusive_publication("aeron:ipc?term-length=64k|session-id=11", 10)
    until(lambda: lazy.image_count == eager.image_count == 1)

    def is_back() -> bool:
        publication.offer(bytes(1000))
        eager.poll(lambda *_: None, 10)
        return log.read_text().count(STATES) >= 3

    until(is_back)


def test_lines_are_those_of_the_c_driver(stage: Stage) -> None:
    events = ",".join(EVENTS)
    ours, theirs = lines_of(stage, "ours", events, speak), lines_of(stage, "c", events, speak)

    assert sorted(ours) == sorted(theirs)
    assert {line.split()[0] for line in ours} == set(EVENTS)


def test_states_of_untethered_subscriptions_are_those_of_the_c_driver(stage: Stage) -> None:
    ours, theirs = (lines_of(stage, make, STATES, lag)[:3] for make in ("ours", "c"))

    assert ours == theirs
    assert [line.split(" ", 4)[4] for line in ours] == ["ACTIVE -> LINGER", "LINGER -> RESTING", "RESTING -> ACTIVE"]


FRAMES = (
    *("FRAME_IN", "FRAME_OUT", "NAK_SENT", "NAK_RECEIVED", "RESEND", "FLOW_CONTROL_RECEIVER_ADDED"),
    *("NAME_RESOLUTION_NEIGHBOR_ADDED", "PUBLICATION_IMAGE_REVOKE"),
)


def shape_of(line: str) -> str:
    """What a line has in it, without the numbers: the event, the kind of frame, the names of the fields."""
    found = re.match(r"\[\d+\.\d{9}\] DRIVER: (\w+) \[\d+/\d+\]: (.*)", line)
    if found is None:
        return ""
    # Which frame is first in a datagram at the end of a term is a matter of time.
    kind = re.search(r"type=\w+", found[2].replace("type=PAD", "type=DATA"))
    fields = re.findall(r"(\w+)=", found[2])
    return " ".join([found[1], kind[0] if kind else "", *fields])


def lose_and_revoke(aeron: Aeron) -> None:
    """A stream with losses to a group of one, which is revoked in the end."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{PORT + 2}|term-length=64k"
    subscription = aeron.add_subscription(channel, 12)
    publication = aeron.add_exclusive_publication(
        f"aeron:udp?control=127.0.0.1:{PORT + 3}|control-mode=manual|fc=min|term-length=64k|session-id=12", 12
    )
    publication.add_destination(f"aeron:udp?endpoint=127.0.0.1:{PORT + 2}")
    until(lambda: subscription.image_count == 1)
    received: list[int] = []
    sent = 0
    deadline = time.monotonic() + 30
    while len(received) < 300:
        if sent < 300 and publication.offer(bytes(1000)) > 0:
            sent += 1
        subscription.poll(lambda fragment, header: received.append(len(fragment)), 10)
        assert time.monotonic() < deadline, (sent, len(received))
    publication.revoke()
    until(lambda: subscription.image_count == 0)


def shapes_of(stage: Stage, make: Make) -> set[str]:
    log = stage.base / f"{make}.log"
    gossip = {
        "AERON_NAME_RESOLVER_SUPPLIER": "driver",
        "AERON_DRIVER_RESOLVER_NAME": make,
        "AERON_DRIVER_RESOLVER_INTERFACE": f"127.0.0.1:{PORT + 4}",
    }
    neighbor = {
        "AERON_NAME_RESOLVER_SUPPLIER": "driver",
        "AERON_DRIVER_RESOLVER_NAME": "neighbor",
        "AERON_DRIVER_RESOLVER_INTERFACE": f"127.0.0.1:{PORT + 5}",
        "AERON_DRIVER_RESOLVER_BOOTSTRAP_NEIGHBOR": f"127.0.0.1:{PORT + 4}",
    }
    loss = {
        "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
        "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.2|seed=7|recv-msg-mask=0x2",
    }
    events = {"AERON_EVENT_LOG": ",".join(FRAMES), "AERON_EVENT_LOG_FILENAME": str(log)}
    driver = stage.driver(make, make, settings=FAST | gossip | loss | events)
    other = stage.driver("ours", f"{make}-neighbor", settings=FAST | neighbor)
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        lose_and_revoke(aeron)
        until(lambda: all(f" {event} [" in log.read_text() for event in FRAMES))
    driver.close()
    other.close()
    return {shape for line in log.read_text().splitlines() if (shape := shape_of(line))}


def test_lines_of_frames_have_what_those_of_the_c_driver_have(stage: Stage) -> None:
    ours, theirs = shapes_of(stage, "ours"), shapes_of(stage, "c")

    assert ours == theirs
    assert {shape.split()[1] for shape in ours if shape.startswith("FRAME")} == {
        f"type={kind}" for kind in ("SETUP", "DATA", "SM", "NAK", "RES")
    }
