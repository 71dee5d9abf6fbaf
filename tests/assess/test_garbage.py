"""Whatever is given, one sentence says what is wrong; nothing is written and nothing grows without bound."""

from functools import partial

import numpy as np
import pytest

from noisegate import assessment as package
from noisegate import read_tables
from noisegate.cli.main import main
from noisegate.errors import InputError, OutputError
from noisegate.report import write_assessment

#: Suppressed cells have tests of their own.
assess = partial(package.assess, attacker=None)

TABLE = {"region": [f"r{k}" for k in range(40)], "sex": ["M", "F"]}


@pytest.fixture
def good(tables):
    return tables(good=(TABLE, np.arange(80).reshape(40, 2) + 30))


def refused(*arguments, **options):
    with pytest.raises(InputError) as caught:
        assess(*arguments, **options)
    message = str(caught.value)
    assert message
    assert "\n" not in message
    assert len(message) < 400
    return message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "empty"),
        ("mode,loc,count\n", "no rows"),
        ("mode,loc\ntrain,A\nbus,B\nferry,C\n", "count"),
        ("mode,loc,count\ntrain,A,many\nbus,B,few\nferry,C,some\n", "count"),
        ("count\n1\n2\n3\n", "dimension"),
    ],
)
def test_files_that_are_no_tables(tmp_path, content, says):
    path = tmp_path / "t.csv"
    path.write_text(content)
    assert says in refused([path])


def test_files_that_are_not_there(tmp_path):
    assert "none.csv" in refused([tmp_path / "none.csv"])
    assert "t" in refused([tmp_path])
    assert "no table" in refused([])


def test_tables_that_overlap_are_linked_and_those_that_share_nothing_are_refused(tables):
    rng = np.random.default_rng(1)
    months, colours = list(range(1, 13)), ["red", "green", "blue", "grey"]
    two = tables(
        one=({"region": TABLE["region"], "month": months}, rng.poisson(80, size=(40, 12))),
        other=({"region": TABLE["region"], "colour": colours}, rng.poisson(80, size=(40, 4))),
    )
    (shared,) = read_tables(two).shared
    assert {shared.left.name, shared.right.name} == {"one", "other"}
    apart = tables(
        sexes=(TABLE, rng.poisson(80, size=(40, 2))),
        colours=({"colour": colours, "size": ["big", "small"]}, rng.poisson(80, size=(4, 2))),
    )
    assert "share no dimension" in refused(apart)


def test_options_that_are_wrong(good, tmp_path):
    assert "--level" in refused(good, level=1.5)
    assert "--pair" in refused(good, pairs=[("sex", "sex=F")])
    assert "--identity" in refused(good, identities=["M + F"])
    assert "--lag" in refused(good, pairs=[("sex=M", "sex=F")], lag="soon")
    assert "card" in refused(good, card=tmp_path / "none.json")


def test_one_line_without_end(tmp_path):
    path = tmp_path / "long.csv"
    with path.open("wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    assert "long.csv" in refused([path])


def test_output_that_cannot_be_written(good, tmp_path):
    out = tmp_path / "out"
    found = assess(good)
    write_assessment(found, out)
    assert "assessment.json" in {path.name for path in out.iterdir()}
    before = (out / "assessment.json").read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        write_assessment(found, out)
    assert (out / "assessment.json").read_bytes() == before
    with pytest.raises(OutputError, match="make it first"):
        write_assessment(found, tmp_path / "no" / "such")


def test_a_bad_place_is_refused_before_any_work_is_done(good, tmp_path, capsys, monkeypatch):
    (tmp_path / "out").mkdir()
    monkeypatch.setattr("noisegate.assessment.job.judge", pytest.fail)
    assert main(["assess", *map(str, good), "--out", str(tmp_path / "out"), "--quiet"]) == 2
    assert "exists already" in capsys.readouterr().err


def test_a_failure_leaves_nothing_behind(good, tmp_path, monkeypatch):
    def broken(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("noisegate.report.write._write_pictures", broken)
    with pytest.raises(OutputError, match="No space left on device"):
        write_assessment(assess(good), tmp_path / "out")
    assert not [path for path in tmp_path.iterdir() if "out" in path.name]


def test_missing_rows_beside_counts_below_zero(tmp_path):
    """Where the least shown count is negative, laws with a bound let nothing be hidden below it: that is no reason to stop."""
    rng = np.random.default_rng(3)
    raw = rng.poisson(3.0, (60, 3))
    shown, totals = (
        one + np.rint(rng.laplace(0, 1.5, one.shape)).astype(int) for one in (raw, raw.sum(axis=1))
    )
    rows = [
        f"a{i},{y},{shown[i, k]}" for i in range(60) for k, y in enumerate("xyz") if rng.random() < 0.9
    ] + [f"a{i},Total,{totals[i]}" for i in range(60)]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["area,kind,count", *rows]) + "\n")
    found = assess(file)
    assert found.tables[0].noise.fit is None or np.isfinite(found.tables[0].noise.fit.scale)


def test_counts_of_billions(tmp_path):
    """More than 32 bits hold: boardings of a year, or a slip of the keyboard."""
    rng = np.random.default_rng(4)
    raw = rng.poisson(40.0, (30, 12))
    raw[3, 4] = 152_700_000_000
    shown = raw + np.rint(rng.laplace(0, 1.4, raw.shape)).astype(np.int64)
    rows = [f"a{i:02d},m{k:02d},{shown[i, k]}" for i, k in np.ndindex(*raw.shape) if shown[i, k] >= 36]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["area,month,count", *rows]) + "\n")
    found = package.assess(file, noise="laplace:1.4")
    assert found.tables[0].summary.rows == len(rows)


def test_a_word_among_dates_has_no_place_in_time(tmp_path):
    rng = np.random.default_rng(5)
    counts = rng.poisson(300, (20, 6))
    rows = [f"{k + 1:02d}/06/2023,St {j},{counts[k, j]}" for k, j in np.ndindex(*counts.shape)]
    rows += [f"Total,St {j},{7 * counts[:, j].sum() + 11 * j}" for j in range(6)]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["Date,Station,Hires", *rows]) + "\n")
    assert assess(file).tables[0].summary.rows == 126
