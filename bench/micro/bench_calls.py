"""Single calls of the Python API over shared memory, an embedded driver beside them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from aeronpy import Aeron, ExclusivePublication, MediaDriver, Subscription

SIZES = (32, 1344)
BATCH = 256
STREAM_ID = 1001
CHANNEL = "aeron:ipc?term-length=16m"


class Stream:
    """Both ends in one process, so that whoever fills also empties."""

    def __init__(self, aeron: Aeron) -> None:
        self.subscription: Subscription = aeron.add_subscription(CHANNEL, STREAM_ID)
        self.publication: ExclusivePublication = aeron.add_exclusive_publication(CHANNEL, STREAM_ID)
        self.publication.send(b"first")
        self.drain()

    def drain(self) -> None:
        """Empty it, and wait until a batch of the longest messages fits, which the driver's thread makes true."""
        while self.subscription.poll(lambda buffer, header: None, 4096):
            pass
        while self.publication.available_window < BATCH * 2 * max(SIZES):
            time.sleep(0)

    def fill(self, size: int, messages: int) -> None:
        self.drain()
        for _ in range(messages):
            while self.publication.offer(b"x" * size) < 0:
                pass


@pytest.fixture(scope="module")
def stream() -> Iterator[Stream]:
    with MediaDriver.launch_embedded() as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        yield Stream(aeron)


def rounds(benchmark: BenchmarkFixture, run: Any, setup: Any) -> None:
    """So many rounds of one call each, set up untimed."""
    benchmark.pedantic(run, setup=setup, rounds=300, iterations=1, warmup_rounds=20)


@pytest.mark.parametrize("size", SIZES)
def test_offer(benchmark: BenchmarkFixture, stream: Stream, size: int) -> None:
    payload, offer = b"x" * size, stream.publication.offer

    def run() -> None:
        for _ in range(BATCH):
            offer(payload)

    benchmark.extra_info["messages"] = BATCH
    rounds(benchmark, run, stream.drain)


@pytest.mark.parametrize("size", SIZES)
def test_try_claim(benchmark: BenchmarkFixture, stream: Stream, size: int) -> None:
    try_claim = stream.publication.try_claim

    def run() -> None:
        for _ in range(BATCH):
            with try_claim(size):
                pass

    benchmark.extra_info["messages"] = BATCH
    rounds(benchmark, run, stream.drain)


@pytest.mark.parametrize("size", SIZES)
def test_poll(benchmark: BenchmarkFixture, stream: Stream, size: int) -> None:
    poll = stream.subscription.poll

    def handler(buffer: object, header: object) -> None: ...

    benchmark.extra_info["messages"] = BATCH
    rounds(benchmark, lambda: poll(handler, BATCH), lambda: stream.fill(size, BATCH))


@pytest.mark.parametrize("size", SIZES)
def test_offer_batch(benchmark: BenchmarkFixture, stream: Stream, size: int) -> None:
    batch, offer_batch = np.full((BATCH, size), 120, np.uint8), stream.publication.offer_batch
    benchmark.extra_info["messages"] = BATCH
    rounds(benchmark, lambda: offer_batch(batch), stream.drain)


@pytest.mark.parametrize("size", SIZES)
def test_poll_batch(benchmark: BenchmarkFixture, stream: Stream, size: int) -> None:
    def run() -> None:
        with stream.subscription.poll_batch(messages_max=BATCH) as batch:
            assert len(batch.lengths) > 0

    benchmark.extra_info["messages"] = BATCH
    rounds(benchmark, run, lambda: stream.fill(size, BATCH))


def test_poll_of_nothing(benchmark: BenchmarkFixture, stream: Stream) -> None:
    poll = stream.subscription.poll

    def handler(buffer: object, header: object) -> None: ...

    def run() -> None:
        for _ in range(BATCH):
            poll(handler, 10)

    benchmark.extra_info["messages"] = BATCH
    rounds(benchmark, run, stream.drain)
