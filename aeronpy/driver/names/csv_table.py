"""Names whose addresses change on demand, for tests (spec: network protocol, section 2.19)."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from aeronpy._core.native import DriverCore
from aeronpy.driver.addresses import resolve_host
from aeronpy.driver.names.resolver import NameResolver
from aeronpy.errors import ArgumentError

NAME_ENTRY: Final = 2001
_INITIAL, _AGAIN = 0, 1


class _Row(NamedTuple):
    name: str
    initial: str
    again: str
    counter_id: int


class CsvTableResolver(NameResolver):
    """Rows ``name,initial host,re-resolution host`` separated by ``|``; each has a counter that says which one counts.

    0: the initial host; 1: the other; -1: the name is unknown. Names without a row are asked of the system.
    """

    log_name = "csv"

    def __init__(self, table: str, core: DriverCore) -> None:
        self._core = core
        self._rows = {row.name: row for row in (self._row(text) for text in table.split("|") if text.strip())}

    def _row(self, text: str) -> _Row:
        columns = [column.strip() for column in text.split(",")]
        if len(columns) != 3 or not all(columns):
            raise ArgumentError(f"csv_table: row {text!r} is not name,initial host,re-resolution host")
        name, initial, again = columns
        key = name.encode("ascii", "replace")[:108]
        label = f"NameEntry{{name='{name}', initialResolutionHost='{initial}', reResolutionHost='{again}'}}"
        counter_id = self._core.allocate_counter(
            NAME_ENTRY, struct.pack("<i", len(key)) + key, label.encode("ascii", "replace"), 0, 0
        )
        return _Row(name, initial, again, counter_id)

    def resolve(self, host: str, *, is_again: bool) -> str:
        """As the row's counter says."""
        row = self._rows.get(host)
        if row is None:
            return resolve_host(host)
        chosen = self._core.counter_value(row.counter_id)
        if chosen == _INITIAL:
            return resolve_host(row.initial)
        if chosen == _AGAIN:
            return resolve_host(row.again)
        raise LookupError(f"its counter {row.counter_id} is {chosen}")
