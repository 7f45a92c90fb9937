"""Record into a file system of a few megabytes until it is full; runs in a mount namespace of its own."""

from __future__ import annotations

import subprocess
import sys

from aeronpy import Aeron
from aeronpy.archive import Archive
from aeronpy.driver import MediaDriver
from aeronpy.errors import StorageError
from aeronpy.recording import open_archive


def main(directory: str, size: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", directory], check=True)
    with (
        MediaDriver.launch_embedded() as driver,
        Aeron.connect(aeron_dir=driver.aeron_dir) as aeron,
        Archive.open(directory, aeron, segment_length=65536, low_storage_space_threshold=0) as archive,
        aeron.add_exclusive_publication("aeron:ipc?term-length=64k", 1001) as publication,
        archive.start_recording("aeron:ipc", 1001) as recording,
    ):
        sent = 0
        while True:
            result = publication.offer(sent.to_bytes(8, "little") * 125)
            sent += result > 0
            try:
                if recording.await_ended(0 if result > 0 else 0.01):
                    raise SystemExit("it ended without a reason")
            except StorageError as error:
                print(f"FAILED {error}", flush=True)
                break
        stop = archive.get_stop_position(0)
        print(f"STOPPED position={stop} sent={sent}", flush=True)
    (found,) = open_archive(directory)
    numbers = [int.from_bytes(message.payload[:8], "little") for message in found.messages()]
    print(f"READ whole={numbers == list(range(len(numbers)))} messages={len(numbers)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
