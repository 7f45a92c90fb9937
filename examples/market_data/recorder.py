"""The recorder: writes the stream to disk, in the files of Aeron Archive."""

from __future__ import annotations

import sys

from aeronpy import Aeron
from aeronpy.archive import Archive
from examples.market_data.lines import say

SEGMENT_LENGTH = 8 << 20


def main(aeron_dir: str, channel: str, stream_id: str, directory: str) -> None:
    """Record the first image of the stream to its end."""
    with (
        Aeron.connect(aeron_dir=aeron_dir) as aeron,
        Archive.open(directory, aeron, segment_length=SEGMENT_LENGTH) as archive,
        archive.start_recording(channel, int(stream_id)) as recording,
    ):
        say(ready=True)
        recording_id = recording.await_recording(timeout_s=60)
        while not recording.await_ended(timeout_s=0.1):
            say(position=archive.get_recording_position(recording_id))
        say(position=archive.get_stop_position(recording_id), recording_id=recording_id)


if __name__ == "__main__":
    main(*sys.argv[1:])
