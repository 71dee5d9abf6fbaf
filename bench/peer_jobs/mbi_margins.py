"""mbi (private-pgm): two margins measured with Laplace noise, and the table that agrees with both."""

import json
import os
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

os.environ["JAX_ENABLE_X64"] = "1"  # read when mbi is imported
import mbi

values = json.loads(Path("domain.json").read_text())
names, sizes = list(values), [len(one) for one in values.values()]
domain = mbi.Domain(names, sizes)
con = duckdb.connect()
MARGINS = (("date", "tap", "time"), ("date", "tap", "location"))
rng = np.random.default_rng()
measured = []
for margin in MARGINS:
    rows = con.execute(
        f"""SELECT {", ".join(margin)}, count(*) AS n FROM (SELECT tapped_at::DATE::VARCHAR AS date, tap,
        strftime(time_bucket(INTERVAL 15 MINUTE, tapped_at), '%H:%M') AS time, stop AS location FROM read_parquet('taps.parquet')) GROUP BY ALL"""
    ).fetchall()
    place = [{value: k for k, value in enumerate(values[name])} for name in margin]
    counts = np.zeros([len(values[name]) for name in margin])
    for *labels, n in rows:
        counts[tuple(where[label] for where, label in zip(place, labels, strict=True))] = n
    measured.append(
        mbi.LinearMeasurement((counts + rng.laplace(0, 2, counts.shape)).ravel(), margin, stddev=2 * 2**0.5)
    )
model = mbi.estimation.MirrorDescent().estimate(domain, measured, iters=500)
table = np.asarray(model.project(tuple(names)).datavector())
grid = np.indices(sizes).reshape(len(sizes), -1)
columns = {name: pa.array(np.array(values[name])[grid[k]]) for k, name in enumerate(names)}
pq.write_table(pa.table(columns | {"count": pa.array(table)}), "out.parquet")
