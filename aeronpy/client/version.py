"""What this client says of itself in the label of its heartbeat counter."""

from __future__ import annotations

from importlib import metadata
from typing import Final


def _installed() -> str:
    try:
        return metadata.version("aeronpy")
    except metadata.PackageNotFoundError:
        return "0.1.0"


VERSION: Final = _installed()
