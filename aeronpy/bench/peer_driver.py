"""pyaeron's driver as a process, ``python -m aeronpy.bench.peer_driver DIR``; says READY, ends when its input does."""

import sys


def main() -> None:
    """Run until the input ends."""
    import pyaeron

    driver = pyaeron.MediaDriver(dir=sys.argv[1])
    print("READY", flush=True)
    sys.stdin.read()
    driver.close()


if __name__ == "__main__":
    main()
