"""A log that subscriptions read, whatever fills it, and how a subscription joins and leaves it."""

from __future__ import annotations

from typing import Protocol

from aeronpy.driver.conductor import counters, replies
from aeronpy.driver.conductor.office import Office


class ReadableCore(Protocol):
    """The native half of a stream."""

    def add_subscriber(self, registration_id: int, counter_id: int, tether: bool, rejoin: bool) -> int | None:
        """The join position, or None when it takes nobody now."""

    def remove_subscriber(self, registration_id: int) -> bool:
        """True when it was there."""


class Subscription:
    """One ADD_SUBSCRIPTION, or one of the destinations of a multi-destination one.

    A response subscription (``is_response``) takes nothing until it is told the session that answers it.
    """

    def __init__(  # noqa: PLR0917
        self,
        registration_id: int,
        client_id: int,
        stream_id: int,
        channel: str,
        session_id: int | None,
        tether: bool,
        rejoin: bool,
        *,
        is_response: bool = False,
    ) -> None:
        self.registration_id = registration_id
        self.client_id = client_id
        self.stream_id = stream_id
        self.channel = channel
        self.session_id = session_id
        self.tether = tether
        self.rejoin = rejoin
        self.is_response = is_response
        self.streams: set[Stream] = set()

    def takes(self, stream_id: int, session_id: int) -> bool:
        """Does it want this stream of this session?"""
        if stream_id != self.stream_id:
            return False
        return not self.is_response if self.session_id is None else self.session_id == session_id


class Stream:
    """An IPC publication, a network publication for its spies, or an image."""

    source_identity = "aeron:ipc"

    def __init__(self, office: Office, image_id: int, session_id: int, stream_id: int, path: str) -> None:
        self.office = office
        self.image_id = image_id
        self.session_id = session_id
        self.stream_id = stream_id
        self.path = path
        self.readers: dict[Subscription, int] = {}

    @property
    def readable(self) -> ReadableCore:
        """The native half that knows the readers' positions."""
        raise NotImplementedError

    def link(self, subscription: Subscription) -> bool:
        """Let a subscription read it from its join position on, and tell its client; False when it takes nobody."""
        core = self.office.core
        counter_id = counters.add_subscriber_position(
            core,
            subscription_id=subscription.registration_id,
            session_id=self.session_id,
            stream_id=self.stream_id,
            channel=subscription.channel,
            client_id=subscription.client_id,
            image_id=self.image_id,
            join_position=None,
        )
        join_position = self.readable.add_subscriber(
            subscription.registration_id, counter_id, subscription.tether, subscription.rejoin
        )
        if join_position is None:
            core.free_counter(counter_id)
            return False
        counters.set_join_position(core, counter_id, join_position)
        self.linked(subscription, counter_id)
        return True

    def linked(self, subscription: Subscription, counter_id: int) -> None:
        """A subscription reads it: remember it, and tell its client."""
        self.readers[subscription] = counter_id
        subscription.streams.add(self)
        self.tell_available(subscription)

    def unlink(self, subscription: Subscription) -> None:
        """A subscription reads it no more; its client is not told."""
        counter_id = self.readers.pop(subscription, None)
        if counter_id is not None:
            subscription.streams.discard(self)
            self.readable.remove_subscriber(subscription.registration_id)
            self.office.core.free_counter(counter_id)

    def unlink_all(self) -> None:
        """Nobody reads it any more."""
        for subscription in list(self.readers):
            self.unlink(subscription)

    def tell_available(self, subscription: Subscription) -> None:
        """Send ON_AVAILABLE_IMAGE."""
        self.office.send(
            replies.available_image(
                self.image_id,
                session_id=self.session_id,
                stream_id=self.stream_id,
                subscription_id=subscription.registration_id,
                position_id=self.readers[subscription],
                path=self.path,
                source_identity=self.source_identity,
            )
        )

    def tell_unavailable(self, subscription: Subscription) -> None:
        """Send ON_UNAVAILABLE_IMAGE."""
        self.office.send(
            replies.unavailable_image(self.image_id, subscription.registration_id, self.stream_id, subscription.channel)
        )

    def tell_all_unavailable(self) -> None:
        """To every reader."""
        for subscription in self.readers:
            self.tell_unavailable(subscription)

    def reader_of(self, registration_id: int) -> Subscription | None:
        """The reading subscription with this id."""
        return next((reader for reader in self.readers if reader.registration_id == registration_id), None)
