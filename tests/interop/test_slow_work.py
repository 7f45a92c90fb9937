"""Slow names and large logs of a real client or driver, in our driver: nobody else waits for them."""

from __future__ import annotations

from pathlib import Path

from aeronpy import Aeron
from tests.interop import ends
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import IPC, TERM_LENGTH, Stage, free_port

TERM_BYTES = 256 << 20
LOG_BYTES = 3 * TERM_BYTES
TIMEOUT_MS = 10_000


def is_ours(each: Cell) -> bool:
    return each.ours == "driver"


@every("conductor.async_resolution", where=is_ours)
def test_a_clients_slow_name_delays_no_other_client(stage: Stage, cell: Cell) -> None:
    answer = stage.base / "answer"
    driver = stage.driver(
        "ours",
        settings={
            "AERON_NAME_RESOLVER_SUPPLIER": "tests.interop.slow_names:supply",
            "AERON_NAME_RESOLVER_INIT_ARGS": str(answer),
        },
    )
    slow = f"aeron:udp?endpoint=slow-host:{free_port()}|term-length={TERM_LENGTH}"
    role = "publish" if cell.direction == "out" else "subscribe"
    waiting = stage.program(cell.peer, role, driver, slow)
    ends.until(answer.with_suffix(".asked").exists, "the driver asks for the name")

    other = stage.program(cell.peer, "subscribe", driver, IPC)
    other.expect("READY")
    assert not answer.exists()
    answer.touch()
    waiting.expect("READY")


def is_growing(log: Path) -> bool:
    return 0 < log.stat().st_blocks * 512 < LOG_BYTES


@every("conductor.async_logs", where=lambda each: each.ours == "driver" and each.direction == "in")
def test_the_large_log_of_an_image_delays_no_client(stage: Stage, cell: Cell) -> None:
    driver, source, port = stage.driver("ours", "ours"), stage.driver(cell.peer, "theirs"), free_port()
    client = ends.ToldClient(stage.agent(cell.peer), str(source.aeron_dir), TIMEOUT_MS)
    publication = client.publication(f"aeron:udp?endpoint=127.0.0.1:{port}|term-length=256m", 1001)
    folder = driver.aeron_dir / "images"
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        subscription = aeron.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}|sparse=false", 1001)
        log = ends.until(lambda: next((one for one in folder.iterdir() if is_growing(one)), None), "a log grows")

        aeron.add_publication(IPC, 7)

        assert is_growing(log)
        ends.until(lambda: subscription.is_connected, "the image is there")
    publication.close()
