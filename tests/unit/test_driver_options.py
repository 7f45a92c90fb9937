"""The driver's options: spellings, ranges, and what is refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from aeronpy.driver import MediaDriverContext, ThreadingMode
from aeronpy.errors import ArgumentError
from tools import list_options


def read(**environment: str) -> MediaDriverContext:
    return MediaDriverContext(environment=environment)


def test_spellings_of_the_java_driver_mean_the_same() -> None:
    context = MediaDriverContext(
        environment={},
        properties={
            "aeron.conductor.idle.strategy": "org.agrona.concurrent.BusySpinIdleStrategy",
            "aeron.driver.termination.validator": "io.aeron.driver.DefaultAllowTerminationValidator",
            "aeron.multicast.flow.control.strategy": "io.aeron.driver.MinMulticastFlowControl",
        },
    )

    assert context.conductor_idle_strategy == "spin"
    assert context.driver_termination_validator == "allow"
    assert context.multicast_flow_control_supplier == "multicast_min"


@pytest.mark.parametrize(
    ("variable", "value", "option", "expected"),
    [
        ("AERON_MAX_RESEND", "1000", "max_resend", 256),
        ("AERON_MTU_LENGTH", "70000", "mtu_length", 65504),
        ("AERON_NAK_UNICAST_DELAY", "5", "nak_unicast_delay", 1000),
        ("AERON_TERM_BUFFER_LENGTH", "2g", "term_buffer_length", (1 << 31) - 1),
        ("AERON_TIMER_INTERVAL", "99999999999999999999", "timer_interval", (1 << 63) - 1),
        ("AERON_TIMER_INTERVAL", " 20ms ", "timer_interval", 20_000_000),
        ("AERON_PUBLICATION_RESERVED_SESSION_ID_LOW", "3000000000", "publication_reserved_session_id_low", -1),
        ("AERON_THREADING_MODE", "sometimes", "threading_mode", ThreadingMode.DEDICATED),
        ("AERON_THREADING_MODE", "SHARED", "threading_mode", ThreadingMode.SHARED),
        ("AERON_SENDER_WILDCARD_PORT_RANGE", "20700 20800", "sender_wildcard_port_range", (20700, 20800)),
        ("AERON_SENDER_WILDCARD_PORT_RANGE", "20800 20700", "sender_wildcard_port_range", (0, 0)),
        ("AERON_RECEIVER_GROUP_TAG", "-7", "receiver_group_tag", -7),
        ("AERON_RECEIVER_GROUP_CONSIDERATION", "perhaps", "receiver_group_consideration", "false"),
        ("AERON_DIR_PERMISSIONS", "0700", "dir_permissions", 0o700),
        ("AERON_CUBICCONGESTIONCONTROL_INITIALRTT", "5ms", "cubic_initial_rtt", 5_000_000),
    ],
)
def test_text_is_read_and_clamped(variable: str, value: str, option: str, expected: object) -> None:
    assert getattr(read(**{variable: value}), option) == expected


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("AERON_TERM_BUFFER_LENGTH", "4k", "term_buffer_length is 4096, which is no power of two from 65536"),
        ("AERON_FILE_PAGE_SIZE", "5000", "file_page_size is 5000"),
        ("AERON_CONDUCTOR_IDLE_STRATEGY", "yeild", "conductor_idle_strategy.*did you mean 'yield'"),
        ("AERON_MULTICAST_FLOWCONTROL_SUPPLIER", "multicast_minn", "did you mean 'multicast_min'"),
        ("AERON_CONGESTIONCONTROL_SUPPLIER", "fast", "none of default, static, cubic"),
        ("AERON_NAME_RESOLVER_SUPPLIER", "dns", "none of default, driver, csv_table"),
        ("AERON_DRIVER_TERMINATION_VALIDATOR", "maybe", "none of deny, allow"),
        ("AERON_DRIVER_RESOLVER_INTERFACE", "127.0.0.1:8050", "resolver_name"),
        ("AERON_DRIVER_DYNAMIC_LIBRARIES", "libx.so", "no plug-ins"),
        ("AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_MEDIA", "ef_vi", "none of default"),
    ],
)
def test_what_cannot_be_meant_is_refused(variable: str, value: str, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        read(**{variable: value}).conclude()


@pytest.mark.parametrize("value", ["99999999999999999999", "1_000", "x"])
def test_a_group_tag_that_is_no_number_of_64_bits_is_none(value: str) -> None:
    assert read(AERON_RECEIVER_GROUP_TAG=value).receiver_group_tag is None


def test_the_page_of_the_driver_lists_every_option_as_it_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "driver.md").read_text(encoding="utf-8")

    for option in MediaDriverContext.options():
        assert list_options.row(option) in page, "run: python tools/list_options.py"
