"""What the kernel says of a process and of the machine; None where it does not say."""

from __future__ import annotations

import os
import re
import resource
from dataclasses import dataclass


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def read_number(path: str) -> int | None:
    """The number in a file of /proc or /sys."""
    text = _read(path)
    found = re.match(r"\s*(\d+)\s*$", text) if text is not None else None
    return int(found[1]) if found else None


def process_state(pid: int) -> str | None:
    """R, S, D, T as ``ps`` shows it; None when there is no such process, or it is a zombie."""
    text = _read(f"/proc/{pid}/stat")
    if text is None or pid <= 0:
        return None
    state = text.rpartition(")")[2].split()[:1]
    return state[0] if state and state[0] not in ("Z", "X") else None


def process_name(pid: int) -> str:
    """What a process is called, as java or python3; its arguments may be secret. Empty when there is none."""
    return (_read(f"/proc/{pid}/comm") or "").strip()


def holds_file(pid: int, path: str) -> bool | None:
    """Whether a process has a file mapped; None when that may not be seen. In another namespace the id is another's."""
    maps = _read(f"/proc/{pid}/maps")
    return None if maps is None else f" {os.path.realpath(path)}" in maps


@dataclass(frozen=True, slots=True)
class Use:
    """How much of something a process uses, and how much it may."""

    used: int
    limit: int


def open_files(pid: int) -> Use | None:
    """Open descriptors of a process."""
    text = _read(f"/proc/{pid}/limits")
    found = re.search(r"^Max open files\s+(\d+)", text, re.MULTILINE) if text is not None else None
    try:
        used = len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return None
    return Use(used, int(found[1])) if found else None


def own_file_limit() -> int | None:
    """Descriptors that this process may have open; None without a limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def memory_maps(pid: int) -> Use | None:
    """Mappings of a process, each log being one or more."""
    maps, limit = _read(f"/proc/{pid}/maps"), read_number("/proc/sys/vm/max_map_count")
    return Use(maps.count("\n"), limit) if maps is not None and limit is not None else None


def memory_available() -> tuple[int | None, str]:
    """Bytes of memory that are free for use, and whose: the container's where that is less."""
    text = _read("/proc/meminfo") or ""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    available = int(found[1]) * 1024 if found else None
    group = next((line[3:] for line in (_read("/proc/self/cgroup") or "").splitlines() if line.startswith("0::")), None)
    if group is not None:
        folder = os.path.join("/sys/fs/cgroup", group.lstrip("/"))
        limit, used = read_number(f"{folder}/memory.max"), read_number(f"{folder}/memory.current")
        if limit is not None and used is not None and (available is None or limit - used < available):
            return max(limit - used, 0), "the container"
    return available, "the machine"


@dataclass(frozen=True, slots=True)
class SocketDrops:
    """Datagrams that the kernel dropped because a socket's buffer was full, by its local port."""

    port: int
    drops: int


def udp_drops() -> list[SocketDrops]:
    """Drops of every UDP socket of this network namespace."""
    found = []
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        for line in (_read(table) or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) >= 13 and ":" in fields[1] and fields[12].isdecimal():
                found.append(SocketDrops(int(fields[1].rpartition(":")[2], 16), int(fields[12])))
    return found
