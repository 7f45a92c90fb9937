"""The native strategies order what one in plain Python would."""

from __future__ import annotations

import importlib
import shutil

import numpy as np
import pytest

from examples.native import market

COUNT = 20_000


@pytest.mark.timeout(120)  # compiling takes its time
@pytest.mark.parametrize("kind", ["numba", "cffi", "cython"])
def test_a_strategy_sends_the_orders_that_plain_python_would(kind: str) -> None:
    if kind != "numba" and shutil.which("cc") is None:
        pytest.skip("no C compiler on this machine: apt-get install gcc")
    module = importlib.import_module(f"examples.native.{kind}_strategy")
    handler = module.on_tick if kind == "numba" else module.build()
    ticks = market.make_ticks(COUNT)
    expected = market.expected_orders(ticks)
    assert 1000 < len(expected) < COUNT - 1000
    assert set(expected["side"]) == {-1, 1}

    result = market.run(handler, ticks)

    assert (result.ticks, result.refused) == (COUNT, 0)
    assert np.array_equal(result.orders, expected)
