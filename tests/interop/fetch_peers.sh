#!/usr/bin/env bash
# Fetch the real Aeron into .peers: pyaeron (PyPI) in an environment of its own, and the Java jar (Maven Central).
set -euo pipefail
cd "$(dirname "$0")/../.."
jar_version=1.51.0
peers=.peers

find_python() {
    local candidate
    for candidate in python3.12 python3.13 "$(pyenv root 2>/dev/null || echo /nowhere)"/versions/3.1[23].*/bin/python; do
        if "$candidate" -c 'import sys, venv; sys.exit(not (3, 12) <= sys.version_info < (3, 14))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "pyaeron needs Python 3.12 or 3.13 with venv: apt-get install python3.12-venv, or pyenv install 3.12" >&2
    return 1
}

mkdir -p "$peers"
if ! "$peers/py312/bin/python" -c 'import pyaeron, numpy, Cython, setuptools' 2>/dev/null; then
    python=$(find_python)
    rm -rf "$peers/py312"
    "$python" -m venv "$peers/py312"
    # NumPy, Cython and setuptools build ours for the same interpreter, where Python speed is compared.
    "$peers/py312/bin/python" -m pip install -q --disable-pip-version-check pyaeron==0.1.0 numpy "cython>=3.1" "setuptools>=77"
    "$peers/py312/bin/python" -c 'import pyaeron'
fi

if [ ! -s "$peers/aeron-all-$jar_version.jar" ]; then
    command -v mvn >/dev/null || { echo "Maven is missing: apt-get install maven" >&2; exit 1; }
    cat >"$peers/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>peers</groupId><artifactId>peers</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>io.aeron</groupId><artifactId>aeron-all</artifactId><version>$jar_version</version></dependency>
  </dependencies>
</project>
POM
    mvn -q -B -f "$peers/pom.xml" dependency:copy-dependencies -DoutputDirectory="$PWD/$peers" -DincludeArtifactIds=aeron-all
fi

command -v javac >/dev/null || { echo "javac is missing: apt-get install openjdk-17-jdk-headless" >&2; exit 1; }
classes=build/interop/java
mkdir -p "$classes"
javac -Xlint:all -Werror -cp "$peers/aeron-all-$jar_version.jar" -d "$classes" tests/interop/java/*.java
touch "$classes/.compiled"
echo "peers: $peers/py312/bin/python, $peers/aeron-all-$jar_version.jar"
