"""One side of a comparison: a driver and two ends as processes, that take turns with the other side's."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "bench"
TERM_BYTES = 16 * 1024 * 1024
IPC = "aeron:ipc?term-length=16m"
DEADLINE_S = 60.0

DriverMake = Literal["ours", "c"]


def peer_python() -> Path:
    """The interpreter with pyaeron; all ends run on it, so that Python is the same on both sides."""
    path = Path(os.environ.get("AERONPY_PEER_PYTHON", ROOT / ".peers" / "py312" / "bin" / "python"))
    if not path.exists():
        sys.exit("the real Aeron is not here: run `make peers`")
    return path


def build_ends() -> None:
    """The C loops, and our module for the peer's interpreter."""
    BUILT.mkdir(parents=True, exist_ok=True)
    library = ROOT / "build" / "release" / "libaeronpy.a"
    sources = [str(each) for each in sorted((ROOT / "bench" / "compare").glob("*.c"))]
    flags = [
        "-std=c11",
        "-D_GNU_SOURCE",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fPIC",
        "-shared",
        "-fvisibility=hidden",
    ]
    command = ["cc", *flags, f"-I{ROOT / 'csrc' / 'include'}", *sources, str(library), "-lm", "-pthread"]
    subprocess.run([*command, "-o", str(BUILT / "loops.so")], check=True)
    build = [
        str(peer_python()),
        "setup.py",
        "-q",
        "build",
        "--build-base",
        str(BUILT / "py"),
        "--build-lib",
        str(BUILT / "lib"),
    ]
    environment = {**os.environ, "AERONPY_STATIC_LIBRARY": str(library)}
    built = subprocess.run(build, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        sys.exit(f"our module does not build for the peer's Python:\n{built.stderr}")


class Line:
    """A process that is spoken to in lines."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, **env}
        )

    def ask(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended with {self._process.wait()}")
        return line.strip()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def running_driver(make: DriverMake) -> Iterator[Path]:
    """A SHARED driver with default settings, in a directory of its own."""
    base = Path(tempfile.mkdtemp(prefix="aeronpy-bench-", dir="/dev/shm"))
    aeron_dir = base / "aeron"
    try:
        if make == "c":
            program = ROOT / "tests" / "interop" / "programs" / "driver_pyaeron.py"
            driver = Line([str(peer_python()), str(program), str(aeron_dir), "shared"], {})
            driver.answer()
            yield aeron_dir
            driver.close()
        else:
            settings = {"AERON_DIR": str(aeron_dir), "AERON_THREADING_MODE": "SHARED"}
            process = subprocess.Popen(
                [sys.executable, "-m", "aeronpy.cli.driver"], cwd=ROOT, env={**os.environ, **settings},
                stdout=subprocess.DEVNULL,
            )  # fmt: skip
            deadline = time.monotonic() + DEADLINE_S
            while not (aeron_dir / "cnc.dat").exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError("our driver did not start")
                time.sleep(0.01)
            yield aeron_dir
            process.terminate()
            process.wait(10)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def udp_channels() -> tuple[str, str]:
    """Two channels on free ports of the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as a, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as b:
        a.bind(("127.0.0.1", 0))
        b.bind(("127.0.0.1", 0))
        first, second = (f"aeron:udp?endpoint=127.0.0.1:{each.getsockname()[1]}" for each in (a, b))
        return first, second


@dataclass
class Flow:
    """Two connected ends, for messages of one size."""

    sender: Line
    receiver: Line
    is_round_trip: bool

    def round(self, count: int) -> float:
        """Messages per second, or the median round trip in nanoseconds."""
        self.receiver.ask(str(count))
        self.sender.ask(str(count))
        sent_ns, received_ns = int(self.sender.answer()), int(self.receiver.answer())
        return float(sent_ns) if self.is_round_trip else count / received_ns * 1e9


def open_flow(
    stack: ExitStack, client: str, aeron_dir: Path, medium: Literal["ipc", "udp"], size: int, *, is_round_trip: bool
) -> Flow:
    """Start both ends and wait until they are connected.

    Over IPC each has a core of its own, where there are two: it tells how the clients compare, not how the
    scheduler places them. Over UDP the driver needs its turn too, and the scheduler decides.
    """
    channel, back = (IPC, IPC) if medium == "ipc" else udp_channels()
    cpus = sorted(os.sched_getaffinity(0))

    def end(role: str, index: int) -> Line:
        program = ROOT / "bench" / "compare" / "ends.py"
        command = [str(peer_python()), str(program), client, role, str(aeron_dir), channel, str(size), back]
        pinned = {"BENCH_CPU": str(cpus[index])} if medium == "ipc" and len(cpus) > 1 else {}
        line = Line(command, {"PYTHONPATH": str(BUILT / "lib"), **pinned})
        stack.callback(line.close)
        line.answer()
        return line

    receiver = end("pong" if is_round_trip else "receive", 0)
    sender = end("ping" if is_round_trip else "publish", 1)
    sender.ask("connected")
    sender.answer()
    return Flow(sender, receiver, is_round_trip)
