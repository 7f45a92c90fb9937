"""Every kind of channel over a link that loses, repeats, reorders, delays or is cut: every byte, in order, once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.faults.links import TunLink
from tests.interop import flows
from tests.interop.lines import Lines
from tests.interop.programs.flow import PROGRESS_MESSAGES
from tests.interop.stage import Driver, Stage

MESSAGES = 12 * PROGRESS_MESSAGES
TERM = "term-length=64k"
A, B = "10.251.8.1", "10.251.8.2"
# Nothing is sent before both are known: who is heard of too late is not waited for, and never catches up.
BOTH = "fc=min,g:/2"
# The streams must live through a cut of seconds, on a busy machine too.
SETTINGS = {"AERON_IMAGE_LIVENESS_TIMEOUT": "15s", "AERON_PUBLICATION_CONNECTION_TIMEOUT": "15s"}
CUT_S = 2.0


@dataclass(frozen=True)
class Kind:
    """Channels of one kind: the publisher's on driver a, and of each subscriber its driver and channel."""

    publisher: str
    subscribers: tuple[tuple[str, str], ...]
    publisher_destinations: tuple[str, ...] = ()
    subscriber_destinations: tuple[str, ...] = ()


def kind_of(name: str, port: int) -> Kind:
    """The channels of a kind, on ports of their own: what ended may hold its sockets for a while."""
    if name == "unicast":
        return Kind(f"aeron:udp?endpoint={B}:{port}|{TERM}", (("b", f"aeron:udp?endpoint={B}:{port}"),))
    if name == "multicast":
        group = f"aeron:udp?endpoint=224.20.30.41:{port}"
        readers = (("a", f"{group}|interface={A}"), ("b", f"{group}|interface={B}"))
        return Kind(f"{group}|interface={A}|{BOTH}|{TERM}", readers)
    endpoints = tuple(f"aeron:udp?endpoint={B}:{port + i}" for i in (1, 2))
    if name == "mdc":
        control = f"control={A}:{port}"
        readers = tuple(("b", f"{endpoint}|{control}") for endpoint in endpoints)
        return Kind(f"aeron:udp?{control}|control-mode=dynamic|{BOTH}|{TERM}", readers)
    # The same stream comes twice, by two ways.
    publisher = f"aeron:udp?control-mode=manual|fc=min|{TERM}"
    return Kind(publisher, (("b", "aeron:udp?control-mode=manual"),), endpoints, endpoints)


KINDS = ("unicast", "multicast", "mdc", "mds")
FAULTS: dict[str, dict[str, float]] = {
    "loss-1": {"loss": 0.01},
    "loss-5": {"loss": 0.05},
    "loss-20": {"loss": 0.2},
    "doubled-and-reordered": {"loss": 0.02, "duplication": 0.1, "reordering": 0.2},
    "delayed": {"delay_ms": 20},
}


@dataclass
class Scene:
    """A link, a driver at each end, and what runs on them."""

    stage: Stage
    link: TunLink
    drivers: dict[str, Driver]

    def start(self, kind: Kind) -> tuple[Lines, list[Lines]]:
        """Subscribers that wait for all messages, then the publisher."""
        subscribers = []
        for driver, channel in kind.subscribers:
            subscriber = self.stage.lone_program(
                "ours",
                "subscribe",
                self.drivers[driver],
                channel,
                until=MESSAGES,
                destination=kind.subscriber_destinations,
            )
            subscriber.expect("READY")
            subscribers.append(subscriber)
        publisher = self.stage.lone_program(
            "ours",
            "publish",
            self.drivers["a"],
            kind.publisher,
            count=MESSAGES,
            hold=0,
            destination=kind.publisher_destinations,
        )
        return publisher, subscribers


@pytest.fixture
def scene(stage: Stage) -> Iterator[Scene]:
    link = TunLink(stage, seed=20260103)
    try:
        drivers = {
            name: stage.driver("ours", name, prefix=link.inside(space), settings=SETTINGS)
            for name, space in zip("ab", link.names, strict=True)
        }
        yield Scene(stage, link, drivers)
    finally:
        stage.close()
        link.close()


def check_all(publisher: Lines, subscribers: list[Lines], session: str) -> None:
    flows.same(publisher.expect("SENT", 60), 0, MESSAGES)
    for subscriber in subscribers:
        flows.same(subscriber.expect("DONE", 60, session=session), 0, MESSAGES)


def begin(publisher: Lines, subscribers: list[Lines]) -> str:
    """All are connected, and nothing was sent yet: whoever is there gets all of it."""
    session = publisher.expect("READY")["session"]
    publisher.expect("HELD")
    for subscriber in subscribers:
        subscriber.expect("IMAGE", session=session)
    publisher.tell("go")
    return session


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", KINDS)
def test_a_link_with_faults(scene: Scene, kind: str) -> None:
    for number, faults in enumerate(FAULTS.values()):
        scene.link.set(loss=0, duplication=0, reordering=0, delay_ms=0, cut="none")
        publisher, subscribers = scene.start(kind_of(kind, 40460 + 3 * number))
        before = scene.link.set(**faults)
        session = begin(publisher, subscribers)
        check_all(publisher, subscribers, session)
        after = scene.link.set(loss=0)
        assert after["carried"] > before["carried"]
        assert after["lost"] > before["lost"] or "loss" not in faults
        assert after["doubled"] > before["doubled"] or "duplication" not in faults
        for program in (publisher, *subscribers):
            program.close()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", KINDS)
def test_a_link_that_is_cut_again_and_again(scene: Scene, kind: str) -> None:
    publisher, subscribers = scene.start(kind_of(kind, 40460))
    session = begin(publisher, subscribers)
    for number, cut in enumerate(("ab", "ba", "both")):
        for subscriber in subscribers:
            subscriber.expect("AT", value=str((2 + 3 * number) * PROGRESS_MESSAGES))
        before = scene.link.set(cut=cut)
        time.sleep(CUT_S)  # the fault itself: nothing is waited for
        assert scene.link.set(cut="none")["lost"] > before["lost"]
    check_all(publisher, subscribers, session)
