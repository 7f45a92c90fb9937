"""For handlers and loops that Numba compiles: signatures, what is behind a header, and memory at an address.

A handler is ``@cfunc(FRAGMENT_HANDLER)``, or `CONTROLLED_HANDLER`, and gets ``(context, buffer, length, header)``: read
the buffer with ``numba.carray(buffer, shape, dtype)``. Functions of the C API come from `aeronpy.native.function`.
What stands here is called from compiled code.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

FRAGMENT_HANDLER: Final = types.void(types.voidptr, types.voidptr, types.uintp, types.voidptr)
CONTROLLED_HANDLER: Final = types.int32(types.voidptr, types.voidptr, types.uintp, types.voidptr)

HEADER: Final = np.dtype([("frame", np.intp), ("position", np.int64), ("image", np.intp)])
FRAME: Final = np.dtype(
    [
        ("frame_length", np.int32),
        ("version", np.uint8),
        ("flags", np.uint8),
        ("type", np.uint16),
        ("term_offset", np.int32),
        ("session_id", np.int32),
        ("stream_id", np.int32),
        ("term_id", np.int32),
        ("reserved_value", np.int64),
    ]
)
# What try_claim fills in: an array of one of these, by its ctypes.data.
CLAIM: Final = np.dtype([("data", np.intp), ("length", np.intp), ("position", np.int64), ("frame", np.intp)])


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def pointer(typing_context: Any, address: Any) -> Any:
    """A pointer to nothing known, of an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.intp), generate


@njit  # type: ignore[untyped-decorator, unused-ignore]
def view(address: Any, count: Any, dtype: Any) -> Any:
    """An array of count items at an address: valid as long as what lies there."""
    return carray(pointer(address), count, dtype)


@njit  # type: ignore[untyped-decorator, unused-ignore]
def header_of(header: Any) -> Any:
    """The header that a handler got, as a record of `HEADER`."""
    return carray(header, 1, HEADER)[0]


@njit  # type: ignore[untyped-decorator, unused-ignore]
def frame_of(header: Any) -> Any:
    """The frame that a handler's header is of, as a record of `FRAME`."""
    return carray(pointer(carray(header, 1, HEADER)[0].frame), 1, FRAME)[0]
