"""For native code that reads and writes streams: the C API's header, its table, and pointers to its functions.

The header is ``aeronpy.h`` below `get_include`; Cython code does ``from aeronpy cimport native_api``. For Numba see
`aeronpy.native.numba`. All functions here may be called from any thread.
"""

from __future__ import annotations

import ctypes
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

from aeronpy.errors import ArgumentError

_POINTER: Final = ctypes.c_ssize_t  # addresses as plain integers, which is what Numba has and Python can calculate with
_FUNCTION: Final[Any] = ctypes.CFUNCTYPE(None).__base__
_SIZES: Final[dict[str, Any]] = {
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_ssize_t,
}


def get_include() -> str:
    """The directory of ``aeronpy.h``, for a C compiler's -I."""
    return str(Path(__file__).parents[1] / "include")


def api_address() -> int:
    """The address of the ``aeronpy_api_t`` of this process, for callers that cannot import a capsule."""
    from aeronpy._core.native import native_api_address

    return native_api_address()


@cache
def declarations() -> str:
    """The types of ``aeronpy.h`` without its preprocessor lines: give it to cffi's ``cdef``."""
    text = (Path(get_include()) / "aeronpy.h").read_text(encoding="utf-8")
    return text.split("/* --- declarations begin --- */")[1].split("/* --- declarations end --- */")[0]


@cache
def _table() -> dict[str, tuple[int, Any, tuple[Any, ...]]]:
    # Name, place and types of each function, in the order of the header.
    body = re.sub(r"/\*.*?\*/", "", declarations().split("typedef struct aeronpy_api {")[1], flags=re.DOTALL)
    found = {}
    offset = 8
    for result, name, arguments in re.findall(r"([\w ]+[ *])\(\*(\w+)\)\(([^)]*)\)", body):
        kinds = [] if arguments == "void" else [_kind(argument) for argument in arguments.split(",")]
        found[name] = (offset, _kind(result), tuple(kinds))
        offset += ctypes.sizeof(ctypes.c_void_p)
    return found


def _kind(declaration: str) -> Any:
    words = declaration.replace("const ", "").split()
    return _POINTER if "*" in declaration or words[0].endswith("_fn") else _SIZES[words[0]]


@cache
def function(name: str) -> Any:
    """A function of the table as a ctypes function, which Numba's compiled code can call as well.

    Pointers are integers in it: the ``address`` of handles and handlers, ``array.ctypes.data`` of a buffer. Raises
    ArgumentError for a name that the table does not have.
    """
    table = _table()
    if name not in table:
        raise ArgumentError(f"no function {name!r} in the C API: there are {', '.join(table)}")
    offset, result, arguments = table[name]
    address = ctypes.c_void_p.from_address(api_address() + offset).value
    assert address is not None
    return ctypes.CFUNCTYPE(result, *arguments)(address)


def address_of(pointer: Any) -> int:
    """The address that a pointer of ctypes or cffi, or an object with an ``address``, holds. Raises TypeError."""
    if isinstance(pointer, int):
        return pointer
    if isinstance(pointer, (_FUNCTION, ctypes._Pointer, ctypes.c_void_p, ctypes.Array)):
        return ctypes.cast(pointer, ctypes.c_void_p).value or 0
    backend = sys.modules.get("_cffi_backend")
    if backend is not None and isinstance(pointer, backend.FFI.CData):
        return int(backend.FFI().cast("uintptr_t", pointer))
    address = getattr(pointer, "address", None)
    if isinstance(address, int):
        return address
    raise TypeError(
        f"an address is an int, a pointer of cffi or ctypes, or has an address: {pointer!r} is none of them"
    )
