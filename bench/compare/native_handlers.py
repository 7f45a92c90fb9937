"""Handlers compiled by Numba, cffi and Cython, polled by ``Subscription.poll_native``: each checks every message.

They do what the C loops do: a message is of the size expected and carries the next number.
"""

from __future__ import annotations

import ctypes
import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ends import LoopEnds
from our_client import OurClient

from aeronpy import Aeron
from aeronpy.bench.ends import DEADLINE_S

NATIVE = Path(__file__).parents[2] / "build" / "bench" / "native"
# A poll is one crossing, so that it may be long: what it leaves to Python is once in this many messages.
POLL_LIMIT = 2048


class Seen(ctypes.Structure):
    """The context of all three handlers: the number that comes next, those that were wrong, the size expected."""

    _fields_ = [("next", ctypes.c_int64), ("wrong", ctypes.c_int64), ("size", ctypes.c_int64)]


def numba_handler() -> tuple[int, object]:
    import numba
    from numba import carray, types

    signature = types.void(types.CPointer(types.int64), types.CPointer(types.int64), types.size_t, types.voidptr)

    @numba.cfunc(signature)
    def on_message(context: Any, buffer: Any, length: Any, header: Any) -> None:
        seen = carray(context, 3)
        if buffer[0] != seen[0] or length != seen[2]:
            seen[1] += 1
        seen[0] += 1

    return on_message.address, on_message


def built(name: str) -> Any:
    """A module that build_native made."""
    (path,) = NATIVE.glob(f"{name}.*.so")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cffi_handler() -> tuple[int, object]:
    module = built("cffi_handler")
    return int(module.ffi.cast("uintptr_t", module.ffi.addressof(module.lib, "on_message"))), module


def cython_handler() -> tuple[int, object]:
    module = built("cython_handler")
    return module.address(), module


HANDLERS: dict[str, Callable[[], tuple[int, object]]] = {
    "numba": numba_handler,
    "cffi": cffi_handler,
    "cython": cython_handler,
}


class NativeEnds(LoopEnds):
    """The receiving end; it publishes as the C loops do."""

    def __init__(self, kind: str, aeron_dir: str) -> None:
        super().__init__(OurClient(aeron_dir))
        self._handler, self._kept = HANDLERS[kind]()
        self._aeron = Aeron.connect(aeron_dir=aeron_dir)

    def add_subscription(self, channel: str, stream_id: int) -> None:
        self._polled = self._aeron.add_subscription(channel, stream_id)

    def receive(self, size: int, count: int) -> int:
        seen = Seen(0, 0, size)
        poll, handler, context = self._polled.poll_native, self._handler, ctypes.addressof(seen)
        first, deadline = 0, time.monotonic() + DEADLINE_S
        while seen.next < count:
            if poll(handler, context, POLL_LIMIT) == 0:
                time.sleep(0)
                if not first and time.monotonic() > deadline:
                    raise TimeoutError("nothing came")
            elif not first:
                first = time.perf_counter_ns()
        if seen.wrong:
            raise RuntimeError(f"{seen.wrong} of {count} messages were not those sent")
        return time.perf_counter_ns() - first

    def close(self) -> None:
        self._aeron.close()
        super().close()


def open_native_ends(kind: str, aeron_dir: str) -> NativeEnds:
    return NativeEnds(kind, aeron_dir)
