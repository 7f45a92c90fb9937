"""On a full /dev/shm the tools go on working, take nothing of it, and the doctor says what is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.faults.links import need_root
from tests.interop.peers import ROOT

DOCTOR_FOUND_ERRORS = "5"


def test_tools_read_a_full_directory_and_take_nothing_of_it(tmp_path: Path) -> None:
    need_root("unshare")
    command = ["unshare", "-m", sys.executable, "-m", "tests.faults.programs.full_shm_tools", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=55, cwd=ROOT, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}\n{done.stderr}"

    codes = dict(re.findall(r"^TOOL (\w+) code=(-?\d+)$", done.stdout, re.MULTILINE))
    assert len(codes) == 9
    assert {name for name, code in codes.items() if code != "0"} == {"doctor"}, done.stdout
    assert codes["doctor"] == DOCTOR_FOUND_ERRORS
    promised = re.search(r"^error\tspace\.promised\t.*\t(\d+) bytes\t(\d+)\t", done.stdout, re.MULTILINE)
    assert promised is not None, done.stdout
    assert int(promised[1]) > 2 << 20
    assert promised[2] == "0"
    blocks = re.search(r"^BLOCKS (\d+) (\d+)$", done.stdout, re.MULTILINE)
    assert blocks is not None
    assert blocks[1] == blocks[2]
