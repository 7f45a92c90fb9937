"""A driver whose interpreter stalls on request: each line on stdin is how many milliseconds the GIL is held."""

from __future__ import annotations

import ctypes
import sys

from aeronpy.driver import MediaDriver


def main() -> None:
    libc = ctypes.PyDLL(None)  # a PyDLL keeps the GIL over the call: nothing else in this interpreter runs
    settings = dict(argument.split("=") for argument in sys.argv[1:])
    with MediaDriver.launch(**settings):
        print("READY", flush=True)
        for line in sys.stdin:
            print("STALLED", flush=True)
            libc.usleep(int(line) * 1000)
            print("AWAKE", flush=True)


if __name__ == "__main__":
    main()
