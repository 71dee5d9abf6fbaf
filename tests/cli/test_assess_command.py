"""`noisegate assess` as a person uses it."""

import csv
import json

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


PAIR = ("--pair", "tap=on,wharf=Beach", "tap=off,wharf=Quay", "--lag", "30min")


def test_what_was_decided_recovered_and_found(noisegate, release, tmp_path):
    target = tmp_path / "a.json"
    code, out, err = noisegate("assess", release / "base.csv", release / "daily.csv", *PAIR, "--json", target)
    assert (code, err) == (0, "")
    for text in (
        "base: base",
        "daily: margin of base",
        "Cuts and noise",
        "rounded-laplace",
        "HIGH",
        "MEDIUM",
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
    code, said, _ = noisegate("assess", release / "base.csv", "--out", out)
    assert code == 0
    assert "Written to" in said
    assert sorted(path.name for path in out.iterdir()) == ["assessment.json", "noise-base.svg"]
    assert (out / "noise-base.svg").read_text().startswith("<svg")
    code, _, err = noisegate("assess", release / "base.csv", "--out", out)
    assert code == 2
    assert "exists already" in err


def test_a_gate_writes_everything_first(noisegate, release, tmp_path):
    out, target = tmp_path / "assessed", tmp_path / "a.json"
    code, _, err = noisegate(
        "assess",
        release / "base.csv",
        release / "daily.csv",
        "--out",
        out,
        "--json",
        target,
        "--fail-on",
        "high",
    )
    assert code == 3
    assert "severity high or above: privacy-loss" in err
    assert json.loads((out / "assessment.json").read_text()) == json.loads(target.read_text())


def test_a_gate_lets_a_release_without_findings_pass(noisegate, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("region,count\n" + "".join(f"r{k},{30 + 7 * k % 50}\n" for k in range(40)))
    code, out, err = noisegate("assess", path, "--fail-on", "low")
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
        release / "base.csv",
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
    code, out, _ = noisegate("assess", release / "base.csv", "--spec", spec)
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
    code, _, err = noisegate("assess", release / "base.csv", *options)
    assert code == 2
    assert err.startswith("noisegate: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize("content", [b"", b"\x00" * 4096, b"a,b\n1,x\n", b"count\n5\n", b"\xff\xfe\x00"])
def test_bad_files_end_with_two_and_one_sentence(noisegate, tmp_path, content):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    for paths in ([path], [tmp_path / "none.csv"], [tmp_path]):
        code, _, err = noisegate("assess", *paths)
        assert code == 2
        assert err.startswith("noisegate: ")
        assert err.count("\n") == 1


def test_help_shows_examples(noisegate):
    code, out, _ = noisegate("assess", "--help")
    assert code == 0
    for text in ("TABLE...", "--pair", "--lag", "--identity", "--fail-on", "Example"):
        assert text in out
    assert noisegate("assess")[0] == 2
