"""The benchmarks run, on a small scale, and keep their figures."""

import importlib.util
import io
import json
import sys
from pathlib import Path

import pytest
from rich.console import Console

BENCH = Path(__file__).parents[1] / "bench"


def load(name):
    spec = importlib.util.spec_from_file_location(f"bench_{name}", BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def entry():
    return load("run")


def test_every_benchmark_is_found(entry):
    found = entry.modules()
    assert set(found) >= {"counting", "margins", "release", "sampling", "simulate"}
    assert "run" not in found


def test_rows_of_each_kind_get_a_table(entry):
    rows = [{"kind": "speed", "cells": 1234567, "fast": True}, {"kind": "error", "mean": 0.12345, "law": {}}]
    text = io.StringIO()
    entry.show(Console(file=text, width=100), "margins", {"seconds": 1.5, "rows": rows})
    shown = text.getvalue()
    for piece in ("margins speed", "1,234,567", "yes", "margins error", "0.1235", "1.5 s"):
        assert piece in shown
    assert "{}" not in shown


def test_one_benchmark_keeps_the_figures_of_the_others(entry, tmp_path, monkeypatch, capsys):
    (tmp_path / "tiny.py").write_text('def run():\n    return [{"n": 3}]\n')
    (tmp_path / "broken.py").write_text("def run():\n    raise SystemExit(1)\n")
    latest = tmp_path / "results" / "latest.json"
    monkeypatch.setattr(entry, "HERE", tmp_path)
    monkeypatch.setattr(entry, "LATEST", latest)
    latest.parent.mkdir()
    latest.write_text('{"benchmarks": {"other": {"rows": []}}}')
    monkeypatch.setattr(sys, "argv", ["run.py", "broken", "tiny"])
    with pytest.raises(SystemExit, match="failed: broken"):
        entry.main()
    kept = json.loads(latest.read_text())["benchmarks"]
    assert set(kept) == {"other", "tiny"}
    assert kept["tiny"]["rows"] == [{"n": 3}]
    assert "tiny" in capsys.readouterr().out


def test_a_peer_is_measured_with_all_that_it_starts_or_says_why_not(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    peers = load("peers")
    inner = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'x = bytearray(80_000_000); import time; time.sleep(0.5)'])"
    got = peers.measure(tmp_path, [sys.executable, "-c", inner])
    assert got["memory_mb"] > 80
    assert got["wall_s"] > 0.5
    said = peers.measure(tmp_path, [sys.executable, "-c", f"raise SystemExit('no {peers.ROOT}/here')"])
    assert said == {"failed": "no here"}
    assert peers.write_table(tmp_path, 4, 3) == (tmp_path / "cells.csv").read_text().count("*")
    cells, sums = 4 * 3 + 4 + 3 + 1, 4 + 3 + 1
    assert len((tmp_path / "table.jj").read_text().splitlines()) == 2 + cells + 1 + sums
    assert set(peers.NEEDS) >= {home for home, _, _ in peers.WAYS.values() if home}


@pytest.mark.slow
def test_release_is_measured_against_a_plain_count():
    bench = load("release")
    rows = bench.speed(50_000, ["event, derive", "person-day, 4 cells, reconcile"], repeats=1)
    assert rows[0]["way"] == "plain GROUP BY"
    assert rows[0]["ratio"] == 1
    assert all(row["cpu_s"] > 0 and row["memory_mb"] > 50 for row in rows)


@pytest.mark.slow
def test_a_long_ledger_does_not_slow_a_release():
    row = load("ledger").measured(20_000, repeats=5)
    assert row["ratio"] <= 1.2
    assert row["check_us_per_entry"] < 500


@pytest.mark.slow
@pytest.mark.parametrize("nested", [False, True])
def test_reconcile_keeps_its_accuracy_on_the_simulated_fortnight(nested):
    bench = load("release")
    rows = bench.error(repeats=1, nested=nested)
    found = {
        (row["published"], row["truth"]): row
        for row in rows
        if row["method"] == "reconcile" and row["truth"] == "events counted"
    }
    assert len(found) == 2
    for row in found.values():
        assert row["loc / derive"] <= 1 / 3
        assert row["time-loc / derive"] <= 1.4
    # Nested, a row of times adds the places of one mode, 35 on average: to measure it three times as well as their sum is not affordable.
    assert found["all", "events counted"]["time / derive"] <= (2 / 3 if nested else 1 / 3)
    assert found["shown", "events counted"]["time / derive"] <= 1 / 3
