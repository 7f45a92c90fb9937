"""The small values of the client API: what an offer answers, what a controlled handler says, statuses."""

from __future__ import annotations

from enum import IntEnum


class OfferResult(IntEnum):
    """Why an offer was not accepted; positions are positive, these are all negative."""

    NOT_CONNECTED = -1
    """No subscriber."""
    BACK_PRESSURED = -2
    """Subscribers are behind by a window: try again."""
    ADMIN_ACTION = -3
    """The log went on to its next term: try again at once."""
    CLOSED = -4
    """The publication, its client or its driver is gone."""
    MAX_POSITION_EXCEEDED = -5
    """The stream is full for ever: add a new publication."""


class ControlledAction(IntEnum):
    """What a handler of a controlled poll answers. None counts as CONTINUE."""

    ABORT = 1
    """Stop before this fragment, and deliver it again."""
    BREAK = 2
    """Stop behind this fragment."""
    COMMIT = 3
    """Move the position behind this fragment now, and go on."""
    CONTINUE = 4
    """Go on; the position moves at the end of the poll."""


class ChannelStatus(IntEnum):
    """State of a channel's endpoint at the driver."""

    INITIALIZING = 0
    ERRORED = -1
    ACTIVE = 1
    CLOSING = 2
