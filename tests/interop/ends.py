"""One face for three clients: ours in this process, the C one in a process, the Java one in the module's JVM.

A test says what an end does (``publication.send``, ``subscription.receive``, ``look``) and the same test serves every
cell of a row. What Aeron calls a property is a key of ``look()``, in snake_case.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote

from tests.interop.lines import Lines

DEADLINE_S = 15.0


class Got(NamedTuple):
    """A message as it was received."""

    session_id: int
    position: int
    payload: bytes
    reserved: int
    stream_id: int


class Publication(Protocol):
    """One publication of any client."""

    def send(self, *payloads: bytes, reserved: int | None = None, timeout_s: float = DEADLINE_S) -> list[int]:
        """Offer each until it is accepted; the positions. Raises when it is not in time or never will be."""
        ...

    def offer(self, payload: bytes) -> int:
        """Offer once; the position or Aeron's negative code."""
        ...

    def look(self) -> dict[str, Any]: ...
    def add_destination(self, uri: str) -> int: ...
    def remove_destination(self, uri: str) -> None: ...
    def remove_destination_by_id(self, number: int) -> None: ...
    def revoke(self) -> None: ...
    def close(self) -> None: ...


class Subscription(Protocol):
    """One subscription of any client; messages come assembled."""

    def receive(self, count: int, timeout_s: float = DEADLINE_S) -> list[Got]:
        """Up to count messages, fewer when the time is over."""
        ...

    def look(self) -> dict[str, Any]: ...
    def add_destination(self, uri: str) -> int: ...
    def remove_destination(self, uri: str) -> None: ...
    def reject(self, session_id: int, reason: str) -> None: ...
    def close(self) -> None: ...


class Counter(Protocol):
    def look(self) -> dict[str, Any]: ...
    def set(self, value: int) -> None: ...
    def close(self) -> None: ...


class Client(Protocol):
    """One connected client."""

    client_id: int

    def publication(self, channel: str, stream_id: int = 1001, *, exclusive: bool = False) -> Publication: ...
    def subscription(self, channel: str, stream_id: int = 1001) -> Subscription: ...
    def counter(self, type_id: int, label: str, key: bytes = b"", registration_id: int | None = None) -> Counter: ...
    def events(self) -> list[list[Any]]:
        """What handlers saw since the last call.

        ["image", session], ["image gone", session, revoked], ["publication error", registration id, code, text],
        ["counter", registration id, counter id], ["counter gone", ...], ["error", code, text], ["closed"].
        """
        ...

    def counters(self) -> list[list[Any]]:
        """[id, type, key as hex, label, value] of each counter, by this client's reader."""
        ...

    def next_session_id(self, stream_id: int) -> int: ...
    def close(self) -> None: ...


class Refused(Exception):
    """The other client's error, in its words."""


class Told:
    """A client program's thing, by its handle."""

    def __init__(self, lines: Lines, handle: str) -> None:
        self._lines = lines
        self._closed = False
        self.handle = handle

    def tell(self, verb: str, *args: object, timeout_s: float = DEADLINE_S) -> Any:
        return ask(self._lines, verb, self.handle, *args, timeout_s=timeout_s)

    def look(self) -> dict[str, Any]:
        found: dict[str, Any] = self.tell("look")
        return found

    def close(self) -> None:
        """Close it, once: the C client frees what is closed."""
        if not self._closed:
            self._closed = True
            self.tell("close")

    def send(self, *payloads: bytes, reserved: int | None = None, timeout_s: float = DEADLINE_S) -> list[int]:
        text = ",".join(each.hex() for each in payloads)
        more = () if reserved is None else (reserved,)
        found: list[int] = self.tell("send", int(timeout_s * 1000), text, *more, timeout_s=timeout_s)
        return found

    def offer(self, payload: bytes) -> int:
        return int(self.tell("offer", payload.hex()))

    def receive(self, count: int, timeout_s: float = DEADLINE_S) -> list[Got]:
        got = self.tell("receive", count, int(timeout_s * 1000), timeout_s=timeout_s)
        return [Got(each[0], each[1], bytes.fromhex(each[2]), each[3], each[4]) for each in got]

    def add_destination(self, uri: str) -> int:
        return int(self.tell("add_destination", uri))

    def remove_destination(self, uri: str) -> None:
        self.tell("remove_destination", uri)

    def remove_destination_by_id(self, number: int) -> None:
        self.tell("remove_destination_by_id", number)

    def reject(self, session_id: int, reason: str) -> None:
        self.tell("reject", session_id, reason)

    def revoke(self) -> None:
        self._closed = True
        self.tell("revoke")

    def set(self, value: int) -> None:
        self.tell("set", value)


class ToldClient(Told):
    """A client inside a program."""

    def __init__(self, lines: Lines, aeron_dir: str, timeout_ms: int, name: str = "") -> None:
        handle, self.client_id = ask(lines, "connect", aeron_dir, timeout_ms, name)
        super().__init__(lines, handle)

    def publication(self, channel: str, stream_id: int = 1001, *, exclusive: bool = False) -> Publication:
        return self._new("publication", "exclusive" if exclusive else "shared", channel, stream_id)

    def subscription(self, channel: str, stream_id: int = 1001) -> Subscription:
        return self._new("subscription", channel, stream_id)

    def counter(self, type_id: int, label: str, key: bytes = b"", registration_id: int | None = None) -> Counter:
        more = () if registration_id is None else (registration_id,)
        return self._new("counter", type_id, label, key.hex(), *more)

    def _new(self, verb: str, *args: object) -> Told:
        return Told(self._lines, self.tell(verb, *args))

    def events(self) -> list[list[Any]]:
        found: list[list[Any]] = self.tell("events")
        return found

    def counters(self) -> list[list[Any]]:
        found: list[list[Any]] = self.tell("counters")
        return found

    def next_session_id(self, stream_id: int) -> int:
        return int(self.tell("next_session_id", stream_id))


def ask(lines: Lines, verb: str, *args: object, timeout_s: float = DEADLINE_S) -> Any:
    """Tell a program one thing and wait for its answer. Raises Refused with what it says against it."""
    lines.tell(" ".join([verb, *(f"={quote(str(each), safe='')}" for each in args)]))
    line = lines.next_line(timeout_s + DEADLINE_S)
    if line.startswith("! "):
        raise Refused(line[2:])
    assert line.startswith("= "), f"{lines.name}: {line}"
    return json.loads(line[2:])


def until(condition: Callable[[], Any], what: str = "the condition", timeout_s: float = DEADLINE_S) -> Any:
    """Ask until the answer is true, and return it; raises AssertionError when the time is over."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"{what} did not come true in {timeout_s} s"
        time.sleep(0.005)
    return found


def connected(publication: Publication) -> None:
    """Wait until the publication has a subscriber."""
    until(lambda: publication.look()["is_connected"], "a connected publication")


def image_of(subscription: Subscription, session_id: int | None = None) -> dict[str, Any]:
    """Wait for an image (of a session); what it looks like."""

    def find() -> dict[str, Any] | None:
        images = subscription.look()["images"]
        return next((each for each in images if session_id in (None, each["session_id"])), None)

    found: dict[str, Any] = until(find, "an image")
    return found


def payloads(
    count: int, seed: int = 0, sizes: Sequence[int] = (0, 1, 31, 32, 33, 700, 1376, 1377, 4200)
) -> list[bytes]:
    """Messages that no two of are alike: of these sizes in turn, whole frames and fragments."""
    ramp = bytes(range(256)) * (max(sizes) // 256 + 2)
    return [ramp[(seed + 37 * i) % 256 :][: sizes[i % len(sizes)]] for i in range(count)]


def cross(source: Publication, target: Subscription, messages: Sequence[bytes], at_once: int = 8) -> list[Got]:
    """Send messages and take them, some at a time, so that no window fills; every byte and position is checked."""
    got: list[Got] = []
    for start in range(0, len(messages), at_once):
        part = messages[start : start + at_once]
        positions = source.send(*part)
        came = target.receive(len(part))
        assert [each.payload for each in came] == list(part)
        assert [each.position for each in came] == positions
        got += came
    return got
