"""Instructions of the hot loops, counted by callgrind: ``python -m bench.instructions [--gate]``.

One JSON line a figure, as bench.quick's. Where the real C client is here, its offer and poll are counted beside ours.
``--gate`` exits with 1 where a figure is above its limit in ``limits.py``, and passes where valgrind is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.instructions.limits import COMPILER, LIMITS, PAIR_RATIO_MAX, SLACK

ROOT = Path(__file__).resolve().parents[2]
HERE, COMPARE = ROOT / "bench" / "instructions", ROOT / "bench" / "compare"
BUILT = ROOT / "build" / "instructions"
LIBRARY = ROOT / "build" / "release" / "libaeronpy.a"
COUNTED = 1000
TIMEOUT_S = 120.0


def build() -> None:
    """The counted loops: ours as a program, the pairs as a library for the real client's process."""
    BUILT.mkdir(parents=True, exist_ok=True)
    flags = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-g", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'csrc' / 'include'}"]
    compiler = os.environ.get("CC", "cc").split()
    pairs = str(HERE / "pairs.c")
    ours = [str(HERE / "ours.c"), pairs, str(COMPARE / "ours.c"), str(LIBRARY), "-lm", "-pthread"]
    subprocess.run([*compiler, *flags, *ours, "-o", str(BUILT / "ours")], check=True)
    subprocess.run([*compiler, *flags, "-fPIC", "-shared", pairs, "-o", str(BUILT / "pairs.so")], check=True)


def counted_under_callgrind(command: list[str]) -> dict[str, float]:
    """Run it, and read what each named dump of its first thread counted."""
    with tempfile.TemporaryDirectory() as directory:
        callgrind = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={directory}/out"]
        ran = subprocess.run(
            [*callgrind, *command], cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
        )
        if ran.returncode != 0:
            sys.exit(f"{command[0]} under callgrind ended with {ran.returncode}:\n{ran.stderr}")
        return figures_of(Path(directory))


def figures_of(directory: Path) -> dict[str, float]:
    """Instructions of one thing of each named dump; of a name the last, since the rounds before it warm up."""
    figures = {}
    dumps = sorted(directory.glob("out.*-01"), key=lambda each: int(each.suffix[1:].split("-")[0]))
    for dump in dumps:
        text = dump.read_text()
        name = re.search(r"^desc: Trigger: Client Request: (.+)$", text, re.MULTILINE)
        totals = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        if name and totals:
            figures[name[1]] = int(totals[1]) / COUNTED
    return figures


def peer_python() -> Path:
    return Path(os.environ.get("AERONPY_PEER_PYTHON", ROOT / ".peers" / "py312" / "bin" / "python"))


@contextmanager
def real_driver() -> Iterator[Path]:
    """The real C driver, outside callgrind."""
    base = Path(tempfile.mkdtemp(prefix="aeronpy-instructions-", dir="/dev/shm"))
    program = ROOT / "tests" / "interop" / "programs" / "driver_pyaeron.py"
    try:
        with subprocess.Popen(
            [str(peer_python()), str(program), str(base / "aeron"), "shared"],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True,
        ) as driver:  # fmt: skip
            assert driver.stdin is not None
            assert driver.stdout is not None
            driver.stdout.readline()
            yield base / "aeron"
            driver.stdin.close()
    finally:
        shutil.rmtree(base, ignore_errors=True)


def real_figures() -> dict[str, float]:
    """The real C client's pairs, or nothing where it is not here."""
    if not peer_python().exists():
        return {}
    with real_driver() as aeron_dir:
        command = [str(peer_python()), str(HERE / "real.py"), str(aeron_dir), str(BUILT / "pairs.so")]
        return counted_under_callgrind(command)


def our_figures() -> dict[str, float]:
    path = Path("/dev/shm") / f"aeronpy-instructions-{os.getpid()}.logbuffer"
    try:
        return counted_under_callgrind([str(BUILT / "ours"), str(path)])
    finally:
        path.unlink(missing_ok=True)


def lines_of(ours: dict[str, float], real: dict[str, float]) -> list[dict[str, object]]:
    """One line a figure, with the limit and, for the pairs, the real client's count."""
    lines: list[dict[str, object]] = []
    for name, count in ours.items():
        if name.startswith("warm "):
            continue
        figure = name.removeprefix("ours ") + (" through the table" if name.startswith("ours ") else "")
        peer = real.get("real " + name.removeprefix("ours ")) if name.startswith("ours ") else None
        line: dict[str, object] = {"figure": f"instructions {figure}", "size": 32, "ours": round(count, 1)}
        if peer is not None:
            line |= {"peer": round(peer, 1), "ratio": round(count / peer, 3), "peer_name": "real c client"}
        line |= {"unit": "instructions", "limit": LIMITS.get(figure)}
        lines.append(line)
    return lines


def compiler() -> str:
    """Name and major version of the C compiler."""
    command = [*os.environ.get("CC", "cc").split(), "--version"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    major = re.search(r" (\d+)\.\d+", text)
    return f"{'gcc' if 'Free Software' in text else 'another'} {major[1] if major else 0}"


def is_over(line: dict[str, object]) -> bool:
    limit = line["limit"]
    over_limit = isinstance(limit, int) and float(str(line["ours"])) > limit * SLACK
    is_pair = str(line["figure"]).endswith("offer + poll through the table")
    return over_limit or (is_pair and float(str(line.get("ratio", 0.0))) > PAIR_RATIO_MAX)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gate", action="store_true", help="exit with 1 where a figure is above its limit")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("valgrind is missing, so instructions are not counted: apt-get install valgrind", file=sys.stderr)
        return 0
    build()
    lines = lines_of(our_figures(), real_figures())
    for line in lines:
        print(json.dumps(line), flush=True)
    over = [line for line in lines if is_over(line)]
    for line in over:
        print(f"{line['figure']}: {line['ours']} instructions, limit {line['limit']}", file=sys.stderr)
    if over and compiler() != COMPILER:
        print(f"the limits are for {COMPILER}: reported only", file=sys.stderr)
        return 0
    return 1 if options.gate and over else 0


if __name__ == "__main__":
    sys.exit(main())
