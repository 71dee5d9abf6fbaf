"""Tumult Analytics on a local Spark: a private count over the full public domain."""

import json
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as f
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session

os.environ["PYSPARK_PYTHON"] = sys.executable  # workers find the same packages
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.memory", "3g")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.default.parallelism", "2")
    .config("spark.ui.enabled", "false")
    .config("spark.log.level", "ERROR")
    .getOrCreate()
)
events = spark.read.parquet("taps.parquet").select(
    f.date_format("tapped_at", "yyyy-MM-dd").alias("date"),
    f.col("tap").cast("string").alias("tap"),
    f.date_format(f.window("tapped_at", "15 minutes").start, "HH:mm").alias("time"),
    f.col("stop").cast("string").alias("location"),
)
session = Session.from_dataframe(PureDPBudget(1), "taps", events, protected_change=AddOneRow())
keys = KeySet.from_dict(json.loads(Path("domain.json").read_text()))
counts = session.evaluate(QueryBuilder("taps").groupby(keys).count(), PureDPBudget(1))
counts.write.mode("overwrite").parquet("out.parquet")
spark.stop()
