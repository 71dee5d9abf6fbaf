"""The how-to page: its code runs, its spec is understood, its limits are the real ones."""

import re
from pathlib import Path

import pytest
import yaml

from noisegate import limits
from noisegate.reading import dialect as _dialect
from noisegate.reading import overrides as _overrides
from noisegate.reading import parse_overrides
from noisegate.reading import records as _records

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "read-published-tables.md"


@pytest.fixture(scope="module")
def blocks():
    found = re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return dict(found)


def test_the_code_runs(blocks, capsys):
    exec(compile(blocks["python"], str(PAGE), "exec"), {})
    printed = capsys.readouterr().out
    assert "base time-stop ('mode', 'stop', 'time') 5 of 24 cells published" in printed
    assert "('another number of fields than the header', 4)" in printed
    assert "sums over ('stop',) in wider bins of ('hour',)" in printed
    assert "complete: 0 of 2" in printed


def test_the_spec_is_understood(blocks):
    told = parse_overrides(yaml.safe_load(blocks["yaml"]))
    assert set(told.tables) == {"time-loc.csv", "bare.csv"}
    table = told.tables["time-loc.csv"]
    said = {"as", "kind", "format", "every", "total"}
    assert said == set(_overrides._DIMENSION_KEYS)
    assert table.dimensions["hour"].step == 60
    every_setting = {*yaml.safe_load(blocks["yaml"])["tables"]["time-loc.csv"], "columns"}
    assert every_setting == set(_overrides._TABLE_KEYS)


def test_the_limits_are_the_real_ones():
    page = PAGE.read_text(encoding="utf-8")
    assert f"| the first {_dialect.PREFIX >> 20} MiB |" in page
    assert f"| {_records.BLOCK >> 20} MiB |" in page
    assert f"| {limits.current().file_columns} |" in page
    assert f"| {limits.current().rejected_lines:,} |" in page
    assert f"| {limits.current().held_bytes >> 30} GiB" in page
    assert f"| {limits.current().margin_cells:,} |" in page
    assert f"| spec | {limits.current().overrides_bytes >> 20} MiB |" in page
