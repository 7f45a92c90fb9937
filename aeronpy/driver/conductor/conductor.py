"""The driver's conductor as far as it decides: commands of clients and events of the core, one at a time.

The core (native, see csrc/driver/conductor) keeps streams, heartbeats and deadlines going by itself; this side may
stall without harm. All of it runs on one thread: its own, or the caller's with INVOKER.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from aeronpy._core.native import DriverCore
from aeronpy.driver import system_counters
from aeronpy.driver.channels.channel_values import IPC_PREFIX, SPY_CHANNEL_PREFIX
from aeronpy.driver.conductor import commands, events, replies
from aeronpy.driver.conductor.client_counters import ClientCounters
from aeronpy.driver.conductor.clients import Clients
from aeronpy.driver.conductor.command_lines import WAITING_BYTES_MAX, CommandLines
from aeronpy.driver.conductor.commands import Command
from aeronpy.driver.conductor.events import EventType
from aeronpy.driver.conductor.office import Office
from aeronpy.driver.conductor.refusals import code_of, refuse, text_of
from aeronpy.driver.conductor.resource_agent import ResourceAgent
from aeronpy.driver.conductor.tasks import Task, Tasks
from aeronpy.driver.event_log.log_events import LogEvent
from aeronpy.driver.publications.ipc_publications import IpcPublication, IpcPublications
from aeronpy.driver.publications.network_publications import NetworkPublications
from aeronpy.driver.publications.publications import Publication
from aeronpy.driver.publications.responses import Responses
from aeronpy.driver.publications.send_destinations import SendDestinations
from aeronpy.driver.settings.context import MediaDriverContext, ThreadingMode
from aeronpy.driver.subscriptions.images import Images
from aeronpy.driver.subscriptions.ipc_subscriptions import IpcSubscriptions
from aeronpy.driver.subscriptions.multi_destination import MultiDestination
from aeronpy.driver.subscriptions.network_subscriptions import NetworkSubscription, NetworkSubscriptions
from aeronpy.driver.subscriptions.receive_names import ReceiveNames
from aeronpy.driver.subscriptions.spy_subscriptions import SpySubscription, SpySubscriptions
from aeronpy.driver.subscriptions.streams import Stream, Subscription
from aeronpy.errors import AeronError
from aeronpy.loggers import logger_of
from aeronpy.protocol import CommandType, ErrorCode

EVENTS_PER_POLL: Final = 64
IDLE_NS: Final = 60 * 1_000_000_000
REASON_MAX: Final = 1023
# Of an untethered subscriber, as the event log has them.
_CHANGES: Final = {
    EventType.SUBSCRIBER_UNAVAILABLE: "ACTIVE -> LINGER",
    EventType.SUBSCRIBER_RESTING: "LINGER -> RESTING",
    EventType.SUBSCRIBER_AVAILABLE: "RESTING -> ACTIVE",
    EventType.SUBSCRIBER_CLOSED: "LINGER -> CLOSED",
}

_log: Final = logger_of(__name__)


class DriverConductor:
    """Decides; ``run`` is its thread, ``do_work`` a turn on the caller's."""

    role_name: Final = "driver-conductor"

    def __init__(self, context: MediaDriverContext, core: DriverCore, on_terminate: Callable[[], None]) -> None:
        self._core = core
        self._context = context
        self._on_terminate = on_terminate
        self._agent = ResourceAgent(
            core.wake,
            is_threaded=context.threading_mode is not ThreadingMode.INVOKER,
            cpu=context.cpu_of("native_resource_agent"),
        )
        self._tasks = Tasks(self._agent, self._on_upkeep_failed)
        self._lines = CommandLines(self._tasks, self._run_command, self._refuse_command)
        self._adding: set[int] = set()
        self._office = Office(context, core, self._agent)
        self._clients = Clients(self._office)
        self._counters = ClientCounters(self._office, self._clients)
        self._ipc_publications = IpcPublications(self._office, self._clients)
        self._ipc_subscriptions = IpcSubscriptions(self._office, self._clients)
        self._spy_subscriptions = SpySubscriptions(self._office, self._clients)
        self._network_subscriptions = NetworkSubscriptions(self._office, self._clients)
        self._multi_destination = MultiDestination(
            self._office, self._network_subscriptions, self._ipc_subscriptions, self._spy_subscriptions
        )
        self._receive_names = ReceiveNames(self._office, self._network_subscriptions)
        self._images = Images(self._office, self._network_subscriptions)
        responses = Responses(self._network_subscriptions, self._images)
        self._network_publications = NetworkPublications(self._office, self._clients, responses)
        self._send_destinations = SendDestinations(self._office, self._network_publications)
        self._is_closing = False
        self._stall_end_ns = 0

    def run(self) -> None:
        """Decide until `close`."""
        while not self._is_closing:
            if self.do_work() == 0:
                self._core.wait(IDLE_NS)

    def do_work(self) -> int:
        """Decide what is there now; returns how many events, records and finished jobs that were."""
        traced = self._office.drain_trace()
        found = self._core.poll_events(EVENTS_PER_POLL)
        for type_id, record in found:
            self._on_event(EventType(type_id), record)
        return traced + len(found) + self._tasks.advance() + self._office.naming.do_work()

    def stop(self) -> None:
        """Make ``run`` return. Safe from any thread, and twice."""
        self._is_closing = True
        self._core.wake()

    def close(self) -> None:
        """End the resource agent and what waits for it, after ``run`` has returned."""
        self._agent.close()
        self._tasks.close()
        self._office.naming.close()
        self._core.stop()  # or the event log would have no end while streams flow
        self._office.close()

    # --- commands ---

    def _on_command(self, event: events.CommandEvent) -> None:
        self._count_stall(event.taken_ns)
        if self._office.event_log is not None:
            self._office.event_log.on_command(event.type_id, event.message)
        self._lines.put(commands.client_id_of(event.message), event)

    def _run_command(self, event: events.CommandEvent) -> Task[None]:
        try:
            command = commands.decode(event.type_id, event.message)
            self._refuse_taken(command)
            self._adding.add(command.correlation_id)
            try:
                yield from self._execute(command)
            finally:
                self._adding.discard(command.correlation_id)
        except Exception as error:
            self._answer_error(event, error)

    def _answer_error(self, event: events.CommandEvent, error: Exception) -> None:
        code = code_of(error)
        text = text_of(error)
        if code is not ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE:
            self._core.record_error(text)
        if not isinstance(error, AeronError):
            _log.error("command %d failed", event.type_id, exc_info=error)
        self._office.send(replies.error(commands.correlation_id_of(event.message), code, text))

    def _refuse_command(self, event: events.CommandEvent) -> None:
        text = f"more than {WAITING_BYTES_MAX} bytes of commands of this client wait for one before them: retry later"
        self._answer_error(event, refuse(ErrorCode.RESOURCE_TEMPORARILY_UNAVAILABLE, text))

    def _on_upkeep_failed(self, error: Exception) -> None:
        self._core.count(system_counters.FREE_FAILS)
        self._office.warn(f"cannot free a log: {text_of(error)}")

    def _count_stall(self, taken_ns: int) -> None:
        """A command that waited long stands for one stall of this thread, however many waited with it."""
        now_ns = time.monotonic_ns()
        waited_ns = now_ns - taken_ns
        if waited_ns > self._context.driver_conductor_cycle_threshold and taken_ns > self._stall_end_ns:
            self._stall_end_ns = now_ns
            self._core.count(system_counters.CONDUCTOR_CYCLES_EXCEEDED)
            _log.warning("the interpreter was stalled: a command waited %.3f s for its decision", waited_ns / 1e9)

    def _refuse_taken(self, command: Command) -> None:
        """What is added is known by its command's correlation id: a client that gives one twice gets error 11."""
        if not isinstance(command, commands.AddPublication | commands.AddSubscription | commands.AddCounter):
            return
        wanted = command.correlation_id
        by_id = (
            *(self._ipc_publications, self._network_publications),
            *(self._network_publications.endpoints, self._network_subscriptions.endpoints),
        )
        readers = (self._ipc_subscriptions, self._network_subscriptions, self._spy_subscriptions)
        if (
            wanted in self._adding
            or self._clients.hold(wanted)
            or any(kind.get(wanted) is not None for kind in by_id)
            or any(reader.registration_id == wanted for kind in readers for reader in kind)
        ):
            raise refuse(ErrorCode.GENERIC_ERROR, f"correlation id {wanted} is that of something added before")

    def _execute(self, command: Command) -> Task[None]:
        match command:
            case commands.AddPublication():
                yield from self._add_publication(command)
            case commands.RemovePublication():
                self._remove_publication(command)
            case commands.AddSubscription():
                yield from self._add_subscription(command)
            case commands.RemoveSubscription():
                self._remove_subscription(command)
            case commands.AddCounter():
                self._counters.add(command)
            case commands.AddStaticCounter():
                self._counters.add_static(command)
            case commands.RemoveCounter():
                self._counters.remove(command)
            case commands.ClientClose():
                self._clients.close(command.client_id)
            case commands.RejectImage():
                self._reject_image(command)
            case commands.NextSessionId():
                self._next_session_id(command)
            case commands.TerminateDriver():
                self._terminate()
            case commands.Destination(type=CommandType.ADD_RCV_DESTINATION):
                yield from self._add_receive_destination(command)
            case commands.Destination(type=CommandType.REMOVE_RCV_DESTINATION):
                yield from self._multi_destination.remove(command)
            case commands.Destination():
                yield from self._change_send_destination(command)
            case commands.RemoveDestinationById():
                self._send_destinations.remove_by_id(command)
                self._office.send(replies.operation_success(command.correlation_id))
            case commands.Keepalive():
                pass  # the core takes these, but for malformed ones

    def _add_publication(self, command: commands.AddPublication) -> Task[None]:
        if command.channel.startswith(IPC_PREFIX):
            ipc_publication = yield from self._ipc_publications.add(command)
            if ipc_publication is not None:
                asked_by = self._ipc_publications.asked_by(ipc_publication)
                if asked_by is not None:
                    self._ipc_subscriptions.on_response(asked_by, ipc_publication.session_id)
                self._link_ipc(ipc_publication)
        elif command.channel.startswith(SPY_CHANNEL_PREFIX):
            raise refuse(ErrorCode.INVALID_CHANNEL, f"a publication cannot be a spy: {command.channel}")
        else:
            publication = yield from self._network_publications.add(command)
            if publication is not None:
                for spy in self._spy_subscriptions:
                    self._spy_subscriptions.link(spy, publication, publication.endpoint.channel)

    def _change_send_destination(self, command: commands.Destination) -> Task[None]:
        if command.type is CommandType.ADD_DESTINATION:
            yield from self._send_destinations.add(command)
        else:
            yield from self._send_destinations.remove(command)
        self._office.send(replies.operation_success(command.correlation_id))

    def _link_ipc(self, publication: IpcPublication) -> None:
        """One is new, or takes readers again: who wants it joins."""
        for subscription in self._ipc_subscriptions:
            self._ipc_subscriptions.link(subscription, publication)

    def _remove_publication(self, command: commands.RemovePublication) -> None:
        client = self._clients.get(command.client_id)
        publication = None if client is None else client.publications.pop(command.registration_id, None)
        if publication is None:
            raise refuse(
                ErrorCode.UNKNOWN_PUBLICATION,
                f"unknown publication: client_id={command.client_id} registration_id={command.registration_id}",
            )
        if command.is_revoke:
            publication.revoke()
        publication.release()
        self._office.send(replies.operation_success(command.correlation_id))

    def _add_subscription(self, command: commands.AddSubscription) -> Task[None]:
        if command.channel.startswith(IPC_PREFIX):
            self._link_subscription(self._ipc_subscriptions.add(command))
        elif command.channel.startswith(SPY_CHANNEL_PREFIX):
            self._link_subscription((yield from self._spy_subscriptions.add(command)))
        else:
            self._link_subscription((yield from self._network_subscriptions.add(command)))

    def _link_subscription(self, subscription: Subscription) -> None:
        """One is new, or knows now what it wants: it joins what is there."""
        match subscription:
            case NetworkSubscription():
                for image in self._images:
                    self._network_subscriptions.link(subscription, image, image.endpoint)
            case SpySubscription():
                for publication in self._network_publications:
                    self._spy_subscriptions.link(subscription, publication, publication.endpoint.channel)
            case _:
                for ipc_publication in self._ipc_publications:
                    self._ipc_subscriptions.link(subscription, ipc_publication)

    def _add_receive_destination(self, command: commands.Destination) -> Task[None]:
        local = yield from self._multi_destination.add(command)
        if local is not None:
            self._link_subscription(local)

    def _remove_subscription(self, command: commands.RemoveSubscription) -> None:
        kinds = (self._ipc_subscriptions, self._network_subscriptions, self._spy_subscriptions)
        # One with several kinds of destinations is in several of them.
        removed = [kind.remove(command.client_id, command.registration_id) for kind in kinds]
        if not any(removed):
            raise refuse(
                ErrorCode.UNKNOWN_SUBSCRIPTION,
                f"unknown subscription: client_id={command.client_id} registration_id={command.registration_id}",
            )
        self._office.send(replies.operation_success(command.correlation_id))

    def _reject_image(self, command: commands.RejectImage) -> None:
        if len(command.reason) > REASON_MAX:
            raise refuse(
                ErrorCode.GENERIC_ERROR, f"reason of {len(command.reason)} bytes: at most {REASON_MAX} are allowed"
            )
        publication = self._ipc_publications.get(command.image_correlation_id)
        image = self._images.get(command.image_correlation_id)
        if publication is not None:
            publication.reject(command.reason)
            self._core.count(system_counters.IMAGES_REJECTED)
        elif image is not None:
            image.core.reject(command.reason)
        else:
            raise refuse(
                ErrorCode.GENERIC_ERROR, f"unable to resolve image for correlationId={command.image_correlation_id}"
            )
        self._office.send(replies.operation_success(command.correlation_id))

    def _next_session_id(self, command: commands.NextSessionId) -> None:
        def is_used(wanted: int) -> bool:
            return self._ipc_publications.has_session(
                command.stream_id, wanted
            ) or self._network_publications.has_session(command.stream_id, wanted)

        session_id = self._office.session_ids.take(is_used)
        self._office.send(replies.next_session_id(command.correlation_id, session_id))

    def _terminate(self) -> None:
        if self._context.driver_termination_validator == "allow":
            self._on_terminate()

    # --- events of the core ---

    def _on_event(self, kind: EventType, record: bytes) -> None:
        try:
            self._decide(kind, record)
        except Exception as error:
            self._on_failed(kind, error)

    def _on_failed(self, kind: EventType, error: Exception) -> None:
        if not isinstance(error, AeronError):
            _log.error("event %s failed", kind.name, exc_info=error)
        self._core.record_error(f"{kind.name}: {text_of(error)}")

    def _guarded(self, kind: EventType, steps: Task[None]) -> Task[None]:
        try:
            yield from steps
        except Exception as error:
            self._on_failed(kind, error)

    def _decide(self, kind: EventType, record: bytes) -> None:
        match kind:
            case EventType.CLIENT_EXPIRED:
                self._on_client_expired(events.resource_id(record))
            case EventType.IPC_UNAVAILABLE:
                self._on_publication_over(self._ipc_publications.get(events.resource_id(record)))
            case EventType.IPC_GONE:
                self._ipc_publications.on_gone(events.resource_id(record))
            case EventType.IPC_COOLED_DOWN:
                publication = self._ipc_publications.get(events.resource_id(record))
                if publication is not None:
                    self._link_ipc(publication)
            case EventType.SPIES_DRAINED:
                self._on_publication_over(self._network_publications.get(events.resource_id(record)))
            case EventType.PUBLICATION_GONE:
                self._network_publications.on_gone(events.resource_id(record))
            case EventType.IMAGE_UNAVAILABLE:
                image = self._images.get(events.resource_id(record))
                if image is not None:
                    image.tell_all_unavailable()
            case EventType.IMAGE_GONE:
                self._images.on_gone(events.resource_id(record))
            case EventType.SEND_ENDPOINT_GONE:
                self._network_publications.endpoints.on_gone(events.resource_id(record))
            case EventType.RECEIVE_ENDPOINT_GONE:
                self._network_subscriptions.endpoints.on_gone(events.resource_id(record))
            case EventType.RECEIVE_DESTINATION_GONE:
                for endpoint in self._network_subscriptions.endpoints:
                    endpoint.on_destination_gone(events.resource_id(record))
            case EventType.RESPONSE_SETUP:
                self._on_response_setup(events.response(record))
            case EventType.RESPONSE_CONNECTED:
                self._on_response_connected(events.response(record))
            case (
                EventType.SUBSCRIBER_UNAVAILABLE
                | EventType.SUBSCRIBER_RESTING
                | EventType.SUBSCRIBER_AVAILABLE
                | EventType.SUBSCRIBER_CLOSED
            ):
                self._on_subscriber(kind, events.subscriber(record))
            case EventType.SETUP:
                self._tasks.start(self._guarded(kind, self._images.on_setup(events.setup(record))))
            case EventType.PUBLICATION_ERROR:
                self._network_publications.on_error(events.publication_error(record))
            case EventType.ADDRESS_SILENT:
                self._on_silent(kind, events.silent(record))
            case EventType.COMMAND:
                self._on_command(events.command(record))

    def _on_silent(self, kind: EventType, event: events.SilentEvent) -> None:
        silent = self._receive_names if event.is_receive else self._send_destinations
        self._tasks.start(self._guarded(kind, silent.on_silent(event)))

    def _on_client_expired(self, client_id: int) -> None:
        self._lines.drop(client_id)
        if self._clients.remove(client_id) is not None:
            for kind in (self._ipc_subscriptions, self._network_subscriptions, self._spy_subscriptions):
                kind.remove_client(client_id)

    def _on_response_setup(self, event: events.ResponseEvent) -> None:
        """A responder told a request publication the session that it answers with."""
        publication = self._network_publications.get(event.registration_id)
        if publication is not None:
            subscription = self._network_subscriptions.on_response(
                publication.params.response_correlation_id, event.session_id
            )
            if subscription is not None:
                self._link_subscription(subscription)

    def _on_response_connected(self, event: events.ResponseEvent) -> None:
        """A response publication has its receiver: the requester need not be told of it any more."""
        publication = self._network_publications.get(event.registration_id)
        image = None if publication is None else self._images.get(publication.params.response_correlation_id)
        if image is not None:
            image.set_response(None)

    def _stream(self, image_id: int) -> Stream | None:
        return (
            self._ipc_publications.get(image_id)
            or self._network_publications.get(image_id)
            or self._images.get(image_id)
        )

    @staticmethod
    def _on_publication_over(publication: Publication | None) -> None:
        """Drained or revoked: its readers lose it."""
        if publication is not None:
            publication.note_revoked()
            publication.tell_all_unavailable()

    def _on_subscriber(self, kind: EventType, event: events.SubscriberEvent) -> None:
        """An untethered reader lagged, or is back."""
        stream = self._stream(event.resource_id)
        subscription = None if stream is None else stream.reader_of(event.subscription_id)
        if stream is None or subscription is None:
            return
        self._office.note(
            LogEvent.UNTETHERED_SUBSCRIPTION_STATE_CHANGE,
            f"subscriptionId={event.subscription_id} streamId={stream.stream_id} sessionId={stream.session_id} "
            + _CHANGES[kind],
        )
        if kind is EventType.SUBSCRIBER_UNAVAILABLE:
            stream.tell_unavailable(subscription)
        elif kind is EventType.SUBSCRIBER_AVAILABLE:
            stream.tell_available(subscription)
        elif kind is EventType.SUBSCRIBER_CLOSED:
            stream.unlink(subscription)
