"""The media driver: the process through which all others talk."""

from __future__ import annotations

import signal
import sys

from aeronpy import MediaDriver
from examples.market_data.lines import say


def main(aeron_dir: str) -> None:
    """Serve until asked to stop."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with MediaDriver.launch(MediaDriver.Context(aeron_dir=aeron_dir)):
        say(ready=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
