"""Both ends of a flow between a process and its child: ``pair.py KIND SIZE``, in lines as ``ends.py``.

KIND is ``queue`` or ``pipe`` (multiprocessing), ``unix`` (a SOCK_SEQPACKET pair, one call for each message) or ``tcp``
(a loopback stream, one call for each message sent, as much as there is for each received).
"""

from __future__ import annotations

import multiprocessing
import socket
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

CHUNK = 65536


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
    return sender, receiver


def open_kind(kind: str) -> tuple[Callable[[bytes], Any], Callable[[int, int], None]]:
    """How a message is sent, and how a number of them of a size is received."""
    if kind == "tcp":
        sender, receiver = tcp_pair()

        def receive_stream(count: int, size: int) -> None:
            left = count * size
            while left:
                left -= len(receiver.recv(min(CHUNK, left)))

        return sender.sendall, receive_stream
    send: Callable[[bytes], Any]
    receive: Callable[[], Any]
    if kind == "queue":
        shared: Any = multiprocessing.Queue()
        send, receive = shared.put, shared.get
    elif kind == "pipe":
        inlet, outlet = multiprocessing.Pipe(duplex=False)
        send, receive = outlet.send_bytes, inlet.recv_bytes
    else:
        left_end, right_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        send, receive = left_end.send, lambda: right_end.recv(CHUNK)

    def receive_each(count: int, _: int) -> None:
        for _number in range(count):
            receive()

    return send, receive_each


def publish(send: Callable[[bytes], Any], orders: Connection, size: int) -> None:
    payload = b"x" * size
    while count := orders.recv():
        for _ in range(count):
            send(payload)


def main() -> None:
    kind, size = sys.argv[1], int(sys.argv[2])
    multiprocessing.set_start_method("fork")
    send, receive = open_kind(kind)
    orders, given = multiprocessing.Pipe()
    child = multiprocessing.Process(target=publish, args=(send, given, size), daemon=True)
    child.start()
    print("READY", flush=True)
    for line in sys.stdin:
        count = int(line)
        orders.send(count)
        receive(1, size)
        first = time.perf_counter_ns()
        receive(count - 1, size)
        print(time.perf_counter_ns() - first, flush=True)
    orders.send(0)
    child.join(5)


if __name__ == "__main__":
    main()
