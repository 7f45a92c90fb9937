"""Frames byte by byte: what ours sends is what the reference drivers send each other, and what the captures show."""

from __future__ import annotations

import statistics

import pytest

from tests.interop import ends
from tests.interop.capture import EOS, REVOKED, SM_EOS, Fields, Sent, common, distinct, intervals
from tests.interop.conformance import (
    HEARTBEAT,
    HELLO,
    PAD_AT_END,
    REJECTED,
    RESPONSE_SETUP,
    SESSION,
    SETUP_FOR_RESPONSES,
    SETUP_MULTICAST,
    SETUP_UNICAST,
    SM_PLAIN,
    SM_TAGGED,
    STREAM,
    TERM,
    Role,
    Scene,
    moved,
    scene,
    stopped,
    vector,
    with_java,
)
from tests.interop.house import House
from tests.interop.stage import Make, free_port
from tests.system.wire import DATA, ERR, NAK, RSP_SETUP, RTTM, SETUP, SM, GroupListener, RawPublisher, RawSocket


@pytest.fixture(scope="module")
def house_settings() -> dict[str, str]:
    return {
        "AERON_CUBICCONGESTIONCONTROL_MEASURERTT": "true",
        "aeron.CubicCongestionControl.measureRtt": "true",  # to Java
    }


def assert_every(seconds: float, frames: list[Sent]) -> None:
    """They come in this rhythm: a busy machine is late now and then, never half."""
    assert 0.85 * seconds < statistics.median(intervals(frames)) < 1.6 * seconds


@with_java
def test_setups_before_and_after_the_first_status_message(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        publication = wire.publish()
        setups = wire.wait(lambda each: each.type == SETUP, 6)
        assert [common(each.bytes) for each in setups] == [vector(SETUP_UNICAST)] * 6
        assert_every(0.1, setups)
        assert wire.relay.seen() == wire.relay.seen(SETUP)

        wire.subscribe()
        ends.connected(publication)
        first = wire.wait(lambda each: each.way == "back")[0]
        assert common(first.bytes) == vector(SM_PLAIN)
        beats = wire.wait(lambda each: each.is_heartbeat, 6)
        assert [common(each.bytes) for each in beats] == [vector(HEARTBEAT)] * 6
        assert_every(0.1, beats)
        # A quiet subscriber repeats its last one each 200 ms.
        repeated = wire.wait(lambda each: each.type == SM, 6)
        assert distinct([each.bytes for each in repeated]) == [vector(SM_PLAIN)]
        assert_every(0.2, repeated)


@with_java
def test_a_message_and_the_end_of_its_stream(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        publication, subscription = wire.publish(), wire.subscribe()
        ends.connected(publication)
        ends.image_of(subscription)
        ends.cross(publication, subscription, [b"Hello Aeron!"])
        assert [common(each) for each in wire.data()] == [vector(HELLO)]
        assert wire.data() == [bytes.fromhex(HELLO)]
        after = wire.wait(lambda each: each.is_heartbeat and each.i32(8) == 64)[0]
        assert common(after.bytes) == moved(HEARTBEAT, term_offset=64)

        publication.close()
        ended = wire.wait(lambda each: each.is_heartbeat and each.flags & EOS != 0)[0]
        assert common(ended.bytes) == moved(HEARTBEAT, term_offset=64, flags=0xE0)
        last = wire.wait(lambda each: each.type == SM and each.flags & SM_EOS != 0)[0]
        assert common(last.bytes) in [moved(SM_PLAIN, flags=0x40, term_offset=at) for at in (0, 64)]
        # The one subscriber is done, so the publisher is too, and says nothing more.
        session = publication_gone(wire)
        assert session[-1].flags == 0xE0
        assert session[-1].time - ended.time < 3.0


def publication_gone(wire: Scene) -> list[Sent]:
    """The publisher's frames once it has been silent for five of its heartbeats."""

    def silent() -> list[Sent]:
        frames = [each for each in wire.relay.seen() if each.way == "out"]
        quiet = wire.relay.now() - frames[-1].time
        return frames if quiet > 0.5 else []

    found: list[Sent] = ends.until(silent, "silence")
    return found


@with_java
def test_the_shapes_of_datagrams(house: House, role: Role) -> None:
    small, fragmented = [b"x" * 6] * 3, bytes(range(200)) * 21
    with scene(house, role) as wire:
        publication, subscription = wire.publish(), wire.subscribe()
        ends.connected(publication)
        ends.image_of(subscription)
        with stopped(wire.source.driver):
            publication.send(*small, fragmented, b"")
        got = subscription.receive(5)
        assert [each.payload for each in got] == [*small, fragmented, b""]
        found = wire.data()
    # Three frames of 38 bytes share a datagram; a full fragment never does; what is left goes with what follows.
    assert [len(each) for each in found] == [192, 1408, 1408, 1408, 104 + 24 + 32]
    heads = [common(each) for each in found]
    assert [each["frame_length"] for each in heads] == [38, 1408, 1408, 1408, 104]
    assert [each["flags"] for each in heads] == [0xC0, 0x80, 0, 0, 0x40]
    assert [each["term_offset"] for each in heads] == [0, 192, 1600, 3008, 4416]
    assert [common(found[0][at:][:64])["term_offset"] for at in (0, 64, 128)] == [0, 64, 128]
    assert moved(HELLO, frame_length=32, term_offset=4544, rest="", datagram_length=32) == common(found[-1][128:])


@with_java
def test_padding_at_the_end_of_a_term(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        publication, subscription = wire.publish(offset=65536 - 1120), wire.subscribe()
        ends.connected(publication)
        ends.image_of(subscription)
        with stopped(wire.source.driver):
            publication.send(b"m" * 1024, b"n" * 100)
        assert [len(each.payload) for each in subscription.receive(2)] == [1024, 100]
        first, second = wire.data()
    assert len(first) == 1056 + 32
    assert first[1056:] == bytes.fromhex(PAD_AT_END)
    assert (common(second)["term_id"], common(second)["term_offset"]) == (TERM + 1, 0)


@with_java
def test_an_early_status_message_after_a_quarter_of_the_window(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        publication, subscription = wire.publish(), wire.subscribe()
        ends.connected(publication)
        ends.image_of(subscription)
        # Just under a quarter of 32768 says nothing new, however long one waits.
        ends.cross(publication, subscription, [b"m" * 1376] * 5)
        still = wire.wait(lambda each: each.type == SM, 4, after=wire.relay.now())
        assert distinct([each.bytes for each in still]) == [vector(SM_PLAIN)]
        ends.cross(publication, subscription, [b"m" * 1376] * 2)
        told = wire.wait(lambda each: each.type == SM and each.i32(20) != 0)[0]
        before = [each for each in wire.relay.seen(SM) if each.time < told.time][-1]
        assert common(told.bytes) in [moved(SM_PLAIN, term_offset=at * 1408) for at in (6, 7)]
        # Sooner than the periodic one.
        assert told.time - before.time < 0.19


@with_java
def test_a_gap_is_named_exactly_and_asked_for_again(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        publication, subscription = wire.publish(), wire.subscribe("nak-delay=20ms")
        ends.connected(publication)
        ends.image_of(subscription)
        lost = {1408, 2816}
        wire.relay.loses = lambda each: each.type == DATA and not each.is_heartbeat and each.i32(8) in lost
        publication.send(*[b"m" * 1376] * 4)
        expected = {
            "frame_length": 28, "version": 0, "flags": 0, "type": NAK, "session_id": SESSION, "stream_id": STREAM,
            "term_id": TERM, "term_offset": 1408, "length": 2816, "rest": "", "datagram_length": 28,
        }  # fmt: skip
        first = wire.wait(lambda each: each.type == NAK)[0]
        assert common(first.bytes) == expected
        gap = wire.wait(lambda each: each.type == DATA and not each.is_heartbeat and each.i32(8) > 2816)[0]
        assert first.time - gap.time > 0.015
        again = wire.wait(lambda each: each.type == DATA and each.i32(8) == 2816, 2)[-1]
        wire.relay.loses = lambda _: False
        assert again.time > first.time
        # The delay's ratio of 100 makes the second one two seconds later.
        second = wire.wait(lambda each: each.type == NAK, 2)[-1]
        assert common(second.bytes) == expected
        assert 1.9 < second.time - first.time < 3.5
        assert len(subscription.receive(4)) == 4
        resent = {each for each in wire.data() if common(each)["term_offset"] in lost}
        assert len(resent) == 2


@with_java
def test_group_tags(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        publication, subscription = wire.publish(), wire.subscribe("gtag=99")
        ends.connected(publication)
        ends.image_of(subscription)
        assert distinct([each.bytes for each in wire.relay.seen(SM)]) == [vector(SM_TAGGED)]
        subscription.close()
        last = wire.wait(lambda each: each.type == SM and each.flags == SM_EOS)[0]
        assert common(last.bytes) == moved(SM_TAGGED, flags=SM_EOS)


@with_java
def test_revocation(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        publication, subscription = wire.publish(), wire.subscribe()
        ends.connected(publication)
        ends.image_of(subscription)
        ends.cross(publication, subscription, [b"Hello Aeron!"])
        publication.revoke()
        revoked = wire.wait(lambda each: each.is_heartbeat and each.flags & REVOKED != 0)[0]
        assert common(revoked.bytes) == moved(HEARTBEAT, term_offset=64, flags=0xF0)


@with_java
def test_rejection(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        publication, subscription = wire.publish(), wire.subscribe()
        ends.connected(publication)
        ends.image_of(subscription)
        subscription.reject(SESSION, "No longer valid")
        errors = wire.wait(lambda each: each.type == ERR, 2)
        # Without a tag the Java driver leaves in its place what was there.
        no_tag: Fields = {"group_tag": 0} if role[1] == "java" else {}
        assert distinct([each.bytes for each in errors]) == [moved(REJECTED, **no_tag)]


@with_java
def test_round_trip_measurement(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        publication, subscription = wire.publish(), wire.subscribe("cc=cubic")
        ends.connected(publication)
        ends.image_of(subscription)
        question = wire.wait(lambda each: each.type == RTTM and each.way == "back")[0]
        answer = wire.wait(lambda each: each.type == RTTM and each.way == "out")[0]
    assert common(question.bytes) == {
        "frame_length": 40, "version": 0, "flags": 0x80, "type": RTTM, "session_id": SESSION, "stream_id": STREAM,
        "reception_delta": 0, "rest": "", "datagram_length": 40,
    }  # fmt: skip
    flagless = bytearray(question.bytes)
    flagless[5] = 0
    assert answer.bytes == bytes(flagless)


@pytest.mark.parametrize("make", ["c", "ours"])
def test_data_of_an_unknown_session_elicits_a_setup(house: House, make: Make) -> None:
    side, port = house.side(make), free_port()
    side.subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", STREAM)
    with RawPublisher(("127.0.0.1", port), SESSION, STREAM) as publisher:
        publisher.data(0, b"who is this?")
        asked = publisher.expect(SM)
    zero = {"term_id": 0, "term_offset": 0, "window": 0}
    assert common(asked.bytes) == moved(SM_PLAIN, flags=0x80, **zero)


@pytest.mark.parametrize("make", ["c", "ours"])
def test_a_receiver_announces_itself_to_a_control_address(house: House, make: Make) -> None:
    side = house.side(make)
    with RawSocket(("127.0.0.1", 0)) as control:
        address = "{}:{}".format(*control.socket.getsockname())
        side.subscription(f"aeron:udp?endpoint=127.0.0.1:{free_port()}|control={address}|control-mode=dynamic", STREAM)
        came = [control.expect(SM) for _ in range(2)]
    assert [each.bytes[:28].hex() for each in came] == [bytes.fromhex("24 00 00 00 00 80 03 00").hex() + "00" * 20] * 2
    assert {len(each.bytes) for each in came} == {36}


@with_java
def test_a_group(house: House, role: Role) -> None:
    (source, target), port = (house.side(each) for each in role), free_port()
    group = f"aeron:udp?endpoint=224.20.30.39:{port}|interface=127.0.0.1"
    with GroupListener("224.20.30.39", port) as data, GroupListener("224.20.30.40", port) as control:
        start = "session-id=-2|init-term-id=0|term-id=0|term-offset=0|term-length=64k|mtu=1408"
        publication = source.publication(f"{group}|ttl=3|{start}", 1002, exclusive=True)
        assert data.expect(SETUP).bytes == bytes.fromhex(SETUP_MULTICAST)
        subscription = target.subscription(group, 1002)
        ends.connected(publication)
        plain = moved(SM_PLAIN, session_id=-2, stream_id=1002, term_id=0)
        assert common(control.expect(SM).bytes) == plain
        ends.image_of(subscription)
        ends.cross(publication, subscription, [b"to whom it may concern"])
        heard = data.expect(DATA, at0=54, at8=0)
        assert len(heard.bytes) == 64
        publication.revoke()
        revoked = data.expect(DATA, at0=0, at8=64)
        while revoked.flags != 0xF0:
            assert revoked.flags in (0xC0, 0xE0)
            revoked = data.expect(DATA, at0=0, at8=64)


@with_java
def test_lingering_for_a_subscriber_that_has_vanished(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        publication, subscription = wire.publish(), wire.subscribe()
        ends.connected(publication)
        ends.image_of(subscription)
        wire.relay.loses = lambda _: True
        closed = wire.relay.now()
        publication.close()
        ended = wire.wait(lambda each: each.is_heartbeat and each.flags & EOS != 0)[0]
        last = publication_gone(wire)[-1]
        # The end is told with the next heartbeat, and then for the linger time of half a second.
        assert ended.time - closed < 0.5
        assert 0.35 < last.time - ended.time < 1.2


@with_java
def test_response_setups(house: House, role: Role) -> None:
    with scene(house, role) as wire:
        control = f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"
        answers = wire.source.subscription(control, 2002)
        requests = wire.target.subscription(f"aeron:udp?endpoint=127.0.0.1:{wire.target_port}", 2001)
        start = "session-id=111|init-term-id=256|term-id=256|term-offset=0|term-length=64k|mtu=1408"
        number = answers.look()["registration_id"]
        channel = f"aeron:udp?endpoint=127.0.0.1:{wire.relay.port}|{start}|response-correlation-id={number}"
        wire.source.publication(channel, 2001, exclusive=True)
        setup = wire.wait(lambda each: each.type == SETUP)[0]
        assert setup.bytes == bytes.fromhex(SETUP_FOR_RESPONSES)

        image = ends.image_of(requests)["correlation_id"]
        wire.target.publication(f"{control}|response-correlation-id={image}|session-id=222", 2002, exclusive=True)
        wire.wait(lambda each: each.type == RSP_SETUP)
        assert ends.image_of(answers)["session_id"] == 222
        assert {each.bytes for each in wire.relay.seen(RSP_SETUP)} == {bytes.fromhex(RESPONSE_SETUP)}
