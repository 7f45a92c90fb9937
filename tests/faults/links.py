"""Two network namespaces of a test's own, with a link between them that loses datagrams. Needs root and nftables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from typing import NoReturn

import pytest

from tests.interop.stage import Stage


def need_root(*tools: str) -> None:
    """Root and these tools, or no test."""
    lacking = [tool for tool in tools if shutil.which(tool) is None]
    if lacking:
        _do_without(f"{', '.join(lacking)} missing: apt-get install iproute2 nftables util-linux")
    if os.geteuid() != 0:
        _do_without("namespaces need root")


def _do_without(reason: str) -> NoReturn:
    """What a test needs is not here: a failure where CI is set, else a skip."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def run(*command: str) -> str:
    """Run a tool that must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout


class LossyLink:
    """Namespaces a and b, joined by a pair of virtual interfaces; each drops a share of the datagrams that arrive."""

    def __init__(self, loss_percent: int) -> None:
        need_root("ip", "nft")
        tag = f"apy{os.getpid()}"
        self.names = (f"{tag}a", f"{tag}b")
        self.addresses = ("10.251.7.1", "10.251.7.2")
        ends = (f"{tag}va", f"{tag}vb")
        try:
            for name in self.names:
                run("ip", "netns", "add", name)
            run("ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
            for name, end, address in zip(self.names, ends, self.addresses, strict=True):
                run("ip", "link", "set", end, "netns", name)
                run(*self.inside(name), "ip", "address", "add", f"{address}/24", "dev", end)
                run(*self.inside(name), "ip", "link", "set", end, "up")
                run(*self.inside(name), "ip", "link", "set", "lo", "up")
                rules = (
                    "add table ip faults; "
                    "add chain ip faults input { type filter hook input priority 0; }; "
                    f"add rule ip faults input ip protocol udp numgen random mod 100 < {loss_percent} counter drop"
                )
                run(*self.inside(name), "nft", rules)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def inside(name: str) -> Sequence[str]:
        """What comes before a command that runs in the namespace."""
        return ("ip", "netns", "exec", name)

    def dropped(self, name: str) -> int:
        """Datagrams that the namespace's rule has dropped."""
        listed = json.loads(run(*self.inside(name), "nft", "-j", "list", "ruleset"))
        rules = [each["rule"]["expr"] for each in listed["nftables"] if "rule" in each]
        return sum(part["counter"]["packets"] for rule in rules for part in rule if "counter" in part)

    def close(self) -> None:
        """Take the namespaces away, and the link with them."""
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True, timeout=20)


class TunLink:
    """Namespaces a and b, joined by a relay in user space that spoils what it carries as it is told."""

    def __init__(self, stage: Stage, seed: int) -> None:
        need_root("ip")
        try:
            os.close(os.open("/dev/net/tun", os.O_RDWR))
        except OSError as error:
            _do_without(f"this kernel gives no TUN device ({error}): modprobe tun")
        tag = f"apy{os.getpid()}"
        self.names = (f"{tag}c", f"{tag}d")
        self.addresses = ("10.251.8.1", "10.251.8.2")
        try:
            for name in self.names:
                run("ip", "netns", "add", name)
            command = [sys.executable, "-m", "tests.faults.programs.tun_relay", *self.names, str(seed)]
            self._relay = stage.process("relay", list(command))
            self._relay.expect("READY")
        except BaseException:
            self.close()
            raise

    @staticmethod
    def inside(name: str) -> Sequence[str]:
        """What comes before a command that runs in the namespace."""
        return ("ip", "netns", "exec", name)

    def set(self, **faults: float | str) -> dict[str, int]:
        """What happens to packets from now on, and what happened before: ``loss``, ``duplication``, ``reordering``
        (shares), ``delay_ms``, ``cut`` (none, ab, ba, both)."""
        self._relay.tell(" ".join(f"{name}={value}" for name, value in faults.items()))
        found = self._relay.expect("SET")
        return {name: int(found[name]) for name in ("carried", "lost", "doubled", "late")}

    def close(self) -> None:
        """Take the namespaces away."""
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True, timeout=20)
