"""Publications: what a client sends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from aeronpy._core.native import PublicationBase
from aeronpy.client import protocol
from aeronpy.client.protocol import Command
from aeronpy.client.resource import ChannelResource
from aeronpy.client.values import OfferResult
from aeronpy.errors import PublicationClosed

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Buffer

    from aeronpy.client.conductor import Conductor


# -6 is the C client's: here it is an exception.
_RESULT_NAMES: Final = {**{int(result): result.name for result in OfferResult}, -6: "ERROR"}


class _Publication(ChannelResource, PublicationBase):
    """What both kinds share with the driver."""

    _ADD: ClassVar = Command.ADD_DESTINATION
    _REMOVE: ClassVar = Command.REMOVE_DESTINATION
    _revoke = False

    def close(self) -> None:
        """Close here at once, and at the driver, which drains what was sent. Twice is fine."""
        conductor = self._conductor
        if conductor is None or self.is_closed:
            return
        client_id, revoke = conductor.core.client_id, self._revoke
        conductor.close_resource(
            self,  # type: ignore[arg-type]
            Command.REMOVE_PUBLICATION,
            lambda correlation_id: protocol.remove_publication(client_id, correlation_id, self.registration_id, revoke),
        )
        self._aeron = None

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(channel={self.channel!r}, stream_id={self.stream_id}, "
            f"session_id={self.session_id}{', closed' if self.is_closed else ''})"
        )

    def _live_owner(self) -> Conductor:
        assert self._conductor is not None
        self._conductor.check_open()
        if self.is_closed:
            raise PublicationClosed(f"{self!r} has no destinations any more")
        return self._conductor

    def _destinations_id(self) -> int:
        return self.original_registration_id

    def _why_closed(self) -> str:
        error = self._conductor.why_ended() if self._conductor is not None else None
        return "" if error is None else f", since the client ended: {error}"

    @staticmethod
    def error_string(result: int) -> str:
        """The name of what `offer` answered: NONE for a position, UNKNOWN for what is no answer."""
        return "NONE" if result >= 0 else _RESULT_NAMES.get(result, "UNKNOWN")

    @property
    def is_original(self) -> bool:
        """Whether this was the first of the publications that share the stream."""
        return self.registration_id == self.original_registration_id

    def remove_destination_by_id(self, destination_id: int) -> None:
        """Send to the destination no more that `add_destination` gave this id. Raises as that."""
        self._send(Command.REMOVE_DESTINATION_BY_ID, destination_id, True)

    def async_remove_destination_by_id(self, destination_id: int) -> int:
        """Start removing a destination by its id; returns the command's id, otherwise as `async_add_destination`."""
        return self._send(Command.REMOVE_DESTINATION_BY_ID, destination_id, False)


class Publication(_Publication):
    """A publication that any number of threads may use at once; processes that add the same one share its log."""


class ExclusivePublication(_Publication):
    """A publication with a stream of its own, for one thread at a time."""

    def append_padding(self, length: int) -> int | OfferResult:
        """Append padding of ``length`` bytes and a header, which readers skip; returns as `offer`."""
        return self._append_padding(length)

    def offer_block(self, block: Buffer | npt.NDArray[Any]) -> int | OfferResult:
        """Append whole frames that continue this stream just here, as another log holds them; returns as `offer`.

        Raises ArgumentError where they do not.
        """
        return self._offer_block(block)

    def revoke_on_close(self) -> None:
        """Let `close` end the stream at once, for subscribers too, whatever they have not read."""
        self._revoke = True

    def revoke(self) -> None:
        """End the stream at once, for subscribers too."""
        self._revoke = True
        self.close()
