"""Our client, set up by aeronpy and handed to the loops as pointers."""

from __future__ import annotations

import ctypes
import time
from ctypes import c_int32, c_void_p
from pathlib import Path

from aeronpy import Aeron, ExclusivePublication

DEADLINE_S = 60.0


class OurSubscription(ctypes.Structure):
    """``ours_subscription_t``."""

    _fields_ = [("readers", ctypes.POINTER(c_void_p)), ("count", c_int32), ("next", c_int32)]


class OurClient:
    """One client of ours, with at most one publication and one subscription of one image."""

    def __init__(self, aeron_dir: str) -> None:
        adapter = ctypes.CDLL(str(Path(__file__).parents[2] / "build" / "bench" / "loops.so"))
        self.offer = ctypes.cast(adapter.ours_offer, c_void_p)
        self.poll = ctypes.cast(adapter.ours_poll, c_void_p)
        self._aeron = Aeron.connect(aeron_dir=aeron_dir)
        self._native = OurSubscription()

    def add_publication(self, channel: str, stream_id: int) -> c_void_p:
        """An exclusive publication."""
        self._publication: ExclusivePublication = self._aeron.add_exclusive_publication(channel, stream_id)
        return c_void_p(self._publication.native_address)

    def add_subscription(self, channel: str, stream_id: int) -> c_void_p:
        """A subscription; its image comes with await_image."""
        self._subscription = self._aeron.add_subscription(channel, stream_id)
        return ctypes.cast(ctypes.pointer(self._native), c_void_p)

    def is_connected(self, publication: c_void_p) -> bool:
        """Whether the publication has a subscriber."""
        return bool(self._publication.is_connected)

    def await_image(self) -> None:
        """Let the native subscription read the one image, once it is there."""
        deadline = time.monotonic() + DEADLINE_S
        while self._subscription.image_count == 0:
            if time.monotonic() > deadline:
                raise TimeoutError("no image came")
            time.sleep(0.001)
        self._image = self._subscription.image_at_index(0)
        self._readers = (c_void_p * 1)(self._image.native_address)
        self._native.readers, self._native.count = self._readers, 1

    def close(self) -> None:
        """End the client."""
        self._aeron.close()
