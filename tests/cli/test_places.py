"""Where commands write: never over an input, a ledger, a release or a directory, and never by halves."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from noisegate.errors import DataError, OutputError
from noisegate.places import MARK, check_file, is_marked, read_octets, refuse_marked, write_file

SPEC = """\
name: lines
events: {source: taps.csv, person: card}
dimensions:
  date: {column: at, from: 2016-07-25, to: 2016-07-26}
  time: {column: at, every: 6h}
  stop: {column: stop, values: [A, B, C, D]}
tables:
  base: [date, time, stop]
  time: [date, time]
privacy: {unit: person-day, max_cells: 3, epsilon: 1/2, margins: derive SUPPRESS}
budget: {dataset: lines, epsilon: 100}
workload: {early: {where: {time: "00:00..12:00"}, by: [stop]}}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with events, a spec, a ledger and a release in which nothing is suppressed."""
    from noisegate.cli.main import main

    folder = tmp_path_factory.mktemp("places")
    rng = np.random.default_rng(3)
    lines = [
        f"card-{rng.integers(90)},2016-07-{25 + rng.integers(2)} {rng.integers(24):02d}:15:00,{'ABCD'[rng.integers(4)]}"
        for _ in range(400)
    ]
    (folder / "taps.csv").write_text("\n".join(["card,at,stop", *lines]) + "\n")
    (folder / "spec.yaml").write_text(SPEC.replace("SUPPRESS", ""))
    (folder / "cut.yaml").write_text(SPEC.replace("SUPPRESS", ", suppress: {below: 9}"))
    for spec, out in (("spec", "week"), ("cut", "cut")):
        words = [
            "release",
            f"{folder}/{spec}.yaml",
            "--out",
            f"{folder}/{out}",
            "--ledger",
            f"{folder}/l.sqlite",
        ]
        assert main([*words, "--quiet"]) == 0
    return folder


@pytest.fixture
def place(made, tmp_path):
    shutil.copytree(made, tmp_path / "place")
    return tmp_path / "place"


def everything(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


COMMANDS = {
    "mechanism --json": ("mechanism", "--json"),
    "mechanism --plot": ("mechanism", "--plot"),
    "reproduce": ("reproduce", "--no-notes", "--json"),
    "ledger show": ("ledger", "show", "--ledger", "{}/l.sqlite", "--json"),
    "ledger check": ("ledger", "check", "--ledger", "{}/l.sqlite", "--json"),
    "ledger set": (
        "ledger",
        "set",
        "x",
        "--epsilon",
        "1",
        "--unit",
        "event",
        "--ledger",
        "{}/l.sqlite",
        "--json",
    ),
    "query": ("query", "{}/week", "--json"),
    "assess": ("assess", "{}/week", "--attacker", "none", "--json"),
    "simulate": ("simulate", "--out", "{}/world", "--persons", "10", "--days", "1", "--json"),
    "release --json": ("release", "{}/spec.yaml", "--out", "{}/new", "--ledger", "{}/l.sqlite", "--json"),
    "release --utility": (
        "release",
        "{}/spec.yaml",
        "--out",
        "{}/new",
        "--ledger",
        "{}/l.sqlite",
        "--utility",
    ),
    "release --picture": ("release", "{}/spec.yaml", "--plan", "--picture"),
    "demo": ("demo", "--out", "{}/story", "--json"),
}
TARGETS = [
    "spec.yaml",
    "taps.csv",
    "l.sqlite",
    "week/base.csv",
    "week/new.json",
    "week/card.json",
    "week",
    "no/x.json",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("target", TARGETS)
def test_no_command_writes_over_what_is_there(place, noisegate, command, target):
    before = everything(place)
    words = [word.format(place) for word in COMMANDS[command]]
    code, _, err = noisegate(*words, place / target)
    assert code == 2
    assert err.startswith("noisegate: The file ")
    assert err.endswith("ame another one.\n")
    assert err.count("\n") == 1
    assert everything(place) == before


@pytest.mark.parametrize(
    "command",
    [
        ("assess", "week", "--quiet", "--out", "week/sub"),
        ("assess", "week", "--quiet", "--out", "week/sub/deeper"),
        ("assess", "cut", "--quiet", "--json", "week/sub/found.json"),
        ("release", "spec.yaml", "--quiet", "--ledger", "l.sqlite", "--out", "week/sub"),
        ("simulate", "--quiet", "--days", "1", "--persons", "100", "--out", "week/sub"),
    ],
)
def test_nothing_is_put_into_a_release(place, noisegate, monkeypatch, command):
    """What was measured with raw data must not lie where a release is copied from."""
    monkeypatch.chdir(place)
    if "--json" in command:
        (place / "week" / "sub").mkdir()
    before = sorted(str(path) for path in (place / "week").rglob("*"))
    code, _, err = noisegate(*command)
    assert code == 2
    assert "would lie in " in err
    assert sorted(str(path) for path in (place / "week").rglob("*")) == before


def test_outputs_of_one_command_do_not_write_over_each_other(place, noisegate):
    same = place / "x.json"
    words = ["release", place / "spec.yaml", "--out", place / "new", "--ledger", place / "l.sqlite"]
    assert noisegate(*words, "--json", same, "--utility", same)[0] == 2
    assert noisegate(*words, "--json", place / "new")[0] == 2
    assert noisegate(*words[:-1], place / "fresh.sqlite", "--json", place / "fresh.sqlite")[0] == 2
    assert not (place / "new").exists()
    assert not (place / "fresh.sqlite").exists()


def test_a_link_to_an_input_is_an_input(place, noisegate):
    (place / "link.json").symlink_to(place / "week" / "card.json")
    before = everything(place)
    assert noisegate("query", place / "week", "--json", place / "link.json")[0] == 2
    assert everything(place) == before


def test_what_noisegate_wrote_may_be_written_again(tmp_path, noisegate):
    for _ in range(2):
        code, _, err = noisegate("mechanism", "--json", tmp_path / "m.json", "--plot", tmp_path / "m.svg")
        assert (code, err) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json", "m.svg"]


@pytest.mark.parametrize(
    "command",
    [
        ("mechanism",),
        ("query", "{}/week"),
        ("ledger", "show", "--ledger", "{}/l.sqlite"),
        ("ledger", "check", "--ledger", "{}/l.sqlite"),
        ("ledger", "set", "y", "--epsilon", "1", "--unit", "event", "--ledger", "{}/l.sqlite"),
        ("release", "{}/spec.yaml", "--out", "{}/new", "--ledger", "{}/l.sqlite"),
        ("release", "{}/spec.yaml", "--plan"),
        ("assess", "{}/week", "--attacker", "none"),
        ("simulate", "--out", "{}/world", "--persons", "10", "--days", "1"),
        ("reproduce", "--no-notes"),
    ],
    ids=lambda words: " ".join(word for word in words[:2] if "{}" not in word),
)
def test_a_dash_writes_json_to_standard_output_and_nothing_else(place, noisegate, command):
    code, out, err = noisegate(*(word.format(place) for word in command), "--json", "-")
    assert code == 0
    assert json.loads(out)
    assert err  # what is for people
    assert not (place / "-").exists()
    code, out, _ = noisegate("mechanism")  # and the next command prints as ever
    assert "verdict" not in out
    assert "laplace" in out


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_file(path, b"{}")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OutputError, match="No space left on device"):
        write_file(path, b"{1}")
    assert path.read_bytes() == b"{}"
    assert [one.name for one in tmp_path.iterdir()] == ["x.json"]


def test_streams_are_written_to_and_not_replaced(tmp_path):
    check_file(Path(os.devnull), option="--json")
    write_file(Path(os.devnull), b"{}")
    os.mkfifo(tmp_path / "pipe")
    reader = subprocess.Popen(
        [sys.executable, "-c", f"print(open({str(tmp_path / 'pipe')!r}).read())"], stdout=subprocess.PIPE
    )
    write_file(tmp_path / "pipe", b"{}")
    assert reader.communicate(timeout=60)[0].strip() == b"{}"


@pytest.mark.parametrize("name", ["x\0y", "x" * 5000])
def test_what_can_be_no_name(tmp_path, name):
    with pytest.raises(OutputError):
        check_file(tmp_path / name, option="--json")
    with pytest.raises(DataError):
        read_octets(tmp_path / name, most=10, what="The file")


def test_only_files_of_a_bounded_length_are_read(tmp_path):
    (tmp_path / "long").write_bytes(b"x" * 11)
    with pytest.raises(DataError, match="longer than 10 bytes"):
        read_octets(tmp_path / "long", most=10, what="The file")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(DataError, match=r"not a regular file|Is a directory"):
            read_octets(path, most=10, what="The file")


def test_what_was_measured_with_raw_data_is_marked_in_the_file(place, noisegate):
    out = place / "assessed"
    words = ["--quiet", "--weeks", "4", "--out", out, "--json", place / "copy.json"]
    code, _, err = noisegate("assess", place / "cut", "--truth", place / "taps.csv", *words)
    assert (code, err) == (0, "")
    files = [*out.iterdir(), place / "copy.json"]
    assert {path.name for path in files} >= {"assessment.json", "cells.parquet", "report.html", "report.md"}
    assert [path.name for path in files if not is_marked(path)] == []
    assert json.loads((out / "assessment.json").read_text())["custodian_only"] is True
    assert pq.read_schema(out / "cells.parquet").metadata[b"custodian_only"] == MARK.encode()
    with pytest.raises(DataError, match=r"cells\.parquet is marked 'for the custodian only'"):
        refuse_marked(out / "cells.parquet")


def test_an_assessment_without_raw_data_is_not_marked(place, noisegate):
    assert noisegate("assess", place / "cut", "--out", place / "assessed")[0] == 0
    assert [path.name for path in (place / "assessed").iterdir() if is_marked(path)] == []


def test_pictures_are_marked_and_can_still_be_read(tmp_path):
    from noisegate.mechanisms import second_algorithm
    from noisegate.pictures import groups_of, groups_picture, save

    chart = groups_picture(groups_of(second_algorithm(), range(1, 9)))
    for kind in ("svg", "png", "html"):
        save(chart, tmp_path / f"a.{kind}", marked=True)
        save(chart, tmp_path / f"b.{kind}")
        assert is_marked(tmp_path / f"a.{kind}")
        assert not is_marked(tmp_path / f"b.{kind}")
    from xml.etree import ElementTree as ET

    ET.parse(tmp_path / "a.svg")


def test_a_release_counts_no_marked_file(place, noisegate):
    assert (
        noisegate("assess", place / "cut", "--truth", place / "taps.csv", "--out", place / "assessed")[0] == 0
    )
    text = (place / "spec.yaml").read_text().replace("taps.csv", "assessed/cells.parquet")
    (place / "bad.yaml").write_text(text)
    before = (place / "l.sqlite").read_bytes()
    code, _, err = noisegate(
        "release", place / "bad.yaml", "--out", place / "new", "--ledger", place / "l.sqlite"
    )
    assert code == 2
    assert "is marked 'for the custodian only'" in err
    assert (place / "l.sqlite").read_bytes() == before


def test_the_readme_command_on_a_release_that_suppresses_nothing(place, noisegate):
    code, out, err = noisegate(
        "assess",
        place / "week",
        "--truth",
        place / "taps.csv",
        "--out",
        place / "assessed",
        "--verbose",
        "--quiet",
    )
    assert (code, err) == (0, "")
    assert "nothing to infer" in " ".join(out.split())
    assert "nothing to" in (place / "assessed" / "report.md").read_text()


def test_an_assessment_names_files_and_no_folders(place, noisegate):
    out = place / "assessed"
    assert noisegate("assess", place / "cut", "--truth", place / "taps.csv", "--out", out)[0] == 0
    for path in out.iterdir():
        assert str(place).encode() not in path.read_bytes()
    files = [table["files"] for table in json.loads((out / "assessment.json").read_text())["tables"]]
    assert files == [["base.csv"], ["time.csv"]]
