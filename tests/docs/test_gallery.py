"""The gallery: twelve releases, whose pages say what is kept, and whose numbers are worked out again."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DATA = ROOT.parent / "shared" / "data"


def load():
    sys.path.insert(0, str(DOCS / "_make"))
    try:
        import gallery
        import gallery_facts
    finally:
        sys.path.pop(0)
    return gallery, gallery_facts


GALLERY, FACTS = load()
KEPT = GALLERY.read_facts()


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    return GALLERY.Workshop(tmp_path_factory.mktemp("gallery"), data=DATA if DATA.is_dir() else None)


def test_twelve_releases_of_several_fields_real_and_simulated():
    assert len(GALLERY.ITEMS) == len(KEPT) == 12
    assert {item.slug for item in GALLERY.ITEMS} == set(KEPT)
    assert {item.field for item in GALLERY.ITEMS} >= {"Health", "Census", "Transport", "Education"}
    assert 5 <= sum(bool(item.real) for item in GALLERY.ITEMS) <= 7


def test_every_page_is_made_from_what_is_kept(tmp_path):
    (tmp_path / "gallery").mkdir()
    GALLERY.write_pages(KEPT, tmp_path)
    made = {path.name: path.read_text("utf-8") for path in (tmp_path / "gallery").iterdir()}
    kept = {path.name: path.read_text("utf-8") for path in (DOCS / "gallery").glob("*.md")}
    assert made == kept, "run 'make gallery'"


@pytest.mark.parametrize("item", GALLERY.ITEMS, ids=lambda item: item.slug)
def test_a_page_has_a_picture_and_all_it_should_tell(item):
    page = (DOCS / "gallery" / f"{item.slug}.md").read_text("utf-8")
    for title in ("How it was read", "Which mechanism", "What was found", "What to fix", "The command line"):
        assert f"\n## {title}\n" in page
    assert "noisegate assess" in page
    picture = DOCS / "images" / f"gallery-{item.slug}.svg"
    assert 2_000 < picture.stat().st_size < 60_000
    assert picture.read_text("utf-8").startswith("<svg")


@pytest.mark.parametrize(
    "item",
    [pytest.param(one, id=one.slug, marks=pytest.mark.slow if one.slow else ()) for one in GALLERY.ITEMS],
)
def test_numbers_are_worked_out_again(item, workshop):
    if why := item.missing(workshop.data):
        pytest.skip(why)
    made, kept = FACTS.essence(GALLERY.make(item, workshop)), FACTS.essence(KEPT[item.slug])
    different = [key for key in kept if not FACTS.alike(made[key], kept[key])]
    assert different == [], {key: (made[key], kept[key]) for key in different}


@pytest.mark.parametrize("slug", ["hospital-wards", "teachers"])
def test_what_is_proven_is_true_where_the_truth_is_known(slug):
    numbers = KEPT[slug]["numbers"]
    assert numbers["right"] == numbers["listed"] > 0


def test_what_is_known_of_real_tables_is_found():
    """As stated by the makers of the collection, and by hand."""
    assert KEPT["stats-nz-electorates"]["numbers"] == {
        "known": 30,
        "of_base": 20,
        "female": 2233,
        "male": 2173,
    }
    deaths = KEPT["cdc-deaths"]["numbers"]
    assert deaths["known"] == deaths["expected"] == deaths["right"] == 16
    assert KEPT["exam-results"]["numbers"]["found"] == KEPT["exam-results"]["numbers"]["changed"] == 3
    low, high = (KEPT["city-as-in-2016"]["numbers"][name] for name in ("low", "high"))
    assert low <= 1.4 <= high


def test_a_number_that_is_off_is_seen():
    assert FACTS.alike({"a": "scale 1.401 of 3"}, {"a": "scale 1.4 of 3"})
    assert not FACTS.alike({"a": "scale 1.5 of 3"}, {"a": "scale 1.4 of 3"})
    assert not FACTS.alike({"a": "high: 16"}, {"a": "low: 16"})
    assert not FACTS.alike(json.loads("[1, 2]"), [1])
    assert re.fullmatch(FACTS._NUMBER, "1.14e-05")


def test_without_the_data_what_is_committed_stays(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["gallery.py", "cdc-deaths", "--data", str(tmp_path / "gone"), "--out", str(tmp_path)]
    )
    GALLERY.main()
    assert "cdc-deaths: kept as committed, the shared data are not on this machine" in capsys.readouterr().out
    assert json.loads((tmp_path / "gallery" / "facts.json").read_text("utf-8")) == KEPT
