"""Check what formatters cannot see: file and function lengths, the order of the C rooms, headers' openings.

C rooms depend downwards only, so the includes of a file may name things of its own room and of rooms below it.
"""

import re
import subprocess
import sys
from pathlib import Path

FILE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
ROOMS = ["base", "wire", "logbuffer", "control", "media", "driver", "client", "archive", "cluster"]
# driver and client stand side by side; the archive stands on the client.
BESIDE = {("client", "driver"), ("archive", "driver")}


def tracked(*patterns: str) -> list[Path]:
    """Files that git knows, or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return [Path(name) for name in sorted(set(listed)) if Path(name).is_file()]


def room_of(path: Path) -> str:
    return path.parts[1]


def header_rooms() -> dict[str, str]:
    """The room of each header: that of the C file of its name, else the lowest that includes it as its first."""
    rooms: dict[str, str] = {"atomic": "base"}  # needs no C file
    for path in tracked("csrc/**/*.c"):
        first = re.search(r'#include "apy/(\w+)\.h"', path.read_text())
        if first and first[1] not in rooms and room_of(path) in ROOMS:
            rooms[first[1]] = room_of(path)
    for path in tracked("csrc/**/*.c"):
        rooms[path.stem] = room_of(path)
    return rooms


def check_c_file(path: Path, rooms: dict[str, str]) -> list[str]:
    faults = []
    text = path.read_text()
    own = room_of(path)
    if "Python.h" in text:
        faults.append(f"{path}: Python.h has no place under csrc/")
    for name in re.findall(r'#include "apy/(\w+)\.h"', text):
        room = rooms.get(name)
        if room is None or room == own or own not in ROOMS or room not in ROOMS:
            continue
        if ROOMS.index(room) > ROOMS.index(own) or (own, room) in BESIDE:
            faults.append(f"{path}: the room {own} may not include {name}.h of {room}")
    return faults


def check_functions(path: Path) -> list[str]:
    faults, start = [], 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            if number - start - 1 > FUNCTION_LINES_MAX:
                faults.append(f"{path}:{start}: a function of {number - start - 1} lines; at most {FUNCTION_LINES_MAX}")
            start = 0
    return faults


def check_header(path: Path) -> list[str]:
    text = path.read_text()
    missing = [word for word in ("Threads:", "Allocates:", "Blocks:") if word not in text]
    has_functions = re.search(r"^\w[\w \*]*\bapy_\w+\([^;]*\);", text, re.MULTILINE)
    return [f"{path}: its opening does not say {', '.join(missing)}"] if missing and has_functions else []


def main() -> int:
    faults = []
    for path in tracked("*.py", "*.pyx", "*.pxd", "*.pyi", "*.c", "*.h", "*.java"):
        lines = len(path.read_text().splitlines())
        # The stub of the one compiled module is a list, as long as the module has names.
        if lines > FILE_LINES_MAX and path.name != "native.pyi":
            faults.append(f"{path}: {lines} lines; at most {FILE_LINES_MAX}")
    rooms = header_rooms()
    for path in tracked("csrc/**/*.c"):
        faults += check_c_file(path, rooms) + check_functions(path)
    for path in tracked("csrc/include/apy/*.h"):
        faults += check_header(path)
    print("\n".join(faults) or "the tree is in order")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
