"""Our channels beside Java's builder and parser, and on the real drivers: what we write they read as we mean it."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from aeronpy import Aeron, Channel
from aeronpy.errors import ChannelError
from aeronpy.uri import min_flow_control, tagged_flow_control
from aeronpy.uri_params import PARAMS
from tests.interop import peers
from tests.interop.lines import JavaHost
from tests.interop.matrix import cell, on_peers
from tests.interop.stage import Stage, free_port
from tests.system.protocol_client import (
    COUNTER_READY,
    ERROR,
    PUBLICATION_READY,
    UNAVAILABLE_COUNTER,
    UNAVAILABLE_IMAGE,
    ProtocolClient,
)

SEED = 20260101
# Our keyword, Java's setter with its type, and values that the two are to write alike.
SETTERS: dict[str, tuple[str, str, tuple[object, ...]]] = {
    "tags": ("tags", "String", ("1", "1,2", "-5")),
    "interface": ("networkInterface", "String", ("127.0.0.1", "10.0.0.0:4000/24", "[::1]/64")),
    "control": ("controlEndpoint", "String", ("127.0.0.1:4001", "[::1]:0")),
    "mtu_bytes": ("mtu", "Integer", (64, 1408, 8192, 65504)),
    "term_bytes": ("termLength", "Integer", (65536, 1 << 20, 1 << 30)),
    "session_id": ("sessionId", "Integer", (0, -7, 2147483647)),
    "ttl": ("ttl", "Integer", (0, 255)),
    "reliable": ("reliable", "Boolean", (True, False)),
    "linger_ns": ("linger", "Long", (0, 1, 1500, 1_000_000, 5_000_000_000, 7_500_000_000)),
    "alias": ("alias", "String", ("a", "name with space", "a=b")),
    "cc": ("congestionControl", "String", ("static", "cubic")),
    "fc": ("flowControl", "String", ("max", "min,g:/3,t:2s", "tagged,g:7")),
    "gtag": ("groupTag", "Long", (-1, 9_000_000_000)),
    "sparse": ("sparse", "Boolean", (True, False)),
    "eos": ("eos", "Boolean", (True, False)),
    "tether": ("tether", "Boolean", (True, False)),
    "group": ("group", "Boolean", (True, False)),
    "rejoin": ("rejoin", "Boolean", (True, False)),
    "ssc": ("spiesSimulateConnection", "Boolean", (True, False)),
    "so_sndbuf_bytes": ("socketSndbufLength", "Integer", (0, 2 << 20, 131_073)),
    "so_rcvbuf_bytes": ("socketRcvbufLength", "Integer", (2 << 20, 3 << 20)),
    "rcv_wnd_bytes": ("receiverWindowLength", "Integer", (1 << 17, 100_000)),
    "media_rcv_ts_offset": ("mediaReceiveTimestampOffset", "String", ("reserved", "8")),
    "channel_rcv_ts_offset": ("channelReceiveTimestampOffset", "String", ("reserved", "0")),
    "channel_snd_ts_offset": ("channelSendTimestampOffset", "String", ("reserved", "16")),
    "response_endpoint": ("responseEndpoint", "String", ("127.0.0.1:4002",)),
    "response_correlation_id": ("responseCorrelationId", "String", ("prototype", "77", "-1")),
    "nak_delay_ns": ("nakDelay", "Long", (100_000, 1)),
    "untethered_window_limit_timeout_ns": ("untetheredWindowLimitTimeoutNs", "Long", (1_000_000_000,)),
    "untethered_linger_timeout_ns": ("untetheredLingerTimeoutNs", "Long", (2_000_000,)),
    "untethered_resting_timeout_ns": ("untetheredRestingTimeoutNs", "Long", (3_000,)),
    "max_resend": ("maxResend", "Integer", (1, 256)),
    "stream_id": ("streamId", "Integer", (1001, -1)),
    "pub_wnd_bytes": ("publicationWindowLength", "Integer", (1 << 15,)),
}


on = partial(on_peers, "client")


def java_answers(lines: list[str]) -> list[str]:
    """What the Java program makes of each line."""
    peers.compile_java()
    done = subprocess.run(
        peers.java_command("Channels"), input="".join(f"{line}\n" for line in lines), text=True, capture_output=True,
        timeout=50, check=True,
    )  # fmt: skip
    answers = done.stdout.splitlines()
    assert len(answers) == len(lines), done.stderr
    return answers


def java_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def some_channel(draw: random.Random) -> tuple[str, str]:
    """One channel by our builder, and the line that has Java build it."""
    media = draw.choice(("udp", "udp", "ipc"))
    keywords = [name for name in SETTERS if media == "udp" or "u i" in PARAMS[key_of(name)].media]
    chosen = {name: draw.choice(SETTERS[name][2]) for name in draw.sample(keywords, draw.randint(0, len(keywords)))}
    if chosen.get("mtu_bytes", 0) > 1 << 15:  # type: ignore[operator]
        chosen.pop("pub_wnd_bytes", None)  # a window takes at least one frame
    setters = [f"media=String={media}"]
    setters += [f"{SETTERS[name][0]}={SETTERS[name][1]}={java_text(value)}" for name, value in chosen.items()]
    if media == "ipc":
        return str(Channel.ipc(**chosen)), "\t".join(["build", *setters])  # type: ignore[misc]
    mode = draw.choice((None, "manual", "dynamic", "response"))
    if mode == "dynamic" and "control" not in chosen:
        mode = None
    if mode is not None:
        chosen["control_mode"] = mode
        setters.append(f"controlMode=String={mode}")
    endpoint = "localhost:40123"
    setters.append(f"endpoint=String={endpoint}")
    return str(Channel.udp(endpoint, **chosen)), "\t".join(["build", *setters])  # type: ignore[misc]


def key_of(keyword: str) -> str:
    """The key that a keyword sets."""
    sizes = {"mtu_bytes": "mtu", "term_bytes": "term-length"}
    return sizes.get(keyword, keyword.removesuffix("_bytes").removesuffix("_ns").replace("_", "-"))


def test_every_parameter_has_its_setter() -> None:
    apart = {"endpoint", "control-mode", "init-term-id", "term-id", "term-offset", "ats"}  # and those by themselves
    assert {key_of(name) for name in SETTERS} | apart == set(PARAMS)


@cell("client.channel.builder", "client", "java")
def test_our_builder_writes_what_javas_writes_byte_for_byte() -> None:
    draw = random.Random(SEED)
    channels = [some_channel(draw) for _ in range(500)]
    for position, initial, length in ((0, 7, 65536), (65536 * 3 + 96, -7, 65536), (1 << 33, 2147483647, 1 << 20)):
        ours = str(Channel.ipc().initial_position(position, initial, length))
        channels.append((ours, f"build\tmedia=String=ipc\tinitialPosition=long,int,int={position};{initial};{length}"))
    for tag, size, timeout in ((7, 3, "2s"), (7, None, None), (None, 3, "1ms"), (None, None, None)):
        values = ";".join("null" if value is None else str(value) for value in (tag, size, timeout))
        tagged = Channel.udp("localhost:1", fc=tagged_flow_control(tag, size, timeout))
        head = "build\tmedia=String=udp\tendpoint=String=localhost:1\t"
        channels.append((str(tagged), f"{head}taggedFlowControl=Long,Integer,String={values}"))
        least = Channel.udp("localhost:1", fc=min_flow_control(size, timeout))
        channels.append((str(least), f"{head}minFlowControl=Integer,String={values.partition(';')[2]}"))
    channels.append(
        (str(Channel.udp("a:1").as_spy()), "build\tprefix=String=aeron-spy\tmedia=String=udp\tendpoint=String=a:1")
    )
    channels.append((str(Channel.ipc(session_id="tag:4")), "build\tmedia=String=ipc\ttaggedSessionId=Long=4"))

    answers = java_answers([line for _, line in channels])
    assert [ours for ours, _ in channels] == answers


def same(channel: Channel) -> tuple[str, str, dict[str, str]]:
    """What is to be equal whatever the order of the parameters."""
    return channel.prefix, channel.media, dict(channel.params)


@cell("client.channel.parser", "client", "java")
def test_our_parser_and_helpers_do_as_javas() -> None:
    draw = random.Random(SEED + 1)
    texts = [some_channel(draw)[0] for _ in range(200)]
    texts += ["aeron:ipc", "aeron:ipc?alias=", "aeron-spy:aeron:udp?endpoint=a:1", "aeron:udp?colour=red|endpoint=a:1"]
    texts += ["aeron:ipc?alias=a=b", "aeron:ipc?alias=a b?c"]
    for ours, answer in zip(texts, java_answers([f"parse\t{text}" for text in texts]), strict=True):
        assert same(Channel.parse(ours, strict=False)) == same(Channel.parse(answer, strict=False))

    refused = ["udp?endpoint=a:1", "aeron:tcp", "aeron:ipc?", "aeron:ipc?alias=a|", "aeron:ipc?=a", "aeron:ipc?alias"]
    refused += ["aeron:ipc|a=b", "aeron:", "", "aeron-spy:udp", "aeron:ipc?alias=" + "a" * 4095]
    for text, answer in zip(refused, java_answers([f"parse\t{text}" for text in refused]), strict=True):
        assert answer.startswith("REFUSED"), text
        with pytest.raises(ChannelError):
            Channel.parse(text)

    wild = "aeron:udp?endpoint=localhost:0|interface=127.0.0.1|alias=x"
    helped = [
        (f"session\t{wild}\t-5", Channel.parse(wild).with_params(session_id=-5)),
        (f"alias\t{wild}\ty", Channel.parse(wild).with_alias_if_absent("y")),
        ("alias\taeron:ipc\ty", Channel.ipc().with_alias_if_absent("y")),
        (f"transform\t{wild}\t-2", Channel.parse(wild).transform_alias(lambda alias: f"{alias}-2")),
        (f"destination\t{wild}\tlocalhost:5", Channel.parse(wild).destination("localhost:5")),
        (f"wildcard\t{wild}\tlocalhost:4711", Channel.parse(wild).replace_endpoint_wildcard_port("localhost:4711")),
    ]
    for (_, ours), answer in zip(helped, java_answers([line for line, _ in helped]), strict=True):
        assert same(ours) == same(Channel.parse(answer))


# --- on drivers ---


@pytest.fixture(scope="module")
def module_stage(java_host: Callable[[], JavaHost]) -> Iterator[Stage]:
    stage = Stage(java_host)
    yield stage
    stage.close()


@pytest.fixture(scope="module")
def clients(module_stage: Stage) -> Iterator[Callable[[str], Aeron]]:
    """A client of each peer's driver, made at first use."""
    found: dict[str, Aeron] = {}

    def get(peer: str) -> Aeron:
        if peer not in found:
            assert peer in ("c", "java")
            directory = module_stage.driver(peer, peer).aeron_dir  # type: ignore[arg-type]
            found[peer] = Aeron.connect(aeron_dir=str(directory))
        return found[peer]

    yield get
    for client in found.values():
        client.close()


# A value of each parameter that the real drivers take, on a channel of its own.
VALUES = {
    "tags": "{port},{other}",
    "interface": "127.0.0.1",
    "control": "127.0.0.1:{port}|control-mode=dynamic",
    "control-mode": "manual",
    "mtu": "4k",
    "init-term-id": "5|term-id=6|term-offset=64",
    "session-id": "-77",
    "ttl": "3",
    "linger": "1s",
    "alias": "named",
    "cc": "cubic",
    "fc": "max|control=127.0.0.1:{port}|control-mode=dynamic",
    "gtag": "5",
    "group": "true",
    "so-sndbuf": "128k",
    "so-rcvbuf": "256k",
    "rcv-wnd": "32k",
    "channel-rcv-ts-offset": "reserved",
    "channel-snd-ts-offset": "reserved",
    "nak-delay": "1ms",
    "untethered-window-limit-timeout": "1s",
    "untethered-linger-timeout": "1s",
    "untethered-resting-timeout": "1s",
    "max-resend": "8",
    "stream-id": "1",
    "pub-wnd": "16k",
    "reliable": "false",
    "sparse": "true",
    "eos": "false",
    "tether": "false",
    "rejoin": "false",
    "ssc": "true",
    "response-endpoint": "127.0.0.1:4000",
}


@on("client.channel.parser", "client.channel.builder")
def test_every_parameter_reaches_a_driver_as_it_is_meant(clients: Callable[[str], Aeron], peer: str) -> None:
    aeron = clients(peer)
    # term-length stands in all; term-id and term-offset with init-term-id; the rest needs peers of other rows.
    apart = {
        "endpoint",
        "term-length",
        "term-id",
        "term-offset",
        "ats",
        "response-correlation-id",
        "media-rcv-ts-offset",
    }
    assert VALUES.keys() | apart == PARAMS.keys()
    for key, value in VALUES.items():
        for media in ("udp", "ipc") if "i" in PARAMS[key].media else ("udp",):
            channel = f"aeron:{media}?term-length=64k|{key}={value.format(port=free_port(), other=free_port())}"
            if media == "udp":
                channel += f"|endpoint=127.0.0.1:{free_port()}"
            publication = aeron.add_exclusive_publication(channel, 1)
            subscription = aeron.add_subscription(channel, 1)
            assert publication.term_buffer_length == 65536
            if key == "session-id":
                assert publication.session_id == -77
            elif key == "mtu":
                assert publication.max_payload_length == 4096 - 32
            elif key == "init-term-id":
                assert publication.position == 65536 + 64
            publication.close()
            subscription.close()


# What our parser refuses, and a driver too where it is asked.
REFUSED_BY_DRIVERS = [
    "aeron:ipc?term-length=100k",
    "aeron:ipc?term-length=32k",
    "aeron:ipc?term-length=2g",
    "aeron:ipc?mtu=100",
    "aeron:ipc?mtu=128k",
    "aeron:ipc?term-id=4",
    "aeron:ipc?init-term-id=4|term-id=3|term-offset=0",
    "aeron:ipc?init-term-id=4|term-id=4|term-offset=33",
    "aeron:ipc?session-id=4294967296",
    "aeron:ipc?linger=soon",
    "aeron:ipc?pub-wnd=64k|term-length=64k",
    "aeron:udp?alias=a",
    "aeron:udp?control-mode=dynamic",
    "aeron:udp?endpoint=127.0.0.1",
    "aeron:udp?endpoint=127.0.0.1:70000",
    "aeron:udp?endpoint=127.0.0.1:40404|max-resend=257",
    "aeron:tcp?endpoint=127.0.0.1:40404",
    "aeron:ipc|alias=a",
]

# What our parser refuses, and drivers take in silence for something else than was meant.
TAKEN_IN_SILENCE = [
    "aeron:udp?endpoint=127.0.0.1:40404|control-mode=manuel",
    "aeron:udp?endpoint=127.0.0.1:40404|lingr=1s",
]


def answer_of(client: ProtocolClient, correlation_id: int) -> int:
    """0 where the driver added it, else its error code; answers to others are passed over."""
    while True:
        event = client.expect(ERROR, PUBLICATION_READY, COUNTER_READY, UNAVAILABLE_COUNTER, UNAVAILABLE_IMAGE)
        if event.type in (ERROR, PUBLICATION_READY) and event.i64(0) == correlation_id:
            return event.i32(8) if event.type == ERROR else 0


@on("client.channel.validation")
def test_what_we_refuse_the_drivers_refuse_as_well(clients: Callable[[str], Aeron], peer: str) -> None:
    aeron = clients(peer)
    driver = ProtocolClient(aeron.aeron_dir)  # which asks without a look at the channel
    codes = {}
    for channel in REFUSED_BY_DRIVERS + TAKEN_IN_SILENCE:
        with pytest.raises(ChannelError):
            aeron.add_publication(channel, 2)
        codes[channel] = answer_of(driver, driver.add_publication(channel, 2))
    driver.close()
    assert [channel for channel, code in codes.items() if code == 0] == TAKEN_IN_SILENCE
    assert set(codes.values()) <= {0, 1, 9, 11}
