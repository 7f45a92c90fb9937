"""The figures of ``bench/storage``: recordings written and read."""

from __future__ import annotations

from collections.abc import Iterator

from bench.families import Line, Settings


def family(settings: Settings) -> Iterator[Line]:
    """Each module there gives its own lines, with its own rounds."""
    from bench.storage import bench_archive_scan, bench_record, bench_spark_scan

    for module in (bench_archive_scan, bench_record, bench_spark_scan):
        yield from module.figures()
