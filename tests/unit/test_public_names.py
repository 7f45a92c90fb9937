"""The names of the package itself: given lazily, and the same for type checkers as for programs."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import aeronpy


def names_for_type_checkers() -> set[str]:
    tree = ast.parse(Path(aeronpy.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_programs_see_the_names_that_type_checkers_see() -> None:
    assert names_for_type_checkers() == set(aeronpy._HOMES)


@pytest.mark.parametrize("name", sorted(aeronpy._HOMES))
def test_every_public_name_is_the_one_of_its_home(name: str) -> None:
    assert getattr(aeronpy, name) is getattr(importlib.import_module(aeronpy._HOMES[name]), name)
    assert name in dir(aeronpy)


def test_other_names_are_no_attributes() -> None:
    with pytest.raises(AttributeError, match="'aeronpy' has no attribute 'Aaron'"):
        _ = aeronpy.Aaron  # type: ignore[attr-defined]
