"""A full /dev/shm is an error with its numbers, and never a SIGBUS."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.links import need_root
from tests.interop.peers import ROOT

STORAGE_SPACE = "12"


def run_on_tmpfs(mount_point: Path, size: str, sparse: str) -> str:
    """What the program says; it must not die."""
    need_root("unshare")
    program = [sys.executable, "-m", "tests.faults.programs.full_shm", str(mount_point), size, sparse]
    done = subprocess.run(
        ["unshare", "-m", *program], capture_output=True, text=True, timeout=50, cwd=ROOT, check=False
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}\n{done.stderr}"
    return done.stdout


def test_a_driver_that_does_not_fit_says_what_it_needs_and_what_there_is(tmp_path: Path) -> None:
    said = run_on_tmpfs(tmp_path, "16m", "true")

    assert re.search(r"^NO ROOM .*cnc\.dat needs [\d.]+ MiB, .* has 16 MiB free: ", said, re.MULTILINE), said
    # And what the doctor has to say about it.
    assert re.search(
        r"^  warning: the file system of .* is smaller than one log of default terms: 16 MiB", said, re.MULTILINE
    )


@pytest.mark.parametrize("sparse", ["true", "false"])
def test_a_log_that_does_not_fit_is_refused_with_error_12_and_the_others_work_on(tmp_path: Path, sparse: str) -> None:
    said = run_on_tmpfs(tmp_path, "96m", sparse)

    refused = re.search(r"^REFUSED after=(\d+) code=(-?\d+) (.*)$", said, re.MULTILINE)
    assert refused is not None, said
    granted, code, text = refused.groups()
    assert int(granted) > 0
    assert code == STORAGE_SPACE
    # What was asked for, what there is, and where.
    assert len(re.findall(r"\d+", text)) >= 2
    assert str(tmp_path) in text
    assert f"CARRIED {granted}" in said
