"""What stands on the page: the verdict, five numbers, what to do, and every part that the assessment has."""

import json
import re
from html.parser import HTMLParser

import pytest

from noisegate.errors import DataError
from noisegate.report import write_report
from noisegate.report.build import page_of
from noisegate.report.source import Source


class Outline(HTMLParser):
    """Elements of a page with their attributes, headings, and the text of each element by id."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.headings = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))

    def all(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope="module")
def outline(reported):
    return Outline((reported["plain"] / "report.html").read_text(encoding="utf-8"))


@pytest.fixture
def undrawn(monkeypatch):
    """Pictures are left empty, where a test is about what stands beside them."""
    empty = '<svg viewBox="0 0 1 1"></svg>'
    monkeypatch.setattr("noisegate.pictures.inline.vl_convert.vegalite_to_svg", lambda *_, **__: empty)


def page(content, cells=None):
    return page_of(Source(content=content, cells=cells))


def test_every_picture_of_an_assessment_is_drawn_and_numbered_in_order(outline, reported):
    names = [attrs["id"] for attrs in outline.all("figure")]
    assert sorted(names) == sorted(
        f"figure-{key}"
        for key in ("noise-1", "groups", "responses", "calendar", "exposed", "hours", "weeks", "workload")
    )
    text = (reported["plain"] / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"<b>Figure (\d+)\.</b>", text) == [str(n) for n in range(1, len(names) + 1)]


def test_every_picture_says_its_main_number_to_those_who_do_not_see_it(outline):
    pictures = [attrs for attrs in outline.all("div") if attrs.get("class") == "picture"]
    assert len(pictures) == 8
    for attrs in pictures:
        assert attrs["role"] == "img"
        assert re.search(r"\d", attrs["aria-label"])


def test_the_page_can_be_walked_through_without_eyes_or_mouse(outline):
    assert outline.all("html")[0]["lang"] == "en"
    for landmark in ("header", "nav", "main", "footer"):
        assert len(outline.all(landmark)) == 1
    assert outline.all("a")[0] == {"class": "skip", "href": "#main"}
    assert outline.headings[0] == 1
    assert outline.headings.count(1) == 1
    assert all(
        after <= before + 1 for before, after in zip(outline.headings, outline.headings[1:], strict=False)
    )
    assert len(outline.all("caption")) == len(outline.all("table"))
    assert all(attrs.get("scope") in ("col", "row") for attrs in outline.all("th"))
    regions = [attrs for attrs in outline.all("div") if attrs.get("class") == "scroll"]
    assert all(attrs["tabindex"] == "0" and attrs["role"] == "region" for attrs in regions)
    assert len(regions) == len(outline.all("table"))


def test_every_link_stays_on_the_page_and_leads_somewhere(outline):
    names = [attrs["id"] for _, attrs in outline.elements if "id" in attrs]
    assert len(names) == len(set(names))
    targets = [attrs["href"] for attrs in outline.all("a")]
    assert targets
    assert all(target[0] == "#" and target[1:] in names for target in targets)


def test_nothing_is_fetched_and_nothing_runs(reported):
    text = (reported["plain"] / "report.html").read_text(encoding="utf-8")
    assert Outline(text).all("script") == []
    assert Outline(text).all("img") == []
    assert [attrs["href"] for attrs in Outline(text).all("link")] == ["data:,"]
    assert "default-src 'none'" in text
    assert re.findall(r"(?:src|href)=\"(?!#|data:,)", text) == []
    assert set(re.findall(r"https?://[^\s\"<]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_the_same_files_give_the_same_report(reported):
    before = {kind: (reported["plain"] / kind).read_bytes() for kind in ("report.html", "report.md")}
    write_report(reported["plain"])
    assert before == {kind: (reported["plain"] / kind).read_bytes() for kind in before}


@pytest.mark.usefixtures("undrawn")
def test_a_decision_maker_reads_five_numbers_the_persons_first(content):
    tiles = page(content()).tiles
    assert [tile.value for tile in tiles] == ["ε = 85.7", "1 in 91,000", "1.4", "9", "385"]


@pytest.mark.usefixtures("undrawn")
def test_where_little_is_known_the_numbers_say_what_is():
    table = {
        "name": "t",
        "role": "base",
        "rows": 30,
        "domain_size": 100,
        "threshold": {"value": 18.0, "sure": 0.99},
    }
    dropped = {
        "rows": [{"table": "t", "mode": None, "trips": {"share": 0.053, "share_interval": [0.052, 0.054]}}]
    }
    tiles = page({"tables": [table], "dropped": dropped}).tiles
    assert [tile.value for tile in tiles] == ["5.3%", "30%", "18", "30"]


@pytest.mark.parametrize(
    ("severities", "outcomes", "standing"),
    [
        (("low", "high"), (), "high"),
        (("medium",), ("fine",), "medium"),
        (("low",), ("cannot tell",), "low"),
        ((), ("fine", "cannot tell"), "open"),
        ((), ("fine",), "low"),
    ],
)
def test_the_verdict_is_as_severe_as_the_worst_finding(severities, outcomes, standing):
    found = [{"id": "x", "severity": one, "title": "t"} for one in severities]
    checks = [{"id": "y", "outcome": one, "title": "t"} for one in outcomes]
    assert page({"tables": [], "findings": found, "checks": checks}).verdict.standing == standing


def test_the_verdict_gives_its_reasons_in_plain_words_and_each_once(content):
    verdict = page_of(
        Source(content={"tables": [], "findings": [*content()["findings"][:2], *content()["findings"]]})
    ).verdict
    assert [anchor for _, anchor in verdict.reasons] == [
        "finding-privacy-loss",
        "finding-zeros-kept",
        "finding-coupled-cells",
        "finding-pinned-cells",
    ]
    assert not any(character.isdigit() for text, _ in verdict.reasons for character in text)
    assert verdict.tally == "9 findings (4 high, 3 medium, 2 low)."


@pytest.mark.parametrize("part", ["score", "microdata", "utility", "weeks"])
def test_a_report_made_with_raw_data_says_that_it_is_not_for_publication(part):
    value = {"persons": {"persons": 3}} if part == "weeks" else {"suppressed": {}, "level": 0.95}
    assert page({"tables": [], part: value}).notice.startswith("For the custodian only")
    assert page({"tables": [], part: None}).notice == ""
    assert page({"tables": [], "weeks": {"persons": None, "horizon": 52}}).notice == ""


def test_each_advice_is_given_once_with_all_findings_that_ask_for_it():
    found = [{"id": kind, "severity": "low", "title": "t", "advice": "Stop."} for kind in ("a", "b", "a")]
    made = page({"tables": [], "findings": found})
    assert [(step.text, [anchor for _, anchor in step.findings]) for step in made.steps] == [
        ("Stop.", ["finding-a", "finding-b", "finding-a-2"])
    ]


@pytest.mark.usefixtures("undrawn")
def test_every_finding_has_evidence_method_assumptions_and_its_place_in_the_crosswalk(content):
    made = page(content())
    for finding in made.findings:
        assert finding.evidence
        assert finding.method
        assert finding.assumptions[0] == "Manly Wharf is a place."
        assert finding.answers or finding.kind == "something-new"
    inferred = next(one for one in made.findings if one.kind == "presence")
    assert "Manly Wharf is as it seems" in inferred.assumptions


@pytest.mark.usefixtures("undrawn")
def test_what_is_absent_is_left_out_and_nothing_else(content, assessed):
    everything = content()
    for part in ("findings", "privacy", "checks", "inference", "services", "weeks"):
        less = {key: value for key, value in everything.items() if key != part}
        page(less)
    assert {section.anchor for section in page(everything).sections} >= {
        "services",
        "dropped",
        "weeks",
        "microdata",
    }
    bare = page({"tables": []})
    assert (bare.sections, bare.findings, bare.steps) == ((), (), ())
    folder = assessed({"tables": []})
    assert [file.name for file in write_report(folder).files] == ["report.html", "report.md"]


@pytest.mark.parametrize(
    "broken",
    [
        {"tables": ["x"], "findings": "none", "checks": {"a": 1}, "privacy": [1], "level": "high"},
        {
            "tables": [{"noise": None, "threshold": None, "role": "base"}],
            "weeks": {"detection": 3, "loss": [1]},
        },
        {
            "tables": [{"role": "base", "noise": {"law": "unheard-of", "scale": 1.0}}],
            "services": {"hours": {"a": 1}},
        },
        {
            "tables": [{"role": "base", "noise": {"law": "laplace", "scale": -1.0}}],
            "dropped": [{"share": "x"}],
        },
        {
            "tables": [{"role": "base", "noise": {"curve": {"difference": [1]}}}],
            "findings": [{"severity": "odd"}],
        },
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_a_part_that_is_not_what_it_should_be_is_left_out(broken, assessed):
    write_report(assessed(broken))


@pytest.mark.parametrize("text", ["", "{", "[]", json.dumps({"findings": []})])
def test_a_file_that_is_no_assessment_is_refused_in_one_sentence(tmp_path, text):
    (tmp_path / "assessment.json").write_text(text)
    with pytest.raises(DataError, match="assess"):
        write_report(tmp_path)


def test_a_directory_without_an_assessment_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"There is no assessment\.json"):
        write_report(tmp_path)


@pytest.mark.usefixtures("undrawn")
def test_a_release_with_perturbed_zeros_shows_nobody_for_certain(content):
    sound = content()
    sound["findings"] = [one for one in sound["findings"] if one["id"] != "zeros-kept"]
    sound["checks"].append({"id": "zeros", "outcome": "fine", "title": "zeros get noise"})
    keys = {figure.key for part in page(sound).findings for figure in part.figures}
    keys |= {figure.key for section in page(sound).sections for figure in section.figures}
    assert "groups" not in keys
    assert "responses" in keys


def test_no_axis_speaks_in_powers(reported):
    text = (reported["plain"] / "report.html").read_text(encoding="utf-8")
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", text)
    assert len(labels) > 60
    assert [label for label in labels if re.fullmatch(r".*\de[+−-]?\d.*", label)] == []


def test_answers_from_the_release_alone_can_be_published(content):
    questions = [
        {
            "name": "by-mode",
            "answered": True,
            "table": "time",
            "answers": 4,
            "half_width": 75.5,
            "relative": 0.04,
        }
    ]
    alone = {
        "tables": [],
        "utility": {"source": "card", "measured": False, "level": 0.95, "questions": questions},
    }
    made = page(alone)
    assert made.notice == ""
    section = next(one for one in made.sections if one.anchor == "utility")
    assert [grid.caption for grid in section.grids] == ["Answers from the release alone"]
    assert section.grids[0].rows == (("by-mode", "4", "75.5", "4.0%", "–"),)
    (figure,) = section.figures
    assert "half of the interval" in figure.caption
    assert "75.5 events, for by-mode" in figure.alt
    measured = next(one for one in page(content()).sections if one.anchor == "utility")
    assert "Lots of Manly Wharf are not written down." in measured.paragraphs
    assert [grid.caption for grid in measured.grids] == [
        "Mean error of an answer by cause, in events",
        "Answers beside the truth",
        "Rankings beside the truth",
        "Queries that cannot be answered",
    ]


def test_causes_that_cannot_be_told_apart_are_shown_as_one():
    errors = {"aggregation": 0.0, "noise and bounding": 12.0, "suppression": 3.0}
    questions = [{"name": "total", "answered": True, "absolute": errors, "total": {"absolute": 11.0}}]
    made = page({"tables": [], "utility": {"measured": True, "questions": questions}})
    section = next(one for one in made.sections if one.anchor == "utility")
    assert section.grids[0].columns == (
        "query",
        "noise and bounding",
        "suppression",
        "aggregation",
        "together",
    )
    assert section.grids[0].rows == (("total", "12", "3", "0", "11"),)
    assert "noise and bounding" in section.figures[0].svg
