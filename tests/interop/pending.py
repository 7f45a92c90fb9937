"""Rows that our driver does not serve yet: their cells stay missing. A row leaves with the work that fills it."""

from __future__ import annotations

PENDING: frozenset[str] = frozenset()
