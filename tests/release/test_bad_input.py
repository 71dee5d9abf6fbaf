"""Bad input: exit code 2, one sentence, nothing written, nothing spent, no traceback, no data in the sentence."""

import os
import pwd
import re
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.errors import OutputError
from noisegate.releases import check_output

SECRET_CARD, SECRET_STOP = "card-5550123", "Hidden Lane 77"


@pytest.fixture
def place(tmp_path, hamlet):
    """A folder of its own with the hamlet's files, to be spoilt."""
    folder = tmp_path / "data"
    folder.mkdir()
    for path in hamlet.glob("*"):
        if path.name in ("spec.yaml", "taps.csv"):
            (folder / path.name).write_text(path.read_text())
    with (folder / "taps.csv").open("a") as file:
        file.write(f"{SECRET_CARD},2016-07-25 08:15:00,{SECRET_STOP}\n")
    return folder


@pytest.fixture
def refused(place, tmp_path, ledger, noisegate):
    """Run a release that must be refused; returns the sentence."""

    def refused(*more, spec="spec.yaml", out=None):
        before = sorted(tmp_path.rglob("*"))
        where = tmp_path / "out" if out is None else out
        code, _, err = noisegate(
            "release", place / spec, "--out", where, "--ledger", ledger, "--quiet", *more
        )
        assert code in (2, 3), err  # bad input, or a guard
        assert err.startswith("noisegate: ")
        assert err.endswith((".\n", "?\n", ".'\n"))
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert SECRET_CARD not in err
        assert SECRET_STOP not in err
        assert not re.search(r"\b40[01]\b", err)  # the number of taps
        assert sorted(tmp_path.rglob("*")) == before
        return err.removeprefix("noisegate: ").strip()

    return refused


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


SPEC_EDITS = {
    "unknown key": ("unit: person-day", "unti: person-day", r"privacy\.unti is not a known key; did you mean 'unit'\?"),
    "unknown key at the top": ("name: hamlet", "name: hamlet\nevnts: x", r"evnts is not a known key; did you mean 'events'\?"),
    "epsilon 0": ("epsilon: 1/2", "epsilon: 0", r"privacy\.epsilon must be more than 0, got '0'\."),
    "epsilon below 0": ("epsilon: 1/2", "epsilon: -1", r"privacy\.epsilon must be more than 0, got '-1'\."),
    "epsilon no number": ("epsilon: 1/2", "epsilon: two", r"privacy\.epsilon must be a number"),
    "max_cells 0": ("max_cells: 3", "max_cells: 0", r"privacy\.max_cells must be a whole number of at least 1, got '0'\."),
    "max_cells missing": ("max_cells: 3, ", "", r"privacy\.max_cells is missing"),
    "column that is not there": ("column: stop", "column: stpo", r"taps\.csv has no column 'stpo'; did you mean 'stop'\?"),
    "person that is not there": ("person: card}", "person: passenger}", r"taps\.csv has no column 'passenger'; it has card, at, stop\."),
    "dimension that is not there": ("[date, time]", "[date, tiem]", r"tables\.time names a dimension 'tiem' that does not exist; did you mean 'time'\?"),
    "value listed twice": ("[A, B, C, D]", "[A, B, A]", r"dimensions\.stop\.values lists 'A' twice"),
    "no such events": ("source: taps.csv", "source: tapes.csv", r"The events 'tapes\.csv' do not exist beside the spec\."),
    "events of no kind": ("source: taps.csv", "source: taps.xlsx", r"events\.source 'taps\.xlsx' is not something to read"),
    "unsafe zeros": ("margins: derive", "margins: derive, zeros: keep", r"privacy\.zeros is 'keep', which shows for certain"),
    "unsafe margins": ("margins: derive", "margins: independent", r"privacy\.margins is 'independent', which leaks"),
    "dates in the wrong order": ("to: 2016-07-26", "to: 2016-07-01", r"dimensions\.date\.to must not be before 'from'"),
    "a time that cannot be a column's": ("{column: at, every", "{column: stop, every", r"would count none of the events \(time cannot be read\)"),
    "not YAML": ("tables:", "tables: [", r"spec\.yaml, line \d+: this is not YAML"),
    "a key given twice": ("name: hamlet", "name: hamlet\nname: other", r"spec\.yaml, line 2: name is given twice"),
    "noise that never shows": ("epsilon: 1/2", "epsilon: 10000", r"the noise of base has a scale of 0\.0003 and would never show; lower"),
    "impossible noise": ("epsilon: 1/2", "epsilon: 1e-13", r"the scale of discrete-laplace noise must be above 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", SPEC_EDITS)
def test_a_spec_that_cannot_be_used(case, place, refused):
    old, new, sentence = SPEC_EDITS[case]
    edit(place / "spec.yaml", old, new)
    assert re.search(sentence, refused())


def test_a_spec_that_is_empty_or_not_there_or_a_folder_or_not_text(place, refused):
    (place / "spec.yaml").write_text("")
    assert "is empty" in refused()
    (place / "spec.yaml").write_bytes(b"\xff\xfe\x00name")
    assert "is not UTF-8 text" in refused()
    assert re.search(r"^The spec '.*nowhere\.yaml' does not exist\.$", refused(spec="nowhere.yaml"))
    (place / "folder").mkdir()
    assert re.search(r"^The spec '.*folder' cannot be read: Is a directory\.$", refused(spec="folder"))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("stop,place\nA,1\nB,2\nA,3\n", r"lists 'A' twice \(lines 2 and 4\); keep one\.$"),
        ("", r"holds no values; list at least one\.$"),
        ("stop,place\n,1\n", r"whose line 2 has an empty value"),
        (None, r"names a file 'stops\.csv' that does not exist beside the spec\.$"),
    ],
    ids=["duplicates", "empty", "blank", "missing"],
)
def test_a_values_file_that_cannot_be_used(content, sentence, place, refused):
    edit(place / "spec.yaml", "[A, B, C, D]", "stops.csv")
    if content is not None:
        (place / "stops.csv").write_text(content)
    assert re.search(sentence, refused())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", r"^taps\.csv is empty; a CSV file starts with a line of column names\.$"),
        ("card,at,stop\n", r"^The release would count none of the events\. This guard has looked"),
        (f"card,at,stop\n{SECRET_CARD},yesterday,{SECRET_STOP}\n", r"would count none of the events \(date cannot be read\)"),
        (f"card,at\n{SECRET_CARD},2016-07-25 08:00:00\n", r"^taps\.csv has no column 'stop'; it has card, at\.$"),
    ],
    ids=["empty", "header-only", "no-time", "column-missing"],
)  # fmt: skip
def test_events_that_cannot_be_used(content, sentence, place, refused):
    (place / "taps.csv").write_text(content)
    assert re.search(sentence, refused())


def test_parquet_that_cannot_be_used(place, refused):
    edit(place / "spec.yaml", "taps.csv", "taps.parquet")
    (place / "taps.parquet").write_bytes(b"")
    assert re.search(r"^taps\.parquet cannot be read: DuckDB reports an error of kind", refused())
    (place / "taps.parquet").write_bytes(f"PAR1 {SECRET_CARD}".encode())
    assert re.search(r"^taps\.parquet cannot be read: DuckDB reports an error of kind", refused())
    table = pa.table({"card": [SECRET_CARD], "at": ["yesterday"], "stop": ["A"]})
    pq.write_table(table, place / "taps.parquet")
    assert "would count none of the events (date cannot be read)" in refused()
    pq.write_table(table.slice(0, 0), place / "taps.parquet")
    assert "would count none of the events." in refused()
    pq.write_table(table.drop_columns(["card"]), place / "taps.parquet")
    assert refused() == "taps.parquet has no column 'card'; it has at, stop."


def test_an_output_directory_that_exists(refused, tmp_path):
    for name in ("folder", "file", "link"):
        (tmp_path / "places").mkdir(exist_ok=True)
        where = tmp_path / "places" / name
        {"folder": where.mkdir, "file": where.touch, "link": lambda w=where: w.symlink_to("nowhere")}[name]()
        assert refused(out=where) == (
            f"the output directory {where} exists already; choose a new one, a release is never changed."
        )


def test_an_output_directory_that_cannot_be_made(refused, tmp_path, place):
    assert re.search(
        r"^there is no directory .*/nowhere to put the release in; make it first\.$",
        refused(out=tmp_path / "nowhere" / "out"),
    )
    assert re.search(r"^there is no directory .*/taps\.csv to put", refused(out=place / "taps.csv" / "out"))
    assert re.search(
        r"^the name of the output directory is too long; at most 213 bytes",
        refused(out=tmp_path / ("x" * 214)),
    )
    assert re.search(r"^the output directory .* cannot be used: File name too long\.$", refused(out=tmp_path / ("x" * 300)))  # fmt: skip


def test_the_longest_name_that_is_allowed_works(place, tmp_path, ledger, noisegate):
    where = tmp_path / ("ä" * 106)
    assert noisegate("release", place / "spec.yaml", "--quiet", "--out", where, "--ledger", ledger)[0] == 0
    assert (where / "card.json").exists()


@contextmanager
def few_rights():
    """Act as a user who may not write everywhere, as root may."""
    if os.geteuid() != 0:
        yield
        return
    try:
        user = pwd.getpwnam("nobody").pw_uid
    except KeyError:
        pytest.skip("root may write everywhere, and there is no user 'nobody'")
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("mode", "sentence"),
    [
        (0o555, r"^the directory .* cannot be written; choose another place\.$"),
        (0o444, r"^the output directory .* cannot be used: Permission denied\.$"),
    ],
    ids=["read-only", "out-of-reach"],
)
def test_an_output_directory_that_cannot_be_written(mode, sentence):
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        locked = Path(root) / "locked"
        locked.mkdir()
        locked.chmod(mode)
        with few_rights(), pytest.raises(OutputError, match=sentence):
            check_output(locked / "out")
        locked.chmod(0o755)


def test_an_engine_that_nobody_knows(refused):
    assert refused("--engine", "duckbd").startswith("engine must be one of duckdb, spark, a URL")
    assert refused("--engine", "duckbd").endswith("Did you mean 'duckdb'?")
    sentence = refused("--engine", "nosuch://secret-password@host/db")
    assert sentence.startswith("The engine 'nosuch' ")
    assert "secret-password" not in sentence


def test_a_ledger_that_cannot_be_one(place, tmp_path, noisegate, ledger):
    ledger.write_text("not a database, but long enough to look like a file that somebody wants to keep")
    before = ledger.read_bytes()
    code, _, err = noisegate(
        "release", place / "spec.yaml", "--quiet", "--out", tmp_path / "out", "--ledger", ledger
    )
    assert code == 2
    assert err.count("\n") == 1
    assert ledger.read_bytes() == before
    assert not (tmp_path / "out").exists()


def test_a_bad_place_for_json_is_said_before_anything_is_spent(refused, tmp_path):
    assert re.search(
        r"^The file .*result\.json for --json is a directory or in none",
        refused("--json", tmp_path / "nowhere" / "result.json"),
    )
    assert re.search(r"^The file .* for --json is a directory", refused("--json", tmp_path))


def test_options_that_are_missing_or_unknown(place, noisegate, tmp_path):
    for words in ((place / "spec.yaml",), ("--out", tmp_path / "out"), (place / "spec.yaml", "--uot", "x")):
        code, _, err = noisegate("release", *words)
        assert code == 2
        assert err.startswith("noisegate: ")
        assert "See 'noisegate release --help'." in err or "--help" in err
        assert not (tmp_path / "out").exists()
