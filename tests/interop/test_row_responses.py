"""Response channels: a server answers each requester on a stream of its own."""

from __future__ import annotations

import pytest

from tests.interop import ends
from tests.interop.house import House, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import TERM_LENGTH, free_port

REQUESTS, ANSWERS = ends.payloads(30), ends.payloads(30, seed=99)


@pytest.mark.parametrize("exclusive", [False, True], ids=["shared", "exclusive"])
@every("response.control_mode", "response.correlation_id", "response.rsp_setup", "response.udp")
def test_answers_over_udp(house: House, cell: Cell, exclusive: bool) -> None:
    """The source asks, the target answers."""
    pair, requests = house.ends(cell), udp()
    control = f"control=127.0.0.1:{free_port()}"
    server = pair.target.subscription(requests)
    answers = pair.source.subscription(f"aeron:udp?control-mode=response|{control}", 51)
    number = answers.look()["registration_id"]
    asks = pair.source.publication(f"{requests}|response-correlation-id={number}", exclusive=exclusive)
    image = ends.image_of(server, asks.look()["session_id"])
    respond = f"aeron:udp?control-mode=response|{control}|term-length={TERM_LENGTH}"
    reply = pair.target.publication(f"{respond}|response-correlation-id={image['correlation_id']}", 51, exclusive=True)
    ends.cross(asks, server, REQUESTS)
    ends.cross(reply, answers, ANSWERS)

    assert [each["session_id"] for each in answers.look()["images"]] == [reply.look()["session_id"]]


@every("response.control_mode", "response.correlation_id", "response.ipc")
def test_answers_over_ipc(house: House, cell: Cell) -> None:
    pair, requests = house.ends(cell, local=True), ipc()
    server = pair.target.subscription(requests)
    answers = pair.source.subscription("aeron:ipc?control-mode=response", 52)
    number = answers.look()["registration_id"]
    asks = pair.source.publication(f"{requests}|response-correlation-id={number}", exclusive=True)
    image = ends.image_of(server, asks.look()["session_id"])
    respond = f"aeron:ipc?control-mode=response|term-length={TERM_LENGTH}"
    reply = pair.target.publication(f"{respond}|response-correlation-id={image['correlation_id']}", 52, exclusive=True)
    ends.cross(asks, server, REQUESTS)
    ends.cross(reply, answers, ANSWERS)

    assert [each["session_id"] for each in answers.look()["images"]] == [reply.look()["session_id"]]


@every("response.udp", where=lambda each: each.direction == "out")
def test_two_requesters_have_answers_of_their_own(house: House, cell: Cell) -> None:
    pair, requests = house.ends(cell), udp()
    control = f"control=127.0.0.1:{free_port()}"
    server = pair.target.subscription(requests)
    replies = []
    for text in (b"for the first", b"for the second"):
        answers = pair.source.subscription(f"aeron:udp?control-mode=response|{control}", 53)
        number = answers.look()["registration_id"]
        asks = pair.source.publication(f"{requests}|response-correlation-id={number}", exclusive=True)
        image = ends.image_of(server, asks.look()["session_id"])
        respond = f"aeron:udp?control-mode=response|{control}|response-correlation-id={image['correlation_id']}"
        replies.append((pair.target.publication(respond, 53, exclusive=True), answers, text))
    for reply, answers, text in replies:
        ends.cross(reply, answers, [text])
    assert all(answers.receive(1, 0.02) == [] for _, answers, _ in replies)
