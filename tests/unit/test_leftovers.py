"""What a killed run of tests leaves in a directory is taken away by the next, what a living one uses never."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.interop.leftovers import TIED, Room, sweep
from tests.interop.peers import ROOT

HOLD = """
import sys
from pathlib import Path
from tests.interop.leftovers import Room
room = Room("held-", Path(sys.argv[1]))
(room.path / "file").write_bytes(b"x")
print(room.path, flush=True)
sys.stdin.read()
"""


def test_only_what_no_process_holds_is_swept(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout is not None
        held = Path(holder.stdout.readline().strip())
        assert (held / "file").exists()
        assert sweep("held-", tmp_path, young_s=0) == []
        holder.kill()
    assert (held / "file").exists()
    assert sweep("held-", tmp_path) == []  # it might be about to be locked
    assert sweep("held-", tmp_path, young_s=0) == [held]
    assert not held.exists()


def test_a_room_goes_with_its_owner(tmp_path: Path) -> None:
    room = Room("mine-", tmp_path)
    assert room.path.is_dir()
    room.close()
    room.close()
    assert list(tmp_path.iterdir()) == []


def test_a_tied_program_ends_with_who_started_it() -> None:
    tied = [*TIED, sys.executable, "-c", "print('up', flush=True); import time; time.sleep(300)"]
    starter = f"import os, subprocess; subprocess.Popen({tied!r}); os.read(0, 1)"
    with subprocess.Popen(
        [sys.executable, "-c", starter], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.kill()
        assert not TIED or process.stdout.read() == ""  # its end of the pipe is closed
