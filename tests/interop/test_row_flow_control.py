"""Who limits a sender that has several receivers, and what they say of themselves."""

from __future__ import annotations

import pytest

from aeronpy.errors import RegistrationError
from tests.interop import ends
from tests.interop.house import Ends, House, Side
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import TERM_LENGTH, free_port

BACK_PRESSURED = -2
BURST = [b"b" * 1000] * 8


@pytest.fixture(scope="module")
def house_settings() -> dict[str, str]:
    return {"AERON_IMAGE_LIVENESS_TIMEOUT": "1500ms"}


class Group:
    """A dynamic publication of a pair, and receivers of it on the target and on a third driver."""

    def __init__(self, house: House, cell: Cell, fc: str) -> None:
        self.pair: Ends = house.ends(cell)
        # A driver of its own: two subscribers of one driver share an image, and are one receiver.
        self.third: Side = house.side("c", house.driver("c", AERON_TIMER_INTERVAL="90ms"))
        self.control = f"control=127.0.0.1:{free_port()}"
        channel = f"aeron:udp?{self.control}|control-mode=dynamic|term-length={TERM_LENGTH}|fc={fc}"
        self.publication = self.pair.source.publication(channel, exclusive=True)

    def receiver(self, side: Side, *params: str) -> ends.Subscription:
        channel = "|".join([f"aeron:udp?endpoint=127.0.0.1:{free_port()}", self.control, *params])
        subscription = side.subscription(channel, self.pair.source.stream_id)
        ends.image_of(subscription)
        return subscription

    def held_at(self, reader: ends.Subscription | None) -> int:
        """Send until there is back pressure that lasts while the reader reads; how many messages that took."""
        accepted = 0

        def held() -> bool:
            nonlocal accepted
            answers = [self.publication.offer(BURST[0]) for _ in range(2)]
            accepted += sum(answer > 0 for answer in answers)
            if reader is not None:
                reader.receive(100, 0.02)
            return answers == [BACK_PRESSURED] * 2

        ends.until(held, "back pressure")
        return accepted

    def flows(self, reader: ends.Subscription, rounds: int = 16) -> None:
        """Send more than all windows together; the reader gets every message."""
        for _ in range(rounds):
            ends.cross(self.publication, reader, BURST)


@every("flow.min")
def test_min_waits_for_the_slowest(house: House, cell: Cell) -> None:
    group = Group(house, cell, "min")
    fast, slow = group.receiver(group.pair.target), group.receiver(group.third)
    ends.connected(group.publication)
    group.flows(fast, 1)
    accepted = group.held_at(fast)
    assert accepted * 1056 <= 2 * 32 * 1024 + 2 * 1056

    got: list[ends.Got] = []

    def caught_up() -> bool:
        got.extend(slow.receive(100, 0.05))
        fast.receive(100, 0.05)
        return len(got) >= 8 + accepted

    ends.until(caught_up, "all that was sent")
    assert [each.payload for each in got] == [BURST[0]] * (8 + accepted)
    group.flows(fast, 2)


@every("flow.max")
def test_max_leaves_the_slow_behind(house: House, cell: Cell) -> None:
    group = Group(house, cell, "max")
    fast, _slow = group.receiver(group.pair.target), group.receiver(group.third)
    ends.connected(group.publication)

    group.flows(fast)


@every("flow.tagged", "flow.receiver_tags")
def test_tagged_minds_its_own_only(house: House, cell: Cell) -> None:
    group = Group(house, cell, "tagged,g:77")
    group.receiver(group.third, "gtag=78")
    mine = group.receiver(group.pair.target, "gtag=77")
    ends.connected(group.publication)

    group.flows(mine)


@every("flow.preferred_group")
def test_the_preferred_group_holds_the_sender(house: House, cell: Cell) -> None:
    group = Group(house, cell, "tagged,g:77")
    other, mine = group.receiver(group.third), group.receiver(group.pair.target, "gtag=77")
    ends.connected(group.publication)

    accepted = group.held_at(other)
    assert [each.payload for each in mine.receive(accepted)] == [BURST[0]] * accepted
    group.flows(mine, 2)


@pytest.mark.parametrize("fc", ["min,g:/2", "tagged,g:77/2"])
@every("flow.group_size")
def test_a_group_is_awaited(house: House, cell: Cell, fc: str) -> None:
    group = Group(house, cell, fc)
    first = group.receiver(group.pair.target, "gtag=77")
    assert not group.publication.look()["is_connected"]
    assert group.publication.offer(b"too early") == -1
    second = group.receiver(group.third, "gtag=77")
    ends.connected(group.publication)

    got = ends.cross(group.publication, first, BURST)
    assert second.receive(len(BURST)) == got


@every("flow.timeout")
def test_a_silent_receiver_is_forgotten(house: House, cell: Cell) -> None:
    group = Group(house, cell, "min,t:500ms")
    fast = group.receiver(group.pair.target)
    driver = house.stage.driver("c", f"silent-{cell}")
    side = Side("c", driver, house.client_on("c", driver))
    group.receiver(side)
    ends.connected(group.publication)
    group.flows(fast, 1)
    driver.kill()

    group.flows(fast, 12)


FORMS = [
    "max",
    "max,rrwm:4",
    "min",
    "min,t:2s",
    "min,g:/0",
    "min,g:5/0,t:1s,rrwm:2",
    "tagged,g:-5",
    "tagged,g:5/1,t:1s",
]


@every("flow.fc")
def test_forms_of_fc(house: House, cell: Cell) -> None:
    for form in FORMS:
        group = Group(house, cell, form)
        tag = form.partition("g:")[2].partition(",")[0].partition("/")[0]
        receiver = group.receiver(group.pair.target, *([f"gtag={tag}"] if tag else []))
        ends.connected(group.publication)
        group.flows(receiver, 1)
    with pytest.raises((ends.Refused, RegistrationError)):
        Group(house, cell, "none-such")
