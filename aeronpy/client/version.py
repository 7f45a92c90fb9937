"""What this client says of itself in the label of its heartbeat counter."""

from __future__ import annotations

from typing import Final

from aeronpy import __version__

VERSION: Final = __version__
