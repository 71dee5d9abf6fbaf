"""What the custodian sees: the tally, the tables, the promise, and the account, at any width."""

import sys
import time
from threading import Event

import pytest
from rich.console import Console

from noisegate.cli import ledger as ledger_command
from noisegate.cli import release as release_command
from noisegate.ledger import open_ledger
from noisegate.releases import release
from noisegate.spec import load_spec


@pytest.fixture
def at_width(monkeypatch):
    def at_width(columns):
        console = Console(width=columns, highlight=False, soft_wrap=False)
        for module in (ledger_command, release_command):
            monkeypatch.setattr(module, "console", console)

    return at_width


def test_the_console_says_what_was_done(hamlet, tmp_path, ledger, noisegate):
    code, out, err = noisegate("release", hamlet / "spec.yaml", "--out", tmp_path / "out", "--ledger", ledger)
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert "For your eyes only (not in the release) 400 events read, " in text
    assert "pure DP: epsilon 0.5, delta 0 for everything one person on one day adds: at most 3 cells" in text
    assert "Charged to 'hamlet'; see 'noisegate ledger show'." in text
    assert [
        line.split()[1] for line in out.splitlines() if "discrete-laplace" in line or "summed" in line
    ] == ["base", "time"]


def test_events_outside_the_domain_are_told_to_the_custodian_only(
    hamlet, tmp_path, ledger, noisegate, read_release
):
    text = (hamlet / "spec.yaml").read_text().replace("[A, B, C, D]", "[A, B, C]")
    (hamlet / "fewer.yaml").write_text(text)
    code, out, _ = noisegate("release", hamlet / "fewer.yaml", "--out", tmp_path / "out", "--ledger", ledger)
    assert code == 0
    assert "outside the domain: stop is not in the list" in out
    made = read_release(tmp_path / "out")
    assert made.card["domain"]["dimensions"]["stop"] == ["A", "B", "C"]
    assert "outside" not in (tmp_path / "out" / "card.json").read_text().replace("outside the", "")


def test_no_number_of_a_release_is_cut_off(world, tmp_path, ledger, noisegate, at_width):
    """Names of tables and laws give way; numbers do not."""
    at_width(80)
    text = (world.folder / "spec.yaml").read_text()
    long = text.replace("time-loc", "every-quarter-of-an-hour-and-place")
    assert long != text
    (world.folder / "wide.yaml").write_text(long)
    code, out, _ = noisegate(
        "release", world.folder / "wide.yaml", "--out", tmp_path / "out", "--ledger", ledger
    )
    assert code == 0
    assert "…" not in out
    assert out.count("±") == 3
    assert max(map(len, out.splitlines())) <= 80


def test_unsafe_choices_are_said_loudly(world, tmp_path, ledger, noisegate):
    code, out, _ = noisegate(
        "release", world.folder / "spec-2016.yaml", "--quiet", "--out", tmp_path / "out", "--ledger", ledger
    )
    assert code == 0
    for choice in ("zeros: keep", "margins: independent", "unit: event"):
        assert f"unsafe {choice}:" in out
    assert "persons are not protected" in " ".join(out.split())


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
@pytest.mark.parametrize(
    "names",
    [
        ["taps"],
        ["taps.parquet by person-day"],
        ["/srv/a/very/long/path/to/the/data/taps.parquet by person-day", "b"],
    ],
    ids=["short", "long", "longest"],
)
def test_the_ledger_shows_every_name_at_any_width(names, columns, ledger, noisegate, at_width):
    at_width(columns)
    for name in names:
        noisegate(
            "ledger",
            "set",
            name,
            "--epsilon",
            "12.3456",
            "--delta",
            "1e-6",
            "--unit",
            "person-day",
            "--ledger",
            ledger,
        )
    code, out, _ = noisegate("ledger", "show", "--ledger", ledger)
    assert code == 0
    for name in names:
        assert name in out  # on one line, whole
    if columns >= 80:
        assert out.count("12.3456") == 2 * len(names)  # budget and left, whole too
        assert "…" not in out


def test_the_ledger_shows_a_release_by_its_population(world, tmp_path, ledger, noisegate, at_width):
    at_width(80)
    assert (
        noisegate(
            "release",
            world.folder / "spec-2016.yaml",
            "--quiet",
            "--out",
            tmp_path / "out",
            "--ledger",
            ledger,
        )[0]
        == 0
    )
    code, out, _ = noisegate("ledger", "show", "--ledger", ledger)
    assert code == 0
    assert "invented-city" in out
    assert [line.split()[:4] for line in out.splitlines() if "unbounded" in line] == [
        ["person-day", "ε", "-", "unbounded"],
        ["person", "ε", "-", "unbounded"],
    ]


@pytest.mark.parametrize(
    ("doing", "said", "charged"),
    [
        ("counting events", "Stopped: nothing was reserved or spent.", False),
        ("drawing noise", "Stopped: nothing was published, and what was reserved stays spent.", True),
    ],
)
def test_ctrl_c_says_what_became_of_the_budget(hamlet, tmp_path, ledger, doing, said, charged):
    heard = []

    def stop(*_):
        raise KeyboardInterrupt

    def report(what):
        if what == doing and charged:
            stop()

    with pytest.raises(KeyboardInterrupt):
        release(
            load_spec(hamlet / "spec.yaml"),
            out=tmp_path / "out",
            ledger=ledger,
            report=report,
            warn=heard.append,
            progress=None if charged else stop,
        )
    assert heard[-1] == said
    assert not (tmp_path / "out").exists()
    with open_ledger(ledger, read_only=True) as book:
        assert bool(book.history("hamlet")) == charged


def test_ctrl_c_does_not_wait_for_a_long_digest(hamlet, tmp_path, ledger, monkeypatch):
    """That of a hundred gigabytes takes minutes, and nobody needs it any more."""
    enough = Event()

    def identify(*_, **__):
        enough.wait(60)
        return ()

    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["noisegate.releases.job"], "identify_events", identify)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        release(load_spec(hamlet / "spec.yaml"), out=tmp_path / "out", ledger=ledger, progress=stop)
    took = time.monotonic() - began
    enough.set()
    assert took < 20
    assert not (tmp_path / "out").exists()
