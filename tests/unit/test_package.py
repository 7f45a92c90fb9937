"""What pip builds from: the source distribution has every file that the extension module is made of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_source_distribution_has_all_sources_of_the_extension(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)], cwd=ROOT, check=True, timeout=60
    )

    listed = set((tmp_path / "aeronpy.egg-info" / "SOURCES.txt").read_text().splitlines())
    core = [path for path in (ROOT / "csrc").rglob("*") if path.suffix in (".c", ".h")]
    module = [path for path in (ROOT / "aeronpy" / "_core").iterdir() if path.suffix in (".pyx", ".pxd", ".pyi")]
    public = [ROOT / "aeronpy" / "include" / "aeronpy.h", ROOT / "aeronpy" / "native_api.pxd"]
    assert len(core) > 100
    assert {str(path.relative_to(ROOT)) for path in core + module + public} - listed == set()


def test_what_is_installed_has_what_native_code_is_compiled_with(tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path)]
    build = ["build_py", "--build-lib", str(tmp_path / "lib")]

    subprocess.run([*command, *build], cwd=ROOT, check=True, timeout=60)

    installed = tmp_path / "lib" / "aeronpy"
    for name in ("include/aeronpy.h", "native_api.pxd", "native/__init__.py", "_core/native.pyi"):
        assert (installed / name).read_bytes() == (ROOT / "aeronpy" / name).read_bytes()
    assert not (installed / "_core" / "native.pyx").exists()
