"""Response channels: a server answers each requester on a stream of its own. Out: ours answers."""

from __future__ import annotations

import pytest

from tests.interop import ends
from tests.interop.house import Ends, House, ipc, udp
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import TERM_LENGTH, free_port


def converse(pair: Ends, requests: str, answers: str, answering: str, messages: int) -> None:
    """The source answers what the target asks."""
    asked, answer_stream = pair.source.stream_id, pair.source.stream_id + 500
    server = pair.source.subscription(requests, asked)
    reader = pair.target.subscription(answers, answer_stream)
    correlation = reader.look()["registration_id"]
    request = pair.target.publication(f"{requests}|response-correlation-id={correlation}", asked, exclusive=True)
    ends.connected(request)
    image = ends.image_of(server)
    answer = pair.source.publication(
        f"{answering}|response-correlation-id={image['correlation_id']}", answer_stream, exclusive=True
    )
    ends.connected(answer)
    assert ends.image_of(reader)["session_id"] == answer.look()["session_id"]

    for seed in range(3):
        part = ends.payloads(messages, seed)
        ends.cross(request, server, part)
        ends.cross(answer, reader, part[::-1])


@every("response.udp", "response.control_mode", "response.correlation_id", "response.rsp_setup")
def test_requests_over_udp_are_answered(house: House, cell: Cell) -> None:
    control = f"control=127.0.0.1:{free_port()}|control-mode=response"
    converse(
        house.ends(cell), udp(), f"aeron:udp?{control}", f"aeron:udp?{control}|term-length={TERM_LENGTH}", messages=20
    )


@every("response.ipc")
def test_requests_over_ipc_are_answered(house: House, cell: Cell) -> None:
    response = "aeron:ipc?control-mode=response"
    converse(house.ends(cell, local=True), ipc(), response, f"{response}|term-length={TERM_LENGTH}", messages=20)


@every("response.correlation_id", where=lambda each: each.direction == "out")
def test_answers_to_nobody_are_refused(house: House, cell: Cell) -> None:
    pair = house.ends(cell)
    control = f"aeron:udp?control=127.0.0.1:{free_port()}|control-mode=response"
    with pytest.raises(Exception, match="not found"):
        pair.source.publication(f"{control}|response-correlation-id=987654")
    with pytest.raises(Exception, match="no response-correlation-id"):
        pair.source.publication(control)
    with pytest.raises(Exception, match="unable to find response subscription"):
        pair.source.publication(udp("response-correlation-id=987654"))
