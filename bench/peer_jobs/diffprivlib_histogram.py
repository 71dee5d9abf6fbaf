"""diffprivlib: a private histogram over the numbers of the cells; the cells are worked out with DuckDB."""

import warnings

import diffprivlib
import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

warnings.simplefilter("ignore")
keys = duckdb.connect()
keys.execute(
    "CREATE TABLE keys AS SELECT *, row_number() OVER () - 1 AS cell FROM read_parquet('keys.parquet')"
)
cells = keys.execute(
    """SELECT cell FROM (SELECT tapped_at::DATE::VARCHAR AS date, tap, strftime(time_bucket(INTERVAL 15 MINUTE, tapped_at), '%H:%M') AS time,
    stop AS location FROM read_parquet('taps.parquet')) JOIN keys USING (date, tap, time, location)"""
).fetchnumpy()["cell"]
size = keys.execute("SELECT count(*) FROM keys").fetchone()[0]
counts, _ = diffprivlib.tools.histogram(np.asarray(cells), epsilon=1.0, bins=size, range=(-0.5, size - 0.5))
listed = keys.execute("SELECT date, tap, time, location FROM keys ORDER BY cell").to_arrow_table()
pq.write_table(listed.append_column("count", pa.array(counts.astype(np.int64))), "out.parquet")
