"""Compile the cffi and Cython handlers for this interpreter: ``build_native.py DIRECTORY``."""

from __future__ import annotations

import sys
from pathlib import Path

SEEN = "typedef struct { int64_t next; int64_t wrong; int64_t size; } seen_t;"

C_HANDLER = """
#include <stdint.h>
#include <string.h>
%s
static void on_message(void *context, const uint8_t *buffer, size_t length, const void *header)
{
    (void)header;
    seen_t *seen = context;
    int64_t number;
    memcpy(&number, buffer, sizeof number);
    seen->wrong += (number != seen->next) | (length != (size_t)seen->size);
    seen->next++;
}
"""

CYTHON_HANDLER = """# cython: language_level=3
from libc.stdint cimport int64_t, uint8_t, uintptr_t


cdef struct seen_t:
    int64_t next
    int64_t wrong
    int64_t size


cdef void on_message(void *context, const uint8_t *buffer, size_t length, const void *header) noexcept nogil:
    cdef seen_t *seen = <seen_t *>context
    seen.wrong += (<const int64_t *>buffer)[0] != seen.next or <int64_t>length != seen.size
    seen.next += 1


def address():
    return <uintptr_t>&on_message
"""


def build(directory: Path) -> None:
    """Both modules, into the directory."""
    import cffi
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    directory.mkdir(parents=True, exist_ok=True)
    ffi = cffi.FFI()
    ffi.cdef(SEEN + "\nvoid on_message(void *context, const uint8_t *buffer, size_t length, const void *header);")
    ffi.set_source("cffi_handler", C_HANDLER % SEEN, extra_compile_args=["-O2"])
    ffi.compile(tmpdir=str(directory))
    source = directory / "cython_handler.pyx"
    source.write_text(CYTHON_HANDLER)
    extension = Extension("cython_handler", [str(source)], extra_compile_args=["-O2"])
    distribution = Distribution({"ext_modules": cythonize([extension], quiet=True)})
    command = distribution.get_command_obj("build_ext")
    command.build_lib, command.build_temp = str(directory), str(directory / "temp")
    distribution.run_command("build_ext")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
