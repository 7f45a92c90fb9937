"""A general client on the real C client, told what to do in lines: see tests/interop/ends.py for the words."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from ctypes import byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p
from typing import Any

from tests.interop.programs import c_api
from tests.interop.programs.agent import serve
from tests.interop.programs.c_api import call, done

KINDS = {"shared": "publication", "exclusive": "exclusive_publication"}


class Client:
    """One connection, with the events that its handlers saw."""

    def __init__(self, aeron_dir: str, timeout_ms: int, name: str) -> None:
        self.events: list[list[Any]] = []
        self._kept: list[Any] = []
        context, self.pointer = c_void_p(), c_void_p()
        call("context_init", byref(context))
        call("context_set_dir", context, aeron_dir.encode())
        call("context_set_driver_timeout_ms", context, c_int64(timeout_ms))
        call("context_set_idle_sleep_duration_ns", context, c_int64(1_000_000))
        call("context_set_client_name", context, name.encode())
        self._handle(context, "error_handler", c_api.ERROR, lambda _, code, text: ["error", code, text.decode()])
        self._handle(context, "publication_error_frame_handler", c_api.ERROR_FRAME, self._error_frame)
        self._handle(context, "on_available_counter", c_api.COUNTER, lambda _, _r, reg, at: ["counter", reg, at])
        self._handle(context, "on_unavailable_counter", c_api.COUNTER, lambda _, _r, reg, at: ["counter gone", reg, at])
        self._handle(context, "on_close_client", c_api.CLOSED, lambda _: ["closed"])
        call("init", byref(self.pointer), context)
        call("start", self.pointer)
        self.id = call("client_id", self.pointer)

    def keep(self, prototype: Any, event: Callable[..., list[Any]]) -> Any:
        """A C function that notes an event."""
        function = prototype(lambda *args: self.events.append(event(*args)))
        self._kept.append(function)
        return function

    def _handle(self, context: c_void_p, name: str, prototype: Any, event: Callable[..., list[Any]]) -> None:
        call(f"context_set_{name}", context, self.keep(prototype, event), None)

    @staticmethod
    def _error_frame(_: Any, frame: Any) -> list[Any]:
        values = frame.contents
        text = ctypes.string_at(ctypes.addressof(values) + ctypes.sizeof(c_api.ErrorFrame), values.error_message_length)
        return ["publication error", values.registration_id, values.error_code, text.decode()]

    def close(self) -> None:
        call("close", self.pointer)


class Publication:
    def __init__(self, client: Client, kind: str, channel: str, stream: str) -> None:
        self._client = client
        self._kind = KINDS[kind]
        add = f"async_add_{self._kind}"
        self._pointer = done(add, client.pointer, channel.encode(), c_int32(int(stream)))

    def send(self, payloads: list[bytes], reserved: int | None, timeout_s: float) -> list[int]:
        deadline = time.monotonic() + timeout_s
        positions = []
        for payload in payloads:
            while (position := self.offer(payload, reserved)) < 0:
                if position <= -4 or time.monotonic() > deadline:
                    raise TimeoutError(f"offer answered {position}: {c_api.message()}")
                time.sleep(0.0005)
            positions.append(position)
        return positions

    def offer(self, payload: bytes, reserved: int | None) -> int:
        supplier = c_api.RESERVED(lambda *_: reserved or 0)
        found = call(
            f"{self._kind}_offer",
            self._pointer,
            payload,
            c_size_t(len(payload)),
            supplier if reserved is not None else None,
            None,
        )
        return int(found)

    def look(self) -> dict[str, Any]:
        constants = c_api.PublicationConstants()
        call(f"{self._kind}_constants", self._pointer, byref(constants))
        found = {name: getattr(constants, name) for name, *_ in constants._fields_ if name != "channel"}
        for name in ("position", "position_limit", "channel_status", "is_connected", "is_closed"):
            found[name] = call(f"{self._kind}_{name}", self._pointer)
        found["addresses"] = c_api.addresses(f"{self._kind}_local_sockaddrs", self._pointer)
        return found

    def add_destination(self, uri: str) -> int:
        pending = c_api.begin(f"{self._kind}_async_add_destination", self._client.pointer, self._pointer, uri.encode())
        registration_id = call("async_destination_get_registration_id", pending)
        c_api.awaited(f"{self._kind}_async_destination_poll", pending)
        return int(registration_id)

    def remove_destination(self, which: str | int) -> None:
        by_id = isinstance(which, int)
        name = f"{self._kind}_async_remove_destination" + ("_by_id" if by_id else "")
        value = c_int64(which) if isinstance(which, int) else which.encode()
        poll = f"{self._kind}_async_destination_poll"
        done(name, self._client.pointer, self._pointer, value, into=None, poll=poll)

    def revoke(self) -> None:
        call("exclusive_publication_revoke", self._pointer, None, None)

    def close(self) -> None:
        call(f"{self._kind}_close", self._pointer, None, None)


class Subscription:
    def __init__(self, client: Client, channel: str, stream: str) -> None:
        self._client = client
        self._got: list[list[Any]] = []
        self._handler = c_api.FRAGMENT(self._on_fragment)
        self._assembler = c_void_p()
        call("fragment_assembler_create", byref(self._assembler), self._handler, None)
        come = client.keep(c_api.IMAGE, lambda _, _s, image: ["image", self._session(image)])
        gone = client.keep(c_api.IMAGE, lambda _, _s, image: ["image gone", self._session(image), self._revoked(image)])
        images = (come, None, gone, None)
        self._pointer = done("async_add_subscription", client.pointer, channel.encode(), c_int32(int(stream)), *images)

    @staticmethod
    def _session(image: int) -> int:
        constants = c_api.ImageConstants()
        call("image_constants", c_void_p(image), byref(constants))
        return int(constants.session_id)

    @staticmethod
    def _revoked(image: int) -> bool:
        return bool(call("image_is_publication_revoked", c_void_p(image)))

    def _on_fragment(self, _: Any, buffer: Any, length: int, header: int) -> None:
        values = c_api.Header()
        call("header_values", c_void_p(header), byref(values))
        payload = ctypes.string_at(buffer, length).hex() if length else ""
        position = call("header_position", c_void_p(header))
        self._got.append([values.session_id, position, payload, values.reserved_value, values.stream_id])

    def receive(self, count: int, timeout_s: float) -> list[list[Any]]:
        deadline = time.monotonic() + timeout_s
        while len(self._got) < count and time.monotonic() < deadline:
            limit = c_size_t(min(count - len(self._got), 10))
            if call("subscription_poll", self._pointer, c_api.LIB.aeron_fragment_assembler_handler, self._assembler,
                    limit) == 0:  # fmt: skip
                time.sleep(0.0005)
        got, self._got = self._got, []
        return got

    def _images(self) -> list[dict[str, Any]]:
        images = []
        for index in range(call("subscription_image_count", self._pointer)):
            image = call("subscription_image_at_index", self._pointer, c_size_t(index))
            if not image:
                continue
            pointer, constants = c_void_p(image), c_api.ImageConstants()
            call("image_constants", pointer, byref(constants))
            found = {name: getattr(constants, name) for name, *_ in constants._fields_ if name != "subscription"}
            found["source_identity"] = found["source_identity"].decode()
            for name in ("position", "is_end_of_stream", "end_of_stream_position", "is_publication_revoked",
                         "active_transport_count", "is_closed"):  # fmt: skip
                found[name] = call(f"image_{name}", pointer)
            images.append(found)
            call("subscription_image_release", self._pointer, pointer)
        return images

    def look(self) -> dict[str, Any]:
        constants = c_api.SubscriptionConstants()
        call("subscription_constants", self._pointer, byref(constants))
        return {
            "images": self._images(),
            "registration_id": constants.registration_id,
            "is_connected": call("subscription_is_connected", self._pointer),
            "is_closed": call("subscription_is_closed", self._pointer),
            "channel_status": call("subscription_channel_status", self._pointer),
            "addresses": c_api.addresses("subscription_local_sockaddrs", self._pointer),
        }

    def add_destination(self, uri: str) -> int:
        pending = c_api.begin("subscription_async_add_destination", self._client.pointer, self._pointer, uri.encode())
        registration_id = call("async_destination_get_registration_id", pending)
        c_api.awaited("subscription_async_destination_poll", pending)
        return int(registration_id)

    def remove_destination(self, which: str | int) -> None:
        name, poll = "subscription_async_remove_destination", "subscription_async_destination_poll"
        done(name, self._client.pointer, self._pointer, str(which).encode(), into=None, poll=poll)

    def reject(self, session_id: int, reason: str) -> None:
        image = c_void_p(call("subscription_image_by_session_id", self._pointer, c_int32(session_id)))
        call("image_reject", image, reason.encode())
        call("subscription_image_release", self._pointer, image)

    def close(self) -> None:
        call("subscription_close", self._pointer, None, None)


class Counter:
    def __init__(self, client: Client, type_id: int, label: str, key: bytes, registration_id: int | None) -> None:
        text = label.encode()
        args = (client.pointer, c_int32(type_id), key, c_size_t(len(key)), text, c_size_t(len(text)))
        if registration_id is None:
            self._pointer = done("async_add_counter", *args)
        else:
            more = (*args, c_int64(registration_id))
            self._pointer = done("async_add_static_counter", *more, poll="async_add_counter_poll")
        self._value = ctypes.cast(call("counter_addr", self._pointer), ctypes.POINTER(c_int64))

    def look(self) -> dict[str, Any]:
        constants = c_api.CounterConstants()
        call("counter_constants", self._pointer, byref(constants))
        found = {"counter_id": constants.counter_id, "registration_id": constants.registration_id}
        return {**found, "value": self._value[0]}

    def set(self, value: int) -> None:
        self._value[0] = value

    def close(self) -> None:
        call("counter_close", self._pointer, None, None)


def counters(client: Client) -> list[list[Any]]:
    """Every counter as the C client's reader shows it."""
    found: list[list[Any]] = []

    def each(*fields: Any) -> None:
        value, counter, kind, key, key_length, label, label_length, _ = fields
        name = ctypes.string_at(label, label_length).decode()
        found.append([counter, kind, ctypes.string_at(key, key_length).hex(), name, value])

    call("counters_reader_foreach_counter", c_void_p(call("counters_reader", client.pointer)),
         c_api.EACH_COUNTER(each), None)  # fmt: skip
    return found


def next_session_id(client: Client, stream_id: int) -> int:
    return int(done("async_next_session_id", client.pointer, c_int32(stream_id), into=c_int32).value)


def terminate(aeron_dir: str, token: bytes) -> None:
    call("context_request_driver_termination", c_char_p(aeron_dir.encode()), token, c_size_t(len(token)))


if __name__ == "__main__":
    sys.exit(serve(sys.modules[__name__]))
