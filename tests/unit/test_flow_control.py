"""Which flow control a channel asks for, and what it gets otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from aeronpy.driver.channels.channel_values import parse_channel
from aeronpy.driver.channels.udp_channel import UdpChannel
from aeronpy.driver.publications.flow_control import FlowControl, FlowControlKind
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.errors import RegistrationError

GROUP = "aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1"
DYNAMIC = "aeron:udp?control=127.0.0.1:9|control-mode=dynamic"
UNICAST = "aeron:udp?endpoint=127.0.0.1:9"
S = 10**9


def flow_of(channel: str, **settings: Any) -> FlowControl:
    context = MediaDriverContext(environment={}, **settings)
    uri = parse_channel(channel)
    return FlowControl.parse(uri, context, is_group=UdpChannel.parse(channel, uri, context).is_group)


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        (UNICAST, FlowControl(FlowControlKind.UNICAST, 16, 5 * S, -1, 0)),
        (f"{UNICAST}|fc=tagged,g:9", FlowControl(FlowControlKind.UNICAST, 16, 5 * S, -1, 0)),
        (GROUP, FlowControl(FlowControlKind.MAX, 4, 5 * S, -1, 0)),
        (DYNAMIC, FlowControl(FlowControlKind.MAX, 4, 5 * S, -1, 0)),
        (f"{GROUP}|fc=max,rrwm:9", FlowControl(FlowControlKind.MAX, 9, 5 * S, -1, 0)),
        (f"{GROUP}|fc=min", FlowControl(FlowControlKind.MIN, 4, 5 * S, -1, 0)),
        (f"{GROUP}|fc=min,t:10s,g:/3", FlowControl(FlowControlKind.MIN, 4, 10 * S, -1, 3)),
        (f"{DYNAMIC}|fc=tagged,g:123", FlowControl(FlowControlKind.TAGGED, 4, 5 * S, 123, 0)),
        (f"{DYNAMIC}|fc=tagged,g:-1/2,t:1ms", FlowControl(FlowControlKind.TAGGED, 4, 10**6, -1, 2)),
    ],
)
def test_what_a_channel_asks_for(channel: str, expected: FlowControl) -> None:
    assert flow_of(channel) == expected


def test_the_driver_says_what_channels_do_not() -> None:
    settings = {
        "multicast_flow_control_supplier": "multicast_tagged",
        "flow_control_receiver_timeout": "2s",
        "flow_control_group_tag": 7,
        "flow_control_group_min_size": 3,
        "multicast_flow_control_rrwm": 5,
    }

    assert flow_of(GROUP, **settings) == FlowControl(FlowControlKind.TAGGED, 5, 2 * S, 7, 3)
    assert flow_of(f"{GROUP}|fc=min,g:/1", **settings) == FlowControl(FlowControlKind.MIN, 5, 2 * S, 7, 1)
    assert flow_of(f"{GROUP}|fc=tagged,g:8", **settings) == FlowControl(FlowControlKind.TAGGED, 5, 2 * S, 8, 3)
    assert flow_of(UNICAST, **settings).kind is FlowControlKind.UNICAST


@pytest.mark.parametrize(
    "form",
    [
        "",
        "Max",
        "max,t:5s",
        "min,t:soon",
        "min,g:1/x",
        "min,g:/-1",
        "tagged,g:/",
        "max,rrwm:0",
        "min,s:1",
        "min,",
        "min,g",
    ],
)
def test_what_cannot_be_meant(form: str) -> None:
    with pytest.raises(RegistrationError, match="fc=") as caught:
        flow_of(f"{GROUP}|fc={form}")
    assert caught.value.error_code == 11
