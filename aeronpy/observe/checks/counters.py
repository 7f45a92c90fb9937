"""What the driver itself reports: counters, errors, loss, clients and channels in trouble."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from aeronpy.errors import AeronError
from aeronpy.observe.cnc import PADDING
from aeronpy.observe.driver import Life
from aeronpy.observe.errors import read_errors
from aeronpy.observe.finding import Finding, Severity
from aeronpy.observe.keys import SystemKey
from aeronpy.observe.loss import read_loss
from aeronpy.observe.patient import Patient
from aeronpy.observe.types import ChannelStatus, CounterType, SystemCounter

NEARLY: Final = 0.8
HALF: Final = 0.5
TEXT_MAX: Final = 160

_STARVED = "give it a core of its own, and look for pauses of the machine (steal, swap, power saving)"
# System counters that should be 0: how bad, what it means, what to do.
_TROUBLE: Final[dict[SystemCounter, tuple[Severity, str, str]]] = {
    SystemCounter.INVALID_PACKETS: (
        Severity.WARNING,
        "datagrams came that are no Aeron frames, or of another version",
        "find out who sends to the driver's ports",
    ),
    SystemCounter.SHORT_SENDS: (
        Severity.WARNING,
        "the kernel did not take all that was sent: it is lost and has to be sent again",
        "raise aeron.socket.so_sndbuf and net.core.wmem_max",
    ),
    SystemCounter.FREE_FAILS: (
        Severity.WARNING,
        "logs could not be deleted and take room",
        "look at the errors, and at who owns the directory",
    ),
    SystemCounter.UNBLOCKED_PUBLICATIONS: (
        Severity.WARNING,
        "publications had to be unblocked: a publisher died, or paused, between claim and commit",
        "commit or abort every claim at once; look for publishers that were killed",
    ),
    SystemCounter.UNBLOCKED_COMMANDS: (
        Severity.WARNING,
        "the command ring had to be unblocked: a client died while it wrote a command",
        "look for clients that were killed",
    ),
    SystemCounter.POSSIBLE_TTL_ASYMMETRY: (
        Severity.WARNING,
        "multicast setups keep coming for streams that send nothing else: its TTL may be too small",
        "give the channel a ttl that reaches all members",
    ),
    SystemCounter.LOSS_GAP_FILLS: (
        Severity.WARNING,
        "gaps of unreliable streams were filled with padding: that data is lost",
        "use reliable=true, or find the loss (aeronpy loss)",
    ),
    SystemCounter.CLIENT_TIMEOUTS: (
        Severity.WARNING,
        "clients were given up because they gave no sign of life",
        "look for clients that were killed, stopped, or starved of CPU",
    ),
    SystemCounter.CONDUCTOR_CYCLE_TIME_EXCEEDED: (Severity.NOTE, "the conductor was late", _STARVED),
    SystemCounter.SENDER_CYCLE_TIME_EXCEEDED: (Severity.NOTE, "the sender was late", _STARVED),
    SystemCounter.RECEIVER_CYCLE_TIME_EXCEEDED: (Severity.NOTE, "the receiver was late", _STARVED),
    SystemCounter.NAME_RESOLVER_TIME_EXCEEDED: (
        Severity.WARNING,
        "names took long to resolve, and commands waited for them",
        "use addresses, /etc/hosts, or a DNS cache on this machine",
    ),
    SystemCounter.RETRANSMIT_OVERFLOW: (
        Severity.WARNING,
        "more gaps were asked for at once than are served: loss is repaired late",
        "find the loss; raise max-resend on the publication's channel",
    ),
    SystemCounter.STATUS_MESSAGES_REJECTED: (
        Severity.WARNING,
        "status messages were refused",
        "look at the flow control of the channels (fc=) and at who receives",
    ),
    SystemCounter.IMAGES_REJECTED: (Severity.NOTE, "images were rejected by their subscribers", ""),
    SystemCounter.SENDER_FLOW_CONTROL_LIMITS: (
        Severity.NOTE,
        "the sender was held back by its receivers",
        "see who (aeronpy explain CHANNEL STREAM)",
    ),
    SystemCounter.RETRANSMITS_SENT: (
        Severity.NOTE,
        "data was sent again because receivers lacked it",
        "see aeronpy loss",
    ),
    SystemCounter.RECEIVER_PROXY_FAILS: (Severity.NOTE, "the receiver did not keep up with its commands", _STARVED),
    SystemCounter.SENDER_PROXY_FAILS: (Severity.NOTE, "the sender did not keep up with its commands", _STARVED),
    SystemCounter.CONDUCTOR_PROXY_FAILS: (Severity.NOTE, "the conductor did not keep up with its commands", _STARVED),
}


def check_system(patient: Patient) -> Iterator[Finding]:
    """System counters that should be 0 and are not."""
    for each in patient.counters:
        if not isinstance(each.key, SystemKey) or each.value == 0:
            continue
        try:
            severity, what, remedy = _TROUBLE[SystemCounter(each.key.system_counter_id)]
        except (KeyError, ValueError):
            continue
        yield Finding(f"counter.{each.key.system_counter_id}", severity, what, each.value, 0, "times", remedy)


def check_room(patient: Patient) -> Iterator[Finding]:
    """Room for counters: every stream takes several, and adding one fails when there is none."""
    state = None if patient.report is None else patient.report.counters
    if state is None:
        return
    if state.allocated >= state.capacity:
        severity, what = Severity.ERROR, "there is no counter left: streams, clients and counters are refused"
    elif state.allocated >= NEARLY * state.capacity:
        severity, what = Severity.WARNING, "counters are nearly used up"
    else:
        yield Finding(
            "counters.room", Severity.OK, "there are counters left", state.allocated, state.capacity, "counters"
        )
        return
    remedy = "raise aeron.counters.buffer.length, or close what is not needed"
    yield Finding("counters.room", severity, what, state.allocated, state.capacity, "counters", remedy)


def check_commands(patient: Patient) -> Iterator[Finding]:
    """Commands that the driver has not taken."""
    ring = None if patient.report is None else patient.report.to_driver
    if ring is None:
        return
    if ring.pending_bytes >= HALF * ring.capacity:
        what = "the driver does not keep up with its clients' commands"
        yield Finding("commands.waiting", Severity.WARNING, what, ring.pending_bytes, ring.capacity, "bytes", _STARVED)
    first = ring.pending[0] if ring.pending else None
    if first is not None and first.length <= 0 and first.type != PADDING and patient.life is Life.ALIVE:
        what = "a command is being written, or its client died: those behind it wait"
        remedy = "if it stays: the driver goes on by itself after the client liveness timeout"
        yield Finding("commands.unfinished", Severity.NOTE, what, ring.pending_bytes, unit="bytes", remedy=remedy)


def check_clients(patient: Patient) -> Iterator[Finding]:
    """Clients that are late with their sign of life."""
    timeout_ms = patient.client_liveness_timeout_ns // 1_000_000
    if patient.life is not Life.ALIVE or timeout_ms <= 0:
        return
    for each in patient.counters:
        age_ms = patient.now_ms - each.value
        if each.type_id == CounterType.CLIENT_HEARTBEAT and each.value > 0 and age_ms > HALF * timeout_ms:
            what = f"a client is late with its sign of life ({each.label.removeprefix('client-heartbeat: ')})"
            remedy = "see whether it is stopped or starved; the driver closes its streams at the limit"
            yield Finding("client.late", Severity.WARNING, what, age_ms, timeout_ms, "ms", remedy)


def check_channels(patient: Patient) -> Iterator[Finding]:
    """Channels that are in error."""
    kinds = (CounterType.SEND_CHANNEL_STATUS, CounterType.RECEIVE_CHANNEL_STATUS)
    for each in patient.counters:
        if each.type_id in kinds and each.value == ChannelStatus.ERRORED:
            remedy = "look at the errors below, correct the channel, and add it again"
            yield Finding("channel.errored", Severity.ERROR, f"a channel is in error: {each.label}", remedy=remedy)


def check_errors(patient: Patient) -> Iterator[Finding]:
    """The driver's error log."""
    state = None if patient.report is None else patient.report.error_log
    if state is None or state.distinct_errors == 0:
        return
    try:
        newest = max(read_errors(patient.aeron_dir, problems=[]), key=lambda each: each.last_observation_ms)
        first_line = " ".join(newest.text.split())[:TEXT_MAX]
        what = f"the driver recorded errors, the last: {first_line}"
    except (AeronError, ValueError):
        what = "the driver recorded errors"
    yield Finding("errors.recorded", Severity.WARNING, what, state.distinct_errors, 0, "distinct", "see aeronpy errors")
    if state.used_bytes >= NEARLY * state.length:
        what = "the error log is nearly full: what comes then is not recorded"
        remedy = "raise aeron.error.buffer.length"
        yield Finding("errors.room", Severity.WARNING, what, state.used_bytes, state.length, "bytes", remedy)


def check_loss(patient: Patient) -> Iterator[Finding]:
    """What images lost."""
    if patient.report is None:
        return
    try:
        problems: list[str] = []
        entries = read_loss(patient.aeron_dir, problems=problems)
    except AeronError as error:
        yield Finding("loss.report", Severity.NOTE, f"the loss report cannot be read: {error}")
        return
    for problem in problems:
        yield Finding("loss.report", Severity.WARNING, f"the loss report is broken: {problem}")
    if entries:
        worst = max(entries, key=lambda each: each.bytes_lost)
        which = f"{worst.channel} stream {worst.stream_id} from {worst.source}"
        what = f"{len(entries)} images missed datagrams (which reliable streams repair), most of all {which}"
        remedy = "see aeronpy loss; raise receive buffers, lower the rate or rcv-wnd, look at the network"
        yield Finding("loss.seen", Severity.WARNING, what, sum(each.bytes_lost for each in entries), 0, "bytes", remedy)
