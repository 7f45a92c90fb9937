"""The message of this demo, and two sources of real prices for it."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

# One message; a pass is one replay of the whole source.
TICK = np.dtype(
    [
        ("pass_number", "<u4"),
        ("number", "<u4"),
        ("time_ns", "<i8"),
        ("symbol", "S8"),
        ("price", "<f8"),
        ("quantity", "<i8"),
        ("kind", "S8"),
    ]
)
TICK_STRUCT = struct.Struct("<IIq8sdq8s")

_ORDER = np.dtype(
    {
        "names": ["instrument", "time_ns", "price", "size", "action"],
        "formats": ["<u4", "<i8", "<i8", "<u4", "S1"],
        "offsets": [4, 8, 24, 32, 38],
        "itemsize": 56,
    }
)
_ACTIONS = {b"A": b"add", b"C": b"cancel", b"M": b"modify", b"R": b"clear", b"T": b"trade", b"F": b"fill"}
_NO_PRICE = (1 << 63) - 1


@dataclass(frozen=True)
class Feed:
    """What is replayed: one row of `TICK` per message of a pass."""

    name: str
    ticks: np.ndarray[Any, Any]


def load(path: Path | None) -> Feed:
    """The order book of a .dbn.zst file, or else the daily bars of five stocks."""
    return orders(path) if path is not None else stocks()


def stocks() -> Feed:
    """Daily closes of AAPL, FB, GOOG, IBM and MSFT, 2000 to 2013, from the package bokeh-sampledata."""
    package = importlib.util.find_spec("bokeh_sampledata")
    if package is None or package.origin is None:
        raise SystemExit("the prices are missing: pip install --no-deps bokeh-sampledata")
    with gzip.open(Path(package.origin).parent / "_data" / "stocks.csv.gz", "rt", newline="") as file:
        bars = list(csv.DictReader(file))
    ticks = np.zeros(len(bars), TICK)
    ticks["time_ns"] = np.array([bar["Date"] for bar in bars], "datetime64[ns]").astype("i8")
    ticks["symbol"] = [bar["Ticker"].encode() for bar in bars]
    ticks["price"] = [float(bar["Close"]) for bar in bars]
    ticks["quantity"] = [int(float(bar["Volume"])) for bar in bars]
    ticks["kind"] = b"bar"
    return _in_order("daily bars", ticks)


def orders(path: Path) -> Feed:
    """Every order event of a Databento market-by-order file, version 1."""
    with open(path, "rb") as file:
        data = io.BytesIO(zstandard.ZstdDecompressor().stream_reader(file).read())
    magic, version, length = struct.unpack("<3sBI", data.read(8))
    if magic != b"DBN" or version != 1:
        raise SystemExit(f"{path} is no DBN file of version 1")
    data.read(length)
    events = np.frombuffer(data.read(), _ORDER)
    ticks = np.zeros(len(events), TICK)
    ticks["time_ns"] = events["time_ns"]
    ticks["symbol"] = [b"#%d" % instrument for instrument in events["instrument"]]
    ticks["price"] = np.where(events["price"] == _NO_PRICE, np.nan, events["price"] * 1e-9)
    ticks["quantity"] = events["size"]
    ticks["kind"] = [_ACTIONS.get(action, b"other") for action in events["action"]]
    return _in_order("order events", ticks)


def _in_order(name: str, ticks: np.ndarray[Any, Any]) -> Feed:
    ordered = ticks[np.argsort(ticks["time_ns"], kind="stable")]
    ordered["number"] = np.arange(len(ordered))
    return Feed(name, ordered)
