"""The counters of both drivers side by side: the same commands leave the same types, keys, labels, owners and ids."""

from __future__ import annotations

import dataclasses
import re
import socket
import time
from typing import Any

import pytest

from aeronpy import Aeron
from aeronpy._core.native import CncFile
from aeronpy.errors import RegistrationError
from aeronpy.observe.counters import Counter, read_counters
from aeronpy.observe.keys import AddressKey
from tests.interop.matrix import cell
from tests.interop.stage import Driver, Stage, free_port
from tests.waiting import until

DEADLINE_S = 20.0
APPLICATION_TYPE = 5000


def counters_of(driver: Driver) -> list[Counter]:
    with CncFile(str(driver.aeron_dir)) as cnc:
        return list(read_counters(cnc.counters))


def same_words(counter: Counter) -> tuple[Any, ...]:
    """What two drivers must say alike: all but the value, ephemeral ports and the software's version."""
    label = re.sub(r"version=\S+ commit=\S+", "version=V commit=C", counter.label)
    key = counter.key
    if label.startswith("snd-"):
        label = re.sub(r" (\S+):\d+$", r" \1:PORT", label)
    if isinstance(key, AddressKey) and label.startswith("snd-"):
        key = dataclasses.replace(key, address=re.sub(r":\d+$", ":PORT", key.address))
    return (counter.type_id, key, label, counter.registration_id, counter.owner_id, counter.reference_id)


def set_up(driver: Driver, port: int) -> tuple[list[Counter], list[Counter]]:
    """One of everything; counters while it is there, and when all but the client is gone again."""
    ipc = "aeron:ipc?term-length=64k|session-id=77"
    udp = f"aeron:udp?endpoint=127.0.0.1:{port}|term-length=64k"
    with Aeron.connect(aeron_dir=str(driver.aeron_dir), client_name="counted") as aeron:
        made: list[Any] = [aeron.add_subscription("aeron:ipc", 1)]
        made.append(aeron.add_publication(ipc, 1))
        until(lambda: made[1].is_connected)
        made.append(aeron.add_subscription(udp, 2))
        made.append(aeron.add_exclusive_publication(f"{udp}|session-id=78", 2))
        until(lambda: made[3].is_connected and made[2].is_connected)
        made.append(aeron.add_subscription(f"aeron-spy:{udp}", 2))
        until(lambda: made[4].is_connected)
        made.append(aeron.add_counter(APPLICATION_TYPE, "mine", b"key of mine"))
        aeron.add_static_counter(APPLICATION_TYPE, "static", 4711, b"key of static")
        until(lambda: any("name=counted" in counter.label for counter in counters_of(driver)))
        until(lambda: all(c.value == 1 for c in counters_of(driver) if c.type_id in (6, 7, 14)))
        there = counters_of(driver)
        for each in reversed(made):
            each.close()
        until(lambda: not any(counter.type_id in range(1, 11) for counter in counters_of(driver)))
        gone = counters_of(driver)
    return there, gone


@pytest.mark.parametrize("threading", ["SHARED", "DEDICATED"])
@cell("counters.system", "driver", "c")
@cell("counters.resource", "driver", "c")
@cell("counters.labels", "driver", "c")
@cell("counters.client", "driver", "c")
@cell("counters.static", "driver", "c")
@cell("counters.heartbeats", "driver", "c")
def test_counters_are_those_of_the_c_driver(stage: Stage, threading: Any) -> None:
    port = free_port()
    found = {}
    for make in ("ours", "c"):
        driver = stage.driver(make, make, threading=threading)  # type: ignore[arg-type]
        found[make] = [sorted(map(same_words, counters), key=repr) for counters in set_up(driver, port)]
        driver.close()

    for ours, theirs in zip(found["ours"], found["c"], strict=True):
        assert [each for each in theirs if each not in ours] == []
        assert [each for each in ours if each not in theirs] == []
        assert len(ours) == len(theirs)


# Counters that say how long something took, or that move by chance on a busy machine.
BY_CHANCE = {12, 13, 26, 27, 28, 29, 30, 31, 32, 33, 37}
LOSS = {
    "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
    "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.2|seed=7|recv-msg-mask=0x2",
}


def provoke(driver: Driver, port: int) -> dict[str, int]:
    """Loss, gap fills, revocation, rejection, nonsense; the system counters that moved, and by how much."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{port}|term-length=64k"
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:

        def value(system_counter: int) -> int:
            found = aeron.counters_reader.value(system_counter)
            assert found is not None
            return found

        streams = []
        for stream_id, extra in ((1, ""), (2, "|reliable=false")):
            subscription = aeron.add_subscription(channel + extra, stream_id)
            publication = aeron.add_exclusive_publication(channel, stream_id)
            until(lambda s=subscription, p=publication: s.is_connected and p.is_connected)  # type: ignore[misc]
            streams.append((publication, subscription))
            for _ in range(300):
                while publication.offer(bytes(1000)) <= 0:
                    subscription.poll(lambda *_: None, 50)
            until(lambda s=subscription: value(11) > 0 and s.poll(lambda *_: None, 50) == 0)  # type: ignore[misc]
        until(lambda: value(23) > 0)
        streams[1][0].revoke()
        until(lambda: value(41) > 0)
        streams[0][1].images[0].reject("not wanted")
        until(lambda: value(38) > 0)
        with pytest.raises(RegistrationError):
            aeron.add_publication("aeron:udp?endpoint=127.0.0.1:1|mtu=100", 3, strict=False)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nonsense:
            while value(14) == 0:
                nonsense.sendto(b"\x40\0\0\0\x07\0\1\0", ("127.0.0.1", port))
                time.sleep(0.01)
    return {counter.label.split(":")[0]: counter.value for counter in counters_of(driver) if counter.type_id == 0}


@cell("counters.system", "driver", "c")
def test_the_same_events_move_the_same_system_counters(stage: Stage) -> None:
    port = free_port()
    moved = {}
    for make in ("ours", "c"):
        driver = stage.driver(make, make, settings=LOSS)  # type: ignore[arg-type]
        values = provoke(driver, port)
        moved[make] = {label: values[label] != 0 for at, label in enumerate(values) if at not in BY_CHANCE}
        driver.close()

    assert moved["ours"] == moved["c"]
    assert sum(moved["ours"].values()) > 20
