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
