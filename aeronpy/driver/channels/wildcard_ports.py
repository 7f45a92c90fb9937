"""Which port a socket gets where a channel leaves it open (spec: network protocol, section 2.8)."""

from __future__ import annotations

from collections import Counter

from aeronpy.driver.channels.addresses import Address
from aeronpy.driver.conductor.refusals import refuse
from aeronpy.protocol import ErrorCode


class WildcardPorts:
    """Ports of one side of a driver: those that channels name, and those given from a range. Decision thread."""

    def __init__(self, port_range: tuple[int, int]) -> None:
        self._low, self._high = port_range
        self._next = self._low
        self._used: Counter[int] = Counter()

    def take(self, address: Address) -> Address:
        """The address with a port to bind to; port 0 stays where the system chooses. Error 11 when all are taken."""
        if address.port != 0:
            self._used[address.port] += 1
            return address
        if (self._low, self._high) == (0, 0):
            return address
        candidates = [*range(self._next, self._high + 1), *range(self._low, self._next)]
        port = next((one for one in candidates if not self._used[one]), None)
        if port is None:
            raise refuse(ErrorCode.GENERIC_ERROR, f"no available ports in range {self._low} {self._high}")
        self._used[port] += 1
        self._next = self._low if port == self._high else port + 1
        return address._replace(port=port)

    def give_back(self, address: Address) -> None:
        """A socket that `take` served is closed."""
        if address.port == 0:
            return
        self._used[address.port] -= 1
        if self._used[address.port] <= 0:
            del self._used[address.port]
