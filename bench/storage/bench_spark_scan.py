"""How fast Spark reads a recording of 128-byte messages, all columns; beside it Parquet of the same rows, to ``noop``.

Spark runs as ``local[2]`` with a warm JVM and a warm page cache. Without a Java runtime there is no figure.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench.storage.recordings import write_archive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MESSAGE_BYTES = 128
TOTAL_BYTES = 128 << 20
# A task for each of the two cores.
SPLIT_BYTES = TOTAL_BYTES // 2
ROUNDS = 5
ROOT = Path(__file__).parents[2]


def start_spark() -> SparkSession:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    session = (
        SparkSession.builder.master("local[2]")
        .appName("bench_spark_scan")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def rows_per_s(frame: DataFrame, rows: int) -> float:
    """Rows a second from files to the end of Spark's own row pipeline."""
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return rows / (time.perf_counter() - began)


def figures() -> Iterator[dict[str, object]]:
    """The figure of this benchmark: medians, and the median of the ratios of pairs."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        print("spark scan: left out, Spark needs a Java runtime", file=sys.stderr)
        return
    spark = start_spark()
    try:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
            directory = Path(name)
            rows = write_archive(directory / "archive", MESSAGE_BYTES, TOTAL_BYTES)
            ours = spark.read.format("aeron-archive").option("splitBytes", SPLIT_BYTES).load(str(directory / "archive"))
            ours.write.parquet(str(directory / "parquet"))
            peer = spark.read.parquet(str(directory / "parquet"))
            assert ours.count() == peer.count() == rows
            rows_per_s(peer, rows)
            pairs = []
            for index in range(ROUNDS):
                sides = {side: rows_per_s(side, rows) for side in ((ours, peer) if index % 2 == 0 else (peer, ours))}
                pairs.append((sides[ours], sides[peer]))
    finally:
        spark.stop()
    yield {
        "figure": "spark scan",
        "size": MESSAGE_BYTES,
        "ours": round(statistics.median(mine for mine, _ in pairs)),
        "peer": round(statistics.median(theirs for _, theirs in pairs)),
        "ratio": round(statistics.median(mine / theirs for mine, theirs in pairs), 3),
        "peer_name": "parquet",
        "unit": "rows/s",
    }


if __name__ == "__main__":
    for figure in figures():
        print(json.dumps(figure))
