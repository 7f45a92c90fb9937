"""Our client in the test's own process, with the face of ends.py."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from aeronpy import (
    Aeron,
    ExclusivePublication,
    FragmentAssembler,
    FragmentView,
    Header,
    Image,
    OfferResult,
    PublicationError,
)
from aeronpy import Counter as AeronCounter
from aeronpy import Publication as SharedPublication
from aeronpy import Subscription as AeronSubscription
from tests.interop.ends import DEADLINE_S, Got

_PUBLICATION = (
    "session_id stream_id registration_id original_registration_id initial_term_id term_buffer_length "
    "max_message_length max_payload_length max_possible_position position_bits_to_shift position_limit_id "
    "channel_status_id position position_limit is_connected is_closed"
).split()
_IMAGE = (
    "session_id source_identity correlation_id join_position term_buffer_length mtu_length initial_term_id "
    "subscriber_position_id position is_end_of_stream end_of_stream_position is_publication_revoked "
    "active_transport_count is_closed"
).split()


class Publication:
    def __init__(self, aeron: Aeron, real: SharedPublication | ExclusivePublication) -> None:
        self._aeron = aeron
        self.real = real

    def send(self, *payloads: bytes, reserved: int | None = None, timeout_s: float = DEADLINE_S) -> list[int]:
        deadline = time.monotonic() + timeout_s
        positions = []
        for payload in payloads:
            while (result := self.real.offer(payload, reserved_value=reserved)) < 0:
                if result in (OfferResult.CLOSED, OfferResult.MAX_POSITION_EXCEEDED) or time.monotonic() > deadline:
                    raise TimeoutError(f"offer answered {result!r}")
                time.sleep(0.0005)
            positions.append(int(result))
        return positions

    def offer(self, payload: bytes) -> int:
        return int(self.real.offer(payload))

    def look(self) -> dict[str, Any]:
        return {
            **{name: getattr(self.real, name) for name in _PUBLICATION},
            "channel_status": int(self.real.channel_status),
            "addresses": self.real.local_socket_addresses,
        }

    def add_destination(self, uri: str) -> int:
        return self.real.add_destination(uri)

    def remove_destination(self, uri: str) -> None:
        self.real.remove_destination(uri)

    def remove_destination_by_id(self, number: int) -> None:
        self.real.remove_destination_by_id(number)

    def revoke(self) -> None:
        assert isinstance(self.real, ExclusivePublication)
        self.real.revoke()

    def close(self) -> None:
        self.real.close()


class Subscription:
    def __init__(self, real: AeronSubscription) -> None:
        self.real = real
        self._got: list[Got] = []
        self._assembler = FragmentAssembler(self._take)

    def _take(self, buffer: FragmentView, header: Header) -> None:
        self._got.append(
            Got(header.session_id, header.position, bytes(buffer), header.reserved_value, header.stream_id)
        )

    def receive(self, count: int, timeout_s: float = DEADLINE_S) -> list[Got]:
        deadline = time.monotonic() + timeout_s
        while len(self._got) < count and time.monotonic() < deadline:
            if self.real.poll(self._assembler, min(count - len(self._got), 10)) == 0:
                time.sleep(0.0005)
        got, self._got = self._got, []
        return got

    def look(self) -> dict[str, Any]:
        return {
            "images": [{name: getattr(image, name) for name in _IMAGE} for image in self.real.images],
            "registration_id": self.real.registration_id,
            "is_connected": self.real.is_connected,
            "is_closed": self.real.is_closed,
            "channel_status": int(self.real.channel_status),
            "addresses": self.real.local_socket_addresses,
        }

    def add_destination(self, uri: str) -> int:
        return self.real.add_destination(uri)

    def remove_destination(self, uri: str) -> None:
        self.real.remove_destination(uri)

    def reject(self, session_id: int, reason: str) -> None:
        image = self.real.image_by_session_id(session_id)
        assert image is not None, f"no image of session {session_id}"
        self.real.reject_image(image, reason)

    def close(self) -> None:
        self.real.close()


class Counter:
    def __init__(self, real: AeronCounter) -> None:
        self.real = real

    def look(self) -> dict[str, Any]:
        found = {"counter_id": self.real.counter_id, "registration_id": self.real.registration_id}
        return {**found, "value": self.real.get()}

    def set(self, value: int) -> None:
        self.real.set(value)

    def close(self) -> None:
        self.real.close()


class OurClient:
    def __init__(self, aeron_dir: Path, timeout_ms: int, name: str = "", **settings: Any) -> None:
        self._events: list[list[Any]] = []
        self.real = Aeron.connect(
            aeron_dir=str(aeron_dir),
            driver_timeout_ms=timeout_ms,
            client_name=name,
            error_handler=lambda error: self._events.append(["error", 0, str(error)]),
            publication_error_handler=self._on_publication_error,
            available_counter_handler=lambda _, number, at: self._events.append(["counter", number, at]),
            unavailable_counter_handler=lambda _, number, at: self._events.append(["counter gone", number, at]),
            close_handler=lambda: self._events.append(["closed"]),
            available_image_handler=lambda image: self._on_image("image", image),
            unavailable_image_handler=lambda image: self._on_image("image gone", image),
            **settings,
        )
        self.client_id = self.real.client_id

    def _on_image(self, name: str, image: Image) -> None:
        gone = [image.is_publication_revoked] if name == "image gone" else []
        self._events.append([name, image.session_id, *gone])

    def _on_publication_error(self, error: PublicationError) -> None:
        self._events.append(["publication error", error.registration_id, int(error.error_code), error.message])

    def publication(self, channel: str, stream_id: int = 1001, *, exclusive: bool = False) -> Publication:
        add = self.real.add_exclusive_publication if exclusive else self.real.add_publication
        return Publication(self.real, add(channel, stream_id))

    def subscription(self, channel: str, stream_id: int = 1001) -> Subscription:
        return Subscription(self.real.add_subscription(channel, stream_id))

    def counter(self, type_id: int, label: str, key: bytes = b"", registration_id: int | None = None) -> Counter:
        if registration_id is None:
            return Counter(self.real.add_counter(type_id, label, key))
        return Counter(self.real.add_static_counter(type_id, label, registration_id, key))

    def events(self) -> list[list[Any]]:
        taken = list(self._events)
        del self._events[: len(taken)]
        return taken

    def counters(self) -> list[list[Any]]:
        infos = self.real.counters_reader
        return [[each.counter_id, each.type_id, each.key.hex(), each.label, each.value] for each in infos]

    def next_session_id(self, stream_id: int) -> int:
        return self.real.next_session_id(stream_id)

    def close(self) -> None:
        self.real.close()


def exclusive(publication: object) -> ExclusivePublication:
    """Our exclusive publication behind an end's."""
    assert isinstance(publication, Publication)
    assert isinstance(publication.real, ExclusivePublication)
    return publication.real


def shared(publication: object) -> SharedPublication:
    """Our shared publication behind an end's."""
    assert isinstance(publication, Publication)
    assert isinstance(publication.real, SharedPublication)
    return publication.real


def subscription(found: object) -> AeronSubscription:
    """Our subscription behind an end's."""
    assert isinstance(found, Subscription)
    return found.real


def aeron(client: object) -> Aeron:
    """Our client behind an end's."""
    assert isinstance(client, OurClient)
    return client.real
