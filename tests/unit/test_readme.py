"""The README's code runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_readme_has_code() -> None:
    assert BLOCKS


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_the_readme_runs_and_prints(block: str) -> None:
    run = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, timeout=30, check=False)

    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("b'hello' 64")
