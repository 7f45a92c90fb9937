"""Carries IP packets between two namespaces, with faults: ``tun_relay NAMESPACE_A NAMESPACE_B SEED``.

Makes a TUN device in each (10.251.8.1 and .2, multicast routed into it) and says ``READY``. Each line of input sets
what happens from now on: ``loss=0.05 duplication=0 reordering=0 delay_ms=0 cut=none|ab|ba|both``; each is answered by
``SET`` and the counts so far. Only UDP suffers. Ends with its input.
"""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
ADDRESSES = ("10.251.8.1", "10.251.8.2")
PACKET_MAX = 65536
UDP = 17
JITTER_S = 0.002


@dataclass
class Faults:
    """What happens to packets; probabilities are shares of one direction."""

    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0
    delay_ms: float = 0.0
    cut: str = "none"
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("carried", "lost", "doubled", "late"), 0))

    def set(self, line: str) -> None:
        for word in line.split():
            name, value = word.split("=")
            setattr(self, name, value if name == "cut" else float(value))

    def is_cut(self, direction: int) -> bool:
        return self.cut == "both" or self.cut == ("ab", "ba")[direction]


def open_tun(namespace: str, address: str) -> int:
    """A TUN device inside a namespace; the descriptor works from outside."""
    libc = ctypes.CDLL(None, use_errno=True)
    device = -1

    def make() -> None:
        nonlocal device
        with open(f"/run/netns/{namespace}") as handle:
            if libc.setns(handle.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"setns {namespace}")
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH14x", b"tun0", IFF_TUN | IFF_NO_PI))

    thread = threading.Thread(target=make)  # the namespace is the thread's alone, and gone with it
    thread.start()
    thread.join()
    inside = ["ip", "-n", namespace]
    for command in (
        ["address", "add", f"{address}/24", "dev", "tun0"],
        ["link", "set", "tun0", "mtu", "9000", "multicast", "on", "up"],
        ["link", "set", "lo", "up"],
        ["route", "add", "224.0.0.0/4", "dev", "tun0"],
    ):
        subprocess.run([*inside, *command], check=True)
    return device


class Carrier:
    """Takes packets from one device and gives them to the other."""

    def __init__(self, devices: list[int], seed: int) -> None:
        self.devices = devices
        self.faults = Faults()
        self.random = random.Random(seed)
        self.held: list[tuple[float, int, int, bytes]] = []
        self.number = 0

    def take(self, direction: int) -> None:
        try:
            while True:
                packet = os.read(self.devices[direction], PACKET_MAX)
                self.pass_on(direction, packet)
        except BlockingIOError:
            return

    def pass_on(self, direction: int, packet: bytes) -> None:
        faults, chance = self.faults, self.random.random
        is_udp = packet[0] >> 4 == 4 and packet[9] == UDP
        if is_udp and (faults.is_cut(direction) or chance() < faults.loss):
            faults.counts["lost"] += 1
            return
        if is_udp and chance() < faults.duplication:
            faults.counts["doubled"] += 1
            self.hold(direction, packet, faults.delay_ms / 1000 + chance() * JITTER_S)
        if is_udp and chance() < faults.reordering:
            faults.counts["late"] += 1
            self.hold(direction, packet, faults.delay_ms / 1000 + chance() * JITTER_S)
        elif is_udp and faults.delay_ms:
            self.hold(direction, packet, faults.delay_ms / 1000)
        else:
            self.give(direction, packet)

    def hold(self, direction: int, packet: bytes, seconds: float) -> None:
        self.number += 1
        heapq.heappush(self.held, (time.monotonic() + seconds, self.number, direction, packet))

    def give(self, direction: int, packet: bytes) -> None:
        try:
            os.write(self.devices[1 - direction], packet)
            self.faults.counts["carried"] += 1
        except BlockingIOError:
            self.faults.counts["lost"] += 1

    def release(self) -> float:
        """Give what is due; returns how long the next may wait."""
        while self.held and self.held[0][0] <= time.monotonic():
            _, _, direction, packet = heapq.heappop(self.held)
            self.give(direction, packet)
        return max(0.0, min(0.05, self.held[0][0] - time.monotonic())) if self.held else 0.05


def main(namespaces: list[str], seed: int) -> None:
    devices = [open_tun(name, address) for name, address in zip(namespaces, ADDRESSES, strict=True)]
    carrier = Carrier(devices, seed)
    print("READY", flush=True)
    orders = sys.stdin.fileno()
    while True:
        for ready in select.select([*devices, orders], [], [], carrier.release())[0]:
            if ready == orders:
                line = sys.stdin.readline()
                if not line:
                    return
                counts = " ".join(f"{name}={count}" for name, count in carrier.faults.counts.items())
                carrier.faults.set(line)
                print(f"SET {counts}", flush=True)
            else:
                carrier.take(devices.index(ready))


if __name__ == "__main__":
    main(sys.argv[1:3], int(sys.argv[3]))
