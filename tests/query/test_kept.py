"""What is kept of a release for the next question: the same answers, in private files, and never anything stale or foreign."""

import json
import os
import shutil
import stat

import numpy as np
import pytest

from noisegate import limits
from noisegate.inference import Posterior
from noisegate.query import Kept, open_release
from noisegate.tables import PROTOCOL, RELEASE_FILES

QUESTIONS = [
    {"by": "mode"},
    {"where": "mode=bus", "by": ["date", "stop"]},
    {"where": ["time=07:00..09:00"], "level": 0.9},
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("NOISEGATE_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def own(cut, tmp_path):
    """A copy of a release that a test may change."""
    return shutil.copytree(cut, tmp_path / "own")


@pytest.fixture
def works(monkeypatch):
    """How often anything was worked out."""
    counted = []
    prepare = Posterior.prepare

    def watched(self, cells=None, /):
        before = self.worked_out
        prepare(self, cells)
        counted.extend([1] * (self.worked_out > before))

    monkeypatch.setattr(Posterior, "prepare", watched)
    return counted


def asked(folder, question, *, remember=True):
    release = open_release(folder, remember=remember)
    answers = release.answer(**question)
    found = json.dumps([answers.to_rows(), [one.to_json() for one in release.checks]])
    release.keep()
    return found


def test_the_second_time_nothing_is_worked_out_and_all_is_the_same(own, place, works):
    fresh = [asked(own, one, remember=False) for one in QUESTIONS]
    works.clear()
    assert asked(own, QUESTIONS[0]) == fresh[0]
    assert works
    works.clear()
    # The same question, and others of which only what was worked out is there.
    assert [asked(own, one) for one in QUESTIONS] == fresh
    assert [asked(own, one) for one in QUESTIONS] == fresh
    assert not works
    assert sorted(path.name for path in own.iterdir()) == sorted(
        [
            *(RELEASE_FILES - {PROTOCOL}),
            *(f"{name}.{end}" for name in ("base", "time", "stops") for end in ("csv", "parquet")),
        ]
    )
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()} == {0o600}


@pytest.mark.usefixtures("place")
def test_comparisons_ranks_and_changes_are_remembered_too(own, cut, works):
    def all_of():
        release, other = open_release(own, remember=True), open_release(cut, remember=True)
        found = [
            release.compare(where="mode=bus", to="mode=train"),
            release.ranking(by="stop"),
            release.change(other, by="mode"),
        ]
        return [one.to_rows() for one in found]

    first = all_of()
    works.clear()
    assert all_of() == first
    assert not works


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("change", ["table", "card", "code", "limits"])
def test_whatever_an_answer_follows_from_makes_it_another_one(own, works, monkeypatch, change):
    before = asked(own, QUESTIONS[0])
    works.clear()
    if change == "table":
        for end in ("csv", "parquet"):
            (own / f"stops.{end}").unlink()
        (own / "stops.csv").write_text("mode,date,stop,count\nbus,2016-07-25,C,900\n")
        assert asked(own, QUESTIONS[0]) != before
    elif change == "card":
        card = (own / "card.json").read_text()
        (own / "card.json").write_text(card.replace('"town"', '"city"', 1))
        asked(own, QUESTIONS[0])
    elif change == "code":
        monkeypatch.setattr("noisegate.query.kept._software", lambda: "another version")
        asked(own, QUESTIONS[0])
    else:
        with limits.override(fitted_cells=limits.current().fitted_cells - 1):
            asked(own, QUESTIONS[0])
    assert works


def test_a_release_that_changes_while_it_is_asked_is_not_kept(own, place):
    release = open_release(own, remember=True)
    (own / "card.json").write_text((own / "card.json").read_text() + "\n")
    release.answer(by="mode")
    release.keep()
    assert list(place.iterdir()) == []


@pytest.mark.usefixtures("place")
def test_the_same_release_elsewhere_is_where_it_is(own, tmp_path):
    asked(own, QUESTIONS[0])
    other = shutil.copytree(own, tmp_path / "other")
    found = open_release(other, remember=True)
    assert found.release.folder == other
    assert found.card.path == other / "card.json"


def damaged(path, how):
    octets = path.read_bytes()
    if how == "open to others":
        path.chmod(0o644)
    elif how == "cut off":
        path.write_bytes(octets[:-1])
    elif how == "longer":
        path.write_bytes(octets + b"x")
    elif how == "another key":
        path.write_bytes(octets.replace(b'"key": "', b'"key": "x', 1))
    elif how == "somebody else's":
        os.chown(path, 12345, 12345)
    elif how == "a link":
        aside = path.with_suffix(".aside")
        path.rename(aside)
        path.symlink_to(aside)
    else:
        path.write_bytes(b"")


HOW = ["open to others", "cut off", "longer", "another key", "somebody else's", "a link", "empty"]


@pytest.mark.parametrize("how", HOW)
def test_a_file_that_is_not_as_it_was_written_is_not_believed(own, place, works, how):
    if how == "somebody else's" and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    before = asked(own, QUESTIONS[0])
    for path in list(place.iterdir()):
        damaged(path, how)
    works.clear()
    assert asked(own, QUESTIONS[0]) == before
    assert works


class Bad:
    """What makes a folder if it is read as pickles are."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


@pytest.mark.usefixtures("place")
def test_nothing_is_called_that_a_file_names(own, tmp_path):
    found = Kept.of(own)
    for bad in (Bad(tmp_path / "called"), np.ones, open_release):
        found.save("state", bad)
        assert found.load("state") is None
    assert not (tmp_path / "called").exists()
    asked(own, QUESTIONS[0])


@pytest.mark.usefixtures("place")
def test_what_was_not_asked_for_longest_makes_room(own):
    with limits.override(kept_megabytes=2):
        found = Kept.of(own)
        for number in range(4):
            assert found.save(f"{number}", np.full(90_000, number))
            os.utime(found._file(f"{number}"), (number, number))
        assert [found.load(f"{number}") is not None for number in range(4)] == [False, False, True, True]
        assert not found.save("large", np.zeros(300_000))


@pytest.mark.parametrize("where", ["off", "in the release", "for all"])
def test_nothing_is_kept_where_it_should_not_be(own, tmp_path, monkeypatch, where):
    folder = own / "kept" if where == "in the release" else tmp_path / "kept"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777 if where == "for all" else 0o700)
    monkeypatch.setenv("NOISEGATE_CACHE", "off" if where == "off" else str(folder))
    asked(own, QUESTIONS[0])
    assert list(folder.iterdir()) == []
