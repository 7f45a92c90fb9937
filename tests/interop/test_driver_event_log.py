"""The event log beside the C driver's: the same commands leave the same lines, but for times and fields' order."""

from __future__ import annotations

import re
import time
from pathlib import Path

from aeronpy import Aeron, Subscription
from aeronpy.errors import RegistrationError
from tests.interop.stage import Driver, Make, Stage, free_port

# Where both write the same words; the C driver also names its channels' addresses in words of its own.
COMMANDS = ",".join(
    f"CMD_{name}"
    for name in (
        *("IN_ADD_PUBLICATION", "IN_REMOVE_PUBLICATION", "IN_ADD_SUBSCRIPTION", "IN_REMOVE_SUBSCRIPTION"),
        *("IN_ADD_EXCLUSIVE_PUBLICATION", "IN_REMOVE_COUNTER", "OUT_PUBLICATION_READY", "OUT_AVAILABLE_IMAGE"),
        *("OUT_ON_OPERATION_SUCCESS", "OUT_EXCLUSIVE_PUBLICATION_READY", "OUT_SUBSCRIPTION_READY"),
    )
)


def lines_of(stage: Stage, make: Make, port: int) -> list[str]:
    """What one driver wrote of the commands of one client."""
    log = stage.base / f"{make}.log"
    settings = {"AERON_EVENT_LOG": COMMANDS, "AERON_EVENT_LOG_FILENAME": str(log)}
    driver = stage.driver(make, make, settings=settings)
    speak(driver, port)
    driver.close()
    return [line for line in map(same_words, log.read_text().splitlines()) if line]


def same_words(line: str) -> str:
    """A line without its time, its directory and what differs by chance, its fields in alphabetical order."""
    found = re.match(r"\[\d+\.\d{9}\] DRIVER: (\w+) \[(\d+)/\2\]: (.*)", line)
    if found is None:
        assert "log started" in line
        return ""
    fields = sorted(found[3].split(" "))
    kept = [field for field in fields if not field.startswith(("registrationCorrelationId=", "logFileName="))]
    kept = [re.sub(r"sourceIdentity=127.0.0.1:\d+", "sourceIdentity=127.0.0.1:PORT", field) for field in kept]
    return f"{found[1]} {' '.join(kept)}"


def speak(driver: Driver, port: int) -> None:
    """Add and remove a little of everything, one after the other."""
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        for channel in ("aeron:ipc?term-length=64k", f"aeron:udp?endpoint=127.0.0.1:{port}|term-length=64k"):
            subscription = aeron.add_subscription(channel, 7)
            publication = aeron.add_publication(f"{channel}|session-id=77", 7)
            await_images(subscription, 1)  # its id comes from the counter that the next command's comes from
            exclusive = aeron.add_exclusive_publication(f"{channel}|session-id=78", 7)
            await_images(subscription, 2)
            for each in (publication, exclusive, subscription):
                each.close()
        aeron.add_counter(5000, "mine").close()
        try:
            aeron.add_publication("aeron:udp?endpoint=127.0.0.1:1|mtu=100", 3, strict=False)
        except RegistrationError:
            pass


def await_images(subscription: Subscription, count: int) -> None:
    deadline = time.monotonic() + 20
    while subscription.image_count < count:
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_lines_of_commands_are_those_of_the_c_driver(stage: Stage) -> None:
    port = free_port()
    ours, theirs = lines_of(stage, "ours", port), lines_of(stage, "c", port)

    assert sorted(ours) == sorted(theirs)
    assert len(ours) > 15


def test_all_events_are_taken_and_what_was_done_is_in_the_file(stage: Stage) -> None:
    log = Path(stage.base / "all.log")
    driver = stage.driver("ours", settings={"AERON_EVENT_LOG": "all", "AERON_EVENT_LOG_FILENAME": str(log)})
    speak(driver, free_port())
    driver.close()

    text = log.read_text()
    for event in ("SEND_CHANNEL_CREATION", "RECEIVE_CHANNEL_CREATION", "CMD_OUT_ERROR", "CMD_IN_CLIENT_CLOSE"):
        assert f"DRIVER: {event} [" in text
