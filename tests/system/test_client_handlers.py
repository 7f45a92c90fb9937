"""Handlers of a client, over a driver of ours: who is told of what, in which order, and what they may do."""

from __future__ import annotations

import pytest

from aeronpy import Aeron, ChannelStatus, Counter, Image, MediaDriver
from aeronpy.errors import ArgumentError, StateError
from tests.system.clients import CHANNEL
from tests.waiting import until


def test_image_handlers_come_and_go_for_one_subscription_or_all(aeron: Aeron) -> None:
    told: list[tuple[str, int]] = []
    first, second = aeron.add_subscription(CHANNEL, 121), aeron.add_subscription(CHANNEL, 122)

    def note(what: str):  # type: ignore[no-untyped-def]
        return lambda image: told.append((what, image.stream_id))

    names = [
        aeron.add_available_image_handler(note("+one"), first),
        aeron.add_available_image_handler(note("+all")),
        aeron.add_unavailable_image_handler(note("-one"), second),
        aeron.add_unavailable_image_handler(note("-all")),
    ]
    publications = [aeron.add_exclusive_publication(CHANNEL, stream_id) for stream_id in (121, 122)]
    until(lambda: len(told) == 3)
    assert sorted(told) == [("+all", 121), ("+all", 122), ("+one", 121)]
    assert told.index(("+one", 121)) < told.index(("+all", 121))  # in the order of adding
    told.clear()
    assert aeron.remove_handler(names[3])
    for publication in publications:
        publication.revoke()
    until(lambda: not first.is_connected and not second.is_connected)
    until(lambda: told == [("-one", 122)])
    told.clear()
    assert [aeron.remove_handler(name) for name in names] == [True, True, True, False]
    with pytest.raises(TypeError, match="cannot be"):
        aeron.add_available_image_handler("no handler")  # type: ignore[arg-type]


def test_a_handler_is_removed_by_itself(aeron: Aeron) -> None:
    def handler(*arguments: object) -> None: ...

    aeron.add_available_counter_handler(handler)
    aeron.add_unavailable_counter_handler(handler)
    assert [aeron.remove_handler(handler), aeron.remove_handler(handler)] == [True, False]


def test_publication_error_handlers_are_told_of_each_publication(aeron: Aeron) -> None:
    told: list[tuple[str, int]] = []
    aeron.add_publication_error_handler(lambda error: told.append(("first", error.error_code)))
    second = aeron.add_publication_error_handler(lambda error: told.append(("second", error.error_code)))
    subscription = aeron.add_subscription(CHANNEL, 123)
    publications = [aeron.add_publication(CHANNEL, 123) for _ in range(2)]
    until(lambda: subscription.is_connected)
    subscription.images[0].reject("no")
    until(lambda: len(told) == 4)
    assert sorted(told) == [("first", 13), ("first", 13), ("second", 13), ("second", 13)]
    assert aeron.remove_handler(second)
    assert not publications[0].is_closed


def test_rejecting_needs_an_image_that_is_there_and_no_spy(aeron: Aeron) -> None:
    channel = "aeron:udp?endpoint=127.0.0.1:45680|ssc=true"
    spy = aeron.add_subscription(f"aeron-spy:{channel}", 124)
    publication = aeron.add_publication(channel, 124)
    until(lambda: spy.is_connected and publication.is_connected)
    with pytest.raises(StateError, match="spy"):
        spy.images[0].reject("no")
    subscription = aeron.add_subscription(CHANNEL, 125)
    closing = aeron.add_exclusive_publication(CHANNEL, 125)
    until(lambda: subscription.is_connected)
    (image,) = subscription.images
    with pytest.raises(ArgumentError, match="1012 characters: at most 1011"):
        image.reject("x" * 1012)
    closing.revoke()
    until(lambda: image.is_closed)
    with pytest.raises(StateError, match="gone away"):
        image.reject("late")


def test_close_handlers_run_once_in_the_order_of_adding(clients_driver: MediaDriver) -> None:
    told: list[int] = []
    aeron = Aeron.connect(aeron_dir=clients_driver.aeron_dir, close_handler=lambda: told.append(0))
    names = [aeron.add_close_handler(lambda number=number: told.append(number)) for number in (1, 2, 3)]  # type: ignore[misc]
    assert aeron.remove_handler(names[1])
    aeron.close()
    aeron.close()
    assert told == [0, 1, 3]
    with pytest.raises(StateError, match="closed"):
        aeron.add_close_handler(lambda: None)


def test_one_handlers_error_is_reported_and_the_next_one_runs(aeron: Aeron, errors: list[Exception]) -> None:
    told: list[Image] = []

    def fail(image: Image) -> None:
        raise ValueError("in a handler")

    aeron.add_available_image_handler(fail)
    aeron.add_available_image_handler(told.append)
    subscription = aeron.add_subscription(CHANNEL, 126)
    publication = aeron.add_publication(CHANNEL, 126)
    until(lambda: len(told) == 1 and subscription.is_connected)
    assert [str(error) for error in errors] == ["in a handler"]
    assert not publication.is_closed


def test_handlers_may_read_and_close_but_not_add(aeron: Aeron, errors: list[Exception]) -> None:
    seen: list[object] = []
    other = aeron.add_publication(CHANNEL, 128)

    def handler(image: Image) -> None:
        subscription = image.subscription
        assert subscription is not None
        seen.append(subscription.channel_status)
        seen.append(aeron.counters_reader.value(0) >= 0)
        other.close()
        for call in (
            lambda: aeron.add_counter(1001, "x"),
            lambda: aeron.async_add_subscription(CHANNEL, 1),
            lambda: aeron.next_session_id(1),
            lambda: image.reject("no"),
        ):
            with pytest.raises(StateError, match="reentrant"):
                call()
        seen.append("end")

    subscription = aeron.add_subscription(CHANNEL, 127, handler)
    publication = aeron.add_publication(CHANNEL, 127)
    until(lambda: "end" in seen or bool(errors))
    assert (seen, errors) == ([ChannelStatus.ACTIVE, True, "end"], [])
    assert other.is_closed
    assert not publication.is_closed
    assert not subscription.is_closed


def test_a_handler_may_close_its_client(clients_driver: MediaDriver) -> None:
    closed: list[str] = []
    aeron = Aeron.connect(aeron_dir=clients_driver.aeron_dir, close_handler=lambda: closed.append("closed"))
    subscription = aeron.add_subscription(CHANNEL, 132, lambda image: aeron.close())
    publication = aeron.add_publication(CHANNEL, 132)
    until(lambda: closed == ["closed"])
    until(lambda: aeron.is_closed and subscription.is_closed and publication.is_closed)
    aeron.close()
    assert closed == ["closed"]


def test_a_handler_of_one_client_may_call_another(clients_driver: MediaDriver, aeron: Aeron) -> None:
    made: list[Counter] = []
    with Aeron.connect(aeron_dir=clients_driver.aeron_dir) as other:
        subscription = aeron.add_subscription(
            CHANNEL, 129, lambda image: made.append(other.add_counter(1001, "from a handler"))
        )
        publication = aeron.add_publication(CHANNEL, 129)
        until(lambda: len(made) == 1 and subscription.is_connected)
        assert not publication.is_closed


def test_new_resources_are_told_of(clients_driver: MediaDriver) -> None:
    told: list[tuple[object, ...]] = []
    with Aeron.connect(
        aeron_dir=clients_driver.aeron_dir,
        new_publication_handler=lambda *given: told.append(("publication", *given)),
        new_exclusive_publication_handler=lambda *given: told.append(("exclusive", *given)),
        new_subscription_handler=lambda *given: told.append(("subscription", *given)),
    ) as aeron:
        publication = aeron.add_publication(CHANNEL, 130)
        exclusive = aeron.add_exclusive_publication(CHANNEL, 130)
        subscription = aeron.add_subscription(CHANNEL, 130)
        assert told == [
            ("publication", CHANNEL, 130, publication.session_id, publication.registration_id),
            ("exclusive", CHANNEL, 130, exclusive.session_id, exclusive.registration_id),
            ("subscription", CHANNEL, 130, subscription.registration_id),
        ]


def test_a_subscriber_error_handler_takes_what_fragment_handlers_raise(clients_driver: MediaDriver) -> None:
    caught: list[Exception] = []
    with Aeron.connect(aeron_dir=clients_driver.aeron_dir, subscriber_error_handler=caught.append) as aeron:
        subscription = aeron.add_subscription(CHANNEL, 131)
        publication = aeron.add_exclusive_publication(CHANNEL, 131)
        until(lambda: publication.is_connected and publication.available_window > 0)
        for number in range(3):
            publication.send(bytes([number]))
        until(lambda: subscription.is_connected)
        seen: list[int] = []

        def handler(buffer: object, header: object) -> None:
            seen.append(buffer[0])  # type: ignore[index]
            if seen[-1] == 0:
                raise ValueError("the first one")

        assert subscription.poll(handler) == 1  # the poll ends behind the fragment that failed
        assert subscription.images[0].poll(handler) == 2
        assert (seen, [str(error) for error in caught]) == ([0, 1, 2], ["the first one"])
        publication.send(b"\0")

        def interrupt(buffer: object, header: object) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            subscription.poll(interrupt)
