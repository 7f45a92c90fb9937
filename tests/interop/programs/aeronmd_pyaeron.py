"""The real C driver as its own executable runs it: set up by AERON_* variables alone, ended by a signal.

``aeronmd_pyaeron [--print]``: with --print only its settings are printed, and nothing is started.
"""

from __future__ import annotations

import ctypes
import signal
import sys

import pyaeron

lib = ctypes.CDLL(pyaeron._pyaeron.__file__)
lib.aeron_errmsg.restype = ctypes.c_char_p
lib.aeron_driver_main_idle_strategy.restype = None
lib.aeron_driver_context_print_configuration.restype = None


def check(code: int, what: str) -> int:
    """What the C API returned, or the end of the program with its words."""
    if code < 0:
        print(f"ERROR: {what}: {lib.aeron_errmsg().decode()}", file=sys.stderr)
        sys.exit(1)
    return code


def main() -> int:
    """As aeronmd: context, driver, agents, wait, close; the signal's number is the exit status."""
    context, driver, received = ctypes.c_void_p(), ctypes.c_void_p(), []
    check(lib.aeron_driver_context_init(ctypes.byref(context)), "context init")
    if sys.argv[1:] == ["--print"]:
        lib.aeron_driver_context_print_configuration(context)
        ctypes.CDLL(None).fflush(None)
        return 0
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: received.append(number))
    check(lib.aeron_driver_init(ctypes.byref(driver), context), "driver init")
    check(lib.aeron_driver_start(driver, True), "driver start")
    while not received:
        lib.aeron_driver_main_idle_strategy(driver, lib.aeron_driver_main_do_work(driver))
    check(lib.aeron_driver_close(driver), "driver close")
    check(lib.aeron_driver_context_close(context), "context close")
    print("Shutting down driver...")
    return received[0]


if __name__ == "__main__":
    sys.exit(main())
