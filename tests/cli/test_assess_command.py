"""`noisegate assess` as a person uses it."""

import csv
import hashlib
import json
import resource

import numpy as np
import pytest

from noisegate.cli.assess import joined_pairs


@pytest.fixture
def release(tmp_path):
    """A ferry between two wharves and its daily totals, published as in 2016 but for their dates."""
    rng = np.random.default_rng(1)
    sailings = rng.poisson(rng.uniform(25, 150, size=(10, 60)))
    raw = np.zeros((10, 2, 2, 96), dtype=int)
    raw[:, 0, 0, 20:80] = raw[:, 1, 1, 22:82] = sailings
    raw[:, 0, 1, 20:80], raw[:, 1, 0, 20:80] = rng.poisson(60, size=(2, 10, 60))
    base = np.where(raw > 0, raw + np.rint(rng.laplace(scale=1.4, size=raw.shape)), 0)
    daily = raw.sum(axis=3) + np.rint(rng.laplace(scale=1.4, size=raw.shape[:3]))
    for name, columns, values in (("base", ["time"], base), ("daily", [], daily)):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["date", "tap", "wharf", *columns, "count"])
            for index in np.ndindex(values.shape):
                day, tap, wharf, *quarter = index
                when = [f"{q // 4:02d}:{q % 4 * 15:02d}" for q in quarter]
                if values[index] >= 18:
                    rows.writerow(
                        [
                            f"2016-08-{day + 1:02d}",
                            ("on", "off")[tap],
                            ("Beach", "Quay")[wharf],
                            *when,
                            int(values[index]),
                        ]
                    )
    return tmp_path


#: Suppressed cells have tests of their own.
QUICK = ("--attacker", "none")
PAIR = ("--pair", "tap=on,wharf=Beach", "tap=off,wharf=Quay", "--lag", "30min")


def test_what_was_decided_recovered_and_found(noisegate, release, tmp_path):
    target = tmp_path / "a.json"
    code, out, err = noisegate(
        "assess", "--verbose", release / "base.csv", release / "daily.csv", *PAIR, *QUICK, "--json", target
    )
    assert (code, err) == (0, "")
    for text in (
        "base: base",
        "daily: margin of base",
        "Cuts and noise",
        "rounded-laplace",
        "MEDIUM",
        "LOW",
        "Advice",
    ):
        assert text in out
    assert max(map(len, out.splitlines())) <= 80
    content = json.loads(target.read_text())
    assert [table["name"] for table in content["tables"]] == ["base", "daily"]
    low, high = content["tables"][0]["noise"]["interval"]
    assert low < 1.4 < high
    assert "coupled-cells" in [finding["id"] for finding in content["findings"]]


def test_a_directory_and_its_pictures(noisegate, release, tmp_path):
    out = tmp_path / "assessed"
    code, said, _ = noisegate("assess", release / "base.csv", *QUICK, "--out", out)
    assert code == 0
    assert "Written to" in said
    assert {"assessment.json", "noise-base.svg"} <= {path.name for path in out.iterdir()}
    assert (out / "noise-base.svg").read_text().startswith("<svg")
    code, _, err = noisegate("assess", release / "base.csv", *QUICK, "--out", out)
    assert code == 2
    assert "exists already" in err


def test_a_gate_writes_everything_first(noisegate, release, tmp_path):
    out, target = tmp_path / "assessed", tmp_path / "a.json"
    code, _, err = noisegate(
        "assess",
        release / "base.csv",
        release / "daily.csv",
        *QUICK,
        "--out",
        out,
        "--json",
        target,
        "--fail-on",
        "medium",
    )
    assert code == 3
    assert "severity medium or above: " in err
    assert json.loads((out / "assessment.json").read_text()) == json.loads(target.read_text())


def test_a_gate_lets_a_release_without_findings_pass(noisegate, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("region,count\n" + "".join(f"r{k},{30 + 7 * k % 50}\n" for k in range(40)))
    code, out, err = noisegate("assess", "--verbose", path, *QUICK, "--fail-on", "low")
    assert (code, err) == (0, "")
    assert "Findings: none" in out


def test_pairs_may_be_repeated():
    given = ["a.csv", "--pair", "x=1", "y=1", "--lag", "1h", "--pair", "x=2", "y=2", "b.csv"]
    assert joined_pairs(given) == ["--pair", "x=1\x1fx=2", "y=1\x1fy=2", "a.csv", "--lag", "1h", "b.csv"]
    assert joined_pairs(["a.csv", "--pair", "x=1"]) == ["a.csv", "--pair", "x=1"]
    assert joined_pairs(["a.csv", "--", "--pair", "x", "y"]) == ["a.csv", "--", "--pair", "x", "y"]


def test_two_pairs(noisegate, release):
    pair = PAIR[:3]
    code, out, _ = noisegate(
        "assess",
        "--verbose",
        release / "base.csv",
        *QUICK,
        *pair,
        "--pair",
        "tap=on,wharf=Quay",
        "tap=off,wharf=Beach",
        "--lag",
        "30min",
    )
    assert code == 0
    # The way back is not closed in this world, and said not to be.
    assert "do not look like equal counts" in " ".join(out.split())


def test_an_override(noisegate, release, tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text("tables:\n  base.csv:\n    threshold: {value: 15}\n")
    code, out, _ = noisegate("assess", "--verbose", release / "base.csv", *QUICK, "--spec", spec)
    assert code == 0
    assert "15" in out


@pytest.mark.parametrize(
    "options",
    [
        ("--pair", "tap=on"),
        ("--pair", "tap", "tap=off"),
        ("--pair", "tab=on", "tap=off"),
        ("--pair", "tap=on,wharf=Beech", "tap=off,wharf=Quay"),
        (*PAIR[:4], "soon"),
        (*PAIR[:4], "7min"),
        ("--lag", "30min"),
        ("--identity", "A + B"),
        ("--identity", "on + off = all of them"),
        ("--summed-from", "1h"),
        ("--summed-from", "often"),
        ("--level", "2"),
        ("--level", "high"),
        ("--fail-on", "always"),
        ("--spec", "none.yaml"),
        ("--card", "none.json"),
        ("--json", "/no/such/folder/a.json"),
        ("--out", "/no/such/folder/out"),
        ("--colour", "red"),
    ],
)
def test_bad_options_end_with_two_and_one_sentence(noisegate, release, options):
    code, _, err = noisegate("assess", release / "base.csv", *QUICK, *options)
    assert code == 2
    assert err.startswith("noisegate: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


def sentence(noisegate, *arguments):
    """What is said about input that is refused: exit code 2 and one sentence, nothing else."""
    code, out, err = noisegate("assess", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("noisegate: ")
    assert err.count("\n") == 1
    assert len(err) < 400
    assert "Traceback" not in err
    return err


def crossed(first, second):
    """A table of two named columns."""
    names = f"{first[0]},{second[0]},count\n"
    return names + "".join(f"{a},{b},{40 + k}\n" for k, a in enumerate(first[1]) for b in second[1])


REGIONS = ("region", [f"r{k}" for k in range(40)])
MONTHS, COLOURS, SHAPES = (
    ("month", range(1, 13)),
    ("colour", ["red", "green", "blue"]),
    ("shape", ["round", "square", "oval", "flat"]),
)
BAD = {
    "nothing": (b"", "is empty"),
    "a header alone": (b"mode,loc,count\n", "no rows"),
    "no count column": (b"mode,loc\ntrain,A\nbus,B\nferry,C\n", "no count column"),
    "counts in words": (b"mode,loc,count\ntrain,A,many\nbus,B,few\nferry,C,some\n", "holds text such as"),
    "no dimension": (b"count\n5\n6\n7\n", "dimension"),
    "zero bytes": (bytes(4096), "binary data"),
    "random bytes": (np.random.default_rng(1).bytes(300_000), "binary data"),
    "half a character": (b"\xff\xfe\x00", "t.csv"),
    "a damaged Parquet file": (b"PAR1" + np.random.default_rng(2).bytes(3000), "damaged"),
    "one line without end": (b"x," * (1 << 20), "a line longer than 1 MiB"),
    "a line without end after some rows": (
        b"a,b,count\n" + b"x,y,5\n" * 200 + b"x" * (12 << 20),
        "a line longer than 4 MiB",
    ),
    "a quotation mark without end": (b'a,b,count\n"' + b"x,y,5\n" * 2_000_000, "never closed"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_end_with_two_and_one_sentence(noisegate, tmp_path, name):
    content, says = BAD[name]
    (tmp_path / "t.csv").write_bytes(content)
    assert says in sentence(noisegate, tmp_path / "t.csv")


def test_files_that_are_none(noisegate, tmp_path):
    assert "no such file" in sentence(noisegate, tmp_path / "none.csv")
    assert "is a directory" in sentence(noisegate, tmp_path)


def test_tables_that_do_not_go_together(noisegate, tmp_path):
    one, other, apart = (tmp_path / f"{name}.csv" for name in ("one", "other", "apart"))
    one.write_text(crossed(REGIONS, MONTHS))
    other.write_text(crossed(REGIONS, COLOURS))
    apart.write_text(crossed(COLOURS, SHAPES))
    code, out, _ = noisegate("assess", "--verbose", one, other)
    assert code == 0
    assert "one: base" in out
    assert "share no dimension" in sentence(noisegate, one, apart)


@pytest.mark.slow
def test_two_gibibytes_of_one_line_take_no_memory(noisegate, tmp_path):
    """The line is made of holes, so that it takes no disk either; 300 MiB are more than enough."""
    path = tmp_path / "long.csv"
    with path.open("wb") as file:
        file.write(b"a,b,count\n" + b"x,y,5\n" * 100 + b"x" * (2 << 20))
        file.truncate(2 << 30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "long.csv" in sentence(noisegate, path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10


def test_help_shows_examples(noisegate):
    code, out, _ = noisegate("assess", "--help")
    assert code == 0
    for text in ("TABLE...", "--pair", "--lag", "--identity", "--fail-on", "Example"):
        assert text in out
    assert noisegate("assess")[0] == 2


def test_the_first_screen_has_24_lines_of_80_letters_and_cuts_no_number(noisegate, tmp_path):
    rng = np.random.default_rng(6)
    rows = rng.poisson(30, (60, 8))
    base = "".join(
        f"a place with a long name {i},group {j},{rows[i, j]}\n" for i in range(60) for j in range(8)
    )
    noisy = rng.laplace(0, 2, 60).round().astype(int) + rows.sum(axis=1)
    (tmp_path / "base.csv").write_text("area,group,count\n" + base)
    (tmp_path / "areas.csv").write_text(
        "area,count\n" + "".join(f"a place with a long name {i},{noisy[i]}\n" for i in range(60))
    )
    code, out, _ = noisegate(
        "assess", tmp_path / "base.csv", tmp_path / "areas.csv", "--title", "Our release"
    )
    lines = out.rstrip("\n").split("\n")
    assert code == 0
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("Our release: ")
    assert "…" not in out
    assert sum(line.startswith(("HIGH", "MEDIUM", "LOW")) for line in lines) <= 3


def test_report_and_json_say_where_they_come_from(noisegate, tmp_path):
    file = tmp_path / "towns.csv"
    file.write_text("town,age,count\n" + "".join(f"t{k},g{k % 3},{20 + k}\n" for k in range(30)))
    out = tmp_path / "assessed"
    code, _, _ = noisegate("assess", file, "--title", "Towns of 2020", "--out", out)
    assert code == 0
    origin = json.loads((out / "assessment.json").read_text())["provenance"]
    assert origin["title"] == "Towns of 2020"
    assert origin["files"] == [
        {
            "name": "towns.csv",
            "bytes": file.stat().st_size,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        }
    ]
    assert origin["made"][:2] == "20"
    page = (out / "report.html").read_text()
    assert "Towns of 2020" in page
    assert origin["files"][0]["sha256"] in page
