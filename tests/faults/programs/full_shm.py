"""A driver on a small tmpfs of its own, run under ``unshare -m``: mount point, size, and true or false for sparse.

Adds publications until the driver refuses, then proves that those it granted carry messages. Says
``REFUSED after=N code=C <text>``, then ``CARRIED N``; or ``NO ROOM <text>`` where the driver itself does not fit.
"""

from __future__ import annotations

import subprocess
import sys

from aeronpy import Aeron, MediaDriver
from aeronpy.errors import RegistrationError, StorageError

PUBLICATIONS_MAX = 1000
TERM_LENGTH = "1m"
MESSAGE = b"m" * 1000


def main() -> None:
    mount_point, size, sparse = sys.argv[1:4]
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", mount_point], check=True)
    context = MediaDriver.Context(aeron_dir=f"{mount_point}/aeron", term_buffer_sparse_file=sparse == "true")
    try:
        driver = MediaDriver.launch(context)
    except StorageError as error:
        print(f"NO ROOM {error}", flush=True)
        return
    with driver, Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
        publications = []
        for stream_id in range(1, PUBLICATIONS_MAX):
            try:
                publications.append(aeron.add_publication(f"aeron:ipc?term-length={TERM_LENGTH}", stream_id))
            except RegistrationError as refused:
                print(
                    f"REFUSED after={len(publications)} code={refused.error_code} {refused}".replace("\n", " "),
                    flush=True,
                )
                break
        for publication in publications:
            subscription = aeron.add_subscription("aeron:ipc", publication.stream_id)
            # More than all three terms, so that every page that was promised is touched.
            for _ in range(4 * 1024 * 1024 // (len(MESSAGE) + 32)):
                publication.send(MESSAGE)
                while subscription.poll(lambda buffer, header: None, 100) == 0:
                    pass
            subscription.close()
        print(f"CARRIED {len(publications)}", flush=True)


if __name__ == "__main__":
    main()
