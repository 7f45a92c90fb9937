"""The strategy in Cython (cython_handler.pyx): ``python -m examples.native.cython_strategy``. Needs a C compiler."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension
from setuptools.dist import Distribution

from aeronpy import get_include
from examples.native.market import show

SOURCE = Path(__file__).with_name("cython_handler.pyx")


def build() -> int:
    """Compile the handler, as a setup.py would; returns its address."""
    with tempfile.TemporaryDirectory() as directory:
        extension = Extension("cython_handler", [str(SOURCE)], include_dirs=[get_include()])
        modules = cythonize([extension], build_dir=directory, quiet=True)  # type: ignore[no-untyped-call]
        distribution = Distribution({"name": "cython_handler", "ext_modules": modules})
        command = distribution.get_command_obj("build_ext")
        command.build_lib = command.build_temp = directory
        distribution.run_command("build_ext")
        (library,) = Path(directory).glob("cython_handler*.so")
        spec = importlib.util.spec_from_file_location("cython_handler", library)
        assert spec is not None and spec.loader is not None  # noqa: PT018
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    address: int = module.handler()
    return address


if __name__ == "__main__":
    show("Cython", build())
