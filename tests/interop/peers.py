"""Where the real Aeron is: the Python that has pyaeron, the jar, and our Java programs compiled against it.

``make peers`` puts both below ``.peers/``; AERONPY_PEER_PYTHON and AERONPY_PEER_JAR name others. A peer that is
missing fails the test where CI is set, and skips it elsewhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
JAVA_SOURCES = ROOT / "tests" / "interop" / "java"
JAVA_CLASSES = ROOT / "build" / "interop" / "java"
JVM_FLAGS = (
    "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
    "--add-opens=java.base/java.util.zip=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xmx512m",
    # The JVM would otherwise keep a file of its own in /tmp for as long as it is not killed.
    "-XX:-UsePerfData",
)


def missing(what: str) -> NoReturn:
    """Fail in CI, skip elsewhere: a peer is not here."""
    text = f"{what} is not here: run `make peers`"
    if os.environ.get("CI"):
        pytest.fail(text)
    pytest.skip(text)


@cache
def peer_python() -> Path | None:
    """The interpreter that imports pyaeron."""
    path = Path(os.environ.get("AERONPY_PEER_PYTHON", ROOT / ".peers" / "py312" / "bin" / "python"))
    if not path.exists():
        return None
    found = subprocess.run([path, "-c", "import pyaeron"], capture_output=True, timeout=60, check=False)
    return path if found.returncode == 0 else None


@cache
def aeron_jar() -> Path | None:
    """The jar of Java Aeron."""
    path = Path(os.environ.get("AERONPY_PEER_JAR", ROOT / ".peers" / "aeron-all-1.51.0.jar"))
    return path if path.exists() else None


@cache
def jdk() -> Path | None:
    """The folder of java and javac."""
    javac = shutil.which("javac")
    return Path(javac).parent if javac and shutil.which("java") else None


def need_pyaeron() -> Path:
    """The peer's Python, or no test."""
    return peer_python() or missing("pyaeron")


def need_jar() -> Path:
    """The jar, with a JDK to run it, or no test."""
    if jdk() is None:
        missing("a JDK (java and javac)")
    return aeron_jar() or missing("the Java Aeron jar")


def java_command(class_name: str, *properties: str) -> list[str]:
    """How to start a class of the jar or of ours; properties as ``aeron.dir=/x``."""
    jar, tools = need_jar(), jdk()
    assert tools is not None
    return [
        str(tools / "java"),
        *JVM_FLAGS,
        *(f"-D{each}" for each in properties),
        "-cp",
        f"{JAVA_CLASSES}{os.pathsep}{jar}",
        class_name,
    ]


@cache
def compile_java() -> Path:
    """Compile our programs where they are newer than their classes; returns the folder of classes."""
    jar, tools = need_jar(), jdk()
    assert tools is not None
    sources = sorted(JAVA_SOURCES.glob("*.java"))
    stamp = JAVA_CLASSES / ".compiled"
    if not stamp.exists() or any(each.stat().st_mtime > stamp.stat().st_mtime for each in sources):
        JAVA_CLASSES.mkdir(parents=True, exist_ok=True)
        command: list[str | Path] = [tools / "javac", "-Xlint:all", "-Werror", "-cp", jar, "-d", JAVA_CLASSES, *sources]
        subprocess.run(command, check=True, timeout=120)
        stamp.touch()
    return JAVA_CLASSES
