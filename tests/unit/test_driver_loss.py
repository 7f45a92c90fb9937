"""How a driver is told to drop datagrams on purpose."""

import pytest

from aeronpy.driver.settings.context import MediaDriverContext
from aeronpy.driver.settings.loss import Gaps, Loss, parse_loss
from aeronpy.errors import ArgumentError


def test_nothing_is_dropped_unless_asked_for() -> None:
    assert parse_loss("", {"loss": "rate=0.5"}).rate == 0.0
    assert MediaDriverContext(environment={}).core_config()["loss_rate"] == 0.0


def test_rate_mask_and_seed_are_taken_from_the_arguments() -> None:
    assert parse_loss("loss", {"loss": "rate=0.25|recv-msg-mask=0x2E|seed=99"}) == Loss(0.25, 0x2E, 99)
    assert parse_loss("loss", {"loss": "rate=1|recv-msg-mask=8|seed=0"}) == Loss(1.0, 8, 0)


def test_the_environment_of_the_real_driver_sets_it() -> None:
    config = MediaDriverContext(
        environment={
            "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": "loss",
            "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": "rate=0.1|seed=7|recv-msg-mask=0x2",
        }
    ).core_config()

    assert (config["loss_rate"], config["loss_mask"], config["loss_seed"]) == (0.1, 2, 7)


@pytest.mark.parametrize(
    ("interceptors", "arguments"),
    [
        ("fixed-loss", "rate=0.1"),
        ("loss", "rate=1.5"),
        ("loss", "rate=-1"),
        ("loss", "rate=x"),
        ("loss", "rate=0.1|rate=0.2"),
        ("loss", "pace=0.1"),
        ("loss", "rate"),
        ("loss", "recv-msg-mask=1FFFFFFFF"),
    ],
)
def test_what_cannot_be_meant_is_refused(interceptors: str, arguments: str) -> None:
    with pytest.raises(ArgumentError):
        MediaDriverContext(
            environment={
                "AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS": interceptors,
                "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS": arguments,
            }
        ).conclude()


def test_gaps_are_taken_from_their_arguments() -> None:
    loss = parse_loss(
        "fixed-loss, multi-gap-loss",
        {
            "fixed-loss": "term-id=-7|term-offset=64|length=1000",
            "multi-gap-loss": "term-id=3|gap-radix=5000|gap-length=100|total-gaps=9",
        },
    )

    assert loss == Loss(fixed=Gaps(-7, 1064), gaps=Gaps(3, 0, 8192, 100, 9))


@pytest.mark.parametrize(
    "arguments", ["", "term-id=1|term-offset=0", "term-id=x|term-offset=0|length=1", "term-id=1|term-offset=0|length=0"]
)
def test_gaps_that_cannot_be_meant_are_refused(arguments: str) -> None:
    with pytest.raises(ValueError, match=r"fixed-loss|invalid literal"):
        parse_loss("fixed-loss", {"fixed-loss": arguments})
