"""A process that dies in the middle of a claim stops a shared stream only until the driver unblocks it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from aeronpy import Aeron
from aeronpy.driver import MediaDriver
from tests.system.conftest import SHORT
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
UNBLOCKED_PUBLICATIONS = 19
STREAM_ID = 7


@pytest.mark.parametrize("channel", ["aeron:ipc?term-length=64k", "aeron:udp?endpoint=127.0.0.1:24441|term-length=64k"])
def test_others_flow_on_past_the_claim_of_a_killed_process(channel: str) -> None:
    settings = SHORT | {"client_liveness_timeout": "1s", "publication_unblock_timeout": "1500ms"}
    with MediaDriver.launch_embedded(**settings) as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        subscription = aeron.add_subscription(channel, STREAM_ID)
        publication = aeron.add_publication(channel, STREAM_ID)
        until(lambda: publication.is_connected)
        with subprocess.Popen(
            [sys.executable, "-m", "tests.faults.programs.dead_claimer", driver.aeron_dir, channel, str(STREAM_ID)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as claimer:
            try:
                assert claimer.stdout is not None
                assert claimer.stdout.readline() == "CLAIMED\n"
                publication.send(b"behind the claim")
                polled: list[bytes] = []
                subscription.poll(lambda view, header: polled.append(bytes(view)), 10)
                assert polled == []  # it lies behind a claim that nobody ends
            finally:
                claimer.kill()

        got: list[bytes] = []

        def has_come() -> bool:
            subscription.poll(lambda view, header: got.append(bytes(view)), 10)
            return bool(got)

        until(has_come)
        assert got == [b"behind the claim"]
        for i in range(1000):  # and through some rotations of its terms
            message = b"%6d" % i * 64
            until(lambda message=message: has_come() and publication.offer(message) > 0)
        until(lambda: has_come() and len(got) == 1001)
        assert got[1:] == [b"%6d" % i * 64 for i in range(1000)]
        assert aeron.counters_reader.value(UNBLOCKED_PUBLICATIONS) == 1
