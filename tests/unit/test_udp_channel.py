"""What a UDP channel says to a driver: forms, addresses, interfaces, groups, time stamps, ports, tags."""

from __future__ import annotations

import ipaddress
import struct

import pytest

from aeronpy.driver.channels import addresses
from aeronpy.driver.channels.addresses import Address, Interface, find_interface
from aeronpy.driver.channels.channel_values import parse_channel
from aeronpy.driver.channels.udp_channel import ControlMode, UdpChannel
from aeronpy.driver.channels.wildcard_ports import WildcardPorts
from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.errors import RegistrationError

UP, LOOPBACK, MULTICAST = 0x1, 0x8, 0x1000


def udp(channel: str, *, is_destination: bool = False) -> UdpChannel:
    context = MediaDriverContext(environment={}, socket_multicast_ttl=5)
    return UdpChannel.parse(channel, parse_channel(channel), context, is_destination=is_destination)


@pytest.mark.parametrize(
    ("channel", "form"),
    [
        ("aeron:udp?endpoint=127.0.0.1:40456", "UDP-0.0.0.0:0-127.0.0.1:40456"),
        ("aeron:udp?endpoint=localhost:40456", "UDP-0.0.0.0:0-localhost:40456"),
        ("aeron:udp?endpoint=127.0.0.1:40456|interface=127.0.0.1", "UDP-127.0.0.1:0-127.0.0.1:40456"),
        ("aeron:udp?endpoint=127.0.0.1:40456|interface=127.0.0.1:5000", "UDP-127.0.0.1:5000-127.0.0.1:40456"),
        ("aeron:udp?endpoint=[::1]:40456", "UDP-[::]:0-[::1]:40456"),
        ("aeron:udp?endpoint=127.0.0.1:1|control=127.0.0.1:2", "UDP-127.0.0.1:2-127.0.0.1:1"),
        ("aeron:udp?endpoint=127.0.0.1:0|tags=9", "UDP-0.0.0.0:0-127.0.0.1:0#9"),
        ("aeron:udp?tags=9", "UDP-0.0.0.0:0-0.0.0.0:0#9"),
        ("aeron:udp?control=localhost:7|control-mode=dynamic", "UDP-localhost:7-0.0.0.0:0"),
        ("aeron:udp?control=[::1]:7|control-mode=response", "UDP-[::1]:7-[::]:0"),
        ("aeron:udp?control-mode=manual|tags=4", "UDP-0.0.0.0:0-0.0.0.0:0#4"),
        ("aeron:udp?endpoint=224.20.30.39:24326|interface=localhost", "UDP-127.0.0.1:0-224.20.30.39:24326"),
        ("aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.0/8|tags=3", "UDP-127.0.0.1:0-224.20.30.39:24326"),
        ("aeron:udp?endpoint=[ff01::11]:9|interface=[::1]", "UDP-[::1]:0-[ff01::11]:9"),
    ],
)
def test_the_canonical_form_is_what_was_written(channel: str, form: str) -> None:
    assert udp(channel).canonical_form == form


def test_wildcards_share_with_nobody() -> None:
    forms = {udp("aeron:udp?endpoint=127.0.0.1:0").canonical_form for _ in range(3)}

    assert len(forms) == 3


@pytest.mark.parametrize(
    ("channel", "code"),
    [
        ("aeron:udp?endpoint=224.20.30.40:24326|interface=localhost", 11),
        ("aeron:udp?endpoint=224.20.30.39:24326|interface=192.0.2.1", 11),
        ("aeron:udp?control-mode=dynamic|endpoint=127.0.0.1:9", 1),
        ("aeron:udp?control-mode=sideways|endpoint=127.0.0.1:9", 1),
        ("aeron:udp?mtu=4096", 1),
        ("aeron:udp?endpoint=127.0.0.1:1|control=[::1]:2", 1),
        ("aeron:udp?endpoint=127.0.0.1:1|interface=[::1]", 11),
        ("aeron:udp?endpoint=127.0.0.1:1|ats=true", 11),
        ("aeron:udp?endpoint=127.0.0.1:1|ttl=-1", 11),
        ("aeron:udp?endpoint=127.0.0.1:1|channel-snd-ts-offset=-4", 11),
        ("aeron:udp?endpoint=127.0.0.1:1|channel-snd-ts-offset=0|channel-rcv-ts-offset=7", 11),
        ("aeron:udp?endpoint=127.0.0.1:1|channel-rcv-ts-offset=reserved|media-rcv-ts-offset=reserved", 11),
        ("aeron:udp?endpoint=no.such.host.invalid:1", 9),
        ("aeron:udp?endpoint=127.0.0.1:1|interface=192.0.2.1", 11),
        ("aeron:udp?endpoint=127.0.0.1:1|interface={nosuchif}", 11),
        ("aeron:udp?endpoint=127.0.0.1:99999", 1),
    ],
)
def test_channels_that_cannot_be_served(channel: str, code: int) -> None:
    with pytest.raises(RegistrationError) as caught:
        udp(channel)
    assert caught.value.error_code == code


def test_addresses_are_packed_as_the_system_has_them() -> None:
    v4, v6 = Address("127.0.0.1", 40123), Address("::1", 40123)

    assert v4.pack()[:8] == struct.pack("=H", 2) + struct.pack(">H", 40123) + bytes([127, 0, 0, 1])
    assert v6.pack()[:24] == struct.pack("=H", 10) + struct.pack(">H", 40123) + bytes(4) + bytes(15) + b"\1"
    for address in (v4, v6):
        assert len(address.pack()) == 128
        assert Address.unpack(address.pack()) == address
    assert str(v6) == "[::1]:40123"


def test_loopback_is_found_by_address_and_by_name() -> None:
    by_address, _ = find_interface("127.0.0.0:77/8", is_v6=False, wants_multicast=False)
    assert by_address == Address("127.0.0.1", 77)
    by_name, index = find_interface("{lo}:9", is_v6=False, wants_multicast=False)
    assert (by_name, index > 0) == (Address("127.0.0.1", 9), True)


# --- multicast ---


def test_control_of_a_group_goes_to_the_group_after_it() -> None:
    v4 = udp("aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1|ttl=3")
    v6 = udp("aeron:udp?endpoint=[ff01::11]:9|interface=[::1]|ttl=900")

    assert (v4.remote, v4.remote_control) == (Address("224.20.30.39", 24326), Address("224.20.30.40", 24326))
    assert (v6.remote, v6.remote_control) == (Address("ff01::11", 9), Address("ff01::12", 9))
    assert (v4.local, v4.interface_index > 0, v4.is_multicast, v4.is_group) == (
        Address("127.0.0.1", 0),
        True,
        True,
        True,
    )
    assert (v4.ttl, v4.setup_ttl, v6.ttl) == (3, 3, 255)


def test_the_settings_ttl_is_for_sockets_only_and_for_multicast_only() -> None:
    group = udp("aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1")
    unicast = udp("aeron:udp?endpoint=127.0.0.1:9|ttl=9")

    assert (group.ttl, group.setup_ttl) == (5, 0)
    assert (unicast.ttl, unicast.setup_ttl) == (0, 0)


def interfaces(*rows: tuple[str, str, int, int]) -> list[Interface]:
    return [Interface(name, host, prefix, i + 1, flags | UP) for i, (name, host, prefix, flags) in enumerate(rows)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.0.0.0/0", "10.1.2.3"),  # the longest netmask of those that can do multicast
        ("10.0.0.0/8", "10.1.2.3"),
        ("172.16.0.0/12:0", 1),  # the port stands before the prefix
        ("172.16.0.1/12", "172.16.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("192.168.7.7", 11),  # neither loopback nor multicast
    ],
)
def test_interfaces_are_chosen_as_the_reference_does(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: str | int
) -> None:
    found = interfaces(
        ("lo", "127.0.0.1", 8, LOOPBACK),
        ("eth0", "172.16.0.1", 16, MULTICAST),
        ("eth1", "10.1.2.3", 24, MULTICAST),
        ("tun0", "192.168.7.7", 32, 0),
    )
    monkeypatch.setattr(addresses, "_interfaces", lambda: found)

    if isinstance(expected, int):
        with pytest.raises(RegistrationError) as caught:
            find_interface(text, is_v6=False, wants_multicast=True)
        assert caught.value.error_code == expected
    else:
        assert find_interface(text, is_v6=False, wants_multicast=True)[0].host == expected


def test_a_link_local_interface_keeps_its_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "_interfaces", lambda: interfaces(("eth0", "fe80::1", 64, MULTICAST)))

    found, index = find_interface("{eth0}", is_v6=True, wants_multicast=True)

    assert (found, found.scope, index) == (Address("fe80::1", 0), 1, 1)
    assert found.pack()[8:28] == ipaddress.ip_address("fe80::1").packed + struct.pack("=I", 1)


# --- modes, time stamps ---


@pytest.mark.parametrize(
    ("channel", "mode", "is_mdc"),
    [
        ("aeron:udp?endpoint=127.0.0.1:9", ControlMode.NONE, False),
        ("aeron:udp?control=127.0.0.1:9|control-mode=dynamic", ControlMode.DYNAMIC, True),
        ("aeron:udp?control-mode=manual", ControlMode.MANUAL, True),
        ("aeron:udp?control=127.0.0.1:9|control-mode=response", ControlMode.RESPONSE, False),
    ],
)
def test_control_modes(channel: str, mode: ControlMode, is_mdc: bool) -> None:
    found = udp(channel)

    assert (found.control_mode, found.is_mdc, found.is_group) == (mode, is_mdc, is_mdc)


def test_time_stamps_go_where_the_channel_says() -> None:
    found = udp(
        "aeron:udp?endpoint=127.0.0.1:9|media-rcv-ts-offset=reserved|channel-rcv-ts-offset=0|channel-snd-ts-offset=8"
    )

    assert (found.timestamps.media_receive, found.timestamps.channel_receive, found.timestamps.channel_send) == (
        -8,
        0,
        8,
    )


def test_destinations_share_by_what_they_say_alone() -> None:
    forms = {udp("aeron:udp?endpoint=127.0.0.1:0", is_destination=True).canonical_form for _ in range(2)}

    assert forms == {"UDP-0.0.0.0:0-127.0.0.1:0"}


# --- tags ---


@pytest.mark.parametrize(
    ("channel", "phrase"),
    [
        ("aeron:udp?tags=9", None),
        ("aeron:udp?tags=9|endpoint=127.0.0.1:2|control=127.0.0.1:1|control-mode=dynamic", None),
        ("aeron:udp?tags=9|control-mode=manual", "mismatched control-mode"),
        ("aeron:udp?tags=9|endpoint=127.0.0.1:3|control=127.0.0.1:1", "has mismatched endpoint or control: .* <> "),
        ("aeron:udp?tags=9|endpoint=127.0.0.1:2", "has mismatched endpoint or control: .* <> "),
    ],
)
def test_a_tag_stands_for_one_mode_and_one_pair_of_addresses(channel: str, phrase: str | None) -> None:
    existing = udp("aeron:udp?tags=9|endpoint=127.0.0.1:2|control=127.0.0.1:1|control-mode=dynamic")

    if phrase is None:
        udp(channel).check_tag_match(existing)
    else:
        with pytest.raises(RegistrationError, match=phrase) as caught:
            udp(channel).check_tag_match(existing)
        assert caught.value.error_code == 11


def test_a_tag_follows_an_address_that_moved() -> None:
    existing = udp("aeron:udp?tags=9|endpoint=127.0.0.1:2")

    udp("aeron:udp?tags=9|endpoint=127.0.0.3:2").check_tag_match(existing, Address("127.0.0.3", 2))


# --- ports ---


def test_open_ports_come_from_the_range_and_go_back() -> None:
    ports = WildcardPorts((7000, 7002))
    host = "127.0.0.1"
    ports.take(Address(host, 7001))

    taken = [ports.take(Address(host, 0)).port for _ in range(2)]
    assert taken == [7000, 7002]
    with pytest.raises(RegistrationError, match="no available ports in range 7000 7002"):
        ports.take(Address(host, 0))

    ports.give_back(Address(host, 7001))
    assert ports.take(Address(host, 0)).port == 7001


def test_ports_are_searched_from_the_one_after_the_last() -> None:
    ports = WildcardPorts((7000, 7002))
    for expected in (7000, 7001, 7002, 7000):
        taken = ports.take(Address("127.0.0.1", 0))
        assert taken.port == expected
        ports.give_back(taken)


def test_a_port_named_twice_is_free_after_both() -> None:
    ports = WildcardPorts((7000, 7000))
    named = Address("127.0.0.1", 7000)
    for _ in range(2):
        ports.take(named)
    ports.give_back(named)

    with pytest.raises(RegistrationError, match="no available ports"):
        ports.take(Address("127.0.0.1", 0))


def test_without_a_range_the_system_chooses() -> None:
    assert WildcardPorts((0, 0)).take(Address("127.0.0.1", 0)).port == 0
