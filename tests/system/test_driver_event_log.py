"""The event log as part of a driver: it begins and ends with it."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path

import pytest

from aeronpy import Aeron
from aeronpy.driver import MediaDriver, event_log
from aeronpy.errors import AeronError, ArgumentError
from tests.system.conftest import SHORT
from tests.waiting import until


def log_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == event_log.THREAD_NAME]


def test_a_start_that_fails_leaves_no_thread_of_the_event_log(aeron_dir: str, tmp_path: Path) -> None:
    log = {"event_log": "all", "event_log_filename": str(tmp_path / "events.log")}

    with pytest.raises(ArgumentError, match="csv_table"):
        MediaDriver.launch(aeron_dir=aeron_dir, name_resolver_supplier="csv_table", name_resolver_init_args="x", **log)

    assert log_threads() == []


def test_the_event_log_ends_with_its_driver_while_frames_flow(tmp_path: Path) -> None:
    log = {"event_log": "all", "event_log_filename": str(tmp_path / "events.log")}
    over = threading.Event()
    with MediaDriver.launch_embedded(**SHORT, **log) as driver:
        aeron = Aeron.connect(aeron_dir=driver.aeron_dir, error_handler=lambda error: None)
        subscription = aeron.add_subscription("aeron:udp?endpoint=localhost:0|term-length=64k", 7)
        until(lambda: bool(subscription.local_socket_addresses))
        channel = f"aeron:udp?endpoint={subscription.local_socket_addresses[0]}|term-length=64k"
        publication = aeron.add_exclusive_publication(channel, 7)

        def flow() -> None:
            with contextlib.suppress(AeronError):
                while not over.is_set():
                    publication.offer(bytes(1000))
                    subscription.poll(lambda *_: None, 10)

        flowing = threading.Thread(target=flow)
        flowing.start()
        until(lambda: "DRIVER: FRAME_IN [" in (tmp_path / "events.log").read_text())
    over.set()
    flowing.join()
    aeron.close()

    assert log_threads() == []
    assert (tmp_path / "events.log").read_text().endswith("\n")
