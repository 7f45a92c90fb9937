"""The strategy in C (strategy.c), compiled by cffi: ``python -m examples.native.cffi_strategy``. Needs a C compiler."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

import cffi

from aeronpy import get_include
from aeronpy.native import declarations
from examples.native.market import show

SOURCE = Path(__file__).with_name("strategy.c")


def build() -> Any:
    """Compile the handler; returns cffi's pointer to it."""
    builder = cffi.FFI()
    builder.cdef(declarations() + "const aeronpy_fragment_fn on_tick_handler;")
    code = SOURCE.read_text() + "static const aeronpy_fragment_fn on_tick_handler = on_tick;"
    builder.set_source("_native_strategy", code, include_dirs=[get_include()], extra_compile_args=["-O2"])
    with tempfile.TemporaryDirectory() as directory:
        library = builder.compile(tmpdir=directory)
        spec = importlib.util.spec_from_file_location("_native_strategy", library)
        assert spec is not None and spec.loader is not None  # noqa: PT018
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module.lib.on_tick_handler


if __name__ == "__main__":
    show("cffi", build())
