"""A UDP relay in user space that loses, repeats and reorders what it carries, the same way for the same seed."""

from __future__ import annotations

import heapq
import random
import select
import socket
import threading
import time
from dataclasses import dataclass

DATAGRAM_MAX = 65536


@dataclass(frozen=True)
class Faults:
    """Shares of the datagrams, each way."""

    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0
    delay_s: float = 0.002


class Relay:
    """Carries datagrams between whoever sends to its port and one target, both ways, with faults."""

    def __init__(self, target_port: int, faults: Faults, seed: int) -> None:
        self._faults = faults
        self._random = random.Random(seed)
        self._front = self._socket()
        self._back = self._socket()
        self._target = ("127.0.0.1", target_port)
        self._source: tuple[str, int] | None = None
        self._held: list[tuple[float, int, bool, bytes]] = []
        self._count = 0
        self.carried = self.lost = self.duplicated = self.reordered = 0
        self.port: int = self._front.getsockname()[1]
        self._running = True
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @staticmethod
    def _socket() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        made.bind(("127.0.0.1", 0))
        made.setblocking(False)
        return made

    def _run(self) -> None:
        while self._running:
            wait = 0.05
            if self._held:
                wait = min(max(self._held[0][0] - time.monotonic(), 0.0), wait)
            for ready in select.select([self._front, self._back], [], [], wait)[0]:
                self._drain(ready)
            while self._held and self._held[0][0] <= time.monotonic():
                _, _, is_forward, datagram = heapq.heappop(self._held)
                self._send(is_forward, datagram)

    def _drain(self, ready: socket.socket) -> None:
        while True:
            try:
                datagram, sender = ready.recvfrom(DATAGRAM_MAX)
            except (BlockingIOError, ConnectionRefusedError):
                return
            is_forward = ready is self._front
            if is_forward:
                self._source = sender
            self._pass_on(is_forward, datagram)

    def _pass_on(self, is_forward: bool, datagram: bytes) -> None:
        faults = self._faults
        if self._random.random() < faults.loss:
            self.lost += 1
            return
        if self._random.random() < faults.duplication:
            self.duplicated += 1
            self._hold(is_forward, datagram)
        if self._random.random() < faults.reordering:
            self.reordered += 1
            self._hold(is_forward, datagram)
        else:
            self._send(is_forward, datagram)

    def _hold(self, is_forward: bool, datagram: bytes) -> None:
        self._count += 1
        due = time.monotonic() + self._random.random() * self._faults.delay_s
        heapq.heappush(self._held, (due, self._count, is_forward, datagram))

    def _send(self, is_forward: bool, datagram: bytes) -> None:
        try:
            if is_forward:
                self._back.sendto(datagram, self._target)
            elif self._source is not None:
                self._front.sendto(datagram, self._source)
            self.carried += 1
        except (BlockingIOError, ConnectionRefusedError):
            self.lost += 1

    def close(self) -> None:
        """Stop carrying."""
        self._running = False
        self._thread.join()
        self._front.close()
        self._back.close()
