"""The package's public names: imported when used, and not before."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import aeronpy


def test_every_name_for_type_checkers_is_there_at_run_time() -> None:
    source = ast.parse(Path(aeronpy.__file__).read_text())
    declared = {
        (alias.name, node.module)
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("aeronpy")
        for alias in node.names
    }

    assert declared == set(aeronpy._HOMES.items())
    for name in aeronpy._HOMES:
        assert getattr(aeronpy, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Aeroon"):
        aeronpy.Aeroon  # noqa: B018


@pytest.mark.parametrize("module", ["aeronpy.recording", "pyspark_aeron_archive"])
def test_pure_parts_import_without_the_compiled_module(module: str) -> None:
    code = f"import sys; sys.modules['aeronpy._core.native'] = None; import {module}; print('imported')"

    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)

    assert done.stdout == "imported\n", done.stderr
