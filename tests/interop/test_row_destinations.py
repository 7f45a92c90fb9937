"""Multi-destination publications and subscriptions."""

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


@every("mdc.manual", "mdc.add_remove", "client.setup.destinations")
def test_manual_destinations_come_and_go(house: House, cell: Cell) -> None:
    pair, (first_port, second_port) = house.ends(cell), (free_port(), free_port())
    first, second = pair.target.subscription(udp(port=first_port)), pair.target.subscription(udp(port=second_port))
    publication = pair.source.publication(MANUAL, exclusive=True)
    session = publication.look()["session_id"]
    publication.add_destination(to(first_port))
    ends.cross(publication, first, MESSAGES)
    publication.add_destination(to(second_port))
    ends.image_of(second, session)
    got = ends.cross(publication, first, MESSAGES[:6])
    assert second.receive(6) == got

    publication.remove_destination(to(first_port))
    ends.until(lambda: not first.look()["images"], "the image without a source going")
    ends.cross(publication, second, MESSAGES)
    assert pair.target.events("image gone", session) == [[session, False]]


@every("mdc.by_id")
def test_destinations_are_removed_by_id(house: House, cell: Cell) -> None:
    pair, ports = house.ends(cell), (free_port(), free_port())
    subscriptions = [pair.target.subscription(udp(port=each)) for each in ports]
    publication = pair.source.publication(MANUAL, exclusive=True)
    numbers = [publication.add_destination(to(each)) for each in ports]
    for each in subscriptions:
        ends.image_of(each, publication.look()["session_id"])
    got = ends.cross(publication, subscriptions[0], MESSAGES[:6])
    assert subscriptions[1].receive(6) == got

    publication.remove_destination_by_id(numbers[1])
    ends.until(lambda: not subscriptions[1].look()["images"], "the image without a source going")
    ends.cross(publication, subscriptions[0], MESSAGES)


@every("mdc.dynamic", "mdc.explicit_control")
def test_receivers_come_to_a_dynamic_publication(house: House, cell: Cell) -> None:
    pair, control = house.ends(cell), f"control=127.0.0.1:{free_port()}"
    publication = pair.source.publication(f"aeron:udp?{control}|control-mode=dynamic|term-length={TERM_LENGTH}|fc=min")
    first = pair.target.subscription(f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{control}")
    ends.cross(publication, first, MESSAGES)
    second = pair.target.subscription(f"aeron:udp?endpoint=127.0.0.1:{free_port()}|{control}")
    ends.image_of(second, publication.look()["session_id"])
    got = ends.cross(publication, first, MESSAGES[:6])
    assert second.receive(6) == got

    first.close()
    ends.cross(publication, second, MESSAGES)


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
