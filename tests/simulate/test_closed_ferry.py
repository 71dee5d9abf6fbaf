"""The closed ferry: who taps on is who taps off half an hour later, and its absence."""

from __future__ import annotations

import duckdb
import pyarrow.parquet as pq

from noisegate.simulation import simulate


def agreement(world, *, boards, alights, lag_min=30):
    """Share of quarter-hours in which tap-ons at one stop equal tap-offs at another `lag_min` later."""
    bins = f"""SELECT time_bucket(INTERVAL 15 MINUTE, tapped_at) AS bin, tap, stop, count(*) AS n
        FROM read_parquet('{world.taps}') GROUP BY ALL"""
    return duckdb.sql(
        f"""WITH bins AS ({bins}),
            ons AS (SELECT bin + INTERVAL {lag_min} MINUTE AS bin, n FROM bins WHERE tap = 'on' AND stop = '{boards}'),
            offs AS (SELECT bin, n FROM bins WHERE tap = 'off' AND stop = '{alights}')
        SELECT avg((coalesce(ons.n, 0) = coalesce(offs.n, 0))::INT), count(*) FROM ons FULL JOIN offs USING (bin)"""
    ).fetchall()[0]


def test_tap_ons_equal_tap_offs_half_an_hour_later_in_both_directions(week):
    quay, beach = week.closed_pair
    for boards, alights in ((quay, beach), (beach, quay)):
        share, bins = agreement(week, boards=boards, alights=alights)
        assert bins > 200
        assert 0.95 < share < 1
        assert agreement(week, boards=boards, alights=alights, lag_min=15)[0] < 0.3
        assert agreement(week, boards=boards, alights=alights, lag_min=60)[0] < 0.3


def test_the_counts_are_large_enough_to_be_published(week):
    quay, _ = week.closed_pair
    asked = f"""SELECT count(*) AS n FROM read_parquet('{week.taps}') WHERE stop = '{quay}' AND tap = 'on'
        GROUP BY time_bucket(INTERVAL 15 MINUTE, tapped_at)"""
    assert duckdb.sql(f"SELECT count(*) FROM ({asked}) WHERE n >= 18").fetchall()[0][0] > 40


def test_stragglers_are_a_choice(tmp_path):
    exact = simulate(tmp_path / "exact", days=3, persons=10_000, straggler_rate=0)
    loose = simulate(tmp_path / "loose", days=3, persons=10_000, straggler_rate=1)
    quay, beach = exact.closed_pair
    share, bins = agreement(exact, boards=quay, alights=beach)
    assert share >= 1 - 2 / bins  # a sailing over an edge of the window is seen by half
    assert agreement(loose, boards=quay, alights=beach)[0] < 0.9


def test_only_the_closed_ferry_calls_at_its_wharves(week):
    asked = f"""SELECT DISTINCT split_part(trip_id, '.', 1) FROM read_parquet('{week.truth}')
        WHERE stop IN {week.closed_pair}"""
    assert duckdb.sql(asked).fetchall() == [("F0",)]


def test_a_world_without_closed_services(tmp_path):
    world = simulate(tmp_path / "open", days=2, persons=5_000, closed_ferry=False)
    assert world.closed_pair is None
    stops = set(pq.read_table(world.taps)["stop"].to_pylist())
    assert not stops & {"Lantern Quay Wharf 3", "Seahaven Wharf"}
    asked = f"""SELECT max(agree) FROM (
        WITH bins AS (SELECT time_bucket(INTERVAL 15 MINUTE, tapped_at) AS bin, tap, stop, count(*) AS n
            FROM read_parquet('{world.taps}') WHERE mode = 'ferry' GROUP BY ALL)
        SELECT a.stop, b.stop, lag, avg((a.n = b.n)::INT) AS agree
        FROM bins a, bins b, range(1, 5) AS lags(lag)
        WHERE a.tap = 'on' AND b.tap = 'off' AND b.bin = a.bin + lag * INTERVAL 15 MINUTE AND a.n > 4
        GROUP BY ALL HAVING count(*) > 20)"""
    assert (duckdb.sql(asked).fetchall()[0][0] or 0) < 0.5
