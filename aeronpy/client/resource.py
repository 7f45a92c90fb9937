"""What publications and subscriptions have in common: an owner, an end, and a channel with a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from aeronpy.client.destinations import Destinations
from aeronpy.client.status import channel_status, local_socket_addresses
from aeronpy.client.values import ChannelStatus

if TYPE_CHECKING:
    from aeronpy.client.aeron import Aeron
    from aeronpy.client.conductor import Conductor


class ChannelResource(Destinations):
    """Stands before the native class of its kind, which has the fields and the data path."""

    _aeron: Aeron | None = None
    _conductor: Conductor | None = None

    if TYPE_CHECKING:

        @property
        def is_closed(self) -> bool:
            """As of the native class."""

        @property
        def channel_status_id(self) -> int:
            """As of the native class."""

    def _own(self, aeron: Aeron | None, conductor: Conductor) -> None:
        self._aeron = aeron  # kept as long as this is open, so that what was made keeps its client
        self._conductor = conductor

    def close(self) -> None:
        """Close here at once, and at the driver. Twice is fine."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    @property
    def channel_status(self) -> ChannelStatus:
        """State of the channel's endpoint; ERRORED once closed."""
        return channel_status(self._conductor, self.channel_status_id, self.is_closed)

    @property
    def local_socket_addresses(self) -> list[str]:
        """Addresses that the endpoint is bound to, of a subscription one for each destination with a socket."""
        return local_socket_addresses(self._conductor, self.channel_status_id, self.is_closed)
