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

from aeronpy.bench.flow import Flow
from aeronpy.bench.processes import Line

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "bench"
TERM_BYTES = 16 * 1024 * 1024
DEADLINE_S = 60.0

DriverMake = Literal["ours", "c", "java"]
Medium = Literal["ipc", "udp"]


def peer_python() -> Path:
    """The interpreter with pyaeron; all ends run on it, so that Python is the same on both sides."""
    path = Path(os.environ.get("AERONPY_PEER_PYTHON", ROOT / ".peers" / "py312" / "bin" / "python"))
    if not path.exists():
        sys.exit("the real Aeron is not here: run `make peers`")
    return path


def peer_version() -> str:
    """That interpreter's name and version."""
    command = [str(peer_python()), "-c", "import platform; print('Python', platform.python_version())"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def java_jar() -> Path:
    """Aeron's own jar."""
    jar = Path(os.environ.get("AERONPY_PEER_JAR", ROOT / ".peers" / "aeron-all-1.51.0.jar"))
    if not jar.exists():
        sys.exit("the real Aeron is not here: run `make peers`")
    return jar


def java_command() -> list[str]:
    """A JVM with Aeron's jar and our classes of bench/java; the class and its arguments follow."""
    jar = java_jar()
    opens = ("java.base/jdk.internal.misc", "java.base/java.util.zip", "java.base/sun.nio.ch")
    return ["java", *(f"--add-opens={each}=ALL-UNNAMED" for each in opens), "-cp", f"{jar}:{BUILT / 'java'}"]


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
    # Byte code beside the modules, as pip leaves it for the peers.
    subprocess.run([str(peer_python()), "-m", "compileall", "-q", str(BUILT / "lib")], check=True)


def build_native() -> None:
    """The handlers of cffi and Cython, for the peer's interpreter."""
    program = ROOT / "bench" / "compare" / "build_native.py"
    command = [str(peer_python()), str(program), str(BUILT / "native")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        sys.exit(f"the native handlers do not build (is `make bench-peers` done?):\n{built.stderr}")


def build_java() -> None:
    """The classes of bench/java."""
    target = BUILT / "java"
    target.mkdir(parents=True, exist_ok=True)
    sources = [str(each) for each in sorted((ROOT / "bench" / "java").glob("*.java"))]
    subprocess.run(["javac", "-Xlint:all", "-Werror", "-cp", str(java_jar()), "-d", str(target), *sources], check=True)


@dataclass(frozen=True)
class RunningDriver:
    """A driver's directory and process."""

    aeron_dir: Path
    pid: int


def _started(make: DriverMake, aeron_dir: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """A process that runs until it is terminated; Aeron's variables set all three drivers up alike."""
    if make == "java":
        command = [*java_command(), f"-Daeron.dir={aeron_dir}", "io.aeron.driver.MediaDriver"]
        command[1:1] = [f"-D{name.lower().replace('_', '.')}={value}" for name, value in env.items()]
    else:
        command = [sys.executable, "-m", "aeronpy.cli.driver"]
    return subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "AERON_DIR": str(aeron_dir), **env}, stdout=subprocess.DEVNULL
    )


def _await_driver(process: subprocess.Popen[bytes], aeron_dir: Path) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not (aeron_dir / "cnc.dat").exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} did not start")
        time.sleep(0.01)


@contextmanager
def started_driver(make: DriverMake, mode: str = "SHARED", **variables: str) -> Iterator[RunningDriver]:
    """A driver in a directory of its own, with default settings but for AERON_* variables given."""
    base = Path(tempfile.mkdtemp(prefix="aeronpy-bench-", dir="/dev/shm"))
    aeron_dir = base / "aeron"
    try:
        if make == "c":
            program = ROOT / "tests" / "interop" / "programs" / "driver_pyaeron.py"
            with Line([str(peer_python()), str(program), str(aeron_dir), mode.lower()], variables, ROOT) as driver:
                driver.answer()
                yield RunningDriver(aeron_dir, driver.pid)
        else:
            process = _started(make, aeron_dir, {"AERON_THREADING_MODE": mode, **variables})
            try:
                _await_driver(process, aeron_dir)
                yield RunningDriver(aeron_dir, process.pid)
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
    finally:
        shutil.rmtree(base, ignore_errors=True)


@contextmanager
def running_driver(make: DriverMake) -> Iterator[Path]:
    """The directory of a SHARED driver with default settings."""
    with started_driver(make) as driver:
        yield driver.aeron_dir


def udp_channels() -> tuple[str, str]:
    """Two channels on free ports of the loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as a, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as b:
        a.bind(("127.0.0.1", 0))
        b.bind(("127.0.0.1", 0))
        first, second = (f"aeron:udp?endpoint=127.0.0.1:{each.getsockname()[1]}" for each in (a, b))
        return first, second


def end_command(client: str) -> list[str]:
    """The program of one end, without its arguments."""
    if client == "java":
        return [*java_command(), "BenchEnds"]
    return [str(peer_python()), str(ROOT / "bench" / "compare" / "ends.py"), client]


def open_flow(
    stack: ExitStack,
    client: str,
    aeron_dir: Path,
    medium: Medium,
    size: int,
    *,
    is_round_trip: bool,
    receiver_client: str | None = None,
    receiver_dir: Path | None = None,
    term: str = "16m",
    is_pinned: bool = True,
) -> Flow:
    """Start both ends and wait until they are connected; the receiving one may be of another client or driver.

    Over IPC each has a core of its own, where there are two: it tells how the clients compare, not how the
    scheduler places them. Over UDP the driver needs its turn too, and the scheduler decides.
    """
    if medium == "ipc":
        channel = back = f"aeron:ipc?term-length={term}"
    else:
        channel, back = udp_channels()
    cpus = sorted(os.sched_getaffinity(0))

    def end(role: str, index: int, program: list[str], directory: Path) -> Line:
        command = [*program, role, str(directory), channel, str(size), back]
        is_own_core = is_pinned and medium == "ipc" and len(cpus) > 1
        pinned = {"BENCH_CPU": str(cpus[index])} if is_own_core else {}
        line = Line(command, {"PYTHONPATH": str(BUILT / "lib"), **pinned}, ROOT)
        stack.callback(line.close)
        line.answer()
        return line

    receiver_program = end_command(receiver_client or client)
    receiver = end("pong" if is_round_trip else "receive", 0, receiver_program, receiver_dir or aeron_dir)
    sender = end("ping" if is_round_trip else "publish", 1, end_command(client), aeron_dir)
    sender.ask("connected")
    sender.answer()
    return Flow(sender, receiver, is_round_trip)
