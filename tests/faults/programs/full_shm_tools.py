"""A driver with a sparse log on a tmpfs that is then filled to the last byte, and our tools on it.

Run under ``unshare -m`` with the mount point. Says ``TOOL <name> code=<exit code>`` and what it wrote, for each tool,
and ``BLOCKS <before> <after>``: what the log takes, before and after it was looked at.
"""

from __future__ import annotations

import os
import subprocess
import sys

from aeronpy import Aeron, MediaDriver
from aeronpy.observe.logs import log_paths

CHANNEL = "aeron:ipc?term-length=1m"
STREAM = "1001"
TOOLS = [
    ["stat"],
    ["errors"],
    ["loss"],
    ["backlog"],
    ["cnc"],
    ["driver", "describe"],
    ["explain", CHANNEL, STREAM],
    ["doctor"],
    ["log", "PATH", "8", "-z"],
]


def main() -> None:
    mount_point = sys.argv[1]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", mount_point], check=True)
    with (
        MediaDriver.launch(aeron_dir=f"{mount_point}/aeron") as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
    ):
        publication = aeron.add_publication(CHANNEL, int(STREAM))
        (path,) = log_paths(driver.aeron_dir)
        with open(f"{mount_point}/filler", "wb", buffering=0) as filler:
            try:
                while filler.write(bytes(4096)):
                    pass
            except OSError:
                pass  # full
        before = os.stat(path).st_blocks
        for tool in TOOLS:
            words = [path if word == "PATH" else word for word in tool]
            command = [sys.executable, "-m", "aeronpy.cli.main", *words, "-d", driver.aeron_dir]
            done = subprocess.run(command, capture_output=True, text=True, timeout=40, check=False)
            said = done.stdout if tool[0] != "log" else f"{len(done.stdout.splitlines())} lines"
            print(f"TOOL {tool[0]} code={done.returncode}\n{said}\n{done.stderr}", flush=True)
        print(f"BLOCKS {before} {os.stat(path).st_blocks}", flush=True)
        os.unlink(f"{mount_point}/filler")
        publication.close()


if __name__ == "__main__":
    main()
