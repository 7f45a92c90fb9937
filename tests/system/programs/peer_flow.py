"""The real C client in a process of its own: publishes and reads on one channel, and says how long nothing came.

Prints READY when connected; then, for each line on stdin, ``<messages> <longest silence in ms> <events>`` since the
last one, where events counts lost images.
"""

from __future__ import annotations

import sys
import threading
import time

import pyaeron


def main() -> None:
    directory, channel = sys.argv[1:3]
    aeron = pyaeron.Aeron.connect(dir=directory)
    lost: list[object] = []
    publication = aeron.add_publication(channel, 7)
    subscription = aeron.add_subscription(channel, 7, unavailable_image=lambda *image: lost.append(image))
    publication.await_connected(timeout=10)
    asked = threading.Event()
    over = threading.Event()

    def listen() -> None:
        for _ in sys.stdin:
            asked.set()
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    received, longest, last = 0, 0.0, time.monotonic()

    def on_message(buffer: object, header: object) -> None:
        nonlocal received, longest, last
        now = time.monotonic()
        received, longest, last = received + 1, max(longest, now - last), now

    print("READY", flush=True)
    while not over.is_set():
        publication.offer(b"tick")
        subscription.poll(on_message, 100)
        if asked.is_set():
            asked.clear()
            longest = max(longest, time.monotonic() - last)
            print(received, int(longest * 1000), len(lost), flush=True)
            received, longest, last = 0, 0.0, time.monotonic()
        time.sleep(0.002)
    aeron.close()


if __name__ == "__main__":
    main()
