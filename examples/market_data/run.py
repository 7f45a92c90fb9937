"""The whole pipeline: driver, publisher, strategy and recorder as processes, then Spark on what was recorded.

python -m examples.market_data.run [--passes N] [--out FOLDER] [FEED.dbn.zst]
"""

from __future__ import annotations

import argparse
import shutil
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from aeronpy.recording import open_archive
from examples.market_data import chart
from examples.market_data.analysis import Result, analyse, session
from examples.market_data.feed import load
from examples.market_data.java import java_home
from examples.market_data.lines import Worker

STREAM_ID = 1001
MESSAGES_DEFAULT = 600_000


def free_port() -> int:
    """A UDP port of this machine that nobody uses."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run_pipeline(
    progress: Progress, feed: str, messages: int, passes: int, archive: Path
) -> tuple[Worker, Worker, Worker]:
    """Run the four processes to their end; returns publisher, strategy and recorder."""
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        base = tempfile.mkdtemp(prefix="aeronpy-demo-", dir="/dev/shm")
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        aeron_dir = f"{base}/driver"
        driver = Worker("driver", "aeronpy.cli.driver", f"-Daeron.dir={aeron_dir}")
        stack.callback(driver.stop)

        def start(name: str, *arguments: object) -> Worker:
            worker = Worker(name, f"examples.market_data.{name}", aeron_dir, *arguments)
            stack.callback(worker.stop)
            return worker

        strategy = start("strategy", channel, STREAM_ID)
        recorder = start("recorder", channel, STREAM_ID, archive)
        for worker in (strategy, recorder):
            worker.await_word("ready")
        publisher = start("publisher", f"{channel}|term-length=1m", STREAM_ID, passes, feed)

        published = progress.add_task("published", total=messages)
        received = progress.add_task("received by the strategy", total=messages)
        workers = (publisher, strategy, recorder)
        while driver.is_running() and sum(worker.is_running() for worker in workers):
            progress.update(published, completed=publisher.last("sent"))
            progress.update(received, completed=strategy.last("received"))
            time.sleep(0.05)
        for worker in workers:
            worker.finish()
        progress.update(published, completed=publisher.last("sent"))
        progress.update(received, completed=strategy.last("received"))
    return workers


def show(console: Console, result: Result) -> None:
    """Print the aggregates."""
    table = Table(title="by symbol and year, as Spark reads the recording")
    for name in ("symbol", "year", "kind"):
        table.add_column(name)
    for name in ("messages", "low", "mean", "high", "quantity"):
        table.add_column(name, justify="right")
    for row in result.table:
        prices = ["" if row[name] is None else f"{row[name]:,.2f}" for name in ("low", "mean", "high")]
        table.add_row(
            row["symbol"], str(row["year"]), row["kind"], f"{row['count']:,}", *prices, f"{row['quantity']:,}"
        )
    console.print(table)


def main() -> int:
    """Run all; 0 when every number agrees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("feed", nargs="?", default="", help="a DBN file of order events, Zstandard compressed")
    parser.add_argument("--passes", type=int, help="how often the feed is replayed")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="where the archive and the picture go")
    options = parser.parse_args()

    console = Console()
    feed = load(Path(options.feed) if options.feed else None)
    passes = options.passes or max(2, MESSAGES_DEFAULT // len(feed.ticks))
    shutil.rmtree(options.out, ignore_errors=True)
    archive = options.out / "archive"
    archive.mkdir(parents=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        publisher, strategy, recorder = run_pipeline(progress, options.feed, passes * len(feed.ticks), passes, archive)
        read = progress.add_task("read back without Spark", total=publisher.last("sent"))
        recorded = 0
        for recording in open_archive(archive):
            for _ in recording.messages():
                recorded += 1
            progress.update(read, completed=recorded)
        spark_task = progress.add_task("Spark: rows", total=publisher.last("sent"))
        spark = session(java_home(options.out))
        result = analyse(spark, archive, passes)
        spark.stop()
        progress.update(spark_task, completed=result.rows)

    show(console, result)
    picture = options.out / "market_data.png"
    speeds = {"publisher": chart.rates(publisher.said, "sent"), "strategy": chart.rates(strategy.said, "received")}
    chart.draw(picture, f"{feed.name}, {passes} passes", result.prices, speeds)
    sent, received = publisher.last("sent"), strategy.last("received")
    console.print(
        f"{recorder.last('position'):,} bytes recorded in {archive}; the picture is {picture}", soft_wrap=True
    )
    console.print(f"the signal of the strategy turned {strategy.last('crossings'):,} times")

    faults = [
        f"{name} {value}, expected {expected}"
        for name, value, expected in (
            ("received", received, sent),
            ("recorded", recorded, sent),
            ("rows", result.rows, sent),
            ("messages sent", sent, passes * len(feed.ticks)),
            ("checksum received", strategy.last("checksum"), publisher.last("checksum")),
            ("checksum in Spark", result.checksum, publisher.last("checksum")),
            ("ticks that differ between passes", result.disagreements, 0),
        )
        if value != expected
    ]
    for fault in faults:
        print(f"MISMATCH {fault}")
    print(f"{'FAILED' if faults else 'OK'} sent={sent} received={received} recorded={recorded} rows={result.rows}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
