"""Channel URIs: what is accepted, what is refused and how it is said."""

import pytest

from aeronpy.errors import ChannelError
from aeronpy.uri import (
    Channel,
    ChannelUri,
    format_duration,
    format_size,
    parse_duration_ns,
    parse_size,
    split_address,
)


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("1408", 1408), ("64k", 65536), ("8M", 8 << 20), ("1g", 1 << 30)])
def test_sizes_take_binary_units(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "ns"), [("5", 5), ("5ns", 5), ("7us", 7000), ("10ms", 10_000_000), ("2s", 2_000_000_000)]
)
def test_durations_take_units_and_default_to_nanoseconds(text: str, ns: int) -> None:
    assert parse_duration_ns(text) == ns


@pytest.mark.parametrize("text", ["", "k", "-1", "1.5m", "10 ms", "1h"])
def test_what_is_no_size_and_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration_ns(text)


def test_sizes_and_durations_are_written_in_the_largest_exact_unit() -> None:
    assert [format_size(n) for n in (0, 100, 65536, 3 << 20, 1 << 30)] == ["0", "100", "64k", "3m", "1g"]
    assert [format_duration(n) for n in (1, 1000, 5_000_000_000)] == ["1ns", "1us", "5s"]


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("localhost:4000", "localhost", 4000),
        ("127.0.0.1:0", "127.0.0.1", 0),
        ("[::1]:65535", "::1", 65535),
        ("[fe80::1%eth0]:1", "fe80::1", 1),
    ],
)
def test_addresses_split_into_host_and_port(text: str, host: str, port: int) -> None:
    assert split_address(text) == (host, port)


@pytest.mark.parametrize("text", ["localhost", "host:65536", "::1:40", "host:", ":40"])
def test_incomplete_addresses_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="address|port"):
        split_address(text)


def test_a_channel_is_parsed_into_media_prefix_and_parameters() -> None:
    channel = ChannelUri.parse("aeron-spy:aeron:udp?endpoint=localhost:4000|mtu=8k|linger=100ms|eos=false|tags=3,4")

    assert (channel.media, channel.is_spy, channel.get("endpoint")) == ("udp", True, "localhost:4000")
    assert (channel.size("mtu"), channel.duration_ns("linger"), channel.boolean("eos")) == (
        8192,
        100_000_000,
        False,
    )
    assert channel.tags() == (3, 4)
    assert channel.get("alias") is None


def test_a_misspelt_key_names_the_nearest() -> None:
    with pytest.raises(ChannelError, match="unknown parameter 'endpont'.*did you mean 'endpoint'"):
        ChannelUri.parse("aeron:udp?endpont=localhost:4000")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("udp?endpoint=localhost:4000", "must start with 'aeron:'"),
        ("aeron:tcp", "media 'tcp'"),
        ("aeron:ipc|k=v", "media 'ipc|k=v'"),
        ("aeron:ipc?", "not key=value"),
        ("aeron:ipc?alias=a|", "not key=value"),
        ("aeron:ipc?alias", "not key=value"),
        ("aeron:ipc?=a", "not key=value"),
        ("aeron:ipc?alias=a|alias=b", "stands twice"),
        ("aeron:ipc?endpoint=localhost:1", "no meaning for 'ipc'"),
        ("aeron:ipc?mtu=100", "not a multiple of 32"),
        ("aeron:ipc?term-length=100k", "not a power of two"),
        ("aeron:ipc?eos=yes", "neither true nor false"),
        ("aeron:ipc?session-id=4294967296", "outside"),
        ("aeron:ipc?term-id=4", "come together"),
        ("aeron:ipc?init-term-id=4|term-id=3|term-offset=0", "before init-term-id"),
        ("aeron:udp?alias=a", "needs an endpoint"),
        ("aeron:udp?endpoint=a:1|control-mode=dynamic", "needs control"),
        ("aeron:udp?endpoint=local", "not an address"),
        ("aeron:ipc?alias=" + "a" * 4095, "at most 4095"),
        ("aeron:upd?endpoint=a:1", "did you mean 'udp'"),
        ("aeron:udp?endpoint=a:1|control-mode=manuel", "did you mean 'manual'"),
        ("aeron:udp?endpoint=a:1|cc=cubik", "did you mean 'cubic'"),
        ("aeron:udp?endpoint=a:1|fc=tagget,g:4", "did you mean 'tagged'"),
        ("aeron:udp?endpoint=a:1|fc=max,g:4", "no option of 'max'"),
        ("aeron:udp?endpoint=a:1|fc=min,g:4/x", "'x' is not a whole number"),
        ("aeron:udp?endpoint=a:1|fc=min,t:soon", "not a duration"),
        ("aeron:udp?endpoint=a:1|fc=max,rrwm:0", "0 is outside 1"),
        ("aeron:udp?endpoint=a:1|fc=min,g:", "needs a group tag"),
        ("aeron:udp?endpoint=a:1|interface=[::1", "not an interface"),
        ("aeron:udp?endpoint=a:1|interface=10.0.0.1/200", "200 is outside"),
        ("aeron:udp?endpoint=a:1|media-rcv-ts-offset=reservd", "it is 'reserved'"),
        ("aeron:udp?endpoint=a:1|response-correlation-id=-3", "-3 is outside"),
        ("aeron:udp?endpoint=a:1|max-resend=257", "257 is outside 1 to 256"),
        ("aeron:udp?endpoint=a:1|tags=,3", "not a channel tag"),
        ("aeron:udp?tags=1,2,3", "not a channel tag"),
        ("aeron:udp?endpoint=node0", "strict=False passes a name"),
        ("aeron:ipc?term-length=64k|pub-wnd=64k", "more than half of term-length: at most 32k"),
        ("aeron:ipc?mtu=8k|pub-wnd=4k", "less than mtu: at least 8k"),
        ("aeron:udp?endpoint=a:1|rcv-wnd=2m|so-rcvbuf=1m", "more than so-rcvbuf: at most 1m"),
    ],
)
def test_bad_channels_are_refused_with_the_part_at_fault(text: str, message: str) -> None:
    with pytest.raises(ChannelError, match=message.replace("|", r"\|").replace("?", r"\?")):
        ChannelUri.parse(text)


def test_lenient_parsing_keeps_foreign_keys_and_skips_keys_without_value() -> None:
    channel = ChannelUri.parse("aeron:udp?endpoint=localhost:4000|colour=red|flag|mtu=100", strict=False)

    assert channel.get("colour") == "red"
    assert channel.get("flag") is None
    assert channel.get("mtu") == "100"


def test_channels_are_built_from_keywords_in_the_order_that_aeron_writes() -> None:
    channel = Channel.udp(
        linger_ns=5_000_000_000, mtu_bytes=8192, endpoint="10.0.0.1:40123", term_bytes=1 << 20, eos=False
    )

    assert str(channel) == "aeron:udp?endpoint=10.0.0.1:40123|mtu=8k|term-length=1m|linger=5s|eos=false"
    assert ChannelUri.parse(str(channel)) == channel


@pytest.mark.parametrize(
    "fc", ["max", "max,rrwm:2", "min,g:/3", "min,g:5/3,t:2s", "min,t:2s,rrwm:4", "tagged,g:-1", "tagged,g:7/2,t:100ms"]
)
def test_flow_control_has_its_forms(fc: str) -> None:
    assert Channel.udp("localhost:4000", fc=fc).get("fc") == fc


def test_keywords_that_are_none_of_a_channels_are_refused_with_the_nearest() -> None:
    with pytest.raises(ChannelError, match="no keyword 'term_length'.*did you mean 'term_bytes'"):
        Channel.ipc(term_length=65536)  # type: ignore[call-arg]
    with pytest.raises(ChannelError, match="Channel.ipc has no keyword 'endpoint'"):
        Channel.ipc(endpoint="localhost:1")  # type: ignore[call-arg]
    with pytest.raises(ChannelError, match="linger_ns is '5s': a whole number"):
        Channel.ipc(linger_ns="5s")  # type: ignore[typeddict-item]
    with pytest.raises(ChannelError, match="has a '|' in it"):
        Channel.ipc(alias="a|b")


def test_a_copy_may_set_and_remove_parameters() -> None:
    channel = Channel.ipc(alias="a", session_id=7).with_params(alias=None, stream_id=4)

    assert str(channel) == "aeron:ipc?session-id=7|stream-id=4"


@pytest.mark.parametrize(
    "text",
    [
        "aeron:udp?tags=1",
        "aeron:udp?control-mode=manual",
        "aeron:udp?control=localhost:1|control-mode=dynamic",
    ],
)
def test_a_channel_may_do_without_endpoint_where_aeron_allows(text: str) -> None:
    assert str(ChannelUri.parse(text)) in (text, text)
