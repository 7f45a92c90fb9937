"""One end of a flow over another system: ``ends.py SYSTEM ROLE ADDRESS SIZE``; ROLE is ``publish`` or ``receive``.

SYSTEM is ``zmq`` (PUSH and PULL), ``grpc`` (one client-streaming call a round) or ``nats`` (core, one subject). Each
line of input is a number of messages; the answer is nanoseconds of the whole round, at the receiver from the first
message to the last. All are set up as their documentation does for throughput, one Python call for each message.
"""

from __future__ import annotations

import asyncio
import queue
import sys
import time
from collections.abc import Iterator
from concurrent import futures
from typing import Any

SUBJECT = "bench"
METHOD = "/bench.Flow/Publish"


def say(text: object) -> None:
    print(text, flush=True)


def zmq_publish(address: str, size: int) -> None:
    import zmq

    socket = zmq.Context().socket(zmq.PUSH)
    socket.connect(address)
    say("READY")
    payload = b"x" * size
    for line in sys.stdin:
        send, start = socket.send, time.perf_counter_ns()
        for _ in range(int(line)):
            send(payload)
        say(time.perf_counter_ns() - start)
    socket.close(linger=0)


def zmq_receive(address: str, size: int) -> None:
    import zmq

    socket = zmq.Context().socket(zmq.PULL)
    socket.bind(address)
    say("READY")
    for line in sys.stdin:
        receive = socket.recv
        receive()
        first = time.perf_counter_ns()
        for _ in range(int(line) - 1):
            receive()
        say(time.perf_counter_ns() - first)
    socket.close(linger=0)


def grpc_receive(address: str, size: int) -> None:
    import grpc

    rounds: queue.SimpleQueue[int] = queue.SimpleQueue()

    def publish(messages: Iterator[bytes], _: object) -> bytes:
        next(messages)
        first = time.perf_counter_ns()
        for _message in messages:
            pass
        rounds.put(time.perf_counter_ns() - first)
        return b""

    server = grpc.server(futures.ThreadPoolExecutor(1))
    handler = grpc.stream_unary_rpc_method_handler(publish)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Flow", {"Publish": handler}),))
    server.add_insecure_port(address)
    server.start()
    say("READY")
    for _line in sys.stdin:
        say(rounds.get(timeout=60))
    server.stop(0)


def grpc_publish(address: str, size: int) -> None:
    import grpc

    channel = grpc.insecure_channel(address)
    grpc.channel_ready_future(channel).result(20)
    publish = channel.stream_unary(METHOD)
    say("READY")
    payload = b"x" * size
    for line in sys.stdin:
        start = time.perf_counter_ns()
        publish(payload for _ in range(int(line)))
        say(time.perf_counter_ns() - start)
    channel.close()


async def read_lines() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def nats_publish(address: str, size: int) -> None:
    import nats

    connection = await nats.connect(address)
    lines = await read_lines()
    say("READY")
    payload = b"x" * size
    while line := await lines.readline():
        start = time.perf_counter_ns()
        for _ in range(int(line)):
            await connection.publish(SUBJECT, payload)
        await connection.flush()
        say(time.perf_counter_ns() - start)
    await connection.close()


async def nats_receive(address: str, size: int) -> None:
    import nats

    connection = await nats.connect(address)
    received = first = 0
    wanted = 1
    done = asyncio.Event()

    async def on_message(_: Any) -> None:
        nonlocal received, first
        received += 1
        if received == 1:
            first = time.perf_counter_ns()
        if received == wanted:
            done.set()

    await connection.subscribe(SUBJECT, cb=on_message, pending_msgs_limit=10_000_000, pending_bytes_limit=1 << 30)
    await connection.flush()
    lines = await read_lines()
    say("READY")
    while line := await lines.readline():
        wanted, received = int(line), 0
        done.clear()
        await asyncio.wait_for(done.wait(), 60)
        say(time.perf_counter_ns() - first)
    await connection.close()


def main() -> None:
    system, role, address, size = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    if system == "nats":
        asyncio.run((nats_publish if role == "publish" else nats_receive)(address, size))
        return
    ends = {
        ("zmq", "publish"): zmq_publish,
        ("zmq", "receive"): zmq_receive,
        ("grpc", "publish"): grpc_publish,
        ("grpc", "receive"): grpc_receive,
    }
    ends[system, role](address, size)


if __name__ == "__main__":
    main()
