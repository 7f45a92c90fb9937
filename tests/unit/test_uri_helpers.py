"""What can be done with a channel besides reading it, and what it says of itself."""

from __future__ import annotations

import pytest

from aeronpy.errors import ChannelError
from aeronpy.uri import (
    Channel,
    get_tag,
    is_tagged,
    min_flow_control,
    tagged_flow_control,
)

UDP = Channel.udp("localhost:4000")


@pytest.mark.parametrize(
    ("position", "initial_term_id", "expected"),
    [
        (0, 7, "term-length=64k|init-term-id=7|term-id=7|term-offset=0"),
        (65536 * 3 + 96, 7, "term-length=64k|init-term-id=7|term-id=10|term-offset=96"),
        (65536, 2147483647, "term-length=64k|init-term-id=2147483647|term-id=-2147483648|term-offset=0"),
    ],
)
def test_a_stream_may_start_at_a_position(position: int, initial_term_id: int, expected: str) -> None:
    assert str(Channel.ipc().initial_position(position, initial_term_id, 65536)) == f"aeron:ipc?{expected}"


@pytest.mark.parametrize(("position", "length"), [(31, 65536), (-32, 65536), (0, 65537), (0, 1024)])
def test_a_position_that_no_stream_can_start_at_is_refused(position: int, length: int) -> None:
    with pytest.raises(ChannelError):
        Channel.ipc().initial_position(position, 0, length)


def test_an_alias_is_set_where_there_is_none_and_changed_where_there_is_one() -> None:
    named = UDP.with_alias_if_absent("a")
    assert named.get("alias") == "a"
    assert named.with_alias_if_absent("b") is named
    assert named.transform_alias(lambda alias: f"{alias}-2").get("alias") == "a-2"
    assert named.transform_alias(lambda alias: None).get("alias") is None


def test_a_destination_keeps_the_media_and_the_interface() -> None:
    channel = Channel.udp(control="localhost:1", control_mode="manual", interface="127.0.0.1")
    assert str(channel.destination("localhost:5")) == "aeron:udp?endpoint=localhost:5|interface=127.0.0.1"
    assert str(UDP.destination("localhost:5")) == "aeron:udp?endpoint=localhost:5"


def test_port_0_is_replaced_by_the_resolved_one_and_others_stay() -> None:
    wild = Channel.udp("[::1]:0", alias="x")
    assert str(wild.replace_endpoint_wildcard_port("[::1]:4711")) == "aeron:udp?endpoint=[::1]:4711|alias=x"
    assert UDP.replace_endpoint_wildcard_port("localhost:9") is UDP
    for bad in ("localhost:0", "localhost", ""):
        with pytest.raises(ChannelError, match="no port"):
            wild.replace_endpoint_wildcard_port(bad)


def test_tags_of_other_channels_are_told_from_values() -> None:
    assert is_tagged("tag:12")
    assert not is_tagged("12")
    assert [get_tag("tag:12"), get_tag("12")] == ["12", "12"]


def test_flow_control_texts_are_written_for_their_options() -> None:
    assert tagged_flow_control(7, 3, "2s") == "tagged,g:7/3,t:2s"
    assert tagged_flow_control(7) == "tagged,g:7"
    assert tagged_flow_control(min_group_size=3) == "tagged,g:/3"
    assert min_flow_control(3, "2s") == "min,g:/3,t:2s"
    assert min_flow_control() == "min"


def test_a_spy_is_a_channel_with_a_prefix() -> None:
    assert str(UDP.as_spy()) == "aeron-spy:aeron:udp?endpoint=localhost:4000"
    assert UDP.as_spy().is_spy


@pytest.mark.parametrize(
    ("text", "mode", "publisher", "subscriber"),
    [
        ("aeron:ipc", "ipc", "binds nothing", "binds nothing"),
        ("aeron:udp?endpoint=10.0.0.1:4", "unicast", "sends to 10.0.0.1:4", "binds 10.0.0.1:4"),
        ("aeron:udp?endpoint=224.0.1.1:4", "multicast", "joins 224.0.1.2:4", "answers to 224.0.1.2:4"),
        ("aeron:udp?endpoint=[ff02::1]:4", "multicast", "joins [ff02::2]:4", "joins ff02::1"),
        ("aeron:udp?control=h:4|control-mode=dynamic", "dynamic", "binds h:4", "reports to h:4"),
        ("aeron:udp?control-mode=manual", "manual", "each destination", "each destination"),
        ("aeron:udp?control=h:4|control-mode=response", "response", "binds h:4", "answers to h:4"),
        ("aeron:udp?tags=3", "tag 3", "that opened it", "that opened it"),
        ("aeron-spy:aeron:udp?endpoint=h:4", "spy on unicast", "sends to h:4", "binds nothing"),
    ],
)
def test_a_channel_explains_who_binds_what(text: str, mode: str, publisher: str, subscriber: str) -> None:
    explained = Channel.parse(text).explain()
    assert mode in explained.mode
    assert publisher in explained.publisher
    assert subscriber in explained.subscriber
    for part in (text, explained.mode, explained.publisher, explained.subscriber):
        assert part in str(explained)


def test_a_channel_explains_memory_lengths_and_defaults() -> None:
    explained = Channel.parse("aeron:udp?endpoint=h:4|term-length=64k|mtu=8k").explain()
    assert explained.log_bytes == 3 * 65536 + 4096
    assert explained.max_message_length == 8192
    assert explained.defaults["rcv-wnd"] == "128k"
    assert "term-length" not in explained.defaults
    assert Channel.ipc().explain().defaults["term-length"] == "64m"
    assert "endpoint" not in Channel.ipc().explain().defaults


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("aeron:udp?endpoint=224.0.1.2:4", "even byte"),
        ("aeron:udp?endpoint=h:0", "port 0"),
        ("aeron:udp?endpoint=h:1|fc=min", "fc is ignored"),
        ("aeron:udp?endpoint=h:1|ttl=3", "ttl is ignored"),
        ("aeron:udp?endpoint=h:1|mtu=60k|term-length=64k", "more than the receiver's window"),
        ("aeron:udp?endpoint=h:1|reliable=false", "not asked for again"),
        ("aeron:udp?endpoint=h:1|ats=true", "refused by every open driver"),
    ],
)
def test_a_channel_notes_what_may_not_be_as_meant(text: str, note: str) -> None:
    assert any(note in each for each in Channel.parse(text).explain().notes)


def test_a_channel_that_cannot_be_used_is_not_explained() -> None:
    with pytest.raises(ChannelError):
        Channel.parse("aeron:udp?endpont=h:1", strict=False).explain()
