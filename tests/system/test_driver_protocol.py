"""What the driver answers to each command, byte by byte: the reference traces and the table of errors."""

from __future__ import annotations

import os
import struct
import time

import pytest

from aeronpy.driver import MediaDriver
from tests.system import protocol_client as p
from tests.system.conftest import SHORT
from tests.system.protocol_client import ProtocolClient, eventually

IPC = "aeron:ipc"
KEPT = 46 + 1  # system counters, and the static one of first_add


def test_a_first_publication_is_announced_after_its_client(driver: MediaDriver, client: ProtocolClient) -> None:
    registration = client.add_publication(IPC, 7)

    heartbeat = client.expect(p.COUNTER_READY)
    ready = client.expect(p.PUBLICATION_READY)

    assert client.client_id == 1  # the driver took 0 at its start
    assert heartbeat.i64(0) == client.client_id
    counter = client.counter(heartbeat.i32(8))
    assert (counter.type_id, counter.label) == (11, f"client-heartbeat: id={client.client_id}")
    assert (counter.registration_id, counter.owner_id) == (client.client_id, client.client_id)
    assert struct.unpack_from("<q", counter.key)[0] == client.client_id
    assert (ready.i64(0), ready.i64(8), ready.i32(20), ready.i32(28)) == (registration, registration, 7, -1)
    path = f"{driver.aeron_dir}/publications/{registration}.logbuffer"
    assert ready.text(32) == path
    assert os.path.getsize(path) == 200704
    limit = client.counter(ready.i32(24))
    assert limit.type_id == 1
    assert limit.label == f"pub-lmt: {registration} {ready.i32(16)} 7 aeron:ipc"
    assert (limit.value, limit.registration_id, limit.owner_id) == (0, registration, client.client_id)


def test_a_second_add_shares_the_publication(client: ProtocolClient) -> None:
    client.first_add()
    first = client.add_publication(IPC, 7)
    made = client.expect(p.PUBLICATION_READY)
    second = client.add_publication(IPC, 7)
    shared = client.expect(p.PUBLICATION_READY)

    assert (shared.i64(0), shared.i64(8)) == (second, first)
    assert shared.body[16:] == made.body[16:]


def test_exclusive_publications_are_never_shared(client: ProtocolClient) -> None:
    client.first_add()
    client.add_publication(IPC, 7, exclusive=True)
    first = client.expect(p.EXCLUSIVE_PUBLICATION_READY)
    client.add_publication(IPC, 7, exclusive=True)
    second = client.expect(p.EXCLUSIVE_PUBLICATION_READY)

    assert first.i32(16) != second.i32(16)
    _, counter = client.counter_of(12, first.i64(0))
    assert counter.label == f"pub-pos (exclusive): {first.i64(0)} {first.i32(16)} 7 aeron:ipc"


def test_a_subscription_joins_an_ipc_publication(client: ProtocolClient) -> None:
    client.first_add()
    publication = client.add_publication(IPC, 7)
    ready = client.expect(p.PUBLICATION_READY)
    subscription = client.add_subscription(IPC, 7)

    subscribed = client.expect(p.SUBSCRIPTION_READY)
    image = client.expect(p.AVAILABLE_IMAGE)

    assert (subscribed.i64(0), subscribed.i32(8)) == (subscription, -1)
    assert (image.i64(0), image.i32(8), image.i32(12), image.i64(16)) == (publication, ready.i32(16), 7, subscription)
    path = image.text(28)
    assert path == ready.text(32)
    assert image.text(32 + (len(path) + 3) // 4 * 4) == "aeron:ipc"
    position = client.counter(image.i32(24))
    assert position.label == f"sub-pos: {subscription} {ready.i32(16)} 7 aeron:ipc @0"
    assert (position.type_id, position.registration_id, position.reference_id) == (4, subscription, publication)
    limit = ready.i32(24)
    eventually(lambda: client.counter(limit).value == 32768, "the limit opens for a reader by half a term")


def test_a_removed_publication_drains_and_leaves_nothing(driver: MediaDriver, client: ProtocolClient) -> None:
    client.first_add()
    publication = client.add_publication(IPC, 7)
    path = client.expect(p.PUBLICATION_READY).text(32)
    subscription = client.add_subscription(IPC, 7)
    client.expect(p.SUBSCRIPTION_READY)
    client.expect(p.AVAILABLE_IMAGE)

    removal = client.remove_publication(publication)

    assert client.expect(p.OPERATION_SUCCESS).i64(0) == removal
    gone = client.expect(p.UNAVAILABLE_IMAGE)
    assert (gone.i64(0), gone.i64(8), gone.i32(16), gone.text(20)) == (publication, subscription, 7, IPC)
    eventually(lambda: not os.path.exists(path), "the log is deleted")
    eventually(lambda: len(client.counters()) == KEPT + 1, "only the subscription's client has counters")


def test_a_publication_lives_until_its_last_holder_lets_go(client: ProtocolClient) -> None:
    client.first_add()
    first = client.add_publication(IPC, 7)
    path = client.expect(p.PUBLICATION_READY).text(32)
    second = client.add_publication(IPC, 7)
    client.expect(p.PUBLICATION_READY)

    client.remove_publication(first)
    client.expect(p.OPERATION_SUCCESS)
    third = client.add_publication(IPC, 7)
    assert client.expect(p.PUBLICATION_READY).i64(8) == first
    for holder in (second, third):
        client.remove_publication(holder)
        client.expect(p.OPERATION_SUCCESS)

    eventually(lambda: not os.path.exists(path), "the log is deleted")
    client.expect_error(client.remove_publication(second), 3)


def test_a_revoked_publication_ends_for_its_readers(client: ProtocolClient) -> None:
    client.first_add()
    publication = client.add_publication(IPC, 7)
    client.expect(p.PUBLICATION_READY)
    client.add_subscription(IPC, 7)
    client.expect(p.SUBSCRIPTION_READY)
    client.expect(p.AVAILABLE_IMAGE)

    client.remove_publication(publication, flags=1)

    client.expect(p.OPERATION_SUCCESS)
    assert client.expect(p.UNAVAILABLE_IMAGE).i64(0) == publication
    assert client.counter(40).value == 1


def test_a_removed_subscription_is_not_told_of_its_images(client: ProtocolClient) -> None:
    client.first_add()
    client.add_publication(IPC, 7)
    limit = client.expect(p.PUBLICATION_READY).i32(24)
    subscription = client.add_subscription(IPC, 7)
    client.expect(p.SUBSCRIPTION_READY)
    position = client.expect(p.AVAILABLE_IMAGE).i32(24)
    eventually(lambda: client.counter(limit).value == 32768, "the limit opens")

    removal = client.command(p.REMOVE_SUBSCRIPTION, "q", subscription)

    assert client.expect(p.OPERATION_SUCCESS).i64(0) == removal
    assert client.counter(position).state == -1
    eventually(lambda: client.counter(limit).value == 0, "the limit closes with the last reader")
    client.expect_error(client.command(p.REMOVE_SUBSCRIPTION, "q", subscription), 2)


def test_an_untethered_laggard_is_cut_off_and_comes_back(client: ProtocolClient) -> None:
    client.first_add()
    client.add_publication(IPC, 7)
    limit = client.expect(p.PUBLICATION_READY).i32(24)
    client.add_subscription(f"{IPC}?tether=false", 7)
    client.expect(p.SUBSCRIPTION_READY)
    lagging = client.expect(p.AVAILABLE_IMAGE)
    client.add_subscription(IPC, 7)
    client.expect(p.SUBSCRIPTION_READY)
    reading = client.expect(p.AVAILABLE_IMAGE)

    client.set_counter(reading.i32(24), 32768)

    gone = client.expect(p.UNAVAILABLE_IMAGE)
    assert gone.i64(8) == lagging.i64(16)
    eventually(lambda: client.counter(limit).value == 65536, "it holds the limit back no more")
    back = client.expect(p.AVAILABLE_IMAGE)
    assert back.body == lagging.body
    assert client.counter(lagging.i32(24)).value == 32768


def test_an_untethered_laggard_that_may_not_rejoin_loses_its_counter(client: ProtocolClient) -> None:
    client.first_add()
    client.add_publication(IPC, 7)
    client.expect(p.PUBLICATION_READY)
    client.add_subscription(f"{IPC}?tether=false|rejoin=false", 7)
    client.expect(p.SUBSCRIPTION_READY)
    lagging = client.expect(p.AVAILABLE_IMAGE)
    client.add_subscription(IPC, 7)
    client.expect(p.SUBSCRIPTION_READY)
    reading = client.expect(p.AVAILABLE_IMAGE)

    client.set_counter(reading.i32(24), 32768)

    client.expect(p.UNAVAILABLE_IMAGE)
    eventually(lambda: client.counter(lagging.i32(24)).state == -1, "its counter is freed")
    assert client.receive() is None


def test_a_rejected_ipc_image_comes_back_after_the_cool_down(client: ProtocolClient) -> None:
    client.first_add()
    publication = client.add_publication(IPC, 7)
    ready = client.expect(p.PUBLICATION_READY)
    subscription = client.add_subscription(IPC, 7)
    client.expect(p.SUBSCRIPTION_READY)
    client.expect(p.AVAILABLE_IMAGE)

    rejection = client.reject(publication, 0, b"no more")

    error = client.expect(p.PUBLICATION_ERROR)
    assert (error.i64(0), error.i64(8), error.i32(16), error.i32(20)) == (publication, -1, ready.i32(16), 7)
    assert (error.i64(24), error.i64(32)) == (-1, -1)
    assert error.body[40:48] == bytes([1, 0, 0, 0, 127, 0, 0, 1])
    assert (error.i32(60), error.text(64)) == (13, "no more")
    assert client.expect(p.UNAVAILABLE_IMAGE).i64(0) == publication
    assert client.expect(p.OPERATION_SUCCESS).i64(0) == rejection
    assert client.counter(42).value == 1
    started = time.monotonic()
    again = client.expect(p.AVAILABLE_IMAGE)
    assert (again.i64(0), again.i64(16)) == (publication, subscription)
    assert time.monotonic() - started > 0.5  # the image liveness time-out
    client.expect_error(client.reject(99_999, 0, b"nobody"), 11)


def test_counters_are_made_and_removed(client: ProtocolClient) -> None:
    client.first_add()
    added = client.add_counter(1001, b"key", b"my counter")
    ready = client.expect(p.COUNTER_READY)
    counter = client.counter(ready.i32(8))

    assert ready.i64(0) == added
    assert (counter.type_id, counter.key[:4], counter.label) == (1001, b"key\0", "my counter")
    assert (counter.registration_id, counter.owner_id, counter.value) == (added, client.client_id, 0)
    removal = client.command(p.REMOVE_COUNTER, "q", added)
    assert client.expect(p.OPERATION_SUCCESS).i64(0) == removal
    gone = client.expect(p.UNAVAILABLE_COUNTER)
    assert (gone.i64(0), gone.i32(8)) == (added, ready.i32(8))
    client.expect_error(client.command(p.REMOVE_COUNTER, "q", added), 5)


def test_long_keys_and_labels_are_clipped(client: ProtocolClient) -> None:
    client.first_add()
    client.add_counter(1001, b"k" * 113, b"l" * 381)
    counter = client.counter(client.expect(p.COUNTER_READY).i32(8))

    assert counter.key == b"k" * 112
    assert counter.label == "l" * 380


def test_static_counters_are_found_again_and_outlive_their_client(client: ProtocolClient) -> None:
    client.first_add()
    client.add_static_counter(1001, 77, b"key", b"static")
    made = client.expect(p.STATIC_COUNTER)
    client.add_static_counter(1001, 77, b"other", b"other")
    found = client.expect(p.STATIC_COUNTER)

    assert found.i32(8) == made.i32(8)
    counter = client.counter(made.i32(8))
    assert (counter.label, counter.registration_id, counter.owner_id) == ("static", 77, -1)
    client.expect_error(client.command(p.REMOVE_COUNTER, "q", 77), 5)
    dynamic = client.add_counter(1002, b"", b"dynamic")
    client.expect(p.COUNTER_READY)
    text = client.expect_error(client.add_static_counter(1002, dynamic, b"", b"clash"), 11)
    assert f"typeId=1002 and registrationId={dynamic}" in text
    client.command(p.CLIENT_CLOSE, "")
    client.expect(p.UNAVAILABLE_COUNTER)
    client.expect(p.UNAVAILABLE_COUNTER)
    assert client.counter(made.i32(8)).state == 1


def test_a_closing_client_takes_all_it_had_with_it(client: ProtocolClient) -> None:
    client.add_publication(IPC, 7)
    heartbeat = client.expect(p.COUNTER_READY)
    path = client.expect(p.PUBLICATION_READY).text(32)
    added = client.add_counter(1001, b"", b"mine")
    counter_id = client.expect(p.COUNTER_READY).i32(8)

    client.command(p.CLIENT_CLOSE, "")

    first, second = client.expect(p.UNAVAILABLE_COUNTER), client.expect(p.UNAVAILABLE_COUNTER)
    assert (first.i64(0), first.i32(8)) == (client.client_id, heartbeat.i32(8))
    assert (second.i64(0), second.i32(8)) == (added, counter_id)
    assert client.counter(24).value == 0
    eventually(lambda: not os.path.exists(path), "the log is deleted")


def test_a_silent_client_is_timed_out_and_may_come_back() -> None:
    settings = SHORT | {"client_liveness_timeout": "400ms", "publication_unblock_timeout": "500ms"}
    with MediaDriver.launch_embedded(**settings) as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.add_publication(IPC, 7)
        client.expect(p.COUNTER_READY)
        client.expect(p.PUBLICATION_READY)
        started = time.monotonic()
        while time.monotonic() < started + 0.8:
            client.heartbeat()
            time.sleep(0.05)
        assert client.receive() is None

        assert client.expect(p.CLIENT_TIMEOUT).i64(0) == client.client_id
        assert client.expect(p.UNAVAILABLE_COUNTER).i64(0) == client.client_id
        assert client.counter(24).value == 1
        client.add_publication(IPC, 7)
        assert client.expect(p.COUNTER_READY).i64(0) == client.client_id
        client.expect(p.PUBLICATION_READY)
        client.close()


def test_keepalive_commands_keep_a_client_alive() -> None:
    settings = SHORT | {"client_liveness_timeout": "400ms", "publication_unblock_timeout": "500ms"}
    with MediaDriver.launch_embedded(**settings) as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        started = time.monotonic()
        while time.monotonic() < started + 1.2:
            client.send(p.CLIENT_KEEPALIVE, struct.pack("<qq", client.client_id, -1))
            time.sleep(0.05)
        assert client.receive() is None
        client.close()


def test_session_ids_are_handed_out_once(client: ProtocolClient) -> None:
    ids = []
    for _ in range(3):
        correlation = client.command(p.GET_NEXT_AVAILABLE_SESSION_ID, "i", 7)
        event = client.expect(p.NEXT_AVAILABLE_SESSION_ID)
        assert event.i64(0) == correlation
        ids.append(event.i32(8))

    assert len(set(ids)) == 3
    assert not any(-1 <= one <= 1000 for one in ids)


CHANNEL_ERRORS = [
    ("aeron:ipc|k=v", 1),
    ("aeron:tcp?endpoint=a:1", 1),
    ("nonsense", 1),
    ("aeron-spy:aeron:udp?endpoint=127.0.0.1:9", 1),
    ("aeron:ipc?term-length=65537", 11),
    ("aeron:ipc?term-length=32k", 11),
    ("aeron:ipc?mtu=100", 11),
    ("aeron:ipc?sparse=maybe", 11),
    ("aeron:ipc?linger=soon", 11),
    ("aeron:ipc?pub-wnd=64k|term-length=64k", 11),
    ("aeron:ipc?init-term-id=3", 11),
    ("aeron:ipc?init-term-id=3|term-id=2|term-offset=0", 11),
    ("aeron:ipc?init-term-id=3|term-id=3|term-offset=33", 11),
    ("aeron:ipc?max-resend=257", 11),
    ("aeron:udp?interface=127.0.0.1", 1),
    ("aeron:udp?endpoint=127.0.0.1", 1),
    ("aeron:udp?endpoint=127.0.0.1:0", 11),
    ("aeron:udp?endpoint=no.such.host.invalid:4000", 9),
    ("aeron:udp?control=127.0.0.1:4000", 11),
    ("aeron:udp?control-mode=dynamic", 1),
    ("aeron:udp?control-mode=odd|endpoint=127.0.0.1:4000", 1),
    ("aeron:udp?tags=7", 11),
    ("aeron:udp?endpoint=127.0.0.1:4000|ats=true", 11),
    ("aeron:udp?endpoint=127.0.0.1:4000|so-rcvbuf=2g", 11),
    ("aeron:udp?endpoint=127.0.0.1:4000|control=[::1]:4001", 1),
]


@pytest.mark.parametrize(("channel", "code"), CHANNEL_ERRORS)
def test_a_channel_that_cannot_be_published_on_is_refused(client: ProtocolClient, channel: str, code: int) -> None:
    client.first_add()

    text = client.expect_error(client.add_publication(channel, 7), code)

    assert "OverflowError" not in text
    assert client.counter(15).value == 1


def test_shared_adds_must_agree_on_what_they_name(client: ProtocolClient) -> None:
    client.first_add()
    client.add_publication(f"{IPC}?term-length=64k|mtu=1408|session-id=5000", 7)
    client.expect(p.PUBLICATION_READY)
    for parameter in ("mtu=2048", "term-length=128k", "session-id=5001", "init-term-id=1|term-id=1|term-offset=0"):
        client.expect_error(client.add_publication(f"{IPC}?{parameter}", 7), 11)

    text = client.expect_error(client.add_publication(f"{IPC}?session-id=5000", 7, exclusive=True), 1)
    assert "existing publication has clashing sessionId=5000" in text


def test_a_start_position_is_where_counters_begin(client: ProtocolClient) -> None:
    client.first_add()
    client.add_publication(f"{IPC}?term-length=64k|init-term-id=-5|term-id=-3|term-offset=96", 7, exclusive=True)

    limit = client.counter(client.expect(p.EXCLUSIVE_PUBLICATION_READY).i32(24))

    assert limit.value == 2 * 65536 + 96


def test_malformed_and_unknown_commands_are_answered(client: ProtocolClient) -> None:
    client.first_add()
    client.expect_error(client.command(77, "q", 1), 6)
    client.expect_error(client.command(p.ADD_PUBLICATION, "i", 7), 7)
    client.expect_error(client.command(p.ADD_PUBLICATION, "ii", 7, 1000), 7)
    client.expect_error(client.command(p.ADD_COUNTER, "ii", 1001, 500), 7)
    client.expect_error(client.command(p.REMOVE_PUBLICATION, "qi", 1, 0), 7)
    client.send(p.REMOVE_COUNTER, b"short")
    client.expect_error(0, 7)
    client.expect_error(client.command(p.REMOVE_DESTINATION_BY_ID, "qq", 1, 2), 3)


def test_a_correlation_id_given_twice_is_refused_and_breaks_nothing(
    driver: MediaDriver, client: ProtocolClient
) -> None:
    client.first_add()
    before = sorted(client.counters())
    channel = b"aeron:udp?endpoint=127.0.0.1:24397"
    added = {
        p.ADD_PUBLICATION: struct.pack("<ii", 7, len(channel)) + channel,
        p.ADD_SUBSCRIPTION: struct.pack("<qii", -1, 8, len(channel)) + channel,
        p.ADD_COUNTER: struct.pack("<iii", 1001, 0, 0),
    }
    ids = dict.fromkeys(added, 0)
    for kind, ready in zip(added, (p.PUBLICATION_READY, p.SUBSCRIPTION_READY, p.COUNTER_READY), strict=True):
        ids[kind] = client.next_id()
        client.send(kind, struct.pack("<qq", client.client_id, ids[kind]) + added[kind])
        client.expect(ready)
    for taken in ids.values():
        for kind, body in added.items():
            client.send(kind, struct.pack("<qq", client.client_id, taken) + body)
            assert "correlation id" in client.expect_error(taken, 11)

    removals = (p.REMOVE_PUBLICATION, p.REMOVE_SUBSCRIPTION, p.REMOVE_COUNTER)
    for kind, removal in zip(added, removals, strict=True):
        client.send(removal, struct.pack("<qqq", client.client_id, client.next_id(), ids[kind]))
        client.expect(p.OPERATION_SUCCESS)

    eventually(lambda: sorted(client.counters()) == before, "all counters are gone")
    assert os.listdir(os.path.join(driver.aeron_dir, "publications")) == []


def test_a_claim_that_is_never_finished_is_unblocked() -> None:
    settings = SHORT | {"client_liveness_timeout": "300ms", "publication_unblock_timeout": "400ms"}
    with MediaDriver.launch_embedded(**settings) as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.claim(p.ADD_COUNTER, 100)
        client.command(p.GET_NEXT_AVAILABLE_SESSION_ID, "i", 7)

        client.expect(p.NEXT_AVAILABLE_SESSION_ID)

        assert client.counter(20).value == 1
        client.close()


def test_a_log_that_does_not_fit_is_refused_with_the_numbers(
    client: ProtocolClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.first_add()
    real = os.statvfs

    class Small:
        def __init__(self, path: str) -> None:
            self.f_frsize = real(path).f_frsize
            self.f_bavail = 100_000 // self.f_frsize

    monkeypatch.setattr(os, "statvfs", Small)

    text = client.expect_error(client.add_publication(IPC, 7), 12)

    assert "length=200704" in text
    assert "usable=98304" in text


def test_termination_is_denied_unless_allowed(client: ProtocolClient, driver: MediaDriver) -> None:
    client.command(p.TERMINATE_DRIVER, "i", 0)
    client.command(p.GET_NEXT_AVAILABLE_SESSION_ID, "i", 7)
    client.expect(p.NEXT_AVAILABLE_SESSION_ID)

    assert not driver.terminated.is_set()


def test_allowed_termination_ends_the_driver() -> None:
    with MediaDriver.launch_embedded(**SHORT, driver_termination_validator="allow") as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.command(p.TERMINATE_DRIVER, "i", 0)

        assert driver.terminated.wait(p.DEADLINE_S)
        client.close()


def test_clients_see_the_driver_close(driver: MediaDriver, client: ProtocolClient) -> None:
    client.add_publication(IPC, 7)
    client.expect(p.COUNTER_READY)
    client.expect(p.PUBLICATION_READY)
    assert abs(client.driver_heartbeat_ms() - time.time() * 1000) < 5000

    driver.close()

    assert client.driver_heartbeat_ms() == -1
    assert client.counters() == {}
