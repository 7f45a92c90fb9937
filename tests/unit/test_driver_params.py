"""What channels say, session ids, addresses: the driver's decisions without a driver."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from aeronpy.driver.channels.channel_values import parse_channel
from aeronpy.driver.conductor.counters import stream_key
from aeronpy.driver.publications.publication_params import PublicationParams
from aeronpy.driver.publications.session_ids import SessionIds
from aeronpy.driver.settings.context import MediaDriverContext, ThreadingMode
from aeronpy.driver.system_counters import labels
from aeronpy.errors import ArgumentError, RegistrationError


def context(**settings: Any) -> MediaDriverContext:
    return MediaDriverContext(environment={}, **settings)


def params(channel: str, *, is_ipc: bool = True, **settings: Any) -> PublicationParams:
    return PublicationParams.parse(parse_channel(channel), context(**settings), is_ipc=is_ipc)


# --- session ids ---


def test_automatic_session_ids_jump_over_the_reserved_ones() -> None:
    ids = SessionIds(-3, -1, 1000)

    assert [ids.take(lambda _: False) for _ in range(4)] == [-3, -2, 1001, 1002]


def test_automatic_session_ids_wrap() -> None:
    ids = SessionIds((1 << 31) - 1, -1, 1000)

    assert [ids.take(lambda _: False) for _ in range(2)] == [(1 << 31) - 1, -(1 << 31)]


def test_automatic_session_ids_skip_what_is_used() -> None:
    ids = SessionIds(5000, -1, 1000)

    assert ids.take({5000, 5001}.__contains__) == 5002
    assert ids.take({5000, 5001}.__contains__) == 5003


# --- publications ---


def test_defaults_are_those_of_the_medium() -> None:
    ipc, network = params("aeron:ipc"), params("aeron:udp?endpoint=a:1", is_ipc=False)

    assert (ipc.term_length, network.term_length) == (64 << 20, 16 << 20)
    assert (ipc.mtu, ipc.window_length) == (1408, 32 << 20)
    assert (ipc.linger_ns, ipc.untethered_window_limit_ns, ipc.untethered_linger_ns) == (5 * 10**9,) * 3
    assert (ipc.untethered_resting_ns, ipc.signal_eos, ipc.sparse) == (10 * 10**9, True, True)
    assert (ipc.start_position, ipc.entity_tag, ipc.response_correlation_id) == (0, -1, -1)


def test_windows_are_clipped_to_half_a_term() -> None:
    assert params("aeron:ipc?term-length=64k", ipc_publication_term_window_length=1 << 20).window_length == 32768
    assert params("aeron:ipc?term-length=64k", ipc_publication_term_window_length=4096).window_length == 4096
    assert params("aeron:ipc?term-length=64k|pub-wnd=8k").window_length == 8192


def test_the_linger_of_untethered_ones_follows_their_window_limit() -> None:
    assert params("aeron:ipc?untethered-window-limit-timeout=7s").untethered_linger_ns == 7 * 10**9
    assert params("aeron:ipc", untethered_linger_timeout="3s").untethered_linger_ns == 3 * 10**9


def test_a_position_counts_terms_across_the_wrap_of_their_ids() -> None:
    found = params(f"aeron:ipc?term-length=64k|init-term-id={(1 << 31) - 1}|term-id={-(1 << 31)}|term-offset=64")

    assert found.start_position == 65536 + 64


@pytest.mark.parametrize(
    ("written", "expected"), [("", -1), ("|response-correlation-id=0", 0), ("|response-correlation-id=prototype", -2)]
)
def test_whom_a_publication_answers(written: str, expected: int) -> None:
    found = params(f"aeron:udp?control=127.0.0.1:1|control-mode=response{written}", is_ipc=False)

    assert (found.response_correlation_id, found.is_response, found.wants_response) == (expected, True, False)


def test_a_prototype_has_the_smallest_terms() -> None:
    channel = "aeron:udp?control=127.0.0.1:1|control-mode=response|term-length=1m|response-correlation-id=prototype"

    assert params(channel, is_ipc=False).term_length == 64 << 10


def test_a_session_by_tag_brings_what_its_streams_share() -> None:
    tagged = params("aeron:udp?endpoint=a:1|term-length=128k|mtu=2048", is_ipc=False)
    uri = parse_channel("aeron:udp?endpoint=a:1|session-id=tag:7")
    adopted = PublicationParams.parse(uri, context(), is_ipc=False).adopt(55, tagged, uri)

    assert (adopted.session_id, adopted.term_length, adopted.mtu) == (55, 128 << 10, 2048)
    assert adopted.window_length == 64 << 10


@pytest.mark.parametrize("parameter", ["mtu=4096", "term-length=1m"])
def test_a_session_by_tag_cannot_differ_from_it(parameter: str) -> None:
    tagged = params("aeron:udp?endpoint=a:1|term-length=128k|mtu=2048", is_ipc=False)
    uri = parse_channel(f"aeron:udp?endpoint=a:1|session-id=tag:7|{parameter}")

    with pytest.raises(RegistrationError, match=parameter.split("=", maxsplit=1)[0]) as caught:
        PublicationParams.parse(uri, context(), is_ipc=False).adopt(55, tagged, uri)
    assert caught.value.error_code == 11


# --- keys, labels, settings ---


def test_long_channels_are_cut_to_fit_the_key() -> None:
    key = stream_key(1, 2, 3, "c" * 200)

    assert key == struct.pack("<qiii", 1, 2, 3, 92) + b"c" * 92


def test_system_counters_are_named_in_the_order_of_their_ids() -> None:
    found = labels(
        "1.2.3", ThreadingMode.SHARED, conductor_ns=10**8, sender_ns=10**8, receiver_ns=10**8, resolver_ns=5 * 10**9
    )

    assert len(found) == 46
    assert found[15] == b"Errors: version=1.2.3 commit=aeronpy"
    assert found[18] == b"Sender flow control limits, i.e. back-pressure events"
    assert found[29] == b"Sender work cycle exceeded threshold count: threshold=100ms SHARED"


@pytest.mark.parametrize(
    "settings",
    [
        {"udp_channel_incoming_interceptors": "gremlins"},
        {"udp_channel_incoming_interceptors": "loss", "udp_channel_transport_bindings_loss_args": "rate=2"},
        {"name_resolver_supplier": "driver"},
        {"thread_naming": "pretty"},
        {"clients_buffer_length": 3 << 20},
    ],
)
def test_settings_that_cannot_be_served_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError):
        context(**settings).conclude()


def test_the_threads_of_each_mode_idle_and_are_named_as_aerons() -> None:
    dedicated = context(conductor_idle_strategy="yield", sender_cpu_affinity=1).agent_settings()
    assert [one[3] for one in dedicated] == [b"conductor", b"sender", b"receiver"]
    assert (dedicated[0][0], dedicated[1][2]) == (b"yield", 1)
    shared = context(threading_mode="SHARED", shared_idle_strategy="spin", thread_naming="new").agent_settings()
    assert (shared[0][0], shared[0][3]) == (b"spin", b"aeron-md-shd")
