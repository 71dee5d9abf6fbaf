"""OpenDP with Polars: a private count over the full public domain, keys in a file; `--person` bounds what a card adds."""

import sys

import opendp.prelude as dp
import polars as pl

dp.enable_features("contrib")
CELL = ["date", "tap", "time", "location"]
events = pl.scan_parquet("taps.parquet").select(
    pl.col("card_id"),
    pl.col("tapped_at").dt.strftime("%Y-%m-%d").alias("date"),
    pl.col("tap").cast(pl.String),
    pl.col("tapped_at").dt.truncate("15m").dt.strftime("%H:%M").alias("time"),
    pl.col("stop").cast(pl.String).alias("location"),
)
if "--person" in sys.argv:
    unit, loss = dp.unit_of(contributions=40, identifier=pl.col("card_id")), dp.loss_of(epsilon=8.0)
else:
    unit, loss = dp.unit_of(contributions=1), dp.loss_of(epsilon=1.0)
context = dp.Context.compositor(data=events, privacy_unit=unit, privacy_loss=loss, split_evenly_over=1)
query = context.query()
if "--person" in sys.argv:
    query = query.truncate_per_group(40)
query = query.group_by(CELL).agg(dp.len()).with_keys(pl.scan_parquet("keys.parquet"))
query.release().collect().write_parquet("out.parquet")
