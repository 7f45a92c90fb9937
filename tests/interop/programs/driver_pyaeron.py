"""The real C driver as a process, ``driver_pyaeron DIR [THREADING MODE]``; ends when its input does.

AERON_* variables set it up. Says READY, and TERMINATED when a client asked it to end and may.
"""

import ctypes
import os
import sys
import threading
from ctypes import CFUNCTYPE, byref, c_bool, c_void_p

mode = sys.argv[2].upper() if len(sys.argv) > 2 else "SHARED"
# Read when the context is made, so before the library is.
os.environ["AERON_THREADING_MODE"] = mode

from tests.interop.programs.c_api import call  # noqa: E402


def say(line: str) -> None:
    print(line, flush=True)


@CFUNCTYPE(None, c_void_p)
def on_termination(_: object) -> None:
    say("TERMINATED")


context, driver = c_void_p(), c_void_p()
call("driver_context_init", byref(context))
call("driver_context_set_dir", context, sys.argv[1].encode())
call("driver_context_set_dir_delete_on_start", context, c_bool(True))
call("driver_context_set_dir_delete_on_shutdown", context, c_bool(True))
call("driver_context_set_driver_termination_hook", context, on_termination, None)
call("driver_init", byref(driver), context)
call("driver_start", driver, c_bool(mode == "INVOKER"))
say("READY")
over = threading.Event()


def listen() -> None:
    sys.stdin.read()
    over.set()


threading.Thread(target=listen, daemon=True).start()
if mode == "INVOKER":
    while not over.is_set():
        call("driver_main_idle_strategy", driver, ctypes.c_int(call("driver_main_do_work", driver)))
over.wait()
call("driver_close", driver)
call("driver_context_close", context)
