"""What our driver answers to each command, good or bad, beside what the real drivers answer."""

from __future__ import annotations

import time

import pytest

from aeronpy import Aeron
from aeronpy.errors import RegistrationError
from tests.interop import command_table as table
from tests.interop.matrix import cell
from tests.interop.rows import Peer
from tests.interop.stage import Driver, Make, Stage
from tests.system import protocol_client as p
from tests.system.protocol_client import ProtocolClient

SETTINGS = {"AERON_CLIENT_LIVENESS_TIMEOUT": "30s", "AERON_PUBLICATION_UNBLOCK_TIMEOUT": "40s"}
ANSWER_S = 20.0
READY = (p.PUBLICATION_READY, p.EXCLUSIVE_PUBLICATION_READY, p.SUBSCRIPTION_READY, p.OPERATION_SUCCESS)
GIVEN = (p.COUNTER_READY, p.STATIC_COUNTER, p.NEXT_AVAILABLE_SESSION_ID)
OK = 0

# Where ours is another answer than the C driver's, on purpose: (the C driver's, ours).
UNLIKE_C = {
    # The C driver reads as much of a number as it finds; ours says that it is none.
    "publish aeron:ipc?tags=abc": (OK, 11),
    f"publish {table.UDP}|ttl=abc": (OK, 11),
    f"publish {table.UDP}|ttl=-1": (OK, 11),
    f"subscribe {table.SUB}|group=maybe": (OK, 11),
    f"publish {table.UDP}|control-mode=odd": (OK, 1),
    # What is no address is grammar, as with the Java driver.
    "publish aeron:udp?endpoint=127.0.0.1": (11, 1),
    "publish aeron:udp?endpoint=127.0.0.1:70000": (11, 1),
    "publish aeron:udp?endpoint=:1": (9, 1),
    "publish aeron:udp?endpoint=[::1:1": (9, 1),
    # Said by the channel's check, not by a socket that cannot be connected.
    f"publish {table.UDP}|control=[::1]:24398": (11, 1),
}

# Where the Java driver accepts what ours refuses, or the other way round: (the Java driver's, ours), codes aside.
UNLIKE_JAVA = {
    # To Java every text that is not "true" is false; the C driver refuses what is neither.
    *(f"publish aeron:ipc?{flag}=maybe" for flag in ("sparse", "eos", "ssc")),
    *(f"subscribe aeron:ipc?{flag}=maybe" for flag in ("tether", "rejoin")),
    *(f"subscribe {table.SUB}|{flag}=maybe" for flag in ("reliable", "rejoin", "group")),
    *("publish aeron:ipc?tags=abc", "publish aeron:ipc?tags=1,2,3", "publish aeron:ipc?x"),
    *(f"publish {table.UDP}|{option}" for option in ("ttl=abc", "ttl=-1", "ats=true", "control-mode=odd")),
    *(f"publish {table.MDC}|fc=min,x:1", f"publish {table.UDP}|fc=nonsense"),
    *(f"publish aeron-spy:{table.UDP}", "publish aeron:udp?endpoint=:1"),
    # The Java driver takes any channel for the removal of a destination.
    *(f"manual: remove {channel}" for channel in table.DESTINATIONS[1:]),
    # The C driver accepts a destination whose name is not known yet, and looks again; so does ours.
    "manual: add aeron:udp?endpoint=no-such-host.invalid:1",
}

PHRASES = {
    "publish aeron:udp?endpoint=no-such-host.invalid:24399": "Unable to resolve host",
    "publish aeron:udp?control-mode=response|control=127.0.0.1:24399": (
        "control-mode=response was specified, but no response-correlation-id set"
    ),
    "publish aeron:udp?control-mode=response|control=127.0.0.1:24399|response-correlation-id=777": (
        "image.correlationId=777 not found"
    ),
    f"publish {table.UDP}|response-correlation-id=777": (
        "unable to find response subscription for response-correlation-id=777"
    ),
    f"share {table.SHARED_SUB}|reliable=false": "option conflicts with existing subscription: reliable=false",
    f"manual: add aeron-spy:{table.DESTINATION}": "spies are invalid",
    "a static counter like a counter": "cannot add static counter, because a non-static counter exists",
}


class Asker:
    """Sends one command after another and takes down how each was answered."""

    def __init__(self, driver: Driver) -> None:
        self.client = ProtocolClient(str(driver.aeron_dir))
        self.client.first_add()
        self.codes: dict[str, int] = {}
        self.texts: dict[str, str] = {}

    def ask(self, name: str, correlation_id: int) -> int:
        self.codes[name], self.texts[name] = self._answer(name, correlation_id)
        return correlation_id

    def _answer(self, name: str, correlation_id: int) -> tuple[int, str]:
        deadline = time.monotonic() + ANSWER_S
        while time.monotonic() < deadline:
            event = self.client.receive()
            if event is None:
                time.sleep(0.0005)
            elif event.type in (*READY, *GIVEN) and event.i64(0) == correlation_id:
                return OK, ""
            elif event.type == p.ERROR and event.i64(0) == correlation_id:
                return event.i32(8), event.text(12)
        raise AssertionError(f"no answer within {ANSWER_S} s: {name}")

    def destination(self, kind: int, registration_id: int, channel: str) -> int:
        text = channel.encode()
        return self.client.command(kind, f"qi{len(text)}s", registration_id, len(text), text)

    def all(self) -> None:
        self._streams()
        self._destinations()
        self._counters()
        self._sharing()
        unknown = 999_999
        self.ask("remove an unknown publication", self.client.remove_publication(unknown))
        self.ask("remove an unknown subscription", self.client.command(p.REMOVE_SUBSCRIPTION, "q", unknown))
        self.ask("reject an unknown image", self.client.reject(unknown, 0, b"no reason"))
        self.ask("next session id", self.client.command(p.GET_NEXT_AVAILABLE_SESSION_ID, "i", 7))

    def _streams(self) -> None:
        for channel in table.PUBLICATIONS:
            name = f"publish {channel[:100]}" + (f" {len(channel)}" if len(channel) > 100 else "")
            added = self.ask(name, self.client.add_publication(channel, 7, exclusive=True))
            if self.codes[name] == OK:
                self.ask("remove it", self.client.remove_publication(added))
        for channel in table.SUBSCRIPTIONS:
            name = f"subscribe {channel}"
            added = self.ask(name, self.client.add_subscription(channel, 7))
            if self.codes[name] == OK:
                self.ask("remove it", self.client.command(p.REMOVE_SUBSCRIPTION, "q", added))

    def _destinations(self) -> None:
        client = self.client
        senders = {
            "manual": self.ask("manual", client.add_publication("aeron:udp?control-mode=manual", 9)),
            "dynamic": self.ask("dynamic", client.add_publication(table.OPEN_MDC, 9)),
            "unicast": self.ask("unicast", client.add_publication(table.OPEN_UDP, 9)),
            "ipc": self.ask("ipc", client.add_publication("aeron:ipc", 9)),
            "unknown": 999_999,
        }
        for name, registration_id in senders.items():
            for channel in table.DESTINATIONS if name == "manual" else (table.DESTINATION,):
                self.ask(f"{name}: add {channel}", self.destination(p.ADD_DESTINATION, registration_id, channel))
                self.ask(f"{name}: remove {channel}", self.destination(0x08, registration_id, channel))
        receivers = {
            "mds": self.ask("mds", client.add_subscription("aeron:udp?control-mode=manual", 9)),
            "one endpoint": self.ask("one endpoint", client.add_subscription(table.OPEN_SUB, 9)),
            "no subscription": 999_999,
        }
        for name, registration_id in receivers.items():
            for channel in table.DESTINATIONS if name == "mds" else (table.DESTINATION,):
                self.ask(f"{name}: add {channel}", self.destination(0x0C, registration_id, channel))
                self.ask(f"{name}: remove {channel}", self.destination(0x0D, registration_id, channel))
        self.ask("by id", client.command(p.REMOVE_DESTINATION_BY_ID, "qq", senders["manual"], 555))

    def _counters(self) -> None:
        client = self.client
        added = self.ask("a counter with too long a key", client.add_counter(1001, b"k" * 200, b"l" * 500))
        self.ask("a counter of a negative type", client.add_counter(-5, b"", b""))
        self.ask("a static counter like a counter", client.add_static_counter(1001, added, b"", b""))
        self.ask("a static counter", client.add_static_counter(1001, 4242, b"", b"static"))
        self.ask("remove a static counter", client.command(p.REMOVE_COUNTER, "q", 4242))
        self.ask("remove an unknown counter", client.command(p.REMOVE_COUNTER, "q", 999_999))
        self.ask("remove a counter", client.command(p.REMOVE_COUNTER, "q", added))

    def _sharing(self) -> None:
        client = self.client
        self.ask(table.SHARED_IPC, client.add_publication(table.SHARED_IPC, 11))
        for option in table.SHARING_IPC:
            self.ask(f"share ipc {option}", client.add_publication(f"aeron:ipc?{option}", 11))
        self.ask("clash", client.add_publication("aeron:ipc?session-id=5", 11, exclusive=True))
        first = f"{table.SHARED_UDP}|session-id=5|term-length=64k|so-sndbuf=128k"
        self.ask(first, client.add_publication(first, 11))
        for option in table.SHARING_UDP:
            self.ask(f"share {option}", client.add_publication(f"{table.SHARED_UDP}|{option}", 11))
        self.ask(table.SHARED_SUB, client.add_subscription(table.SHARED_SUB, 11))
        for option in table.SHARING_SUB:
            channel = f"{table.SHARED_SUB}|{option}"
            self.ask(f"share {channel}", client.add_subscription(channel, 11))


def answers(stage: Stage, make: Make) -> Asker:
    """All of a driver's, which is gone afterwards: the next one binds to the same ports."""
    driver = stage.driver(make, make, settings=SETTINGS)
    asker = Asker(driver)
    asker.all()
    asker.client.close()
    driver.close()
    return asker


@cell("conductor.errors", "driver", "c")
@cell("conductor.limits", "driver", "c")
def test_our_driver_answers_every_command_as_the_c_driver_does(stage: Stage) -> None:
    ours = answers(stage, "ours")
    theirs = answers(stage, "c").codes

    unlike = {name: (theirs[name], code) for name, code in ours.codes.items() if theirs.get(name) != code}
    # A removal that follows an add that only one of them accepts has no counterpart.
    unlike.pop("remove it", None)
    assert unlike == UNLIKE_C
    assert {name: phrase for name, phrase in PHRASES.items() if phrase not in ours.texts[name]} == {}


@cell("conductor.errors", "driver", "java")
@cell("conductor.limits", "driver", "java")
def test_our_driver_refuses_what_the_java_driver_refuses(stage: Stage) -> None:
    ours = answers(stage, "ours")
    theirs = answers(stage, "java").codes

    unlike = {name for name, code in ours.codes.items() if (theirs.get(name, OK) == OK) != (code == OK)}
    assert unlike - {"remove it"} == UNLIKE_JAVA & unlike
    assert unlike


@pytest.mark.parametrize(
    "peer",
    [
        pytest.param(peer, marks=[cell("conductor.errors", "client", peer), cell("conductor.limits", "client", peer)])
        for peer in ("c", "java")
    ],
)
def test_our_client_says_what_a_real_driver_refuses(stage: Stage, peer: Peer) -> None:
    driver = stage.driver(peer)
    with Aeron.connect(aeron_dir=str(driver.aeron_dir)) as aeron:
        with pytest.raises(RegistrationError, match="pub-wnd") as window:
            aeron.add_publication("aeron:ipc?pub-wnd=1k", 7)
        with pytest.raises(RegistrationError, match="no-such-host") as host:
            aeron.add_publication("aeron:udp?endpoint=no-such-host.invalid:24399", 7)

    assert window.value.error_code == (11 if peer == "c" else 1)
    assert host.value.error_code == (9 if peer == "c" else 1)
