"""The rows of docs/compatibility.md: what Aeron can do, item by item, and which cells have nothing to say.

A row's cells are {our client, our driver} x {the C peer, the Java peer} x {out, in}: out is a stream that leaves ours
towards the peer, in is one that comes from it. A row of our client runs on the peer's driver; a row of our driver runs
against the peer's driver, or against the peer's client where no wire is crossed.

A cell is either shown by a test that carries ``matrix(row, ours, peer, direction)``, or it is n/a for the reason given
here. Reasons are keyed by ``ours/peer/direction``, shortened from the right or with ``*``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import Literal, NamedTuple

Ours = Literal["client", "driver"]
Peer = Literal["c", "java"]
Direction = Literal["out", "in"]
OURS: tuple[Ours, ...] = ("client", "driver")
PEERS: tuple[Peer, ...] = ("c", "java")
DIRECTIONS: tuple[Direction, ...] = ("out", "in")


class Cell(NamedTuple):
    """One cell of a row."""

    ours: Ours
    peer: Peer
    direction: Direction

    def __str__(self) -> str:
        return f"{self.ours}-{self.peer}-{self.direction}"


CELLS: tuple[Cell, ...] = tuple(Cell(*each) for each in product(OURS, PEERS, DIRECTIONS))


@dataclass(frozen=True)
class Row:
    """One item of a capability."""

    id: str
    item: str
    na: Mapping[str, str] = field(default_factory=dict)

    def reason(self, cell: Cell) -> str | None:
        """Why this cell says nothing, or None where a test must."""
        for pattern, reason in self.na.items():
            parts = pattern.split("/")
            if all(part in ("*", value) for part, value in zip(parts, cell, strict=False)):
                return reason
        return None

    def cells(self) -> Iterator[Cell]:
        """The cells that tests must fill."""
        return (cell for cell in CELLS if self.reason(cell) is None)


@dataclass(frozen=True)
class Capability:
    """A titled group of rows."""

    id: str
    title: str
    rows: tuple[Row, ...]


INSIDE = {"client": "inside the driver; a client neither asks for it nor sees it"}
CLIENT_ONLY = {"driver": "inside the client; the driver is not asked"}
SENDS = {"*/*/in": "only sends"}
RECEIVES = {"*/*/out": "only receives"}
MEDIA_STAMP = {
    "client/java": "the Java driver refuses media-rcv-ts-offset",
    "driver/java/out": "the Java driver refuses media-rcv-ts-offset",
}
# Shown by test_row_mdc.py::test_what_the_c_client_asks_for_by_id_leaves_the_destination.
C_BY_ID = {"*/c/in": "the C client's removal by id names the publication in place of the destination"}
C_ONLY_TABLE = {"client/java": "the Java driver has no csv_table resolver"}
C_EXECUTABLE = {**INSIDE, "*/java": "the reference executable is the C driver's"}


def capability(name: str, title: str, *items: tuple[str, str] | tuple[str, str, Mapping[str, str]]) -> Capability:
    """A capability from (id, item[, reasons]) of its rows."""
    rows = (Row(f"{name}.{each[0]}", each[1], each[2] if len(each) == 3 else {}) for each in items)
    return Capability(name, title, tuple(rows))


NETWORK = (
    capability(
        "threading",
        "Threading",
        ("dedicated", "DEDICATED"),
        ("shared_network", "SHARED_NETWORK"),
        ("shared", "SHARED"),
        ("invoker", "INVOKER"),
        ("idle_strategies", "idle strategies by name with their parameters", INSIDE),
        ("affinity", "affinity", INSIDE),
        ("no_waiting", "sender, receiver, conductor never wait for each other", INSIDE),
        ("window_updates", "window updates do not wait on a parked conductor", INSIDE),
    ),
    capability(
        "unicast",
        "IPC and UDP unicast",
        ("ipc", "IPC"),
        ("udp", "UDP unicast"),
    ),
    capability(
        "multicast",
        "UDP multicast",
        ("sending", "sending", SENDS),
        ("receiving", "receiving", RECEIVES),
        ("interfaces", "interfaces"),
        ("ttl", "TTL"),
        ("group_receivers", "group receivers"),
        ("nak_backoff", "multicast NAK back-off"),
        ("ipv4", "IPv4"),
        ("ipv6", "IPv6"),
    ),
    capability(
        "mdc",
        "Multi-destination cast",
        ("dynamic", "dynamic control mode"),
        ("manual", "manual control mode"),
        ("add_remove", "destinations added and removed at run time"),
        ("by_id", "destinations removed by id", C_BY_ID),
        ("re_resolution", "re-resolution"),
        ("explicit_control", "receivers behind explicit control endpoints"),
    ),
    capability(
        "mds",
        "Multi-destination subscription",
        ("manual", "manual mode"),
        ("many", "any number of transports"),
        ("network", "network destinations"),
        ("ipc", "IPC destinations"),
        ("spy", "spy destinations"),
    ),
    capability(
        "spy",
        "Spies",
        ("network", "of network publications"),
        ("ssc", "with ssc"),
        ("no_ssc", "without ssc"),
        ("window", "window limits"),
    ),
    capability(
        "flow",
        "Flow control",
        ("unicast", "unicast"),
        ("min", "multicast min"),
        ("max", "multicast max"),
        ("tagged", "tagged"),
        ("preferred_group", "preferred groups"),
        ("group_size", "group size"),
        ("timeout", "receiver time-outs"),
        ("receiver_tags", "receiver tags"),
        ("fc", "fc= parameter forms"),
    ),
    capability(
        "congestion",
        "Congestion control",
        ("static", "static window"),
        ("cubic", "cubic"),
        ("rtt", "RTT measurement"),
        ("cc", "cc="),
    ),
    capability(
        "loss",
        "Loss",
        ("gap_detection", "gap detection with the delay generators", INSIDE),
        ("nak_coalescing", "NAK coalescing", INSIDE),
        ("retransmit", "retransmit with delay and linger and its limits", INSIDE),
        ("nak_delay", "nak-delay"),
        ("gap_fill", "unreliable gap fill"),
        ("report", "loss report"),
        ("several_gaps", "several gaps outstanding", INSIDE),
    ),
    capability(
        "life",
        "Stream life",
        ("sparse", "sparse logs"),
        ("init_term_id", "init-term-id"),
        ("term_id", "term-id"),
        ("term_offset", "term-offset"),
        ("session_id", "session-id"),
        ("tags", "tags="),
        ("session_tag", "session-id=tag:"),
        ("linger", "linger"),
        ("eos", "eos"),
        ("revoke", "revoke"),
        ("rejoin", "rejoin"),
        ("tether", "tether"),
        ("untethered_window", "untethered windows and states"),
        ("max_resend", "max-resend"),
        ("reject", "reject image"),
        ("max_position", "max position"),
    ),
    capability(
        "response",
        "Response channels",
        ("control_mode", "control-mode=response"),
        ("correlation_id", "response-correlation-id"),
        ("rsp_setup", "RSP_SETUP", INSIDE),
        ("udp", "over UDP"),
        ("ipc", "over IPC"),
    ),
    capability(
        "timestamps",
        "Timestamps",
        ("media_receive", "media receive", MEDIA_STAMP),
        ("channel_send", "channel send"),
        ("channel_receive", "channel receive"),
        ("reserved", "offset=reserved"),
    ),
    capability(
        "names",
        "Names",
        ("dns", "DNS"),
        ("re_resolution", "re-resolution"),
        ("gossip", "the driver's gossip resolver (RES frames)"),
        ("bootstrap", "bootstrap neighbours"),
        ("csv_table", "csv_table supplier", C_ONLY_TABLE),
        ("interfaces", "interface managers"),
        ("wildcard_ports", "wildcard port managers"),
    ),
    capability(
        "counters",
        "Counters",
        ("system", "every system counter"),
        ("resource", "per-resource counters"),
        ("labels", "their keys and labels"),
        ("client", "client counters"),
        ("static", "static counters"),
        ("heartbeats", "heartbeats"),
        ("error_log", "the error log"),
        ("loss_report", "the loss report"),
    ),
    capability(
        "conductor",
        "Conductor",
        ("commands", "command queue"),
        ("async_resolution", "asynchronous resolution off its thread", INSIDE),
        ("async_logs", "asynchronous log creation off its thread", INSIDE),
        ("limits", "limits of every command"),
        ("errors", "errors of every command with the right code and text"),
    ),
    capability(
        "storage",
        "Storage",
        ("sparse", "sparse terms"),
        ("pre_touched", "pre-touched terms"),
        ("page_size", "page size"),
        ("low_storage", "low-storage warning", INSIDE),
        ("file_modes", "file modes"),
        ("shm", "directory on /dev/shm"),
        ("elsewhere", "directory elsewhere"),
        ("warn", "warn option", INSIDE),
        ("delete", "delete options", INSIDE),
        ("clean_up", "unused-file clean-up", INSIDE),
    ),
    capability(
        "executable",
        "The driver's executable",
        ("properties", "properties on the command line", INSIDE),
        ("files", "properties in files", INSIDE),
        ("environment", "AERON_* variables", INSIDE),
        ("version", "-v", C_EXECUTABLE),
        ("help", "-h", C_EXECUTABLE),
        ("directory", "directory life", INSIDE),
        ("exit_codes", "exit codes", C_EXECUTABLE),
        ("signals", "signals", INSIDE),
        ("termination", "termination validator"),
        ("script", "a script for the reference executable", C_EXECUTABLE),
    ),
)

CLIENT = (
    capability(
        "client.setup",
        "Context and resources",
        ("options", "all context options", CLIENT_ONLY),
        ("async", "asynchronous adds"),
        ("destinations", "destinations"),
        ("invoker", "invoker mode", CLIENT_ONLY),
        ("threads", "clients in several threads"),
        ("processes", "clients in several processes"),
    ),
    capability(
        "client.offer",
        "Sending",
        ("variants", "offer variants", CLIENT_ONLY | SENDS),
        ("reserved_value", "reserved-value suppliers", CLIENT_ONLY | SENDS),
        ("vectored", "vectored offers", CLIENT_ONLY | SENDS),
        ("block", "block offers", CLIENT_ONLY | SENDS),
        ("try_claim", "try_claim", CLIENT_ONLY | SENDS),
        ("abort", "try_claim with abort", CLIENT_ONLY | SENDS),
    ),
    capability(
        "client.poll",
        "Receiving",
        ("poll", "poll", CLIENT_ONLY | RECEIVES),
        ("controlled", "controlled_poll", CLIENT_ONLY | RECEIVES),
        ("bounded", "bounded_poll", CLIENT_ONLY | RECEIVES),
        ("bounded_controlled", "bounded_controlled_poll", CLIENT_ONLY | RECEIVES),
        ("controlled_peek", "controlled_peek", CLIENT_ONLY | RECEIVES),
        ("block", "block_poll", CLIENT_ONLY | RECEIVES),
        ("raw", "raw_poll (file and offset)", CLIENT_ONLY | RECEIVES),
        ("assemblers", "image fragment assemblers", CLIENT_ONLY | RECEIVES),
        ("session_assemblers", "session assemblers", CLIENT_ONLY | RECEIVES),
        ("controlled_assemblers", "controlled assemblers", CLIENT_ONLY | RECEIVES),
        ("unassembled_limits", "unassembled limits", CLIENT_ONLY | RECEIVES),
    ),
    capability(
        "client.events",
        "Counters and handlers",
        ("counters", "counters"),
        ("counter_handlers", "counter handlers"),
        ("available", "available handlers"),
        ("unavailable", "unavailable handlers"),
        ("publication_error", "publication-error handlers"),
        ("close", "close handlers", CLIENT_ONLY),
    ),
    capability(
        "client.channel",
        "Channels and status",
        ("parser", "channel URI parser", CLIENT_ONLY),
        ("builder", "channel URI builder", CLIENT_ONLY),
        ("validation", "validation with the nearest valid name", CLIENT_ONLY),
        ("next_session_id", "next session id"),
        ("status", "status indicators"),
        ("addresses", "local socket addresses"),
    ),
    capability(
        "client.driver",
        "A driver's end",
        ("dies", "a driver that dies is reported"),
        ("restarts", "a driver that restarts is told apart"),
        ("upgraded", "a driver that is upgraded is told apart"),
    ),
)

SECTIONS: tuple[tuple[str, tuple[Capability, ...]], ...] = (("Driver and network", NETWORK), ("Client", CLIENT))


@cache
def by_id() -> dict[str, Row]:
    """Every row by its id."""
    return {row.id: row for _, capabilities in SECTIONS for each in capabilities for row in each.rows}
