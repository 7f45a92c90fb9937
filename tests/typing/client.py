"""What a type checker must make of the client's API."""

from typing import Any, assert_type

from aeronpy import (
    Aeron,
    Channel,
    ChannelStatus,
    ControlledAction,
    ControlledFragmentAssembler,
    FragmentAssembler,
    FragmentView,
    Header,
    Image,
    ImageFragmentAssembler,
    Message,
    NativeHandle,
    OfferResult,
    Publication,
    Subscription,
    get_include,
)
from aeronpy.agent import AgentRunner, IdleStrategy


def on_fragment(buffer: FragmentView, header: Header) -> None:
    assert_type(buffer[0], int)
    assert_type(buffer[1:3], bytes)
    assert_type(bytes(buffer), bytes)
    assert_type(memoryview(buffer), memoryview)
    assert_type(header.image, Image)
    assert_type(header.position, int)


def controlled(buffer: FragmentView, header: Header) -> ControlledAction:
    return ControlledAction.CONTINUE


def on_raw_block(fileno: int, file_offset: int, block: FragmentView, session_id: int, term_id: int) -> None:
    assert_type(block.unpack("<i", 0), tuple[Any, ...])


def on_wrong(buffer: FragmentView, header: Header) -> str:
    return "no"


def checksum(frame: FragmentView) -> int:
    return len(frame)


def use(aeron: Aeron) -> None:
    publication = aeron.add_publication("aeron:ipc", 1001)
    subscription = aeron.add_subscription("aeron:ipc", 1001)
    assert_type(publication, Publication)
    assert_type(publication.offer(b"x"), int | OfferResult)
    assert_type(publication.send(bytearray(b"x"), timeout_s=None), int)
    assert_type(publication.channel_status, ChannelStatus)
    with publication.try_claim(8) as claim:
        assert_type(claim.buffer, memoryview)
    with aeron.add_subscription("aeron:ipc", 1) as other:
        assert_type(other, Subscription)
    assert_type(subscription.poll(FragmentAssembler(on_fragment)), int)
    assert_type(subscription.controlled_poll(controlled), int)
    assert_type(list(subscription.messages(limit=1)), list[Message])
    assert_type(aeron.get_publication(1), Publication | None)
    assert_type(aeron.async_add_static_counter(1, "x", 2), int)
    assert_type(publication.async_add_destination("aeron:udp?endpoint=a:1"), int)
    assert_type(aeron.add_available_image_handler(print, subscription), int)
    assert_type(Channel.udp("localhost:1", mtu_bytes=8192, eos=False), Channel)
    with AgentRunner(aeron.invoker().agent, IdleStrategy("yield")) as runner:
        assert_type(runner.is_closed, bool)

    assert_type(publication.offer(b"x", reserved_value=checksum), int | OfferResult)
    for image in subscription.images:
        assert_type(image.controlled_peek(0, ControlledFragmentAssembler(controlled)), int)
        assert_type(image.set_position(64), bool)
        assert_type(image.raw_poll(on_raw_block, 4096), int)
        image.poll(ImageFragmentAssembler(on_fragment, 65536, unassembled_limit=1 << 20))
        ControlledFragmentAssembler(on_wrong)  # type: ignore[arg-type]

    publication.offer("text")  # type: ignore[arg-type]
    subscription.poll(lambda: None)  # type: ignore[arg-type, misc]
    subscription.controlled_poll(lambda buffer, header: "no")  # type: ignore[arg-type, return-value]
    aeron.add_publication("aeron:ipc")  # type: ignore[call-arg]
    Channel.udp("localhost:1", mtu="8k")  # type: ignore[call-arg]
    Channel.ipc(linger_ns="5s")  # type: ignore[arg-type]
    AgentRunner(publication)  # type: ignore[arg-type]


def use_natively(publication: Publication, subscription: Subscription) -> None:
    assert_type(get_include(), str)
    assert_type(publication.native_handle, NativeHandle)
    assert_type(subscription.native_handle.address, int)
    assert_type(subscription.poll_native(4096, controlled=True), int)
