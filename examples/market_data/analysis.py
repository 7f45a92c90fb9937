"""What Spark makes of the recording: typed columns, aggregates, and whether all is there."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from examples.market_data.feed import TICK

COLUMNS = (
    "crc long, pass_number long, number long, time_ns long, symbol string, price double, quantity long, kind string"
)


@dataclass(frozen=True)
class Result:
    """What came out."""

    rows: int
    checksum: int
    disagreements: int
    table: list[Any]
    prices: dict[str, tuple[Any, Any]]


def session(java_home: Path) -> SparkSession:
    """A Spark of this machine alone."""
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[*]").appName("market data")
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Payloads to columns: all messages have one layout, so a batch of them is one array."""
    for batch in batches:
        payloads = batch.column("payload")
        offset = np.frombuffer(payloads.buffers()[1], np.int32)[payloads.offset]
        ticks = np.frombuffer(payloads.buffers()[2], TICK, len(batch), int(offset))
        columns = [batch.column("crc")]
        for name in TICK.names or ():
            values = ticks[name]
            if values.dtype.kind == "S":
                columns.append(pa.array(values.tolist(), pa.binary()).cast(pa.string()))
            else:
                columns.append(pa.array(values.astype("f8" if values.dtype.kind == "f" else "i8")))
        yield pa.RecordBatch.from_arrays(columns, names=["crc", *(TICK.names or ())])


def read(spark: SparkSession, archive: Path) -> DataFrame:
    """The recordings of an archive, one row per tick."""
    messages = (
        spark.read.format("aeron-archive").option("columns", "payload").option("splitBytes", "16m").load(str(archive))
    )
    return messages.select(F.crc32("payload").alias("crc"), "payload").mapInArrow(decode, COLUMNS)


def analyse(spark: SparkSession, archive: Path, passes: int) -> Result:
    """Read once, then ask everything."""
    ticks = read(spark, archive).withColumn("time", F.timestamp_micros(F.expr("time_ns div 1000"))).persist()
    total = ticks.agg(F.count("*"), F.sum("crc")).first()
    assert total is not None
    same = F.xxhash64("time_ns", "symbol", "price", "quantity", "kind")
    agreement = (
        ticks.groupBy("number").agg(F.count("*"), F.min(same), F.max(same)).toDF("number", "count", "low", "high")
    )
    disagreements = agreement.where((F.col("count") != passes) | (F.col("low") != F.col("high"))).count()
    price = F.nullif("price", F.lit(float("nan")))
    table = (
        ticks.where("pass_number = 0")
        .groupBy("symbol", F.year("time").alias("year"), "kind")
        .agg(
            F.count("*").alias("count"),
            F.min(price).alias("low"),
            F.avg(price).alias("mean"),
            F.max(price).alias("high"),
            F.sum("quantity").alias("quantity"),
        )
        .orderBy("symbol", "year", "kind")
        .collect()
    )
    first = (
        ticks.where("pass_number = 0 and kind in ('bar', 'trade')").select("symbol", "time", "price").orderBy("time")
    )
    prices: dict[str, tuple[list[Any], list[float]]] = {}
    for row in first.collect():
        times, values = prices.setdefault(row["symbol"], ([], []))
        times.append(row["time"])
        values.append(row["price"])
    return Result(total[0], total[1], disagreements, table, dict(prices))
