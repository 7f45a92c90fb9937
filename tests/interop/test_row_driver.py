"""The driver as an executable and as a directory: how it is set up, asked to end, and what its files are."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from aeronpy import is_driver_active, request_driver_termination
from tests.interop import ends, peers
from tests.interop.house import House, ipc, udp
from tests.interop.lines import Process
from tests.interop.matrix import every
from tests.interop.rows import Cell
from tests.interop.stage import SETTINGS, Driver, Make, await_driver, java_properties

OURS = [sys.executable, "-m", "aeronpy.cli.driver"]


def launched(
    house: House, command: list[str | Path], env: dict[str, str], aeron_dir: Path, *, ends_by_signal: bool = True
) -> Driver:
    """Our driver, started by a command and an environment of the test's own."""
    process = house.stage.process(f"our driver on {aeron_dir.name}", command, env, ends_by_signal=ends_by_signal)
    await_driver(aeron_dir, process)
    return Driver("ours", aeron_dir, process, process.kill)


def serves(house: House, cell: Cell, driver: Driver) -> None:
    """A peer's client and ours meet on the driver, and it meets the peer's driver."""
    ours, theirs, far = house.side("ours", driver), house.side(cell.peer, driver), house.side(cell.peer)
    for near, other, channel in ((ours, theirs, ipc()), (theirs, far, udp())):
        source, target = (near, other) if cell.direction == "out" else (other, near)
        subscription, publication = target.subscription(channel, 7), source.publication(channel, 7)
        ends.cross(publication, subscription, ends.payloads(20))
    for side in (ours, theirs, far):
        side.close()
        if side is not far:
            side.client.close()


def finish(driver: Driver, number: int = signal.SIGTERM) -> int:
    """End our driver by a signal; its exit code."""
    assert isinstance(driver.program, Process)
    driver.program.process.send_signal(number)
    return driver.program.process.wait(20)


@every("executable.properties")
def test_properties_on_the_command_line(house: House, cell: Cell) -> None:
    aeron_dir = house.stage.base / f"line-{cell}"
    properties = [f"-D{each}" for each in java_properties({**SETTINGS, "AERON_DIR": str(aeron_dir)})]
    driver = launched(house, [*OURS, *properties, "-Daeron.threading.mode=SHARED"], {}, aeron_dir)
    serves(house, cell, driver)


@every("executable.files")
def test_properties_in_a_file(house: House, cell: Cell) -> None:
    aeron_dir, file = house.stage.base / f"file-{cell}", house.stage.base / f"{cell}.properties"
    lines = java_properties({**SETTINGS, "AERON_DIR": str(aeron_dir), "AERON_THREADING_MODE": "SHARED"})
    file.write_text("# set up by a file\n" + "\n".join(lines) + "\n")
    serves(house, cell, launched(house, [*OURS, file], {}, aeron_dir))


@every("executable.environment", "executable.script")
def test_set_up_by_the_environment_alone(house: House, cell: Cell) -> None:
    aeron_dir = house.stage.base / f"env-{cell}"
    script = house.stage.base / f"{cell}.sh"
    script.write_text('#!/bin/sh\nexec "$AERONMD"\n')
    script.chmod(0o755)
    command = house.stage.base / "aeronmd"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m aeronpy.cli.driver "$@"\n')
    command.chmod(0o755)
    env = {**SETTINGS, "AERON_DIR": str(aeron_dir), "AERON_THREADING_MODE": "SHARED", "AERONMD": str(command)}
    serves(house, cell, launched(house, [script], env, aeron_dir))


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*OURS, *args], capture_output=True, text=True, timeout=60, check=False,
                          cwd=peers.ROOT, env={**os.environ, **env})  # fmt: skip


C_VERSION = """
import ctypes, pyaeron
lib = ctypes.CDLL(pyaeron._pyaeron.__file__)
for name in ("full", "text", "gitsha"):
    getattr(lib, f"aeron_version_{name}").restype = ctypes.c_char_p
numbers = [getattr(lib, f"aeron_version_{name}")() for name in ("major", "minor", "patch")]
full, sha = lib.aeron_version_full().decode(), lib.aeron_version_gitsha().decode()
print("aeronmd <{}> major {} minor {} patch {} git {}".format(full, *numbers, sha))
"""


# Program, text, commit; then the numbers of the text, and the commit again.
VERSION = re.compile(
    r"\S+ <aeron version=(\d+)\.(\d+)\.(\d+)\S* commit=(\S+)> major (\d+) minor (\d+) patch (\d+) git (\S+)\n"
)


@every("executable.version")
def test_version(cell: Cell) -> None:
    """The form of the reference, whose library is asked for what it says of itself."""
    theirs = subprocess.run([peers.need_pyaeron(), "-c", C_VERSION], capture_output=True, text=True, check=True)
    ours = run("-v")

    assert ours.returncode == 0
    for told in (theirs.stdout, ours.stdout):
        found = VERSION.fullmatch(told)
        assert found is not None, told
        assert found.groups()[:4] == found.groups()[4:]


@every("executable.help")
def test_help(cell: Cell) -> None:
    # To the reference, whose executable is not among the peers, -h is an option that it does not know: its usage, on
    # stderr, and 1.
    usage = run("-h")
    assert usage.returncode == 1
    assert "usage" in usage.stderr.lower()


@every("executable.exit_codes", "executable.signals", where=lambda each: each.ours == "driver")
def test_signals_end_it_with_their_number(house: House, cell: Cell) -> None:
    aeron_dir = house.stage.base / f"signal-{cell}"
    env = {**SETTINGS, "AERON_DIR": str(aeron_dir), "AERON_THREADING_MODE": "SHARED"}
    number = signal.SIGINT if cell.direction == "out" else signal.SIGTERM
    driver = launched(
        house, list(OURS), {**env, "AERON_DIR_DELETE_ON_SHUTDOWN": "true"}, aeron_dir, ends_by_signal=False
    )
    client = house.client_on(cell.peer, driver)
    client.publication(ipc(), 9)

    assert finish(driver, number) == number
    assert not aeron_dir.exists()
    # Its client hears of the end.
    ends.until(lambda: [each for each in client.events() if each[0] in ("closed", "error")], "the client's word")


@every("executable.directory", "storage.delete", "storage.warn", where=lambda each: each.ours == "driver")
def test_a_directory_is_refused_while_its_driver_lives_and_cleared_after(house: House, cell: Cell) -> None:
    aeron_dir = house.stage.base / f"dir-{cell}"
    env = {**SETTINGS, "AERON_DIR": str(aeron_dir), "AERON_THREADING_MODE": "SHARED"}
    first = launched(house, list(OURS), env, aeron_dir, ends_by_signal=False)
    second = run(**{**env, "AERON_DRIVER_TIMEOUT": "1000", "AERON_DIR_WARN_IF_EXISTS": "true"})
    assert second.returncode == 1
    assert str(aeron_dir) in second.stdout + second.stderr
    leftover = aeron_dir / "publications" / "leftover"
    leftover.write_text("of the first")
    finish(first, signal.SIGKILL)

    # A dead driver's directory is stale after the time-out, and given up to the next.
    again = {**env, "AERON_DRIVER_TIMEOUT": "1000", "AERON_DIR_DELETE_ON_START": "true"}
    ends.until(lambda: not is_driver_active(str(aeron_dir), 1000), "a stale heartbeat")
    third = launched(house, list(OURS), again, aeron_dir)
    ends.until(lambda: not leftover.exists() and is_driver_active(str(aeron_dir), 1000), "the next driver's start")
    serves(house, cell, third)


ALLOWED = {
    "ours": {"AERON_DRIVER_TERMINATION_VALIDATOR": "allow"},
    "c": {"AERON_DRIVER_TERMINATION_VALIDATOR": "allow"},
    "java": {"aeron.driver.termination.validator": "io.aeron.driver.DefaultAllowTerminationValidator"},
}


def ask_to_end(house: House, cell: Cell, driver: Driver) -> None:
    """Ours asks the peer's driver to end, a peer's client asks ours."""
    if cell.ours == "client":
        request_driver_termination(str(driver.aeron_dir), b"token")
    else:
        ends.ask(house.agent(cell.peer), "terminate", driver.aeron_dir, b"token".hex())


@every("executable.termination")
def test_a_client_ends_a_driver_that_allows_it(house: House, cell: Cell) -> None:
    make: Make = cell.peer if cell.ours == "client" else "ours"
    driver = house.stage.driver(make, f"ended-{cell}", settings=ALLOWED[make], ends_by_signal=False)
    ask_to_end(house, cell, driver)

    if make == "ours":
        assert isinstance(driver.program, Process)
        assert driver.program.process.wait(20) == 0
    else:
        driver.program.expect("TERMINATED")


@every("executable.termination")
def test_a_driver_goes_on_where_it_does_not_allow_it(house: House, cell: Cell) -> None:
    pair = house.ends(cell, local=True)
    ask_to_end(house, cell, pair.source.driver)

    # The command is behind the asking one in the same queue: carried out, the driver would be gone.
    subscription, publication = pair.target.subscription(channel := ipc()), pair.source.publication(channel)
    ends.cross(publication, subscription, ends.payloads(20))
    assert is_driver_active(str(pair.source.driver.aeron_dir), 1000)
