"""What IPC and network publications have in common (spec: client/driver protocol, section 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

from aeronpy._core.native import DriverLog, IpcPublicationCore, NetworkPublicationCore
from aeronpy.driver import log_files, replies
from aeronpy.driver.commands import AddPublication
from aeronpy.driver.counters import CounterType, StreamCounters
from aeronpy.driver.error_code import ErrorCode, refuse
from aeronpy.driver.log_events import LogEvent
from aeronpy.driver.office import Office
from aeronpy.driver.publication_params import PublicationParams
from aeronpy.driver.streams import Stream
from aeronpy.driver.tasks import Task

PublicationCore = IpcPublicationCore | NetworkPublicationCore


class FreshLog(NamedTuple):
    """A log that nobody runs yet, and the session id that it was made for."""

    session_id: int
    log: DriverLog


class Publication(Stream):
    """One log, held by one or more adds."""

    def __init__(self, office: Office, command: AddPublication, params: PublicationParams, fresh: FreshLog) -> None:
        registration_id, session_id = command.correlation_id, fresh.session_id
        super().__init__(office, registration_id, session_id, command.stream_id, fresh.log.path)
        self.channel = command.channel
        self.params = params
        self.is_exclusive = command.is_exclusive
        self.holders = 0
        self.is_revoked = False
        self._is_revoke_noted = False
        self._counters = StreamCounters(
            office.core,
            registration_id,
            session_id=session_id,
            stream_id=command.stream_id,
            channel=command.channel,
            owner_id=command.client_id,
        )
        try:
            kind = "exclusive" if command.is_exclusive else "concurrent"
            start = params.start_position
            self.pub_pos_id = self._counters.add(CounterType.PUB_POS, start, name=f"pub-pos ({kind})")
            self.limit_id = self._counters.add(CounterType.PUB_LMT, start)
            self.core = self._open(fresh.log)
        except BaseException:
            self._counters.free()
            raise

    def _open(self, log: DriverLog) -> PublicationCore:
        """Make the native half, which takes the log over; the counters are there."""
        raise NotImplementedError

    @property
    def readable(self) -> PublicationCore:
        """The native half."""
        return self.core

    @property
    def status_id(self) -> int:
        """The channel status counter that clients are told."""
        raise NotImplementedError

    @property
    def is_shareable(self) -> bool:
        """May another add have it too?"""
        return self.holders > 0 and not self.is_exclusive and not self.is_revoked

    def tell_ready(self, correlation_id: int) -> None:
        """Answer the add that made it, or shares it."""
        self.office.send(
            replies.publication_ready(
                correlation_id,
                registration_id=self.image_id,
                session_id=self.session_id,
                stream_id=self.stream_id,
                limit_id=self.limit_id,
                status_id=self.status_id,
                path=self.path,
                is_exclusive=self.is_exclusive,
            )
        )

    def release(self) -> None:
        """One holder less; it drains after the last."""
        self.holders -= 1
        if self.holders == 0:
            self.core.close()

    def revoke(self) -> None:
        """It ends for all holders and readers, without draining."""
        self.is_revoked = True
        self.core.revoke()

    def note_revoked(self) -> None:
        """The core ended it, and its position is its last: a line in the event log, once."""
        if self.is_revoked and not self._is_revoke_noted:
            self._is_revoke_noted = True
            position = self.office.core.counter_value(self.pub_pos_id)
            self.office.note(LogEvent.PUBLICATION_REVOKE, f"revokedPos={position} {self._words}")

    @property
    def _words(self) -> str:
        """Which one it is, in the event log."""
        return f"sessionId={self.session_id} streamId={self.stream_id} channel={self.channel}"

    def free(self) -> None:
        """The agents let go of it: nothing stays."""
        self.unlink_all()
        self.note_revoked()
        self._counters.free()
        self.office.note(LogEvent.REMOVE_PUBLICATION_CLEANUP, self._words)
        self.office.logs.free(self.core.free, self.path)


P = TypeVar("P", bound=Publication)


class _InMaking(NamedTuple):
    """A publication whose log is being made: others wait to share it, and nobody else gets its session id."""

    medium: int
    stream_id: int
    session_id: int
    is_exclusive: bool


class Publications(Generic[P]):
    """All of one kind, by the registration id of the add that made each."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._publications: dict[int, P] = {}
        self._in_making: set[_InMaking] = set()

    def __iter__(self) -> Iterator[P]:
        return iter(list(self._publications.values()))

    def get(self, registration_id: int) -> P | None:
        """The publication that this add made."""
        return self._publications.get(registration_id)

    def _take_session(self, command: AddPublication, params: PublicationParams, is_used: Callable[[int], bool]) -> int:
        """The session id of a new publication: the channel's own or an automatic one; error 1 on a clash."""
        if params.session_id is None:
            return self._office.session_ids.take(is_used)
        if is_used(params.session_id):
            raise refuse(
                ErrorCode.INVALID_CHANNEL,
                f"existing publication has clashing sessionId={params.session_id} for stream "
                f"streamId={command.stream_id} channel={command.channel}",
            )
        return params.session_id

    def _make_log(
        self, command: AddPublication, params: PublicationParams, session_id: int, medium: int, extra: dict[str, Any]
    ) -> Task[FreshLog]:
        """The log of a new publication over ``medium``: an endpoint's id, or 0 for IPC; ``extra``: more metadata."""
        settings = params.log_settings(self._office.log_settings(), is_exclusive=command.is_exclusive)
        settings |= {
            "correlation_id": command.correlation_id,
            "session_id": session_id,
            "stream_id": command.stream_id,
        }
        place = _InMaking(medium, command.stream_id, session_id, command.is_exclusive)
        self._in_making.add(place)
        try:
            return FreshLog(session_id, (yield from self._office.logs.make(log_files.PUBLICATION, settings | extra)))
        finally:
            self._in_making.discard(place)

    def _is_shared_in_making(self, medium: int, stream_id: int) -> bool:
        """Is one being made that another add could have too?"""
        return any(
            (one.medium, one.stream_id, one.is_exclusive) == (medium, stream_id, False) for one in self._in_making
        )

    def _is_taken(self, medium: int, stream_id: int, session_id: int) -> bool:
        """Is somebody getting this session id?"""
        return any(
            (one.medium, one.stream_id, one.session_id) == (medium, stream_id, session_id) for one in self._in_making
        )

    def has_session(self, stream_id: int, session_id: int) -> bool:
        """Is the session id in use on the stream?"""
        everyone = [*self, *self._in_making]
        return any((one.stream_id, one.session_id) == (stream_id, session_id) for one in everyone)

    def on_gone(self, registration_id: int) -> P | None:
        """The core let go of one."""
        publication = self._publications.pop(registration_id, None)
        if publication is not None:
            publication.free()
        return publication
