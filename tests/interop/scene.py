"""A driver that has something to show: a lossy flow whose clients are still there, and one refused channel."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass

from tests.interop import flows, peers
from tests.interop.stage import Driver, Make, Stage, free_port, udp

LOSS = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.1|recv-msg-mask=0x2|seed=7",
}
BAD_PORT = 99999


@dataclass
class Scene:
    """A driver that carried one lossy flow, whose clients are still there, and refused one channel."""

    driver: Driver
    channel: str
    session: str

    def read(self, tool: str, *args: str) -> str:
        """What a tool of the samples prints."""
        command = peers.java_command(f"io.aeron.samples.{tool}", f"aeron.dir={self.driver.aeron_dir}")
        done = subprocess.run([*command, *args], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def read_ours(self, tool: str, *args: str) -> str:
        """What a tool of ours prints when it is piped."""
        command = [sys.executable, "-m", "aeronpy.cli.main", tool, *args, "--aeron-dir", str(self.driver.aeron_dir)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=peers.ROOT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def counters(self) -> dict[int, tuple[str, int]]:
        """Label and value by counter id, as AeronStat shows them."""
        return parse_counters(self.read("AeronStat", "watch=false"))


def parse_counters(text: str) -> dict[int, tuple[str, int]]:
    """Label and value by counter id in the layout of AeronStat."""
    lines = re.findall(r"^ *(\d+): +(-?[\d,]+) - (.*)$", text, re.MULTILINE)
    return {int(counter): (label, int(value.replace(",", ""))) for counter, value, label in lines}


def play(stage: Stage, make: Make) -> Scene:
    """Make the scene on a driver; Java's own knows no interceptors, so it loses nothing."""
    settings = {} if make == "java" else LOSS
    driver, channel = stage.driver(make, make, settings=settings), udp(free_port())
    subscriber = stage.program("c", "subscribe", driver, channel, until=flows.MESSAGES)
    subscriber.expect("READY")
    publisher = stage.program("c", "publish", driver, channel, count=flows.MESSAGES)
    session = publisher.expect("READY")["session"]
    publisher.expect("SENT")
    flows.same(subscriber.expect("DONE"), 0, flows.MESSAGES)
    refused = stage.program("c", "publish", driver, f"aeron:udp?endpoint=127.0.0.1:{BAD_PORT}")
    assert refused.expect_failure() != ""
    return Scene(driver, channel, session)
