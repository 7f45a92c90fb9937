"""Streams that come in over UDP (spec: client/driver protocol, 10.4; network protocol, 4.3 and 4.14)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from aeronpy._core.native import DriverLog, ImageCore
from aeronpy.driver import counters, log_files
from aeronpy.driver.addresses import Address
from aeronpy.driver.channel_endpoints import when_there_is_room
from aeronpy.driver.congestion import congestion_settings
from aeronpy.driver.counters import CounterType, StreamCounters
from aeronpy.driver.error_code import ErrorCode, refuse
from aeronpy.driver.events import SetupEvent
from aeronpy.driver.log_events import LogEvent
from aeronpy.driver.network_subscriptions import NetworkSubscription, NetworkSubscriptions
from aeronpy.driver.office import Office
from aeronpy.driver.receive_endpoints import ReceiveEndpoint
from aeronpy.driver.session_ids import wrap_i32
from aeronpy.driver.streams import Stream
from aeronpy.driver.tasks import Task
from aeronpy.errors import AeronError

_SETUP_RESPONSE_FLAG = 0x80
_SETUP_GROUP_FLAG = 0x40
_FAILURE_TOLD_EVERY_S = 5.0
_FAILURES_MAX = 1024
_TERM_MIN, _TERM_MAX = 64 << 10, 1 << 30
_IMAGE_LOG = 2


class Image(Stream):
    """One session of a stream, from one source."""

    def __init__(
        self,
        office: Office,
        setup: SetupEvent,
        endpoint: ReceiveEndpoint,
        log: DriverLog,
        first: NetworkSubscription,
    ) -> None:
        correlation_id = log.correlation_id
        super().__init__(office, correlation_id, setup.session_id, setup.stream_id, log.path)
        self.endpoint = endpoint
        self.wants_response = bool(setup.flags & _SETUP_RESPONSE_FLAG)
        self.source_identity = str(Address.unpack(setup.source))
        self._counters = StreamCounters(
            office.core,
            correlation_id,
            session_id=setup.session_id,
            stream_id=setup.stream_id,
            channel=first.channel,
            owner_id=first.client_id,
        )
        self.join_position = (
            wrap_i32(setup.active_term_id - setup.initial_term_id) * setup.term_length + setup.term_offset
        )
        try:
            self.core = self._open(setup, first, log)
        except BaseException:
            self._counters.free()
            raise
        endpoint.image_count += 1

    @property
    def readable(self) -> ImageCore:
        """The native half."""
        return self.core

    def _open(self, setup: SetupEvent, first: NetworkSubscription, log: DriverLog) -> ImageCore:
        join = self.join_position
        window_length = min(first.window_length, setup.term_length // 2)
        settings = {
            "correlation_id": self.image_id,
            "session_id": self.session_id,
            "stream_id": self.stream_id,
            "initial_term_id": setup.initial_term_id,
            "active_term_id": setup.active_term_id,
            "term_offset": setup.term_offset,
            "window_length": window_length,
            "reliable": first.reliable,
            "group": _is_group(setup, first, self.endpoint),
            "rejoin": first.rejoin,
            "untethered_window_limit_ns": first.untethered_window_limit_ns,
            "untethered_linger_ns": first.untethered_linger_ns,
            "untethered_resting_ns": first.untethered_resting_ns,
            "channel": first.channel.encode("ascii", "replace"),
            "source_identity": self.source_identity.encode(),
            "mtu": setup.mtu,
            "congestion": congestion_settings(
                first.congestion, self.office.context, self._counters, window_length, setup.mtu
            ),
            "nak_delay_ns": first.nak_delay_ns,
            "destination_id": setup.destination_id,
            "source": setup.source,
            "rcv_hwm_id": self._counters.add(CounterType.RCV_HWM, join),
            "rcv_pos_id": self._counters.add(CounterType.RCV_POS, join),
            "naks_sent_id": self._counters.add(CounterType.RCV_NAKS_SENT, 0),
        }
        return ImageCore(self.office.core, self.endpoint.core, log, settings)

    def link_first(self, subscription: NetworkSubscription) -> None:
        """A subscriber from the start: its client is told by `start`."""
        counter_id = counters.add_subscriber_position(
            self.office.core,
            subscription_id=subscription.registration_id,
            session_id=self.session_id,
            stream_id=self.stream_id,
            channel=subscription.channel,
            client_id=subscription.client_id,
            image_id=self.image_id,
            join_position=self.join_position,
        )
        self.core.add_first_subscriber(
            subscription.registration_id, counter_id, subscription.tether, subscription.rejoin
        )
        self.readers[subscription] = counter_id
        subscription.streams.add(self)

    def start(self) -> None:
        """Let core and receiver run it."""
        when_there_is_room(self.core.add)

    def tell_all_available(self) -> None:
        """To the subscribers from the start."""
        for subscription in self.readers:
            self.tell_available(subscription)

    def set_response(self, session_id: int | None) -> None:
        """Tell the source which session answers it, until this is called with None."""
        self.core.set_response(session_id)

    def free(self) -> None:
        """Receiver and core let go of it: nothing stays."""
        self.unlink_all()
        self._counters.free()
        self.office.note(
            LogEvent.REMOVE_IMAGE_CLEANUP,
            f"sessionId={self.session_id} streamId={self.stream_id} id={self.image_id} "
            f"channel={self.endpoint.channel.text}",
        )
        self.office.logs.free(self.core.free, self.path)
        self.endpoint.image_count -= 1
        self.endpoint.close_if_unused()


class Images:
    """All of them, by correlation id."""

    def __init__(self, office: Office, subscriptions: NetworkSubscriptions) -> None:
        self._office = office
        self._subscriptions = subscriptions
        self._images: dict[int, Image] = {}
        self._failed: dict[tuple[int, int, int], float] = {}

    def __iter__(self) -> Iterator[Image]:
        return iter(list(self._images.values()))

    def get(self, image_id: int) -> Image | None:
        """A known image."""
        return self._images.get(image_id)

    def on_setup(self, setup: SetupEvent) -> Task[None]:
        """A stream without an image: make one if somebody wants it. After a failure the next SETUP asks again."""
        endpoint = self._subscriptions.endpoints.get(setup.endpoint_id)
        if endpoint is None or endpoint.is_closing:
            return
        image = None
        with endpoint.held():
            try:
                image = yield from self._image(setup, endpoint)
            except AeronError:
                if self._may_tell(setup):
                    raise
            finally:
                if image is None:
                    when_there_is_room(lambda: endpoint.core.refuse_image(setup.stream_id, setup.session_id))
        if image is not None:
            image.tell_all_available()

    def _may_tell(self, setup: SetupEvent) -> bool:
        """A publisher whose image cannot be made asks ten times a second: not each time is news."""
        now = time.monotonic()
        stream = (setup.endpoint_id, setup.stream_id, setup.session_id)
        if now - self._failed.get(stream, -_FAILURE_TOLD_EVERY_S) < _FAILURE_TOLD_EVERY_S:
            return False
        if len(self._failed) >= _FAILURES_MAX:
            self._failed = {key: at for key, at in self._failed.items() if now - at < _FAILURE_TOLD_EVERY_S}
        if len(self._failed) >= _FAILURES_MAX:
            return False
        self._failed[stream] = now
        return True

    def _image(self, setup: SetupEvent, endpoint: ReceiveEndpoint) -> Task[Image | None]:
        wanted = self._subscriptions.of(endpoint, setup.stream_id, setup.session_id)
        if not wanted:
            return None
        _check_setup(setup, wanted[0], endpoint)
        correlation_id = self._office.core.next_correlation_id()
        settings = _log_settings(self._office, setup, wanted[0], endpoint) | {"correlation_id": correlation_id}
        log = yield from self._office.logs.make(log_files.IMAGE, settings)
        wanted = self._subscriptions.of(endpoint, setup.stream_id, setup.session_id)  # others by now, or none
        image = None
        try:
            image = self._make(setup, endpoint, log, wanted) if wanted else None
        finally:
            if image is None:
                self._office.logs.discard(log)
        return image

    def _make(
        self,
        setup: SetupEvent,
        endpoint: ReceiveEndpoint,
        log: DriverLog,
        wanted: list[NetworkSubscription],
    ) -> Image:
        image = Image(self._office, setup, endpoint, log, wanted[0])
        try:
            for subscription in wanted:
                image.link_first(subscription)
            image.start()
        except BaseException:
            image.free()
            raise
        self._images[image.image_id] = image
        return image

    def on_gone(self, image_id: int) -> None:
        """Receiver and core let go of one."""
        image = self._images.pop(image_id, None)
        if image is not None:
            image.free()


def _is_group(setup: SetupEvent, first: NetworkSubscription, endpoint: ReceiveEndpoint) -> bool:
    """Is this one receiver of many, by what the subscription says, or else by how the stream comes?"""
    if first.group is not None:
        return first.group
    destination = endpoint.destination(setup.destination_id)
    is_multicast = destination is not None and destination.channel.is_multicast
    return is_multicast or bool(setup.flags & _SETUP_GROUP_FLAG)


def _log_settings(
    office: Office, setup: SetupEvent, first: NetworkSubscription, endpoint: ReceiveEndpoint
) -> dict[str, Any]:
    """What the log's metadata says, but for the correlation id."""
    return office.log_settings() | {
        "session_id": setup.session_id,
        "stream_id": setup.stream_id,
        "initial_term_id": setup.initial_term_id,
        "start_term_id": setup.active_term_id,
        "start_term_offset": setup.term_offset,
        "term_length": setup.term_length,
        "mtu": setup.mtu,
        "receiver_window_length": first.window_length,
        "socket_sndbuf_length": endpoint.so_sndbuf,
        "socket_rcvbuf_length": endpoint.so_rcvbuf,
        "entity_tag": 0,
        "response_correlation_id": 0,
        "untethered_window_limit_timeout_ns": first.untethered_window_limit_ns,
        "untethered_linger_timeout_ns": first.untethered_linger_ns,
        "untethered_resting_timeout_ns": first.untethered_resting_ns,
        "group": _is_group(setup, first, endpoint),
        "rejoin": first.rejoin,
        "reliable": first.reliable,
        "sparse": first.sparse,
        "tether": first.tether,
        "type": _IMAGE_LOG,
    }


def _check_setup(setup: SetupEvent, subscription: NetworkSubscription, endpoint: ReceiveEndpoint) -> None:
    """What the network says is checked before memory is made from it."""
    where = f"streamId={setup.stream_id} sessionId={setup.session_id} source={Address.unpack(setup.source)}"
    length = setup.term_length
    if not _TERM_MIN <= length <= _TERM_MAX or length & (length - 1):
        raise refuse(ErrorCode.GENERIC_ERROR, f"SETUP with term length {length}, which is none: {where}")
    if not 0 <= setup.term_offset <= length or setup.term_offset % 32:
        raise refuse(
            ErrorCode.GENERIC_ERROR, f"SETUP with term offset {setup.term_offset} in a term of {length}: {where}"
        )
    if wrap_i32(setup.active_term_id - setup.initial_term_id) < 0:
        raise refuse(ErrorCode.GENERIC_ERROR, f"SETUP with a term before the initial one: {where}")
    if not 32 < setup.mtu <= 65504 or setup.mtu % 32:
        raise refuse(ErrorCode.GENERIC_ERROR, f"SETUP with mtu {setup.mtu}, which is none: {where}")
    if setup.mtu > subscription.window_length:
        raise refuse(
            ErrorCode.GENERIC_ERROR,
            f"mtuLength={setup.mtu} > initialWindowLength={subscription.window_length}: {where}",
        )
    if setup.mtu > endpoint.effective_rcvbuf:
        raise refuse(ErrorCode.GENERIC_ERROR, f"mtuLength={setup.mtu} > SO_RCVBUF={endpoint.effective_rcvbuf}: {where}")
