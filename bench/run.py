"""All figures, or one family of them: ``python -m bench.run [--family NAME] [--rounds N]``.

Writes JSON lines to stdout and to build/bench/results.jsonl: the machine and the settings first, then a line for each
figure and for each latency curve, as soon as it is known. Some families alone go to build/bench/partial.jsonl, which
``python -m bench.report build/bench/results.jsonl build/bench/partial.jsonl`` puts in the place of theirs. A family
that fails is told on stderr and fails the run at its end.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from aeronpy.bench.machine import describe
from bench.compare.sides import BUILT, build_ends, build_java, build_native, peer_version
from bench.families import (
    Family,
    Line,
    Settings,
    calls,
    floors,
    idle,
    ipc,
    java,
    messaging,
    python,
    startup,
    storage,
    streams,
    udp,
)

FAMILIES: dict[str, Family] = {
    "instructions": calls.instructions,
    "ipc-throughput": ipc.throughput,
    "ipc-round-trip": ipc.round_trip,
    "callback": python.callback,
    "callback-round-trip": python.callback_round_trip,
    "batch": python.batch,
    "native": python.native,
    "udp-throughput": udp.throughput,
    "udp-throughput-two": udp.throughput_two,
    "udp-round-trip": udp.round_trip,
    "streams": streams.family,
    "idle": idle.family,
    "startup": startup.family,
    "messaging": messaging.family,
    "floors": floors.family,
    "java": java.family,
    "calls": calls.micro,
    "storage": storage.family,
}


def run(names: list[str], settings: Settings) -> Iterator[Line]:
    """The lines of these families; what a family failed with is a line too."""
    for name in names:
        started = time.monotonic()
        try:
            for line in FAMILIES[name](settings):
                yield {"family": name, **line}
        except Exception as error:
            traceback.print_exc()
            yield {"family": name, "failed": f"{type(error).__name__}: {error}"}
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", action="append", choices=list(FAMILIES), help="only this, may be repeated")
    parser.add_argument("--size", type=int, action="append", help="only this size in bytes, may be repeated")
    parser.add_argument("--rounds", type=int, default=Settings.rounds)
    parser.add_argument("--seconds", type=float, default=Settings.round_s, help="length of one round")
    parser.add_argument("--output", type=Path, help="default: results.jsonl or partial.jsonl")
    options = parser.parse_args()
    settings = Settings(options.rounds, options.seconds, tuple(options.size or Settings.sizes))

    build_ends()
    build_native()
    build_java()
    output_path: Path = options.output or BUILT / ("partial.jsonl" if options.family else "results.jsonl")
    output_path.parent.mkdir(parents=True, exist_ok=True)
    failed = 0
    with output_path.open("w") as output:
        print(json.dumps(describe(**asdict(settings), ends=peer_version())), file=output, flush=True)
        for line in run(options.family or list(FAMILIES), settings):
            failed += "failed" in line
            for stream in (sys.stdout, output):
                print(json.dumps(line), file=stream, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
