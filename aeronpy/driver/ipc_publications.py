"""Publications whose readers map their log (spec: client/driver protocol, sections 9 and 17.1)."""

from __future__ import annotations

from collections.abc import Iterator

from aeronpy._core.native import IpcPublicationCore
from aeronpy.driver import directory, replies
from aeronpy.driver.channel_values import parse_channel, refuse_unsupported
from aeronpy.driver.clients import Clients
from aeronpy.driver.commands import AddPublication
from aeronpy.driver.counters import NULL_ID, CounterType, StreamCounters
from aeronpy.driver.error_code import ErrorCode, refuse
from aeronpy.driver.office import Office
from aeronpy.driver.publication_params import PublicationParams
from aeronpy.driver.streams import Stream


class IpcPublication(Stream):
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
        kind = "exclusive" if command.is_exclusive else "concurrent"
        start = params.start_position
        settings = params.log_settings(office.log_settings(), is_exclusive=command.is_exclusive, is_ipc=True)
        settings |= {"correlation_id": registration_id, "session_id": session_id, "stream_id": command.stream_id}
        try:
            pub_pos_id = self._counters.add(CounterType.PUB_POS, start, name=f"pub-pos ({kind})")
            self.limit_id = self._counters.add(CounterType.PUB_LMT, start)
            self.core = IpcPublicationCore(
                office.core,
                path,
                settings,
                start,
                params.window_length,
                command.is_exclusive,
                pub_pos_id,
                self.limit_id,
            )
        except BaseException:
            self._counters.free()
            raise
        self.core.add()

    @property
    def readable(self) -> IpcPublicationCore:
        """The native half."""
        return self.core

    @property
    def is_shareable(self) -> bool:
        """May another add have it too?"""
        return self.holders > 0 and not self.is_exclusive and not self.is_revoked

    def release(self) -> None:
        """One holder less; it drains after the last."""
        self.holders -= 1
        if self.holders == 0:
            self.core.close()

    def revoke(self) -> None:
        """It ends for all holders and readers, without draining."""
        self.is_revoked = True
        self.core.revoke()

    def reject(self, reason: bytes) -> None:
        """A reader refused it: all lose it, until the cool-down is over."""
        self.core.reject()
        self.office.send(
            replies.publication_error(
                self.image_id,
                session_id=self.session_id,
                stream_id=self.stream_id,
                code=ErrorCode.IMAGE_REJECTED,
                text=reason,
            )
        )
        self.tell_all_unavailable()
        self.unlink_all()

    def free(self) -> None:
        """The core let go of it: nothing stays."""
        self.unlink_all()
        self.core.free()
        self._counters.free()
        directory.remove_log(self.path)


class IpcPublications:
    """All of them, by the registration id of the add that made each."""

    def __init__(self, office: Office, clients: Clients) -> None:
        self._office = office
        self._clients = clients
        self._publications: dict[int, IpcPublication] = {}

    def __iter__(self) -> Iterator[IpcPublication]:
        return iter(list(self._publications.values()))

    def get(self, registration_id: int) -> IpcPublication | None:
        """The publication that this add made."""
        return self._publications.get(registration_id)

    def add(self, command: AddPublication) -> IpcPublication | None:
        """ADD_PUBLICATION and its exclusive kin: the publication where a new one was made."""
        uri = parse_channel(command.channel)
        refuse_unsupported(uri)
        client = self._clients.get_or_add(command.client_id)
        params = PublicationParams.parse(uri, self._office.context, is_ipc=True)

        publication = None if command.is_exclusive else self._shareable(command.stream_id)
        is_new = publication is None
        if publication is None:
            self._office.check_storage(params.term_length)
            session_id = self._session_id(command, params)
            publication = IpcPublication(self._office, command, params, session_id)
            self._publications[publication.image_id] = publication
        else:
            publication.params.check_same(params, publication.session_id, uri)

        publication.holders += 1
        client.publications[command.correlation_id] = publication
        self._office.send(
            replies.publication_ready(
                command.correlation_id,
                registration_id=publication.image_id,
                session_id=publication.session_id,
                stream_id=publication.stream_id,
                limit_id=publication.limit_id,
                status_id=NULL_ID,
                path=publication.path,
                is_exclusive=command.is_exclusive,
            )
        )
        return publication if is_new else None

    def _shareable(self, stream_id: int) -> IpcPublication | None:
        return next((one for one in self if one.stream_id == stream_id and one.is_shareable), None)

    def _session_id(self, command: AddPublication, params: PublicationParams) -> int:
        if params.session_id is None:
            return self._office.session_ids.take(lambda wanted: self.has_session(command.stream_id, wanted))
        if self.has_session(command.stream_id, params.session_id):
            raise refuse(
                ErrorCode.INVALID_CHANNEL,
                f"existing publication has clashing sessionId={params.session_id} for stream "
                f"streamId={command.stream_id} channel={command.channel}",
            )
        return params.session_id

    def has_session(self, stream_id: int, session_id: int) -> bool:
        """Is the session id in use on the stream?"""
        return any(one.stream_id == stream_id and one.session_id == session_id for one in self)

    def on_gone(self, registration_id: int) -> None:
        """The core let go of one."""
        publication = self._publications.pop(registration_id, None)
        if publication is not None:
            publication.free()
