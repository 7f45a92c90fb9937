"""Publications whose readers map their log (spec: client/driver protocol, sections 9 and 17.1)."""

from __future__ import annotations

from typing import Final

from aeronpy._core.native import DriverLog, IpcPublicationCore
from aeronpy.driver.channels.channel_values import bad_value, parse_channel
from aeronpy.driver.conductor import replies
from aeronpy.driver.conductor.clients import Clients
from aeronpy.driver.conductor.commands import AddPublication
from aeronpy.driver.conductor.counters import NULL_ID
from aeronpy.driver.conductor.office import Office
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.driver.conductor.tasks import UNTIL_CHANGE, Task
from aeronpy.driver.publications.publication_params import PublicationParams, session_tag_of
from aeronpy.driver.publications.publications import Publication, Publications
from aeronpy.protocol import ErrorCode
from aeronpy.uri import NULL_VALUE, PROTOTYPE_CORRELATION_ID

_MEDIUM: Final = 0


class IpcPublication(Publication):
    """A log in shared memory and nothing else."""

    core: IpcPublicationCore

    def _open(self, log: DriverLog) -> IpcPublicationCore:
        settings = {
            "registration_id": self.image_id,
            "start_position": self.params.start_position,
            "window_length": self.params.window_length,
            "exclusive": self.is_exclusive,
            "untethered_window_limit_ns": self.params.untethered_window_limit_ns,
            "untethered_linger_ns": self.params.untethered_linger_ns,
            "untethered_resting_ns": self.params.untethered_resting_ns,
            "pub_pos_id": self.pub_pos_id,
            "pub_lmt_id": self.limit_id,
        }
        core = IpcPublicationCore(self.office.core, log, settings)
        core.add()
        return core

    @property
    def status_id(self) -> int:
        """There is no channel status without a channel."""
        return NULL_ID

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


class IpcPublications(Publications[IpcPublication]):
    """All of them."""

    def __init__(self, office: Office, clients: Clients) -> None:
        super().__init__(office)
        self._clients = clients

    def add(self, command: AddPublication) -> Task[IpcPublication | None]:
        """ADD_PUBLICATION and its exclusive kin: the publication where a new one was made."""
        uri = parse_channel(command.channel)
        if session_tag_of(uri) is not None:
            raise bad_value(uri, "session-id", "only network publications take one by tag")
        client = self._clients.get_or_add(command.client_id)
        params = PublicationParams.parse(uri, self._office.context, is_ipc=True)
        self._check_answer(params)

        publication = None
        if not command.is_exclusive:
            publication = yield from self._shared(command.stream_id, params.response_correlation_id)
        is_new = publication is None
        if publication is None:
            publication = yield from self._make(command, params)
        else:
            publication.params.check_same(params, publication.session_id, uri)

        publication.holders += 1
        client.publications[command.correlation_id] = publication
        publication.tell_ready(command.correlation_id)
        return publication if is_new else None

    def asked_by(self, publication: IpcPublication) -> int | None:
        """The registration id of the subscription that a response publication answers; None when it answers none."""
        params = publication.params
        request = self.get(params.response_correlation_id) if params.is_response else None
        return None if request is None else request.params.response_correlation_id

    def _check_answer(self, params: PublicationParams) -> None:
        """Error 11 where a response publication answers one that is not there, or did not ask."""
        wanted = params.response_correlation_id
        if not params.is_response or wanted in (NULL_VALUE, PROTOTYPE_CORRELATION_ID):
            return
        request = self.get(wanted)
        if request is None:
            raise refuse(ErrorCode.GENERIC_ERROR, f"image.correlationId={wanted} not found")
        if not request.params.wants_response:
            raise refuse(ErrorCode.GENERIC_ERROR, f"image.correlationId={wanted} did not request a response channel")

    def _shared(self, stream_id: int, response_correlation_id: int) -> Task[IpcPublication | None]:
        """One that an add may have too; waits for one that is being made."""
        while (found := self._shareable(stream_id, response_correlation_id)) is None and self._is_shared_in_making(
            _MEDIUM, stream_id
        ):
            yield UNTIL_CHANGE
        return found

    def _make(self, command: AddPublication, params: PublicationParams) -> Task[IpcPublication]:
        session_id = self._take_session(command, params, lambda wanted: self.has_session(command.stream_id, wanted))
        fresh = yield from self._make_log(command, params, session_id, _MEDIUM, {})
        try:
            publication = IpcPublication(self._office, command, params, fresh)
        except BaseException:
            self._office.logs.discard(fresh.log)
            raise
        self._publications[publication.image_id] = publication
        return publication

    def _shareable(self, stream_id: int, response_correlation_id: int) -> IpcPublication | None:
        for one in self:
            if (one.stream_id, one.params.response_correlation_id, one.is_shareable) == (
                stream_id,
                response_correlation_id,
                True,
            ):
                return one
        return None
