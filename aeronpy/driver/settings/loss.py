"""Loss on purpose: which incoming datagrams a driver drops, for tests (spec: network protocol, section 6.1)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, NamedTuple

_ALL_TYPES: Final = (1 << 32) - 1
_I32: Final = 1 << 31
_TERM_MAX: Final = 1 << 30

_ARGUMENTS: Final = {
    "loss": ("rate", "seed", "recv-msg-mask"),
    "fixed-loss": ("term-id", "term-offset", "length"),
    "multi-gap-loss": ("term-id", "gap-radix", "gap-length", "total-gaps"),
}


class Gaps(NamedTuple):
    """Gaps in one term of each stream, each dropped once.

    Either all from the first offset seen to ``end``, or ``[k * radix, k * radix + length)`` for k from 1 to gap_count.
    """

    term_id: int = 0
    end: int = 0
    radix: int = 0
    length: int = 0
    gap_count: int = 0


NO_GAPS: Final = Gaps()


class Loss(NamedTuple):
    """Drop ``rate`` (0 to 1) of the datagrams whose frame type's bit is in ``mask``, drawn from ``seed``; and gaps."""

    rate: float = 0.0
    mask: int = _ALL_TYPES
    seed: int = 0
    fixed: Gaps = NO_GAPS
    gaps: Gaps = NO_GAPS


def parse_loss(interceptors: str, arguments: Mapping[str, str]) -> Loss:
    """The loss that the settings ask for: ``interceptors`` names kinds, ``arguments`` has what each is told.

    ``loss`` takes ``rate=R|seed=N|recv-msg-mask=HEX``, ``fixed-loss`` ``term-id=|term-offset=|length=``,
    ``multi-gap-loss`` ``term-id=|gap-radix=|gap-length=|total-gaps=``. Raises ValueError for anything else.
    """
    names = [name.strip() for name in interceptors.split(",") if name.strip()]
    for name in names:
        if name not in _ARGUMENTS or names.count(name) > 1:
            raise ValueError(f"incoming interceptors {interceptors!r}: there are {', '.join(_ARGUMENTS)}, each once")
    given = {name: _split(name, arguments.get(name, "")) for name in names}
    rate, mask, seed = _chance(given["loss"], arguments["loss"]) if "loss" in given else (0.0, _ALL_TYPES, 0)
    fixed = _fixed(given["fixed-loss"]) if "fixed-loss" in given else NO_GAPS
    gaps = _multi(given["multi-gap-loss"]) if "multi-gap-loss" in given else NO_GAPS
    return Loss(rate, mask, seed, fixed, gaps)


def _split(name: str, arguments: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for pair in filter(None, arguments.split("|")):
        key, separator, value = pair.partition("=")
        if not separator or key not in _ARGUMENTS[name] or key in given:
            known = ", ".join(f"{each}=" for each in _ARGUMENTS[name])
            raise ValueError(f"{name} arguments {arguments!r}: {pair!r} is not one of {known}")
        given[key] = value
    return given


def _chance(given: Mapping[str, str], arguments: str) -> tuple[float, int, int]:
    rate = float(given.get("rate", "0"))
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"loss arguments {arguments!r}: a rate is from 0 to 1")
    mask = int(given["recv-msg-mask"], 16) if "recv-msg-mask" in given else _ALL_TYPES
    seed = int(given["seed"]) if "seed" in given else int.from_bytes(os.urandom(8), "little")
    if not 0 <= mask <= _ALL_TYPES:
        raise ValueError(f"loss arguments {arguments!r}: a mask has 32 bits")
    return rate, mask, seed & ((1 << 64) - 1)


def _number(kind: str, given: Mapping[str, str], key: str, low: int, high: int) -> int:
    if key not in given:
        raise ValueError(f"{kind} needs {key}=")
    value = int(given[key])
    if not low <= value <= high:
        raise ValueError(f"{kind}: {key}={value} is not within {low} and {high}")
    return value


def _fixed(given: Mapping[str, str]) -> Gaps:
    kind = "fixed-loss"
    offset = _number(kind, given, "term-offset", 0, _TERM_MAX)
    length = _number(kind, given, "length", 1, _TERM_MAX)
    return Gaps(term_id=_number(kind, given, "term-id", -_I32, _I32 - 1), end=min(offset + length, _TERM_MAX))


def _multi(given: Mapping[str, str]) -> Gaps:
    kind = "multi-gap-loss"
    radix = _number(kind, given, "gap-radix", 1, _TERM_MAX)
    return Gaps(
        term_id=_number(kind, given, "term-id", -_I32, _I32 - 1),
        radix=1 << (radix - 1).bit_length(),
        length=_number(kind, given, "gap-length", 1, _TERM_MAX),
        gap_count=_number(kind, given, "total-gaps", 1, _TERM_MAX),
    )
