"""Gaps on purpose, at known places: each is asked for once, as one range of many frames."""

from __future__ import annotations

from tests.interop import ends
from tests.interop.house import House, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import Make
from tests.interop.test_row_loss import labelled

GAPS, RADIX_BYTES, GAP_BYTES = 3, 16 * 1024, 8 * 1024


def gaps(make: Make) -> dict[str, str]:
    """Settings of a driver that drops what touches the first bytes of each stretch, once."""
    places = f"term-id=0|gap-radix={RADIX_BYTES}|gap-length={GAP_BYTES}|total-gaps={GAPS}"
    if make == "java":
        return {"tests.loss.multi.gap": f"0,{RADIX_BYTES},{GAP_BYTES},{GAPS}"}
    return {
        "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "multi-gap-loss",
        "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_MULTI_GAP_LOSS_ARGS": places,
    }


@every("loss.nak_coalescing")
def test_one_nak_asks_for_a_gap_of_many_frames(house: House, cell: Cell) -> None:
    pair, channel = house.wire(cell, gaps), udp()
    asked, resent = labelled(pair.target, "NAKs sent"), labelled(pair.source, "Retransmitted bytes")
    # The second asking comes long after the resend of the first.
    subscription = pair.target.subscription(f"{channel}|nak-delay=20ms")
    start = "init-term-id=0|term-id=0|term-offset=0"
    publication = pair.source.publication(f"{channel}|{start}", exclusive=True)
    ends.cross(publication, subscription, ends.payloads(56, sizes=(1000,)), at_once=28)

    assert labelled(pair.target, "NAKs sent") - asked == GAPS
    assert labelled(pair.source, "Retransmitted bytes") - resent >= GAPS * GAP_BYTES
