"""Loss on purpose: which incoming datagrams a driver drops, for tests (spec: network protocol, section 6.1)."""

from __future__ import annotations

import random
from dataclasses import dataclass

_ALL_TYPES = (1 << 32) - 1


@dataclass(frozen=True)
class Loss:
    """Drop ``rate`` (0 to 1) of the datagrams whose frame type's bit is in ``mask``, drawn from ``seed``."""

    rate: float = 0.0
    mask: int = _ALL_TYPES
    seed: int = 0


def parse_loss(interceptors: str, arguments: str) -> Loss:
    """The loss that the settings ask for; ``interceptors`` is empty or names the one that there is, ``loss``.

    ``arguments`` is ``rate=R|seed=N|recv-msg-mask=HEX``, any of them. Raises ValueError for anything else.
    """
    names = [name.strip() for name in interceptors.split(",") if name.strip()]
    if not names:
        return Loss()
    if names != ["loss"]:
        raise ValueError(f"incoming interceptors {interceptors!r}: only 'loss' is there")
    given: dict[str, str] = {}
    for pair in filter(None, arguments.split("|")):
        name, separator, value = pair.partition("=")
        if not separator or name not in ("rate", "seed", "recv-msg-mask") or name in given:
            raise ValueError(f"loss arguments {arguments!r}: {pair!r} is not one of rate=, seed=, recv-msg-mask=")
        given[name] = value
    rate = float(given.get("rate", "0"))
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"loss arguments {arguments!r}: a rate is from 0 to 1")
    mask = int(given["recv-msg-mask"], 16) if "recv-msg-mask" in given else _ALL_TYPES
    seed = int(given["seed"]) if "seed" in given else random.getrandbits(64)
    if not 0 <= mask <= _ALL_TYPES:
        raise ValueError(f"loss arguments {arguments!r}: a mask has 32 bits")
    return Loss(rate, mask, seed & ((1 << 64) - 1))
