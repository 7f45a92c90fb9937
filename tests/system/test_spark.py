"""``format("aeron-archive")`` in a real Spark session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.golden import EXPECTED, crc32, unpack
from tests.recording_tapes import Tape, write_archive

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]


def need_java() -> None:
    """Fail in CI, skip elsewhere, where Spark cannot start."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        reason = "Spark needs a Java runtime, 17 or newer: there is no java on PATH and no JAVA_HOME"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)


def spark_environment() -> dict[str, str]:
    """Workers run this interpreter and find this checkout."""
    return {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    need_java()
    if not os.environ.get("CI"):
        pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        for name, value in spark_environment().items():
            patch.setenv(name, value)
        session = (
            SparkSession.builder.master("local[2]")
            .appName("aeronpy tests")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.sql.session.timeZone", "UTC")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("archive", tmp_path_factory.mktemp("golden"))


def load(spark: SparkSession, directory: Path, **options: str) -> DataFrame:
    return spark.read.format("aeron-archive").options(**options).load(str(directory))


@pytest.mark.parametrize("archive", ["archive", "archive-crc32c"])
def test_messages_of_javas_archives_are_the_same_bytes(spark: SparkSession, archive: str, tmp_path: Path) -> None:
    frame = load(spark, unpack(archive, tmp_path), splitBytes="128k")

    rows = frame.orderBy("recording_id", "position").collect()

    for expected in EXPECTED[archive]["recordings"]:
        mine = [row for row in rows if row.recording_id == expected["recordingId"]]
        assert len(mine) == (expected.get("messages") or 0)
        if mine:
            assert crc32(bytes(row.payload) for row in mine) == expected["payloadCrc32"]
            assert sum(row.length for row in mine) == expected["payloadBytes"]


def test_aggregates_and_sql_views_work_on_it(spark: SparkSession, golden: Path) -> None:
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW recorded USING `aeron-archive` "
        f"OPTIONS (path '{golden}', payload 'none', recordingIds '0-2')"
    )

    rows = spark.sql("SELECT recording_id, count(*), sum(length) FROM recorded GROUP BY 1 ORDER BY 1").collect()

    assert [tuple(row) for row in rows] == [
        (each["recordingId"], each["messages"], each["payloadBytes"]) for each in EXPECTED["archive"]["recordings"][:3]
    ]


def test_the_catalog_is_a_table(spark: SparkSession, golden: Path) -> None:
    rows = load(spark, golden, table="recordings").orderBy("recording_id").collect()

    expected = EXPECTED["archive"]["recordings"]
    assert [(row.recording_id, row.state, row.start_position, row.stop_position) for row in rows] == [
        (each["recordingId"], each["state"], each["startPosition"], each["stopPosition"]) for each in expected
    ]
    assert [row.original_channel for row in rows] == [each["originalChannel"] for each in expected]
    millis = load(spark, golden, table="recordings").selectExpr("recording_id", "unix_millis(start_timestamp) AS at")
    assert [row.at for row in millis.orderBy("recording_id").collect()] == [each["startTimestamp"] for each in expected]


def test_a_subset_schema_is_what_comes_out(spark: SparkSession, golden: Path) -> None:
    frame = (
        spark.read.format("aeron-archive")
        .schema("length INT, position BIGINT, recording_id BIGINT")
        .option("recordingIds", "6")
        .load(str(golden))
    )

    assert frame.columns == ["length", "position", "recording_id"]
    assert frame.count() == 50
    assert frame.agg({"length": "sum"}).first()[0] == 3725


def test_frames_have_their_padding(spark: SparkSession, golden: Path) -> None:
    frame = load(spark, golden, unit="frame", recordingIds="1", splitBytes="64k")

    rows = frame.where("type = 0").selectExpr("position", "end_position - position AS bytes").orderBy("position")

    assert frame.count() == 230
    assert [list(row) for row in rows.collect()] == EXPECTED["archive"]["recordings"][1]["paddingFrames"]


def test_several_paths_are_read_together(spark: SparkSession, tmp_path: Path) -> None:
    paths = []
    for name, count in (("a", 3), ("b", 4)):
        recording = Tape()
        for index in range(count):
            recording.message(bytes(index))
        paths.append(str(write_archive(tmp_path / name, recording)))

    assert spark.read.format("aeron-archive").load(paths).count() == 7


def test_nothing_to_read_is_no_rows(spark: SparkSession, golden: Path) -> None:
    assert load(spark, golden, recordingIds="8").count() == 0
    assert load(spark, golden, startingPositions="latest").collect() == []


def test_a_corrupt_frame_fails_the_query_with_its_place_and_what_lifts_it(spark: SparkSession, tmp_path: Path) -> None:
    directory = unpack("archive", tmp_path)
    with (directory / "2-131072.rec").open("r+b") as file:
        file.seek(16)
        file.write((4242).to_bytes(4, "little"))

    with pytest.raises(Exception) as caught:
        load(spark, directory, recordingIds="2").collect()

    text = str(caught.value)
    for needed in ("2-131072.rec", "recording 2", "position 131072", "stream id 4242", "onCorrupt=skipTerm"):
        assert needed in text
    lenient = load(spark, directory, recordingIds="2", onCorrupt="skipTerm", payload="none")
    positions = {row.position for row in lenient.collect()}
    assert 0 < len(positions) < 300
    assert not any(131072 <= position < 131072 + 65536 for position in positions)


def test_mistakes_in_options_and_schemas_are_told_by_spark(spark: SparkSession, golden: Path) -> None:
    with pytest.raises(Exception, match="did you mean 'recordingIds'"):
        load(spark, golden, recordingId="1")
    with pytest.raises(Exception, match="column position is bigint, the schema says string"):
        spark.read.format("aeron-archive").schema("position STRING").load(str(golden)).collect()
    with pytest.raises(Exception, match="give the directory"):
        load(spark, golden / "nowhere").count()


def test_spark_finds_it_without_registration(golden: Path) -> None:
    need_java()
    program = f"""
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.driver.bindAddress", "127.0.0.1").getOrCreate())
spark.sparkContext.setLogLevel("OFF")
print("rows", spark.read.format("aeron-archive").option("recordingIds", "9").load({str(golden)!r}).count())
spark.stop()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=golden, env=os.environ | spark_environment(),
        capture_output=True, text=True, timeout=150, check=False,
    )  # fmt: skip

    assert "rows 128" in done.stdout, done.stderr[-3000:]
