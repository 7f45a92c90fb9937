"""The driver's directory: there, whole, of a version that can be read, and of a driver that lives."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Final

from aeronpy.config import default_aeron_dir
from aeronpy.errors import AeronError
from aeronpy.observe.cnc import VERSION_MAJOR, CncReport, read_cnc_report
from aeronpy.observe.driver import Life
from aeronpy.observe.files import CNC_FILE, IMAGES, LOSS_REPORT_FILE, PUBLICATIONS, WAITERS, tree_bytes
from aeronpy.observe.finding import Finding, Severity
from aeronpy.observe.patient import Patient
from aeronpy.observe.processes import process_name, process_state

STARTING_MS: Final = 10_000
BEAT_MS: Final = 3_000
CLOCK_MS: Final = 1_000
NEIGHBOURS_MAX: Final = 16
VERSION_MINOR: Final = 2
_START: Final = "start a media driver there (aeronpy driver -Daeron.dir=...)"
_NAME: Final = "name the driver's directory (aeron_dir=, --aeron-dir or AERON_DIR)"


def check_directory(patient: Patient) -> Iterator[Finding]:
    """Whether there is a CnC file that can be used."""
    path = patient.aeron_dir
    try:
        mode = os.stat(path).st_mode
    except PermissionError:
        yield Finding("directory.permission", Severity.ERROR, f"{path} may not be looked at", remedy=_whose(path))
        return
    except (OSError, ValueError):
        remedy = f"{_START}, or {_NAME}{_elsewhere(patient)}"
        yield Finding("directory.missing", Severity.ERROR, f"there is no directory {path}", remedy=remedy)
        return
    if not stat.S_ISDIR(mode):
        yield Finding("directory.file", Severity.ERROR, f"{path} is not a directory", remedy=_NAME)
        return
    cnc = os.path.join(path, CNC_FILE)
    if not os.path.lexists(cnc):
        yield from _without_cnc(path, _elsewhere(patient))
    elif not os.access(cnc, os.R_OK | os.W_OK) and (mode_text := _mode(cnc)):
        what = f"{cnc} cannot be read and written by this user"
        yield Finding("directory.permission", Severity.ERROR, what, mode_text, remedy=_whose(cnc))
    elif patient.report is None:
        yield Finding("cnc.unreadable", Severity.ERROR, str(patient.problem), remedy=f"{_START}, or {_NAME}")
    else:
        yield from _cnc(patient, patient.report)


def _mode(path: str) -> str:
    try:
        return stat.filemode(os.stat(path).st_mode)
    except OSError:
        return ""


def _whose(path: str) -> str:
    try:
        return (
            f"it belongs to user id {os.stat(path).st_uid}, this is {os.geteuid()}: run as that user, or in its group"
        )
    except OSError:
        return "run as the user that its driver runs as"


def _elsewhere(patient: Patient) -> str:
    """Where drivers do live: beside the directory, and where Aeron looks by default."""
    parent = os.path.dirname(os.path.abspath(patient.aeron_dir))
    try:
        names = sorted(each for each in os.listdir(parent) if each.startswith("aeron-"))[:NEIGHBOURS_MAX]
    except OSError:
        names = []
    candidates = dict.fromkeys([default_aeron_dir(), *(os.path.join(parent, each) for each in names)])
    alive = [each for each in candidates if _beats(each, patient)]
    return f"; a driver lives in {', '.join(alive)}" if alive else ""


def _beats(aeron_dir: str, patient: Patient) -> bool:
    try:
        ring = read_cnc_report(aeron_dir).to_driver
    except AeronError:
        return False
    return ring is not None and patient.now_ms - ring.heartbeat_timestamp_ms < patient.intent.driver_timeout_ms


def _without_cnc(path: str, elsewhere: str) -> Iterator[Finding]:
    try:
        others = sorted(set(os.listdir(path)) - {LOSS_REPORT_FILE, PUBLICATIONS, IMAGES, WAITERS})
    except OSError as error:
        yield Finding(
            "directory.permission", Severity.ERROR, f"{path} cannot be listed: {error.strerror}", remedy=_whose(path)
        )
        return
    if others:
        what = f"{path} is no Aeron directory: it holds {', '.join(others[:3])}"
        yield Finding("directory.foreign", Severity.ERROR, what, remedy=_NAME + elsewhere)
    else:
        what = f"{path} has no {CNC_FILE}: its driver is just starting, or its start failed"
        yield Finding("directory.no-cnc", Severity.ERROR, what, remedy=f"{_START}, or {_NAME}{elsewhere}")


def _cnc(patient: Patient, report: CncReport) -> Iterator[Finding]:
    header = report.header
    if header is not None and header.version >> 16 != VERSION_MAJOR:
        what = f"the CnC file of {patient.aeron_dir} has version {header.version_text}"
        remedy = "use a driver and clients of one major version, each with its own directory"
        yield Finding("cnc.version", Severity.ERROR, what, header.version_text, f"{VERSION_MAJOR}.x.x", remedy=remedy)
        return
    if header is not None and header.version == 0:
        yield _unready(patient, report)
        return
    if header is not None and header.version >> 8 & 0xFF < VERSION_MINOR:
        what = "the driver is old: Java clients refuse its CnC file"
        limit = f"0.{VERSION_MINOR}.0"
        yield Finding("cnc.version", Severity.WARNING, what, header.version_text, limit, remedy="use a newer driver")
    for problem in report.problems:
        remedy = "stop its driver if one runs, remove the directory, and start a driver again"
        yield Finding("cnc.corrupt", Severity.ERROR, f"{report.path} is broken: {problem}", remedy=remedy)
    if patient.snapshot is None and patient.problem is not None and not report.problems:
        yield Finding("cnc.corrupt", Severity.ERROR, f"{report.path} cannot be used: {patient.problem}")


def _unready(patient: Patient, report: CncReport) -> Finding:
    try:
        age_ms = int(patient.now_ms - os.stat(report.path).st_mtime * 1000)
    except OSError:
        age_ms = 0
    if age_ms < STARTING_MS:
        return Finding(
            "driver.starting", Severity.NOTE, f"a driver is starting in {patient.aeron_dir}", age_ms, unit="ms"
        )
    what = f"a driver's start failed in {patient.aeron_dir} and left its files"
    remedy = f"look why it failed, then {_START}: it replaces them"
    return Finding("driver.start-failed", Severity.ERROR, what, age_ms, STARTING_MS, "ms", remedy)


def check_life(patient: Patient) -> Iterator[Finding]:
    """Whether the driver gives its heartbeat, and what became of its process where it does not."""
    life, beat, pid = patient.life, patient.heartbeat_ms, patient.pid
    if life is None or beat is None or pid is None or life is Life.STARTING:
        return
    if life is Life.SHUT_DOWN:
        what = f"the driver in {patient.aeron_dir} (pid {pid}) has shut down"
        yield Finding("driver.shut-down", Severity.ERROR, what, remedy=f"{_START}, or {_NAME}")
        return
    age_ms, timeout_ms = patient.now_ms - beat, patient.intent.driver_timeout_ms
    if life is Life.SILENT:
        yield _silent(patient, pid, age_ms, timeout_ms)
    elif age_ms < -CLOCK_MS:
        what = "the driver's heartbeat is ahead of this clock: the clock was set back, or it is not the same machine's"
        remedy = "keep clocks steady (chrony, ntpd with slewing), and restart driver and clients"
        yield Finding("driver.clock", Severity.WARNING, what, -age_ms, CLOCK_MS, "ms", remedy)
    elif age_ms > BEAT_MS:
        what = f"the driver (pid {pid}) is late with its heartbeat: its conductor is starved or stalled"
        remedy = "give it a core of its own; look at its cycle time counters (aeronpy stat)"
        yield Finding("driver.late", Severity.WARNING, what, age_ms, timeout_ms, "ms", remedy)
    else:
        yield Finding("driver.alive", Severity.OK, f"the driver (pid {pid}) is alive", age_ms, timeout_ms, "ms")


def _silent(patient: Patient, pid: int, age_ms: int, timeout_ms: int) -> Finding:
    state = process_state(pid)
    what = f"the driver in {patient.aeron_dir} (pid {pid}) gives no heartbeat"
    if state in ("T", "t"):
        check, remedy = (
            "driver.stopped",
            f"its process is stopped: let it go on (kill -CONT {pid}), or end and start it again",
        )
    elif state is None:
        check, remedy = "driver.dead", f"its process is gone: {_START}, which replaces what it left"
    else:
        remedy = "a process with that id still runs: if it is the driver it hangs, so see what it does, and restart it"
        check = "driver.silent"
    return Finding(check, Severity.ERROR, what, age_ms, timeout_ms, "ms", remedy)


def check_taken(patient: Patient) -> Iterator[Finding]:
    """Who has the directory that a driver wants to start in."""
    if patient.life is not Life.ALIVE or patient.pid is None:
        return
    called = process_name(patient.pid)
    what = f"the driver with pid {patient.pid}{f' ({called})' if called else ''} has {patient.aeron_dir}"
    remedy = "use that one, stop it (aeronpy driver terminate, or end the process), or give this one another aeron_dir"
    yield Finding("directory.taken", Severity.ERROR, what, remedy=remedy)


def check_leftovers(patient: Patient) -> Iterator[Finding]:
    """What drivers that are gone left behind, here and beside it."""
    if patient.life in (Life.SHUT_DOWN, Life.SILENT):
        left = tree_bytes(patient.aeron_dir)
        remedy = f"the next driver there replaces it; if none comes: rm -r {patient.aeron_dir}"
        yield Finding(
            "directory.stale",
            Severity.NOTE,
            "the directory of a driver that is gone takes room",
            left,
            unit="bytes",
            remedy=remedy,
        )
    parent, name = os.path.split(os.path.abspath(patient.aeron_dir))
    try:
        beside = os.listdir(parent)
    except OSError:
        return
    saved = [each for each in beside if each.startswith(f"{name}-") and each.endswith("-error.log")]
    if saved:
        what = f"errors of earlier drivers were saved in {parent}, the newest as {max(saved)}"
        yield Finding(
            "directory.saved-errors", Severity.NOTE, what, len(saved), unit="files", remedy="read and remove them"
        )
