"""Many writers on one log: ``log_stress CLIENT ROLE DIR CHANNEL STREAM NUMBER``, where CLIENT is ours or pyaeron.

A ``publish`` process runs two threads on one shared publication, producers NUMBER and NUMBER + 1. Message ``i`` of
a producer is its number, ``i`` and a filling that both determine; every eleventh is claimed, and every thirteenth
claim is first aborted. Says ``READY``, waits for ``go``, then ``SENT``. ``subscribe`` says ``READY``, checks each
message of NUMBER producers against what its producer must have sent next, and says ``DONE messages=`` when each has
brought its last one; NUMBER is how many producers there are.
"""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

HEAD = struct.Struct("<ii")
MESSAGES = 15_000
SIZES = (8, 9, 31, 32, 33, 200, 1376, 1377, 3000)


def message_of(producer: int, index: int) -> bytes:
    """Deterministic bytes, of every length around the limits of frames."""
    size = SIZES[(producer + index) % len(SIZES)]
    return HEAD.pack(producer, index) + bytes([(producer + 7 * index) & 255]) * (size - HEAD.size)


class Ours:
    """Our client."""

    def __init__(self, aeron_dir: str) -> None:
        import aeronpy

        self._aeronpy = aeronpy
        self._aeron = aeronpy.Aeron.connect(aeron_dir=aeron_dir)

    def publication(self, channel: str, stream_id: int) -> tuple[Callable[[bytes], bool], Callable[[int], Any]]:
        publication = self._aeron.add_publication(channel, stream_id)

        def claim(length: int) -> Any:
            claimed = publication.try_claim(length)
            return claimed or None

        return (lambda payload: publication.offer(payload) > 0), claim

    def poller(self, channel: str, stream_id: int, handler: Callable[[Any, Any], None]) -> Callable[[], int]:
        subscription = self._aeron.add_subscription(channel, stream_id)
        assembler = self._aeronpy.FragmentAssembler(handler)
        return lambda: int(subscription.poll(assembler, 256))


class Theirs:
    """The real C client."""

    def __init__(self, aeron_dir: str) -> None:
        import pyaeron

        self._claim_type = pyaeron.BufferClaim
        self._aeron = pyaeron.Aeron.connect(dir=aeron_dir)

    def publication(self, channel: str, stream_id: int) -> tuple[Callable[[bytes], bool], Callable[[int], Any]]:
        publication = self._aeron.add_publication(channel, stream_id)

        def claim(length: int) -> Any:
            claimed = publication.try_claim(length)
            return claimed if isinstance(claimed, self._claim_type) else None

        return (lambda payload: bool(publication.offer(payload))), claim

    def poller(self, channel: str, stream_id: int, handler: Callable[[Any, Any], None]) -> Callable[[], int]:
        subscription = self._aeron.add_subscription(channel, stream_id)
        return lambda: int(subscription.poll(handler, 256, assemble=True))


CLIENTS: dict[str, type[Ours | Theirs]] = {"ours": Ours, "pyaeron": Theirs}


def await_claim(claim: Callable[[int], Any], length: int) -> Any:
    while (claimed := claim(length)) is None:
        pass
    return claimed


def produce(offer: Callable[[bytes], bool], claim: Callable[[int], Any], producer: int) -> None:
    for index in range(MESSAGES):
        payload = message_of(producer, index)
        if index % 11 == 0 and len(payload) <= 1376:
            if index % 13 == 0:
                await_claim(claim, len(payload)).abort()
            claimed = await_claim(claim, len(payload))
            memoryview(claimed.buffer)[:] = payload
            claimed.commit()
        else:
            while not offer(payload):
                pass


def publish(client: Ours | Theirs, channel: str, stream_id: int, producer: int) -> None:
    offer, claim = client.publication(channel, stream_id)
    threads = [threading.Thread(target=produce, args=(offer, claim, producer + i)) for i in range(2)]
    print("READY", flush=True)
    sys.stdin.readline()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("SENT", flush=True)
    sys.stdin.readline()


def subscribe(client: Ours | Theirs, channel: str, stream_id: int, producers: int) -> None:
    following = [0] * producers
    position = 0

    def on_message(buffer: Any, header: Any) -> None:
        nonlocal position
        payload = bytes(buffer)
        producer, index = HEAD.unpack_from(payload)
        if index != following[producer] or payload != message_of(producer, index):
            raise SystemExit(
                f"FAILED at {header.position}: message {index} of {producer}, expected {following[producer]}, "
                f"{len(payload)} bytes: {payload[:16]!r}"
            )
        if header.position <= position:
            raise SystemExit(f"FAILED: position {header.position} after {position}")
        position = header.position
        following[producer] += 1

    poll = client.poller(channel, stream_id, on_message)
    print("READY", flush=True)
    while any(index < MESSAGES for index in following):
        poll()
    print(f"DONE messages={sum(following)} position={position}", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    kind, role, directory, uri, stream, number = sys.argv[1:]
    {"publish": publish, "subscribe": subscribe}[role](CLIENTS[kind](directory), uri, int(stream), int(number))
