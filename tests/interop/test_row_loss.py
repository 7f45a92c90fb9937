"""Streams whose receiving driver drops a part of what comes in."""

from __future__ import annotations

import time

from aeronpy.observe.loss import read_loss
from tests.interop import ends
from tests.interop.house import House, Side, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import Make

DATA_MASK = 0x2
RATE = 0.2


def dropping(make: Make, rate: float = RATE, seed: int = 4242) -> dict[str, str]:
    """Settings of a driver that drops a part of the DATA frames that reach it."""
    if make == "java":
        supplier = "io.aeron.driver.ext.DebugReceiveChannelEndpointSupplier"
        return {
            "aeron.ReceiveChannelEndpoint.supplier": supplier,
            "aeron.debug.receive.data.loss.rate": str(rate),
            "aeron.debug.receive.data.loss.seed": str(seed),
        }
    return {
        "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
        "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": f"rate={rate}|recv-msg-mask={DATA_MASK:#x}|seed={seed}",
    }


def labelled(side: Side, label: str) -> int:
    """A system counter of the side's driver by its label."""
    return side.labels()[label]


def bursts(publication: ends.Publication, subscription: ends.Subscription, count: int = 10) -> None:
    """Bursts of many frames, each of which loses several of them."""
    for number in range(count):
        ends.cross(publication, subscription, ends.payloads(24, number, (900, 60, 1376)), at_once=24)


@every("loss.gap_detection", "loss.retransmit", "loss.several_gaps")
def test_every_gap_is_found_and_filled(house: House, cell: Cell) -> None:
    pair, channel = house.wire(cell, dropping), udp()
    asked, filled = labelled(pair.target, "NAKs sent"), labelled(pair.source, "Retransmits sent")
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel, exclusive=True)
    bursts(publication, subscription)

    assert labelled(pair.target, "NAKs sent") - asked >= 5
    assert labelled(pair.source, "Retransmits sent") - filled >= 5
    assert labelled(pair.source, "NAKs received") > 0


@every("loss.nak_delay")
def test_a_gap_is_asked_for_after_the_delay(house: House, cell: Cell) -> None:
    # A resend that is lost too is asked for after the delay times the ratio.
    pair, channel = house.wire(cell, lambda make: dropping(make) | {"AERON_NAK_UNICAST_RETRY_DELAY_RATIO": "1"}), udp()
    subscription = pair.target.subscription(f"{channel}|nak-delay=60ms")
    publication = pair.source.publication(channel, exclusive=True)
    ends.cross(publication, subscription, [b"the start"])
    lost, started = labelled(pair.target, "NAKs sent"), time.monotonic()
    while labelled(pair.target, "NAKs sent") == lost:
        started = time.monotonic()
        ends.cross(publication, subscription, ends.payloads(24, 1, (900,)), at_once=24)

    assert time.monotonic() - started >= 0.06


@every("loss.gap_fill")
def test_an_unreliable_stream_skips_what_is_lost(house: House, cell: Cell) -> None:
    pair, channel = house.wire(cell, dropping), udp()
    subscription = pair.target.subscription(f"{channel}|reliable=false")
    publication = pair.source.publication(channel, exclusive=True)
    ends.connected(publication)
    session = publication.look()["session_id"]
    before = {name: labelled(pair.target, name) for name in ("NAKs sent", "Loss gap fills")}
    messages, got = {}, []
    for number in range(10):
        burst = ends.payloads(20, number, (700, 1300))
        messages.update(zip(publication.send(*burst), burst, strict=True))

        def caught_up() -> bool:
            got.extend(subscription.receive(20, timeout_s=0.02))
            return bool(ends.image_of(subscription, session)["position"] >= max(messages))

        ends.until(caught_up, "the end of the burst")
    assert 100 < len(got) < 200
    assert all(messages[each.position] == each.payload for each in got)
    assert [each.position for each in got] == sorted(each.position for each in got)
    assert labelled(pair.target, "NAKs sent") == before["NAKs sent"]
    assert labelled(pair.target, "Loss gap fills") > before["Loss gap fills"]


@every("loss.report", "counters.loss_report")
def test_the_loss_report_names_the_stream(house: House, cell: Cell) -> None:
    pair, channel = house.wire(cell, dropping), udp()
    subscription, publication = pair.target.subscription(channel), pair.source.publication(channel, exclusive=True)
    session = publication.look()["session_id"]
    bursts(publication, subscription, 5)

    found = [each for each in read_loss(pair.target.driver.aeron_dir) if each.session_id == session]
    assert len(found) == 1
    assert (found[0].stream_id, found[0].channel) == (pair.target.stream_id, channel)
    assert found[0].source.startswith("127.0.0.1:")
    assert found[0].observations > 0
    assert found[0].bytes_lost >= found[0].observations * 64
    assert found[0].first_observation_ms <= found[0].last_observation_ms
