"""The commands do their work where neither pyarrow nor pandas can be imported, and write the files that they always write."""

import json
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

BLOCKED = """
import sys
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyarrow", "pandas", "ibis", "polars"}:
            raise ImportError(f"{name} is refused")
sys.meta_path.insert(0, Refused())
"""
RUN = BLOCKED + "from noisegate.cli.main import main\nsys.exit(main(sys.argv[1:]))\n"


def run(folder, *arguments, code=RUN):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """A simulated city that was released, asked and assessed without pyarrow."""
    folder = tmp_path_factory.mktemp("blocked")
    run(folder, "simulate", "--out", "city", "--persons", "500", "--days", "2", "--quiet")
    run(folder, "release", "city/spec.yaml", "--out", "out", "--ledger", "ledger.db", "--quiet")
    files = ("out/time-loc.csv", "out/time.csv", "out/loc.csv")
    run(folder, "assess", *files, "--truth", "city/taps.parquet", "--out", "assessed", "--quiet")
    return folder


def test_the_block_blocks():
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + "import pyarrow"], capture_output=True, text=True, check=False
    )
    assert "pyarrow is refused" in done.stderr


def test_events_are_what_they_were(city):
    taps, truth = (pq.read_schema(city / "city" / name) for name in ("taps.parquet", "taps_truth.parquet"))
    assert {field.name: str(field.type) for field in taps} == {
        "card_id": "int64", "mode": "string", "tap": "string", "tapped_at": "timestamp[ms]", "stop": "string",
    }  # fmt: skip
    assert {field.name: str(field.type) for field in truth} == {
        "trip_id": "string", "vehicle": "string", "service_date": "date32[day]", "stop": "string",
    }  # fmt: skip


def test_a_release_is_categories_and_counts(city):
    found = pq.read_table(city / "out" / "time.parquet")
    assert [str(field.type) for field in found.schema] == [
        "dictionary<values=string, indices=int32, ordered=0>"
    ] * 4 + ["int64"]
    stated = json.loads((city / "out" / "card.json").read_text())["tables"]["time"]["rows"]
    assert found.num_rows == stated == len((city / "out" / "time.csv").read_text().splitlines()) - 1


def test_a_release_answers(city):
    asked = ("query", "out", "--by", "mode", "--quiet")
    rows = json.loads(run(city, *asked, "--format", "json"))
    run(city, *asked, "--format", "parquet", "--to", "answers.parquet")
    assert pq.read_table(city / "answers.parquet").to_pylist() == rows
    assert len(rows) > 1


def test_an_assessment_leaves_its_cells_marked(city):
    cells = pq.read_table(city / "assessed" / "cells.parquet")
    assert cells.schema.metadata[b"custodian_only"] == b"for the custodian only"
    assert cells.column_names[-8:] == ["published", "mean", "sd", "mode_count", "lo", "hi", "p_zero", "level"]
    assert (
        cells.num_rows
        == json.loads((city / "assessed" / "assessment.json").read_text())["tables"][0]["domain_size"]
    )


def test_python_works_too(city):
    code = (
        BLOCKED
        + """
import duckdb, noisegate
day = noisegate.open_release("out")
answers = day.query(by="mode")
rows = duckdb.sql("FROM answers").fetchall()
assert rows == [tuple(row.values()) for row in answers.to_pylist()], rows
found = noisegate.assess({"modes": duckdb.sql("SELECT * FROM (VALUES ('bus', 40), ('train', 70), ('ferry', 9)) t(mode, count)")})
try:
    answers.to_pandas()
except ValueError as problem:
    assert "pip install pandas" in str(problem)
else:
    raise AssertionError
print(len(found.findings) >= 0)
"""
    )
    assert run(city, code=code).strip() == "True"
