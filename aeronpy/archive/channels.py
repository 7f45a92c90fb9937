"""What an archive keeps of a channel, and when two requests mean the same stream (spec: archive, section 3.10)."""

from __future__ import annotations

from typing import Final

from aeronpy.uri import ChannelUri

_KEPT: Final = (
    "endpoint interface control control-mode tags rejoin group tether fc gtag cc so-rcvbuf so-sndbuf rcv-wnd "
    "channel-snd-ts-offset channel-rcv-ts-offset media-rcv-ts-offset session-id alias response-correlation-id "
    "response-endpoint ttl stream-id"
).split()
_IDENTIFYING: Final = ("endpoint", "interface", "control", "session-id", "tags")


def strip_channel(channel: ChannelUri) -> ChannelUri:
    """The channel without what only its publisher decides, and without the spy prefix."""
    return ChannelUri(channel.media, {key: channel.params[key] for key in _KEPT if key in channel.params})


def recording_key(channel: ChannelUri, stream_id: int) -> str:
    """Equal for two channels that name the same stream."""
    parts = [f"{key}={channel.params[key]}" for key in _IDENTIFYING if key in channel.params]
    return f"{stream_id}:{channel.media}?" + "|".join(parts)
