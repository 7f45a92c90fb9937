"""A message that owns its bytes."""

from __future__ import annotations

from typing import NamedTuple


class Message(NamedTuple):
    """A whole message with what its frame said: safe to keep, and to hand to other threads."""

    payload: bytes
    """The message's bytes."""
    position: int
    """Position of the stream behind it."""
    session_id: int
    """The publisher's session."""
    reserved_value: int = 0
    """What the publisher put into the frame's reserved field."""
