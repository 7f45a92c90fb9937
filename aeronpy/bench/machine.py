"""What a run ran on, for the first line of its results."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path


def _first(path: str, key: str) -> str:
    try:
        for line in Path(path).read_text().splitlines():
            if line.startswith(key):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown"


def describe(**settings: object) -> dict[str, object]:
    """Processor, memory, kernel, interpreter and time, and the settings given."""
    return {
        "machine": {
            "processor": _first("/proc/cpuinfo", "model name"),
            "architecture": platform.machine(),
            "processors": len(os.sched_getaffinity(0)),
            "is_virtual": " hypervisor" in _first("/proc/cpuinfo", "flags"),
            "memory": _first("/proc/meminfo", "MemTotal"),
            "kernel": platform.release(),
            "python": platform.python_version(),
        },
        "settings": settings,
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
