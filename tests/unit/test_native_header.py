"""The C API's header: it compiles alone, and what Python tells of it is what a compiler makes of it."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import cffi
import pytest

import aeronpy
from aeronpy import native
from aeronpy.errors import ArgumentError

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
# Uses nothing but the header, and prints what both sides must agree about.
PRINT_LAYOUT = """
#include "aeronpy.h"
#include <stdio.h>
int main(void)
{
    printf("%zu %zu %zu %zu %zu\\n", sizeof(aeronpy_api_t), sizeof(aeronpy_frame_t), sizeof(aeronpy_header_t),
           sizeof(aeronpy_claim_t), offsetof(aeronpy_api_t, try_claim));
    return 0;
}
"""


def compiler(language: str) -> list[str]:
    command = {"c": os.environ.get("CC", "cc"), "c++": os.environ.get("CXX", "c++")}[language]
    words = shlex.split(command)
    if language == "c++" and shutil.which(words[0]) is None:
        pytest.skip("no C++ compiler on this machine: apt-get install g++")
    return words


@pytest.mark.parametrize(("language", "standard"), [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++20")])
def test_the_header_compiles_alone_without_a_warning(language: str, standard: str, tmp_path: Path) -> None:
    source = tmp_path / "layout"
    source.write_text(PRINT_LAYOUT)
    program = tmp_path / "program"
    command = [*compiler(language), f"-std={standard}", *STRICT, "-I", aeronpy.get_include(), "-x", language]

    subprocess.run([*command, str(source), "-o", str(program)], check=True, timeout=50)
    printed = subprocess.run([str(program)], check=True, capture_output=True, text=True, timeout=10).stdout

    ffi = cffi.FFI()
    ffi.cdef(native.declarations())
    types = ["aeronpy_api_t", "aeronpy_frame_t", "aeronpy_header_t", "aeronpy_claim_t"]
    expected = [*map(ffi.sizeof, types), ffi.offsetof("aeronpy_api_t", "try_claim")]
    assert [int(word) for word in printed.split()] == expected


def test_the_table_has_the_size_and_version_of_the_header() -> None:
    ffi = cffi.FFI()
    ffi.cdef(native.declarations())
    api = ffi.cast("const aeronpy_api_t *", native.api_address())

    assert api.size == ffi.sizeof("aeronpy_api_t")
    assert (api.abi_major, api.abi_minor) == (1, 0)
    for name, _ in ffi.typeof("aeronpy_api_t").fields[3:]:
        pointer = int(ffi.cast("uintptr_t", getattr(api, name)))
        assert pointer == ctypes.cast(native.function(name), ctypes.c_void_p).value, name


def test_an_unknown_function_names_those_that_there_are() -> None:
    with pytest.raises(ArgumentError, match=r"'offre'.*offer_vectored"):
        native.function("offre")


def test_an_address_is_taken_from_whatever_has_one() -> None:
    ffi = cffi.FFI()
    memory = ffi.new("char[8]")
    callback = ctypes.CFUNCTYPE(None)(lambda: None)

    assert native.address_of(4096) == 4096
    assert native.address_of(memory) == int(ffi.cast("uintptr_t", memory))
    assert native.address_of(ffi.NULL) == 0
    assert native.address_of(callback) == ctypes.cast(callback, ctypes.c_void_p).value
    assert native.address_of(ctypes.c_void_p(77)) == 77
    with pytest.raises(TypeError, match="'seven' is none"):
        native.address_of("seven")


# An extension module that asks for another version than the header has, as one compiled long ago would.
OLD_MODULE = """
#include <Python.h>
#include "aeronpy.h"
#undef AERONPY_ABI_MAJOR
#define AERONPY_ABI_MAJOR {major}
static PyObject *load(PyObject *self, PyObject *unused)
{{
    (void)self, (void)unused;
    const aeronpy_api_t *api = aeronpy_import();
    return api == NULL ? NULL : PyLong_FromVoidPtr((void *)api);
}}
static PyMethodDef methods[] = {{{{"load", load, METH_NOARGS, NULL}}, {{NULL, NULL, 0, NULL}}}};
static struct PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{name}", NULL, -1, methods, NULL, NULL, NULL, NULL}};
PyMODINIT_FUNC PyInit_{name}(void) {{ return PyModule_Create(&definition); }}
"""


@pytest.mark.parametrize("major", [1, 2])
def test_a_module_of_another_version_is_told_to_be_compiled_again(major: int, tmp_path: Path) -> None:
    name = f"asks_for_{major}"
    # The version is a macro that aeronpy_import reads, so the header is given with the other one in it.
    header = (Path(aeronpy.get_include()) / "aeronpy.h").read_text()
    (tmp_path / "aeronpy.h").write_text(header.replace("ABI_MAJOR 1", f"ABI_MAJOR {major}"))
    source = tmp_path / f"{name}.c"
    source.write_text(OLD_MODULE.format(major=major, name=name))
    python_include = sysconfig.get_path("include")
    command = [*compiler("c"), "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I", str(tmp_path)]
    subprocess.run(
        [*command, "-isystem", python_include, str(source), "-o", str(tmp_path / f"{name}.so")], check=True, timeout=50
    )
    code = f"import {name}; from aeronpy.native import api_address; print({name}.load() == api_address())"
    paths = os.pathsep.join([str(tmp_path), *sys.path])

    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )

    if major == 1:
        assert ran.stdout == "True\n", ran.stderr
    else:
        assert "ImportError: this module was compiled for the C API 2.0" in ran.stderr
        assert "has 1.0" in ran.stderr
        assert "aeronpy.get_include()" in ran.stderr
