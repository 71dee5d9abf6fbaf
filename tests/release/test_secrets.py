"""Planted card ids and counts: none of them in the card, in a message, in an exception or in a log line.

The tables hold noisy counts and the console's own tally is meant for the custodian; everything else
must not know what was in the data.
"""

import json
import re
import subprocess
import sys

import pytest

from noisegate.releases import job
from noisegate.spec import load_spec

#: Cards with a number that appears nowhere else, and counts that only this data has.
CARD = "5550123"
BUSY, OUTSIDE, TOTAL = 1847, 2311, 7919
WORDS = (CARD, "Nowhere Lane")
COUNTS = [text for n in (BUSY, OUTSIDE, TOTAL) for text in (str(n), f"{n:,}")]

SPEC = """\
name: planted
events: {source: taps.csv, person: card}
dimensions:
  date: {column: at, from: 2016-07-25, to: 2016-07-26}
  time: {column: at, every: 1h}
  stop: {column: stop, values: [A, B, C, D]}
tables:
  base: [date, time, stop]
  time: [date, time]
privacy: {unit: PRIVACY}
budget: {dataset: planted, epsilon: 9, delta: 1e-3}
"""

RECIPES = {
    "reconcile": "person-day, max_cells: 3, epsilon: 1/10, suppress: {spurious: 0.01}",
    "derive": "person, max_cells: 3, epsilon: 1/10, margins: derive",
    "2016": "event, scale: 1.4, law: laplace, zeros: keep, margins: independent, suppress: {below: 18}, unsafe: true",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secret")
    rows = [(f"{CARD}{n:04d}", "2016-07-25 08:15:00", "A") for n in range(BUSY)]
    rows += [(f"{CARD}{n:04d}", "2016-07-25 09:15:00", "Nowhere Lane") for n in range(OUTSIDE)]
    rows += [(f"{CARD}{n:04d}", "2016-07-26 10:15:00", "BC"[n % 2]) for n in range(TOTAL - BUSY - OUTSIDE)]
    (folder / "taps.csv").write_text("card,at,stop\n" + "".join(f"{c},{t},{s}\n" for c, t, s in rows))
    for name, privacy in RECIPES.items():
        (folder / f"{name}.yaml").write_text(SPEC.replace("PRIVACY", privacy))
    return folder


def found_in(text):
    """The secrets that a text holds: words anywhere, counts as numbers of their own; not by chance in digests and sizes of files."""
    text = re.sub(r'"[0-9a-f]{64}"|"contentSize": "\d+"', "", text)
    words = [word for word in WORDS if word in text]
    return words + [n for n in COUNTS if re.search(rf"(?<![\d,.]){n}(?!,?\d)", text)]


def test_the_search_finds_what_it_should():
    assert found_in(f"card {CARD}0001 was seen") == [CARD]
    assert found_in("2,311 outside") == ["2,311"]
    assert found_in("cells 192, epsilon 0.1847") == []
    assert found_in(f'"{"a1847f0c" * 8}"') == []


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_release_gives_no_secret_away(recipe, place, tmp_path, ledger, noisegate):
    code, out, err = noisegate(
        "release", place / f"{recipe}.yaml", "--quiet", "--out", tmp_path / "out", "--ledger", ledger, "--json", tmp_path / "card.json"
    )  # fmt: skip
    assert (code, err) == (0, "")
    tally, _, rest = out.partition("Release planted")
    assert found_in(tally) == found_in(rest) == []  # told to be quiet, it says no count
    for path in [*(tmp_path / "out").iterdir(), tmp_path / "card.json"]:
        content = path.read_bytes()
        assert CARD.encode() not in content
        assert b"Nowhere" not in content
        if path.suffix in (".json", ".md"):
            assert found_in(content.decode()) == []
    assert CARD.encode() not in ledger.read_bytes()
    assert found_in(json.dumps(json.loads((tmp_path / "card.json").read_text()))) == []


def test_what_is_kept_of_a_run_does_not_show_raw_counts(place, make):
    made = make(load_spec(place / "derive.yaml"))
    assert found_in(repr(made.result)) == []


def test_an_unforeseen_error_names_no_value(place, tmp_path, ledger, noisegate, monkeypatch):
    def fail(*_, **__):
        raise ValueError(f"card {CARD}0001 has {BUSY} taps")

    for step in ("count_slices", "publish_tables", "write_table", "make_card"):
        with monkeypatch.context() as patch:
            patch.setattr(job, step, fail)
            code, out, err = noisegate(
                "release", place / "derive.yaml", "--quiet", "--out", tmp_path / step, "--ledger", ledger
            )
        assert code == 1
        assert found_in(out + err) == []
        assert re.fullmatch(
            r"noisegate: an unforeseen ValueError at \S+:\d+; this is a fault of ours, .*\n", err
        )
        assert not (tmp_path / step).exists()


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (lambda text: text.replace("column: at, every", "column: card, every"), "spec"),
        (lambda text: text.replace("person: card", "person: crad"), "spec"),
        (lambda text: text.replace("epsilon: 1/10", "epsilon: 100"), "spec"),
        (lambda text: text.replace("2016-07-26 10:15:00", "26/07/2016 10:15"), "taps"),
        (lambda text: text.replace("card,at,stop", "card,at,stop,extra"), "taps"),
    ],
    ids=["no-times", "no-person", "over-budget", "other-times", "ragged-csv"],
)
def test_no_error_message_quotes_the_data(spoil, where, place, tmp_path, ledger, noisegate):
    taps, spec = (place / "taps.csv").read_text(), (place / "derive.yaml").read_text()
    (tmp_path / "taps.csv").write_text(spoil(taps) if where == "taps" else taps)
    (tmp_path / "spec.yaml").write_text(spoil(spec) if where == "spec" else spec)
    code, out, err = noisegate(
        "release", tmp_path / "spec.yaml", "--out", tmp_path / "out", "--ledger", ledger
    )
    assert code in (2, 3)
    assert err.count("\n") == 1
    assert found_in(out + err) == []
    assert "26/07" not in err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "tail",
    [f'"{CARD}9999,broken', f'{CARD}9999,2016-07-25 08:15:00,"A', f"{CARD}9999,26/07/2016 10:15,A", f"{CARD}9999"],
    ids=["broken-csv", "unclosed", "bad-time", "short"],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_tallied_and_not_shown(tail, place, tmp_path, ledger, noisegate):
    (tmp_path / "taps.csv").write_text(
        (place / "taps.csv").read_text() + f"{tail}\n{CARD}9998,2016-07-25 08:15:00,A\n"
    )
    (tmp_path / "spec.yaml").write_text((place / "derive.yaml").read_text())
    code, out, err = noisegate(
        "release", tmp_path / "spec.yaml", "--check", "--json", tmp_path / "check.json", "--quiet"
    )
    assert (code, out, err) == (0, "", "")
    found = json.loads((tmp_path / "check.json").read_text())
    assert found["events"] == TOTAL + 2
    assert found["outside"]["date cannot be read" if "26/07" in tail else "the row cannot be read"] == 1
    code, out, err = noisegate(
        "release", tmp_path / "spec.yaml", "--quiet", "--out", tmp_path / "out", "--ledger", ledger
    )
    assert (code, err) == (0, "")
    assert found_in(out) == []
    for path in (tmp_path / "out").iterdir():
        assert CARD.encode() not in path.read_bytes()


def test_a_process_says_nothing_more_than_it_should(place, tmp_path, ledger):
    """Standard error of a real process, with all warnings on: whatever a library might say."""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", "from noisegate.cli.main import run; run()", "release",
         place / "derive.yaml", "--out", tmp_path / "out", "--ledger", ledger],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0
    assert found_in(done.stderr) == []
