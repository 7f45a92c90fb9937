"""A client's life over a driver of ours: calls that wait or do not, handlers that come and go, threads and invokers."""

from __future__ import annotations

import io
import re
import threading

import pytest

from aeronpy import Aeron, ChannelStatus, Counter, MediaDriver, OfferResult, Publication, ThreadingMode
from aeronpy.agent import AgentRunner, CompositeAgent, IdleStrategy
from aeronpy.client.context import NoOpLock
from aeronpy.errors import ArgumentError, ChannelError, PublicationClosed, RegistrationError, StateError
from tests.system.clients import CHANNEL
from tests.waiting import until

# --- calls ---


def test_what_was_added_is_got_by_its_id_as_long_as_it_is_open(aeron: Aeron) -> None:
    publication = aeron.add_publication(CHANNEL, 101)
    subscription = aeron.add_subscription(CHANNEL, 101)
    counter_id = aeron.async_add_counter(1001, "c")
    until(lambda: not aeron.is_command_active(counter_id))
    counter = aeron.get_counter(counter_id)

    assert aeron.get_publication(publication.registration_id) is publication
    assert aeron.get_subscription(subscription.registration_id) is subscription
    assert counter is not None
    assert aeron.get_counter(counter_id) is counter
    with pytest.raises(ArgumentError, match="of a Publication, not a Subscription"):
        aeron.get_subscription(publication.registration_id)
    publication.close()
    with pytest.raises(ArgumentError, match="nothing is being added"):
        aeron.get_publication(publication.registration_id)


def test_every_kind_is_added_without_waiting(aeron: Aeron) -> None:
    names = [
        aeron.async_add_publication(CHANNEL, 102),
        aeron.async_add_exclusive_publication(CHANNEL, 102),
        aeron.async_add_subscription(CHANNEL, 102),
        aeron.async_add_counter(1001, "own"),
        aeron.async_add_static_counter(1002, "static", 4712),
    ]
    until(lambda: not aeron.has_active_commands)
    found = [
        aeron.get_publication(names[0]),
        aeron.get_exclusive_publication(names[1]),
        aeron.get_subscription(names[2]),
        aeron.get_counter(names[3]),
        aeron.get_counter(names[4]),
    ]
    assert None not in found
    own, static = found[3:]
    assert isinstance(own, Counter)
    assert isinstance(static, Counter)
    assert (own.is_static, static.is_static, static.registration_id) == (False, True, 4712)


def position_counters(aeron: Aeron, stream_id: int) -> list[str]:
    """Labels of the publisher's and the subscriber's positions of a stream."""
    labels = [counter.label for counter in aeron.counters_reader]
    return [label for label in labels if re.search(rf"(pub-pos|sub-pos).* {stream_id} aeron:ipc", label)]


def test_an_add_is_cancelled_and_leaves_nothing_at_the_driver(aeron: Aeron, errors: list[Exception]) -> None:
    for _ in range(20):
        publication, subscription = (
            aeron.async_add_publication(CHANNEL, 103),
            aeron.async_add_subscription(CHANNEL, 103),
        )
        counter, refused = (
            aeron.async_add_counter(1003, "gone"),
            aeron.async_add_publication("aeron:ipc?mtu=1", 1, strict=False),
        )
        aeron.async_remove_publication(publication)
        aeron.async_remove_subscription(subscription)
        aeron.async_remove_counter(counter)
        aeron.async_remove_publication(refused)
        with pytest.raises(ArgumentError, match="nothing is being added"):
            aeron.get_publication(publication)
    until(lambda: not aeron.has_active_commands)
    until(lambda: position_counters(aeron, 103) == [])
    assert [each for each in aeron.counters_reader if each.type_id == 1003] == []
    assert errors == []


def test_what_is_open_is_removed_by_its_id(aeron: Aeron) -> None:
    publication, counter = aeron.add_publication(CHANNEL, 104), aeron.add_counter(1001, "x")
    with pytest.raises(ArgumentError, match="Subscription"):
        aeron.async_remove_subscription(publication.registration_id)
    aeron.async_remove_publication(publication.registration_id)
    aeron.async_remove_counter(counter.registration_id)
    assert publication.is_closed
    assert counter.is_closed
    with pytest.raises(ArgumentError, match="Publication or ExclusivePublication"):
        aeron.async_remove_publication(publication.registration_id)


def test_a_close_is_an_active_command_until_the_driver_answered(aeron: Aeron) -> None:
    for _ in range(5):
        aeron.add_publication(CHANNEL, 105).close()
    until(lambda: not aeron.has_active_commands)
    until(lambda: position_counters(aeron, 105) == [])


def test_an_interrupted_add_leaves_nothing_at_the_driver(clients_driver: MediaDriver, aeron: Aeron) -> None:
    """The wait ends by an exception, as Ctrl-C ends it; what the driver makes after all is taken back."""

    def interrupt() -> int:
        raise KeyboardInterrupt

    with Aeron.connect(
        aeron_dir=clients_driver.aeron_dir, use_conductor_agent_invoker=True, driver_agent_invoker=interrupt
    ) as interrupted:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                interrupted.add_publication(CHANNEL, 106)
        interrupted.invoke()
        until(lambda: interrupted.invoke() >= 0 and not interrupted.has_active_commands)
        until(lambda: position_counters(aeron, 106) == [])


def test_bad_numbers_and_channels_are_refused_before_the_driver_is_asked(aeron: Aeron) -> None:
    for call in (aeron.add_publication, aeron.add_exclusive_publication, aeron.add_subscription):
        with pytest.raises(ArgumentError, match="stream_id is 2147483648"):
            call(CHANNEL, 1 << 31)
        with pytest.raises(ChannelError, match="did you mean"):
            call("aeron:ipc?sessionid=4", 1)
    with pytest.raises(ArgumentError, match="type_id is -2147483649"):
        aeron.add_counter(-(1 << 31) - 1, "x")


# --- destinations ---


def test_destinations_of_what_is_closed_or_not_manual_are_refused(aeron: Aeron, errors: list[Exception]) -> None:
    publication = aeron.add_publication("aeron:udp?endpoint=127.0.0.1:45678", 111)
    with pytest.raises(RegistrationError) as caught:
        publication.add_destination("aeron:udp?endpoint=127.0.0.1:45679")
    assert caught.value.error_code in (8, 11)
    with pytest.raises(ChannelError, match="endpont"):
        publication.add_destination("aeron:udp?endpont=127.0.0.1:45679")
    assert errors == []
    name = publication.async_add_destination("aeron:udp?endpoint=127.0.0.1:45679")
    until(lambda: not aeron.is_command_active(name))
    until(lambda: len(errors) == 1)
    assert isinstance(errors[0], RegistrationError)
    assert errors[0].correlation_id == name
    assert "ADD_DESTINATION aeron:udp?endpoint=127.0.0.1:45679" in str(errors[0])
    publication.close()
    with pytest.raises(PublicationClosed):
        publication.add_destination("aeron:udp?endpoint=127.0.0.1:45679")


# --- counters ---


def test_counters_are_looked_up_and_printed(aeron: Aeron) -> None:
    counter = aeron.add_counter(1001, "looked for", b"12345678")
    counter.set(1234567)
    reader = aeron.counters_reader
    assert reader.find_by_registration(1001, counter.registration_id) == counter.counter_id
    assert reader.find_by_key(1001, int.from_bytes(b"12345678", "little")) == counter.counter_id
    assert reader.state(counter.counter_id) == 1
    assert reader.free_for_reuse_deadline_ms(counter.counter_id) == (1 << 63) - 1
    out = io.StringIO()
    aeron.print_counters(out)
    assert re.search(rf"^ *{counter.counter_id}: +1,234,567 - looked for$", out.getvalue(), re.MULTILINE)
    assert counter.get_and_set(5) == 1234567
    assert (counter.increment(), counter.get()) == (5, 6)
    counter.close()
    until(lambda: reader.state(counter.counter_id) == -1)
    assert reader.free_for_reuse_deadline_ms(counter.counter_id) < 1 << 62
    assert reader.state(reader.max_counter_id) == 0


def test_a_static_counter_closes_here_only(aeron: Aeron) -> None:
    counter = aeron.add_static_counter(1002, "static", 4713)
    counter.close()
    with pytest.raises(StateError):
        counter.get()
    info = aeron.counters_reader.info(counter.counter_id)
    assert info is not None
    assert info.owner_id == -1
    own = aeron.add_counter(1004, "own")
    with pytest.raises(RegistrationError, match="non-static counter exists") as caught:
        aeron.add_static_counter(1004, "clash", own.registration_id)
    assert caught.value.error_code == 11


# --- status ---


def test_what_is_closed_says_so_and_has_no_addresses(clients_driver: MediaDriver) -> None:
    aeron = Aeron.connect(aeron_dir=clients_driver.aeron_dir)
    subscription = aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 141)
    ipc = aeron.add_subscription(CHANNEL, 141)
    assert ipc.channel_status is ChannelStatus.ACTIVE
    assert ipc.local_socket_addresses == []
    assert ipc.try_resolve_channel_endpoint_port() == CHANNEL
    until(lambda: subscription.resolved_endpoint is not None)
    aeron.close()
    for closed in (subscription, ipc):
        assert closed.channel_status is ChannelStatus.ERRORED
        assert closed.local_socket_addresses == []
        assert closed.is_closed


# --- threads ---


def test_client_and_driver_run_on_the_callers_thread_alone() -> None:
    before = threading.active_count()
    with (
        MediaDriver.launch_embedded(threading_mode=ThreadingMode.INVOKER) as driver,
        Aeron.connect(
            aeron_dir=driver.aeron_dir,
            use_conductor_agent_invoker=True,
            driver_agent_invoker=driver.do_work,
            client_lock=NoOpLock(),
            awaiting_idle_strategy="yield",
        ) as aeron,
    ):
        subscription = aeron.add_subscription(CHANNEL, 151)
        publication = aeron.add_publication(CHANNEL, 151)
        assert threading.active_count() <= before + 1  # the driver's decisions may have a thread of their own

        def connected() -> bool:
            driver.do_work()
            aeron.invoke()
            return subscription.is_connected and publication.is_connected

        until(connected)
        publication.send(b"x")
        assert [message.payload for message in subscription.messages(limit=1)] == [b"x"]


def test_an_invoked_client_takes_part_in_a_composite_on_a_thread(clients_driver: MediaDriver) -> None:
    aeron = Aeron.connect(aeron_dir=clients_driver.aeron_dir, use_conductor_agent_invoker=True)
    subscription = aeron.add_subscription(CHANNEL, 152)
    publication = aeron.add_publication(CHANNEL, 152)
    received: list[bytes] = []

    class Reader:
        role_name = "reader"

        def on_start(self) -> None: ...

        def do_work(self) -> int:
            return subscription.poll(lambda buffer, header: received.append(bytes(buffer)))

        def on_close(self) -> None: ...

    composite = CompositeAgent(aeron.invoker().agent, Reader())
    assert composite.role_name == "[aeron-client-conductor, reader]"
    with AgentRunner(composite, IdleStrategy("sleep-ns", "100us")):
        until(lambda: publication.is_connected)
        publication.send(b"x")
        until(lambda: received == [b"x"])
    assert aeron.is_closed
    assert aeron.invoker().invoke() == 0


def test_a_client_with_threads_has_no_invoker(aeron: Aeron) -> None:
    with pytest.raises(StateError, match="use_conductor_agent_invoker"):
        aeron.invoke()
    with pytest.raises(StateError, match="use_conductor_agent_invoker"):
        aeron.invoker()


def test_the_conductors_thread_is_the_callers_make(clients_driver: MediaDriver) -> None:
    names: list[str] = []
    made: list[threading.Thread] = []

    def factory(run):  # type: ignore[no-untyped-def]
        made.append(threading.Thread(target=run, name="mine", daemon=True))
        return made[0]

    with Aeron.connect(
        aeron_dir=clients_driver.aeron_dir,
        thread_factory=factory,
        agent_on_start=lambda role: names.append(f"{role} on {threading.current_thread().name}"),
        idle_strategy="controllable",
        client_lock=threading.RLock(),
    ) as aeron:
        publication = aeron.add_publication(CHANNEL, 153)
        until(lambda: names == ["aeron-client-conductor on mine"])
        assert not publication.is_closed
    until(lambda: not made[0].is_alive())


def test_many_threads_use_one_client_at_once(aeron: Aeron) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                with aeron.add_publication(CHANNEL, 160) as publication, aeron.add_subscription(CHANNEL, 160):
                    counter = aeron.add_counter(1001, f"{number} {turn}")
                    assert aeron.get_counter(counter.registration_id) is counter
                    counter.close()
                    assert publication.offer(b"x") != OfferResult.CLOSED
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert failures == []
    until(lambda: not aeron.has_active_commands)


def test_clients_of_one_process_share_streams_but_nothing_else(clients_driver: MediaDriver, aeron: Aeron) -> None:
    with Aeron.connect(aeron_dir=clients_driver.aeron_dir) as other:
        assert other.client_id != aeron.client_id
        first: Publication = aeron.add_publication(CHANNEL, 161)
        second = other.add_publication(CHANNEL, 161)
        assert second.session_id == first.session_id
        assert second.original_registration_id == first.registration_id
    assert second.is_closed
    assert not first.is_closed
    assert aeron.context.inter_service_timeout_ns == clients_driver.context.client_liveness_timeout
