"""A full disk ends a recording with its numbers; what was counted as recorded is there, and nothing crashes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.faults.links import need_root
from tests.interop.peers import ROOT


def test_recording_on_a_full_disk_stops_and_keeps_what_it_had(tmp_path: Path) -> None:
    need_root("unshare")
    program = [sys.executable, "-m", "tests.faults.programs.full_archive", str(tmp_path), "4m"]

    done = subprocess.run(
        ["unshare", "-m", *program], capture_output=True, text=True, timeout=50, cwd=ROOT, check=False
    )

    assert done.returncode == 0, f"{done.returncode}: {done.stdout}\n{done.stderr}"
    failed = re.search(r"^FAILED recording 0 stops at position (\d+): .* bytes, .* has (\d+) free", done.stdout, re.M)
    stopped = re.search(r"^STOPPED position=(\d+) sent=(\d+)$", done.stdout, re.M)
    read = re.search(r"^READ whole=(\w+) messages=(\d+)$", done.stdout, re.M)
    assert failed is not None, done.stdout
    assert stopped is not None, done.stdout
    assert read is not None, done.stdout
    assert int(stopped[1]) == int(failed[1]) > 1 << 20
    assert read[1] == "True"
    assert 0 < int(read[2]) <= int(stopped[2])
