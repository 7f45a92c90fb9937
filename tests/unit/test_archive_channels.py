"""What of a channel an archive keeps, and which channels name the same stream."""

from __future__ import annotations

import pytest

from aeronpy.archive.channels import recording_key, strip_channel
from aeronpy.uri import ChannelUri


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("aeron:ipc", "aeron:ipc"),
        ("aeron:ipc?term-length=64k|init-term-id=7|term-id=7|term-offset=0|session-id=5", "aeron:ipc?session-id=5"),
        ("aeron-spy:aeron:udp?endpoint=127.0.0.1:9000|mtu=4k", "aeron:udp?endpoint=127.0.0.1:9000"),
        (
            "aeron:udp?alias=prices|endpoint=127.0.0.1:9000|linger=5s|rcv-wnd=128k|ttl=4",
            "aeron:udp?endpoint=127.0.0.1:9000|alias=prices|rcv-wnd=128k|ttl=4",
        ),
    ],
)
def test_stripped_channel_keeps_what_the_subscriber_decides(asked: str, kept: str) -> None:
    stripped = strip_channel(ChannelUri.parse(asked))
    assert (stripped.media, stripped.prefix) == ("udp" if "udp" in kept else "ipc", "")
    assert stripped.params == ChannelUri.parse(kept).params


def test_key_has_the_parameters_that_identify_in_their_order() -> None:
    channel = ChannelUri.parse("aeron:udp?session-id=7|alias=x|mtu=4k|interface=127.0.0.1|endpoint=127.0.0.1:9000")
    assert recording_key(channel, 1001) == "1001:udp?endpoint=127.0.0.1:9000|interface=127.0.0.1|session-id=7"
    assert recording_key(ChannelUri.parse("aeron:ipc?alias=a"), 3) == recording_key(ChannelUri.parse("aeron:ipc"), 3)
    assert recording_key(ChannelUri.parse("aeron:ipc"), 3) != recording_key(ChannelUri.parse("aeron:ipc"), 4)
