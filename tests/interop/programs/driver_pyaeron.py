"""The real C driver as a process, ``driver_pyaeron DIR [shared|dedicated]``; ends when its input does.

AERON_* variables set it up.
"""

import sys

import pyaeron

driver = pyaeron.MediaDriver(dir=sys.argv[1], threading=sys.argv[2] if len(sys.argv) > 2 else "shared")
print("READY", flush=True)
sys.stdin.read()
driver.close()
