"""offer and poll by the short way that most calls take, and the general way behind it: they answer alike."""

from collections.abc import Callable, Iterator

import pytest

from aeronpy import Aeron, FragmentAssembler, MediaDriver, OfferResult
from aeronpy.errors import ArgumentError, StateError
from tests.waiting import until

STREAM = 77


class Flow:
    """A publication and its subscription."""

    def __init__(self, aeron: Aeron, stream_id: int) -> None:
        self.subscription = aeron.add_subscription("aeron:ipc", stream_id)
        self.publication = aeron.add_exclusive_publication("aeron:ipc?term-length=64k", stream_id)
        until(lambda: self.publication.is_connected and self.subscription.image_count == 1)


@pytest.fixture(scope="module")
def aeron() -> Iterator[Aeron]:
    with MediaDriver.launch_embedded() as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as connected:
        yield connected


@pytest.fixture
def flow(aeron: Aeron, request: pytest.FixtureRequest) -> Iterator[Flow]:
    made = Flow(aeron, STREAM)
    yield made
    made.publication.close()
    made.subscription.close()


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, type("B", (bytes,), {})])
def test_a_message_of_any_buffer_arrives(flow: Flow, make: Callable[[bytes], bytes]) -> None:
    got: list[bytes] = []
    position = flow.publication.offer(make(b"hello"))
    assert (position, flow.publication.position) == (64, 64)

    assert flow.subscription.poll(lambda buffer, header: got.append(bytes(buffer))) == 1
    assert got == [b"hello"]


@pytest.mark.timeout(30)
def test_parts_and_keywords_take_the_general_way(flow: Flow) -> None:
    got: list[tuple[bytes, int]] = []
    assert flow.publication.offer(b"he", b"llo") > 0
    assert flow.publication.offer(b"kept", reserved_value=7) > 0
    assert flow.publication.offer(buffer=b"named") > 0

    def on_fragment(buffer: object, header: object) -> None:
        got.append((bytes(buffer), header.reserved_value))  # type: ignore[call-overload, attr-defined]

    assert flow.subscription.poll(on_fragment, fragment_limit=2) == 2
    assert flow.subscription.poll(handler=on_fragment, fragment_limit=5) == 1
    assert got == [(b"hello", 0), (b"kept", 7), (b"named", 0)]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("limit", [1, 2, True])
def test_no_more_than_the_limit_is_given(flow: Flow, limit: int) -> None:
    for _ in range(3):
        flow.publication.offer(b"x")
    assert flow.subscription.poll(lambda buffer, header: None, limit) == int(limit)
    assert flow.subscription.poll(lambda buffer, header: None) == 3 - int(limit)
    assert flow.subscription.poll(lambda buffer, header: None) == 0


@pytest.mark.timeout(30)
def test_wrong_arguments_are_refused_also_where_nothing_came(flow: Flow) -> None:
    handler: object = None
    with pytest.raises(TypeError, match="None cannot be"):
        flow.subscription.poll(handler)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        flow.subscription.poll()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        flow.subscription.poll(print, 1, 2)  # type: ignore[call-arg]
    with pytest.raises(OverflowError):
        flow.subscription.poll(print, 1 << 40)
    with pytest.raises(TypeError):
        flow.publication.offer()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        flow.publication.offer(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        flow.publication.offer(b"x", wrong=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="PublicationBase"):
        type(flow.publication).offer(flow.subscription, b"x")  # type: ignore[arg-type]


class Called:
    """An object with a method, and callable itself."""

    def __init__(self) -> None:
        self.got: list[bytes] = []

    def method(self, buffer: object, header: object) -> None:
        self.got.append(bytes(buffer))  # type: ignore[call-overload]

    __call__ = method


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", ["bound method", "callable object", "assembler"])
def test_every_kind_of_handler_is_called(flow: Flow, kind: str) -> None:
    called = Called()
    handlers = {
        "bound method": called.method,
        "callable object": called,
        "assembler": FragmentAssembler(called.method),
    }
    assert flow.subscription.poll(handlers[kind]) == 0
    flow.publication.offer(b"one")

    assert flow.subscription.poll(handlers[kind]) == 1
    assert called.got == [b"one"]


@pytest.mark.timeout(30)
def test_what_a_handler_raises_is_raised_and_a_poll_inside_of_one_is_refused(flow: Flow) -> None:
    def fail(buffer: object, header: object) -> None:
        raise KeyError("mine")

    def again(buffer: object, header: object) -> None:
        flow.subscription.poll(again)

    flow.publication.offer(b"x")
    with pytest.raises(KeyError, match="mine"):
        flow.subscription.poll(fail)
    flow.publication.offer(b"y")
    with pytest.raises(StateError, match="being polled already"):
        flow.subscription.poll(again)
    assert flow.subscription.poll(fail) == 0


@pytest.mark.timeout(30)
def test_refusals_are_results_and_too_long_is_an_error(flow: Flow) -> None:
    with pytest.raises(ArgumentError):
        flow.publication.offer(b"x" * (flow.publication.max_message_length + 1))
    while (result := flow.publication.offer(b"x" * 1000)) > 0:
        pass
    assert result is OfferResult.BACK_PRESSURED
    flow.publication.close()
    assert flow.publication.offer(b"x") is OfferResult.CLOSED
