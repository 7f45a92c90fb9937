"""What IPC and network publications have in common (spec: client/driver protocol, section 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from aeronpy._core.native import IpcPublicationCore, NetworkPublicationCore
from aeronpy.driver import directory, replies
from aeronpy.driver.commands import AddPublication
from aeronpy.driver.counters import CounterType, StreamCounters
from aeronpy.driver.error_code import ErrorCode, refuse
from aeronpy.driver.office import Office
from aeronpy.driver.publication_params import PublicationParams
from aeronpy.driver.streams import Stream

PublicationCore = IpcPublicationCore | NetworkPublicationCore


class Publication(Stream):
    """One log, held by one or more adds."""

    def __init__(self, office: Office, command: AddPublication, params: PublicationParams, session_id: int) -> None:
        registration_id = command.correlation_id
        path = office.log_path(directory.PUBLICATIONS, registration_id)
        super().__init__(office, registration_id, session_id, command.stream_id, path)
        self.channel = command.channel
        self.params = params
        self.is_exclusive = command.is_exclusive
        self.holders = 0
        self.is_revoked = False
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
            self.core = self._open(self._log_settings())
        except BaseException:
            self._counters.free()
            raise

    def _log_settings(self) -> dict[str, Any]:
        settings = self.params.log_settings(self.office.log_settings(), is_exclusive=self.is_exclusive)
        return settings | {
            "correlation_id": self.image_id,
            "session_id": self.session_id,
            "stream_id": self.stream_id,
        }

    def _open(self, log_settings: dict[str, Any]) -> PublicationCore:
        """Make log and native half; the counters are there."""
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

    def free(self) -> None:
        """The agents let go of it: nothing stays."""
        self.unlink_all()
        self.core.free()
        self._counters.free()
        directory.remove_log(self.path)


P = TypeVar("P", bound=Publication)


class Publications(Generic[P]):
    """All of one kind, by the registration id of the add that made each."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._publications: dict[int, P] = {}

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

    def has_session(self, stream_id: int, session_id: int) -> bool:
        """Is the session id in use on the stream?"""
        return any(one.stream_id == stream_id and one.session_id == session_id for one in self)

    def on_gone(self, registration_id: int) -> P | None:
        """The core let go of one."""
        publication = self._publications.pop(registration_id, None)
        if publication is not None:
            publication.free()
        return publication
