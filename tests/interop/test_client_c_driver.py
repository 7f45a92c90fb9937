"""Our client's commands on the real C driver: what the flows between clients do not touch."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator

import numpy as np
import pytest

from aeronpy import Aeron, ChannelStatus, FragmentAssembler, Image, OfferResult
from aeronpy.errors import RegistrationError
from aeronpy.native import address_of, function
from tests.interop.stage import IPC, Stage
from tests.waiting import until

DEADLINE_S = 20.0


@pytest.fixture
def aeron(stage: Stage) -> Iterator[Aeron]:
    with Aeron.connect(aeron_dir=str(stage.driver("c").aeron_dir), client_name="tester") as aeron:
        yield aeron


@pytest.mark.parametrize("medium", ["ipc", "udp"])
def test_messages_of_every_length_over_many_terms(aeron: Aeron, medium: str) -> None:
    if medium == "ipc":
        subscription, channel = aeron.add_subscription(IPC, 1), IPC
    else:
        subscription = aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 1)
        until(lambda: subscription.resolved_endpoint is not None)
        channel = f"aeron:udp?endpoint={subscription.resolved_endpoint}|term-length=64k"
    publication = aeron.add_publication(channel, 1)
    whole, longest = publication.max_payload_length, publication.max_message_length
    lengths = [0, 1, 31, 32, 33, whole, whole + 1, 3 * whole, 4 * whole + 9, longest] * 20
    assert sum(lengths) > 5 * 65536

    for number, length in enumerate(lengths):
        sent = bytes([number]) * length
        position = publication.send(sent)
        assert [(got.payload, got.position) for got in subscription.messages(limit=1)] == [(sent, position)]


def test_batches_go_through_whole(aeron: Aeron) -> None:
    subscription = aeron.add_subscription(IPC, 2)
    publication = aeron.add_exclusive_publication(IPC, 2)
    until(lambda: publication.is_connected and subscription.is_connected)
    sent = np.arange(20_000, dtype="<i8")
    received: list[int] = []
    at = 0
    deadline = time.monotonic() + DEADLINE_S
    while len(received) < len(sent):
        assert time.monotonic() < deadline
        at += publication.offer_batch(sent[at:])
        with subscription.poll_batch() as batch:
            received.extend(batch.view("<i8").tolist())
    assert received == sent.tolist()


def test_native_code_sends_and_polls(aeron: Aeron) -> None:
    subscription = aeron.add_subscription(IPC, 5)
    publication = aeron.add_publication(IPC, 5)
    until(lambda: publication.is_connected and subscription.is_connected)
    write, read = publication.native_handle, subscription.native_handle
    received: list[bytes] = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    def on_message(_context: int, buffer: int, length: int, _header: int) -> None:
        received.append(ctypes.string_at(buffer, length))

    handler = address_of(on_message)
    sent = [bytes([number % 251]) * (number * 7 % 4000) for number in range(400)]  # over many terms, also in fragments
    for number, message in enumerate(sent, 1):
        data = np.frombuffer(message, np.uint8)
        until(lambda data=data: function("offer")(write.address, data.ctypes.data, data.size) > 0)
        while len(received) < number:
            assert function("poll_assembled")(read.address, handler, 0, 10) >= 0
    assert received == sent


def test_the_heartbeat_counter_gets_our_name(aeron: Aeron) -> None:
    publication = aeron.add_publication(IPC, 3)
    counter_id = aeron.counters_reader.find_by_key(11, aeron.client_id)
    assert counter_id is not None

    def label() -> str:
        info = aeron.counters_reader.info(counter_id)
        return info.label if info is not None else ""

    until(lambda: f"id={aeron.client_id} name=tester version=" in label())
    assert not publication.is_closed


def test_manual_destinations_of_both_sides(aeron: Aeron) -> None:
    subscription = aeron.add_subscription("aeron:udp?control-mode=manual", 4)
    subscription.add_destination("aeron:udp?endpoint=127.0.0.1:0")
    until(lambda: len(subscription.local_socket_addresses) == 1)
    (address,) = subscription.local_socket_addresses
    publication = aeron.add_publication("aeron:udp?control-mode=manual", 4)
    assert publication.offer(b"x") is OfferResult.NOT_CONNECTED
    name = publication.add_destination(f"aeron:udp?endpoint={address}")

    publication.send(b"there")
    assert [message.payload for message in subscription.messages(limit=1)] == [b"there"]
    publication.remove_destination_by_id(name)
    publication.add_destination(f"aeron:udp?endpoint={address}")
    publication.remove_destination(f"aeron:udp?endpoint={address}")
    subscription.remove_destination("aeron:udp?endpoint=127.0.0.1:0")


def test_counters_own_and_static(aeron: Aeron) -> None:
    gone: list[int] = []
    aeron.add_unavailable_counter_handler(lambda reader, registration_id, counter_id: gone.append(counter_id))
    counter = aeron.add_counter(1001, "mine", b"\1\2\3")
    counter.set(42)
    info = aeron.counters_reader.info(counter.counter_id)
    assert info is not None
    assert (info.label, info.key[:4], info.value, info.owner_id) == ("mine", b"\1\2\3\0", 42, aeron.client_id)
    counter.close()
    until(lambda: gone == [counter.counter_id])
    first, second = (aeron.add_static_counter(1002, "static", 77) for _ in range(2))
    assert first.counter_id == second.counter_id


def test_a_rejected_and_a_revoked_image(stage: Stage) -> None:
    errors: list[str] = []
    gone: list[Image] = []
    directory = str(stage.driver("c").aeron_dir)
    with Aeron.connect(
        aeron_dir=directory, publication_error_handler=lambda error: errors.append(error.message)
    ) as aeron:
        subscription = aeron.add_subscription(IPC, 6, None, gone.append)
        publication = aeron.add_exclusive_publication(IPC, 6)
        publication.send(b"x")
        until(lambda: subscription.is_connected)
        subscription.reject_image(subscription.images[0], "no")
        until(lambda: errors == ["no"] and len(gone) == 1)

        revoked = aeron.add_subscription(IPC, 7, None, gone.append)
        other = aeron.add_exclusive_publication(IPC, 7)
        until(lambda: revoked.is_connected)
        other.revoke()
        until(lambda: len(gone) == 2)
        assert gone[1].is_publication_revoked


def test_refusals_carry_the_drivers_code_and_text(aeron: Aeron) -> None:
    with pytest.raises(RegistrationError, match="term") as caught:
        aeron.add_publication("aeron:ipc?term-length=1k", 8, strict=False)
    assert caught.value.error_code == 11


def test_spies_statuses_and_session_ids(aeron: Aeron) -> None:
    subscription = aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 9)
    until(lambda: subscription.channel_status is ChannelStatus.ACTIVE)
    channel = f"aeron:udp?endpoint={subscription.resolved_endpoint}"
    session_id = aeron.next_session_id(9)
    publication = aeron.add_publication(f"{channel}|session-id={session_id}", 9)
    assert publication.session_id == session_id
    spy = aeron.add_subscription(f"aeron-spy:{channel}", 9)
    publication.send(b"z" * 5000)
    seen: list[int] = []
    assembler = FragmentAssembler(lambda buffer, header: seen.append(len(buffer)))
    until(lambda: spy.poll(assembler) >= 0 and seen == [5000])
    assert spy.images[0].source_identity == "aeron:ipc"
