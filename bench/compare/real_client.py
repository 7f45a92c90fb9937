"""The real C client inside pyaeron's extension, set up by ctypes and handed to the loops as function pointers."""

from __future__ import annotations

import ctypes
import time
from ctypes import POINTER, byref, c_char_p, c_int32, c_void_p

DEADLINE_S = 20.0
_RESULT_FIRST = POINTER(c_void_p)


class RealClient:
    """One client of the real library."""

    def __init__(self, aeron_dir: str) -> None:
        import pyaeron

        lib = self._lib = ctypes.CDLL(pyaeron._pyaeron.__file__)
        lib.aeron_errmsg.restype = c_char_p
        lib.aeron_context_init.argtypes = [_RESULT_FIRST]
        lib.aeron_context_set_dir.argtypes = [c_void_p, c_char_p]
        lib.aeron_init.argtypes = [_RESULT_FIRST, c_void_p]
        lib.aeron_start.argtypes = lib.aeron_close.argtypes = [c_void_p]
        lib.aeron_exclusive_publication_is_connected.argtypes = [c_void_p]
        lib.aeron_exclusive_publication_is_connected.restype = ctypes.c_bool
        context, self._client = c_void_p(), c_void_p()
        self._check(lib.aeron_context_init(byref(context)))
        self._check(lib.aeron_context_set_dir(context, aeron_dir.encode()))
        self._check(lib.aeron_init(byref(self._client), context))
        self._check(lib.aeron_start(self._client))
        self.offer = ctypes.cast(lib.aeron_exclusive_publication_offer, c_void_p)
        self.poll = ctypes.cast(lib.aeron_subscription_poll, c_void_p)

    def _check(self, result: int) -> int:
        if result < 0:
            raise RuntimeError(self._lib.aeron_errmsg().decode())
        return result

    def _added(self, kind: str, pending: c_void_p) -> c_void_p:
        poll = getattr(self._lib, f"aeron_async_add_{kind}_poll")
        poll.argtypes = [_RESULT_FIRST, c_void_p]
        resource, deadline = c_void_p(), time.monotonic() + DEADLINE_S
        while self._check(poll(byref(resource), pending)) == 0:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the driver did not add the {kind}")
            time.sleep(0.001)
        return resource

    def add_publication(self, channel: str, stream_id: int) -> c_void_p:
        """An exclusive publication."""
        add = self._lib.aeron_async_add_exclusive_publication
        add.argtypes = [_RESULT_FIRST, c_void_p, c_char_p, c_int32]
        pending = c_void_p()
        self._check(add(byref(pending), self._client, channel.encode(), stream_id))
        return self._added("exclusive_publication", pending)

    def add_subscription(self, channel: str, stream_id: int) -> c_void_p:
        """A subscription without image handlers."""
        add = self._lib.aeron_async_add_subscription
        add.argtypes = [_RESULT_FIRST, c_void_p, c_char_p, c_int32, *[c_void_p] * 4]
        pending = c_void_p()
        self._check(add(byref(pending), self._client, channel.encode(), stream_id, None, None, None, None))
        return self._added("subscription", pending)

    def is_connected(self, publication: c_void_p) -> bool:
        """Whether the publication has a subscriber."""
        return bool(self._lib.aeron_exclusive_publication_is_connected(publication))

    def await_image(self) -> None:
        """The real subscription finds its images itself."""

    def close(self) -> None:
        """End the client."""
        self._lib.aeron_close(self._client)
