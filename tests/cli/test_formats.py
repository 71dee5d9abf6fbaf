"""`--format` and `--to`: the table of a command for another program. And completion in a shell."""

import csv
import io
import json
import os
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from noisegate.places import STANDARD_OUTPUT

CURVE = ("mechanism", "--scale", 2, "--zeros", "perturb")


def expected(noisegate):
    _, out, _ = noisegate(*CURVE, "--json", "-")
    return json.loads(out)["curve"]


def test_csv_on_standard_output_is_the_table_and_nothing_else(noisegate):
    code, out, err = noisegate(*CURVE, "--format", "csv")
    assert code == 0
    rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(out))]
    assert rows == expected(noisegate)
    assert "Privacy curve" in err


def test_json_is_a_list_of_rows(noisegate):
    assert json.loads(noisegate(*CURVE, "--format", "json")[1]) == expected(noisegate)


def test_parquet_in_a_file_keeps_kinds(noisegate, tmp_path):
    target = tmp_path / "curve.parquet"
    code, out, _ = noisegate(*CURVE, "--format", "parquet", "--to", target)
    assert code == 0
    assert "Privacy curve" in out
    assert pq.read_table(target).to_pylist() == expected(noisegate)


def test_markdown_survives_bars_and_parts(noisegate):
    _, out, _ = noisegate("reproduce", "--format", "markdown")
    head, line, *rows = out.splitlines()
    bars = {row.replace("\\|", "").count("|") for row in (head, line, *rows)}
    assert len(bars) == 1
    assert any("\\|x\\|" in row for row in rows)


def test_rows_of_mixed_kinds_are_written_as_parquet(noisegate, tmp_path):
    target = tmp_path / "items.parquet"
    assert noisegate("reproduce", "--format", "parquet", "--to", target)[0] == 0
    items = pq.read_table(target).to_pylist()
    assert len(items) == len(json.loads(noisegate("reproduce", "--json", "-")[1]))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--to", "x.csv"), "--format"),
        (("--format", "csv", "--json", STANDARD_OUTPUT), "give one of them a file"),
        (("--format", "xml"), "csv"),
        (("--format", "csv", "--to", "/"), "--to"),
    ],
)
def test_what_cannot_be_is_refused(noisegate, options, says):
    code, out, err = noisegate(*CURVE, *options)
    assert (code, out) == (2, "")
    assert says in err


def test_a_shell_completes_commands_and_options():
    def completed(words):
        made = subprocess.run(
            [sys.executable, "-c", "from noisegate.cli.main import run; run()"],
            env=os.environ
            | {
                "_NOISEGATE_COMPLETE": "complete_bash",
                "COMP_WORDS": words,
                "COMP_CWORD": str(words.count(" ")),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return made.stdout.split()

    assert completed("noisegate ass") == ["assess"]
    assert "--fail-on" in completed("noisegate assess --fa")


HIDDEN = "area,sex,count\nA,m,5\nA,f,7\nA,total,12\nB,m,1\nB,f,..\nB,total,3\n"


@pytest.fixture
def stdin(monkeypatch):
    def given(octets):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(octets)))

    return given


@pytest.mark.parametrize("form", ["csv", "json", "markdown", "parquet"])
def test_findings_are_a_table(noisegate, tmp_path, form):
    (tmp_path / "table.csv").write_text(HIDDEN)
    written = tmp_path / "findings"
    code, out, _ = noisegate("assess", tmp_path / "table.csv", "--quiet", "--format", form, "--to", written)
    assert code == 0
    assert "MEDIUM" in out
    if form == "parquet":
        rows = pq.read_table(written).to_pylist()
    elif form == "json":
        rows = json.loads(written.read_text())
    elif form == "csv":
        rows = list(csv.DictReader(written.read_text().splitlines()))
    else:
        head, _, *body = (
            [cell.strip() for cell in line.split("|")[1:-1]] for line in written.read_text().splitlines()
        )
        rows = [dict(zip(head, line, strict=True)) for line in body]
    assert {(one["id"], one["severity"]) for one in rows} >= {("known-exactly", "medium")}
    assert list(rows[0])[:3] == ["id", "severity", "title"]


def test_no_finding_is_a_table_without_rows(noisegate, tmp_path):
    (tmp_path / "table.csv").write_text("area,count\nA,5\nB,7\n")
    code, out, _ = noisegate("assess", tmp_path / "table.csv", "--quiet", "--format", "csv")
    assert code == 0
    assert out.startswith("id,severity,title,")
    assert len(out.splitlines()) == 1


def test_a_table_comes_by_standard_input(noisegate, stdin):
    stdin(HIDDEN.encode())
    code, out, _ = noisegate("assess", "-", "--quiet", "--format", "json", "--to", "-")
    assert code == 0
    assert "known-exactly" in {one["id"] for one in json.loads(out)}
    stdin(HIDDEN.encode())
    code, out, _ = noisegate("query", "-", "--by", "area", "--quiet", "--format", "csv")
    assert code == 0
    assert [line.split(",")[0] for line in out.splitlines()] == ["area", "A", "B"]


@pytest.mark.parametrize(
    ("octets", "arguments", "says"), [(b"", ("-",), "Nothing came"), (b"x", ("-", "-"), "once")]
)
def test_standard_input_that_cannot_be_is_refused(noisegate, stdin, octets, arguments, says):
    stdin(octets)
    code, out, err = noisegate("assess", *arguments, "--quiet")
    assert (code, out) == (2, "")
    assert says in err


def test_no_number_and_no_name_is_cut_off_on_a_narrow_screen(noisegate, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = noisegate("reproduce", "--more")
    assert code == 0
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80
    assert "detection-small-groups" in out
    assert "18.98]" in out
