"""A real publication and subscription of one stream, whose log others look at: ``log_pyaeron DIR CHANNEL STREAM``.

Says ``READY session=`` when connected, and ``MESSAGE length= crc= position=`` for all that is received. It hears
``fill`` (messages of 5, 3000 and 0 bytes and an open claim of 100: ``FILLED position=``), ``abort`` (that claim:
``ABORTED``) and ``offer LENGTH`` (``OFFERED position=``). Ends when its input does.
"""

from __future__ import annotations

import queue
import sys
import threading
import zlib
from typing import Any

import pyaeron


def pattern(length: int) -> bytes:
    return bytes((7 * i) & 255 for i in range(length))


def offer(publication: Any, payload: bytes) -> None:
    while not publication.offer(payload):
        pass


def on_message(buffer: Any, header: Any) -> None:
    payload = bytes(buffer)
    print(f"MESSAGE length={len(payload)} crc={zlib.crc32(payload)} position={header.position}", flush=True)


def main(aeron_dir: str, channel: str, stream_id: int) -> None:
    told: queue.SimpleQueue[list[str] | None] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            told.put(line.split())
        told.put(None)

    threading.Thread(target=listen, daemon=True).start()
    aeron = pyaeron.Aeron.connect(dir=aeron_dir)
    subscription = aeron.add_subscription(channel, stream_id)
    publication = aeron.add_publication(channel, stream_id)
    publication.await_connected()
    print(f"READY session={publication.session_id}", flush=True)
    claim = None
    while True:
        busy = subscription.poll(on_message, 64, assemble=True)
        try:
            command = told.get(timeout=0 if busy else 0.001)
        except queue.Empty:
            continue
        if command is None:
            break
        if command[0] == "fill":
            for length in (5, 3000, 0):
                offer(publication, pattern(length))
            claim = publication.try_claim(100)
            print(f"FILLED position={publication.position}", flush=True)
        elif command[0] == "abort":
            assert claim is not None
            claim.abort()
            print("ABORTED", flush=True)
        else:
            offer(publication, pattern(int(command[1])))
            print(f"OFFERED position={publication.position}", flush=True)
    aeron.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
