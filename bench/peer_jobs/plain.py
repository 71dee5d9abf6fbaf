"""Plain count, no privacy: DuckDB GROUP BY of the cells that occur."""

import duckdb

duckdb.connect().execute(
    """COPY (SELECT tapped_at::DATE::VARCHAR AS date, tap, strftime(time_bucket(INTERVAL 15 MINUTE, tapped_at), '%H:%M') AS time,
    stop AS location, count(*) AS count FROM read_parquet('taps.parquet') GROUP BY ALL) TO 'out.parquet' (FORMAT parquet)"""
)
