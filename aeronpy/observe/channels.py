"""Channels as counters name them: the whole text, and whether two mean the same."""

from __future__ import annotations

from aeronpy.observe.counters import Counter
from aeronpy.observe.keys import ChannelKey, StreamKey
from aeronpy.uri import ChannelUri

# What says where a channel goes; other parameters only say how.
_PLACE: tuple[str, ...] = ("endpoint", "control")


def full_channel(counter: Counter) -> str:
    """The channel of a stream's or a channel's counter: the key cuts it, the label has more of it."""
    key = counter.key
    if not isinstance(key, StreamKey | ChannelKey):
        return ""
    at = counter.label.find(key.channel) if key.channel else -1
    return key.channel if at < 0 else counter.label[at:].split(" ")[0]


def means(wanted: ChannelUri, found: ChannelUri) -> bool:
    """Whether a channel is meant by another: the same place, and nothing that contradicts what is asked for."""
    if wanted.media != found.media:
        return False
    places = [key for key in _PLACE if wanted.get(key) is not None]
    if any(wanted.get(key) != found.get(key) for key in places):
        return False
    if wanted.is_udp and not places and wanted.params != found.params:
        return False
    return all(found.get(key) in (None, value) for key, value in wanted.params.items())
