"""What the driver answers where UDP channels are involved: endpoints, images, spies."""

from __future__ import annotations

import os
import struct

import pytest

from aeronpy.driver import MediaDriver, ThreadingMode
from tests.system import protocol_client as p
from tests.system.conftest import SHORT
from tests.system.protocol_client import ProtocolClient, eventually

KEPT = 46 + 1  # system counters, and the static one of first_add


@pytest.mark.parametrize("mode", [ThreadingMode.SHARED, ThreadingMode.SHARED_NETWORK, ThreadingMode.DEDICATED])
def test_udp_streams_get_an_image_and_lose_it(mode: ThreadingMode) -> None:
    with MediaDriver.launch_embedded(**SHORT, threading_mode=mode) as driver:
        client = ProtocolClient(driver.aeron_dir)
        client.first_add()
        subscription = client.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 7)
        subscribed = client.expect(p.SUBSCRIPTION_READY)
        status = client.counter(subscribed.i32(8))
        address = status.label.rsplit(" ", 1)[1]
        assert (status.type_id, status.value) == (7, 1)
        assert status.label == f"rcv-channel: aeron:udp?endpoint=127.0.0.1:0 {address}"
        _, local = client.counter_of(14, subscription)
        assert local.label == f"rcv-local-sockaddr: {subscribed.i32(8)} {address}"
        assert struct.unpack_from("<ii", local.key) == (subscribed.i32(8), len(address))

        publication = client.add_publication(f"aeron:udp?endpoint={address}", 7)
        ready = client.expect(p.PUBLICATION_READY)
        assert client.counter(ready.i32(28)).type_id == 6
        image = client.expect(p.AVAILABLE_IMAGE)
        assert (image.i32(8), image.i32(12), image.i64(16)) == (ready.i32(16), 7, subscription)
        path = image.text(28)
        assert path == f"{driver.aeron_dir}/images/{image.i64(0)}.logbuffer"
        _, sent_from = client.counter_of(14, publication)
        port = sent_from.label.rsplit(":", 1)[1]
        assert image.text(32 + (len(path) + 3) // 4 * 4) == f"127.0.0.1:{port}"

        client.remove_publication(publication)
        client.expect(p.OPERATION_SUCCESS)
        gone = client.expect(p.UNAVAILABLE_IMAGE)
        assert (gone.i64(0), gone.i64(8)) == (image.i64(0), subscription)
        client.command(p.REMOVE_SUBSCRIPTION, "q", subscription)
        client.expect(p.OPERATION_SUCCESS)
        eventually(lambda: len(client.counters()) == KEPT + 1, "only the client's own counters are left")
        assert os.listdir(f"{driver.aeron_dir}/publications") == os.listdir(f"{driver.aeron_dir}/images") == []
        client.close()


def test_a_spy_reads_a_publication_in_place(client: ProtocolClient) -> None:
    client.first_add()
    channel = "aeron:udp?endpoint=127.0.0.1:24399|ssc=true"
    publication = client.add_publication(channel, 7)
    ready = client.expect(p.PUBLICATION_READY)
    spy = client.add_subscription("aeron-spy:aeron:udp?endpoint=127.0.0.1:24399", 7)

    subscribed = client.expect(p.SUBSCRIPTION_READY)
    image = client.expect(p.AVAILABLE_IMAGE)

    assert (subscribed.i64(0), subscribed.i32(8)) == (spy, -1)
    assert (image.i64(0), image.i64(16), image.text(28)) == (publication, spy, ready.text(32))
    eventually(lambda: client.counter(ready.i32(24)).value == 32768, "a spy opens the limit where ssc is set")
    client.expect_error(client.add_subscription("aeron-spy:aeron:ipc", 7), 1)


def test_subscriptions_of_one_stream_must_agree(client: ProtocolClient) -> None:
    client.first_add()
    endpoint = "aeron:udp?endpoint=127.0.0.1:24398"
    client.add_subscription(endpoint, 7)
    client.expect(p.SUBSCRIPTION_READY)

    for parameter in ("reliable=false", "rejoin=false"):
        text = client.expect_error(client.add_subscription(f"{endpoint}|{parameter}", 7), 11)
        assert "option conflicts with existing subscription" in text
    client.add_subscription(f"{endpoint}|reliable=false|session-id=5", 7)
    client.expect(p.SUBSCRIPTION_READY)
    client.expect_error(client.add_subscription(f"{endpoint}|rcv-wnd=1g", 7), 11)


def test_a_refused_subscription_does_not_stand_in_the_way_of_the_next(client: ProtocolClient) -> None:
    client.first_add()
    channel = "aeron:udp?endpoint=127.0.0.1:24398"
    client.expect_error(client.add_subscription(f"{channel}|gtag=x", 7), 11)

    client.add_subscription(channel, 7)

    client.expect(p.SUBSCRIPTION_READY)
