"""Gaps made on purpose: what our driver loses by fixed-loss and multi-gap-loss is what the C driver loses."""

from __future__ import annotations

import time

import pytest

from aeronpy import Aeron
from aeronpy.observe.loss import read_loss
from tests.interop.stage import Driver, Stage, free_port

MESSAGES = 60
FIXED = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "fixed-loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_FIXED_LOSS_ARGS": "term-id=0|term-offset=0|length=2400",
}
MULTI = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "multi-gap-loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_MULTI_GAP_LOSS_ARGS": "term-id=0|gap-radix=8000|gap-length=100|total-gaps=3",
}
RETRANSMITTED_BYTES = 36


def lost_and_sent_again(driver: Driver, port: int) -> tuple[int, int]:
    """Bytes that the loss report says, and those that were sent again, after a stream that came through whole."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}|term-length=64k"
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        subscription = aeron.add_subscription(channel, 7)
        publication = aeron.add_exclusive_publication(f"{channel}|init-term-id=0|term-id=0|term-offset=0", 7)
        deadline = time.monotonic() + 20
        while not (publication.is_connected and subscription.is_connected):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        got: list[bytes] = []
        for number in range(MESSAGES):
            publication.send(bytes([number]) * 900)
            got += [message.payload for message in subscription.messages(limit=1, timeout_s=20)]
        assert got == [bytes([number]) * 900 for number in range(MESSAGES)]
        again = aeron.counters_reader.value(RETRANSMITTED_BYTES)
    return sum(entry.bytes_lost for entry in read_loss(str(driver.aeron_dir))), again or 0


@pytest.mark.parametrize("settings", [FIXED, MULTI], ids=["fixed-loss", "multi-gap-loss"])
def test_the_same_gaps_are_lost_once_and_sent_again(stage: Stage, settings: dict[str, str]) -> None:
    port = free_port()
    found = {}
    for make in ("ours", "c"):
        driver = stage.driver(make, make, settings=settings)  # type: ignore[arg-type]
        found[make] = lost_and_sent_again(driver, port)
        driver.close()

    assert found["ours"] == found["c"]
    assert found["ours"][0] > 0
