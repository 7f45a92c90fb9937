"""What the first lines of a program load: time that every process pays before its first message."""

import subprocess
import sys

import pytest

# The README's, up to the first message; then what is loaded.
PROGRAM = """
import sys
before = set(sys.modules)
from aeronpy import Aeron, MediaDriver
with MediaDriver.launch_embedded() as driver, Aeron.connect(aeron_dir=driver.aeron_dir) as aeron:
    subscription = aeron.add_subscription("aeron:ipc", 1001)
    publication = aeron.add_publication("aeron:ipc", 1001)
    publication.send(b"hello")
    for message in subscription.messages(limit=1):
        assert message.payload == b"hello"
    print(*sorted(set(sys.modules) - before))
"""

# Each costs between one and thirty milliseconds, and none is needed to move a message.
HEAVY = {
    *("numpy", "click", "rich", "asyncio", "javaproperties", "pyarrow"),
    *("dataclasses", "datetime", "email", "getpass", "http", "importlib.metadata", "inspect", "ipaddress", "logging"),
    *("pathlib", "random", "shutil", "socket", "ssl", "tempfile", "urllib.request", "uuid"),
}
STANDARD_MAX = 60
OURS_MAX = 95


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    # Without site, whose .pth files load what they like.
    command = [sys.executable, "-S", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.timeout(60)
def test_the_first_message_loads_nothing_heavy(loaded: set[str]) -> None:
    assert "aeronpy._core.native" in loaded
    assert not loaded & HEAVY


@pytest.mark.timeout(60)
def test_the_first_message_loads_few_modules(loaded: set[str]) -> None:
    ours = {name for name in loaded if name.split(".")[0] == "aeronpy"}

    assert len(loaded - ours) <= STANDARD_MAX, sorted(loaded - ours)
    assert len(ours) <= OURS_MAX, sorted(ours)
