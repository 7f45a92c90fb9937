"""Multi-destination subscriptions: several transports, streams inside the driver, spies."""

from __future__ import annotations

import pytest

from tests.interop import ends
from tests.interop.house import House, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import TERM_LENGTH, free_port

MANUAL = f"aeron:udp?control-mode=manual|term-length={TERM_LENGTH}"
MESSAGES = ends.payloads(40)


@pytest.fixture(scope="module")
def house_settings() -> dict[str, str]:
    return {"AERON_IMAGE_LIVENESS_TIMEOUT": "1s"}


def to(port: int) -> str:
    return f"aeron:udp?endpoint=127.0.0.1:{port}"


@every("mds.manual", "mds.network", "client.setup.destinations")
def test_a_subscription_with_network_destinations(house: House, cell: Cell) -> None:
    pair, ports = house.ends(cell), (free_port(), free_port())
    subscription = pair.target.subscription("aeron:udp?control-mode=manual")
    publications = [pair.source.publication(udp(port=each), exclusive=True) for each in ports]
    for publication, port in zip(publications, ports, strict=True):
        subscription.add_destination(to(port))
        ends.cross(publication, subscription, MESSAGES)
    assert sorted(subscription.look()["addresses"]) == sorted(f"127.0.0.1:{each}" for each in ports)

    subscription.remove_destination(to(ports[0]))
    ends.cross(publications[1], subscription, MESSAGES)
    session = publications[0].look()["session_id"]
    ends.until(lambda: pair.target.events("image gone", session), "the image without a transport going")


@every("mds.many")
def test_one_stream_over_several_transports(house: House, cell: Cell) -> None:
    pair, ports = house.ends(cell), [free_port() for _ in range(3)]
    subscription = pair.target.subscription("aeron:udp?control-mode=manual")
    publication = pair.source.publication(MANUAL, exclusive=True)
    for port in ports:
        subscription.add_destination(to(port))
        publication.add_destination(to(port))

    # One image, each message once, however many ways it came.
    ends.cross(publication, subscription, MESSAGES)
    ends.until(lambda: ends.image_of(subscription)["active_transport_count"] == 3, "three transports")
    assert len(subscription.look()["images"]) == 1
    publication.remove_destination(to(ports[0]))
    subscription.remove_destination(to(ports[1]))
    ends.cross(publication, subscription, MESSAGES)


@every("mds.ipc")
def test_an_ipc_destination(house: House, cell: Cell) -> None:
    pair = house.ends(cell, local=True)
    subscription = pair.target.subscription("aeron:udp?control-mode=manual")
    publication = pair.source.publication(ipc(), exclusive=True)
    subscription.add_destination("aeron:ipc")
    ends.cross(publication, subscription, MESSAGES)

    session = publication.look()["session_id"]
    subscription.remove_destination("aeron:ipc")
    ends.until(lambda: pair.target.events("image gone", session), "the image going")


@every("mds.spy")
def test_a_spy_destination(house: House, cell: Cell) -> None:
    pair, channel = house.ends(cell, local=True), udp("ssc=true")
    subscription = pair.target.subscription("aeron:udp?control-mode=manual")
    publication = pair.source.publication(channel, exclusive=True)
    subscription.add_destination(f"aeron-spy:{channel}")
    ends.cross(publication, subscription, MESSAGES)

    session = publication.look()["session_id"]
    subscription.remove_destination(f"aeron-spy:{channel}")
    if (cell.ours, cell.peer) != ("client", "c"):  # the C driver leaves the image to the publication's end
        ends.until(lambda: pair.target.events("image gone", session), "the image going")
