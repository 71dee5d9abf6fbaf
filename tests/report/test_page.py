"""What stands on the page: the verdict, five numbers, what to do, and every part that the assessment has."""

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

from noisegate.assessment import Check, Finding, figures_of, percent
from noisegate.pictures import QueryErrors, drawn_inline
from noisegate.recovery import ZeroRule
from noisegate.report import page_of, render_html, render_markdown, write_report


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


class Stated:
    """A part of an assessment that says what it is told to."""

    def __init__(self, content):
        self.to_json = lambda: content


def finding(kind="x", severity="low", **more):
    return Finding(**{"id": kind, "severity": severity, "title": "t", "advice": "", **more})


def test_every_picture_of_an_assessment_is_drawn_and_numbered_in_order(outline, reported):
    names = [attrs["id"] for attrs in outline.all("figure")]
    assert sorted(names) == sorted(
        f"figure-{key}"
        for key in (
            "noise-1",
            "noise-2",
            "groups",
            "responses",
            "calendar",
            "exposed",
            "hours",
            "weeks",
            "workload",
        )
    )
    text = (reported["plain"] / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"<b>Figure (\d+)\.</b>", text) == [str(n) for n in range(1, len(names) + 1)]


def test_every_picture_says_its_main_number_to_those_who_do_not_see_it(outline):
    pictures = [attrs for attrs in outline.all("div") if attrs.get("class") == "picture"]
    assert len(pictures) == 9
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


def test_nothing_is_fetched_and_nothing_runs_but_our_own_script(reported):
    whole = (reported["plain"] / "report.html").read_text(encoding="utf-8")
    kinds = [attrs["type"] for attrs in Outline(whole).all("script")]
    assert kinds in ([], ["application/json", "module"])
    found = re.findall(r'<script type="module">(.*?)</script>', whole, re.DOTALL)
    allowed = [
        f"script-src 'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'"
        for one in found
    ]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', whole).group(1)
    assert re.findall(r"script-src [^;]*", policy) == allowed
    text = re.sub(r"<(script|template)\b.*?</\1>", "", whole, flags=re.DOTALL)
    assert Outline(text).all("img") == []
    assert [attrs["href"] for attrs in Outline(text).all("link")] == ["data:,"]
    assert "default-src 'none'" in text
    assert re.findall(r"(?:src|href)=\"(?!#|data:,)", text) == []
    assert set(re.findall(r"https?://[^\s\"<]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_the_same_assessment_gives_the_same_report(reported, whole, tmp_path):
    write_report(whole, tmp_path)
    for name in ("report.html", "report.md"):
        assert (tmp_path / name).read_bytes() == (reported["plain"] / name).read_bytes()


def test_a_decision_maker_reads_five_numbers_the_persons_first(whole):
    scale = whole.noise["time-loc"].fit.scale
    tiles = page_of(whole).tiles
    assert [tile.value for tile in tiles] == ["ε = 85.7", "1 in 91,000", f"{scale:.3g}", "9", "385"]


def test_where_little_is_known_the_numbers_say_what_is(only, bare):
    silent = tuple(
        replace(
            one,
            noise=replace(one.noise, fit=None),
            summary=replace(one.summary, threshold=replace(one.summary.threshold, value=18.0)),
        )
        for one in bare["plain"].tables
    )
    made = only(tables=silent)
    tiles = page_of(made).tiles
    assert [tile.value for tile in tiles][1:] == [
        percent(made.base.rows / made.base.domain_size),
        "18",
        f"{sum(one.summary.rows for one in silent):,}",
    ]
    assert tiles[0].label == "of all events are in cells that were dropped"


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
def test_the_verdict_is_as_severe_as_the_worst_finding(only, severities, outcomes, standing):
    found = tuple(finding(severity=one) for one in severities)
    checks = tuple(Check(id="y", outcome=one, title="t") for one in outcomes)
    assert page_of(only(findings=found, checks=checks)).verdict.standing == standing


def test_the_verdict_gives_its_reasons_in_plain_words_and_each_once(only, whole):
    verdict = page_of(only(findings=(*whole.findings[:2], *whole.findings))).verdict
    assert [anchor for _, anchor in verdict.reasons] == [
        "finding-privacy-loss",
        "finding-zeros-kept",
        "finding-coupled-cells",
        "finding-pinned-cells",
    ]
    assert not any(character.isdigit() for text, _ in verdict.reasons for character in text)
    assert verdict.tally == "9 findings (4 high, 3 medium, 2 low)."


@pytest.mark.parametrize("part", ["score", "microdata", "useful", "weeks"])
def test_a_report_made_with_raw_data_says_that_it_is_not_for_publication(only, whole, part):
    value = getattr(whole, part)
    if part == "weeks":
        assert page_of(only(weeks=value)).notice == ""
        value = replace(value, persons=SimpleNamespace())
    assert page_of(only(**{part: value})).notice.startswith("For the custodian only")
    assert page_of(only()).notice == ""


def test_each_advice_is_given_once_with_the_first_finding_of_each_kind_that_asks_for_it(only):
    made = page_of(only(findings=tuple(finding(kind, advice="Stop.") for kind in ("a", "b", "a"))))
    assert [(step.text, [anchor for _, anchor in step.findings]) for step in made.steps] == [
        ("Stop.", ["finding-a", "finding-b"])
    ]


def test_every_finding_has_evidence_method_assumptions_and_its_place_in_the_crosswalk(whole):
    for one in page_of(whole).findings:
        assert one.evidence
        assert one.method
        assert one.assumptions[0] == "Manly Wharf is a place."
        assert one.answers or one.kind == "something-new"


def test_what_suppressed_cells_were_rests_on_what_was_assumed_about_all_cells(bare):
    inferred = next(one for one in page_of(bare["plain"]).findings if one.kind == "presence")
    assumed = bare["plain"].inference.evidence.assumes
    assert assumed
    assert inferred.assumptions == tuple(f"{line}." for line in assumed)


def test_what_is_absent_is_left_out_and_nothing_else(whole, only):
    assert {section.anchor for section in page_of(whole).sections} >= {
        "services",
        "dropped",
        "weeks",
        "microdata",
    }
    bare = page_of(only())
    assert {section.anchor for section in bare.sections} == {"tables", "who", "dropped"}
    assert (bare.findings, bare.steps) == ((), ())


def test_a_release_with_perturbed_zeros_shows_nobody_for_certain(whole):
    sound = replace(whole, zeros=ZeroRule(rule="perturb", source="card", statement="the card says so"))
    page = page_of(sound)
    keys = {figure.key for part in page.findings for figure in part.figures}
    keys |= {figure.key for section in page.sections for figure in section.figures}
    assert "groups" not in keys
    assert "responses" in keys


def test_no_axis_speaks_in_powers(reported):
    text = (reported["plain"] / "report.html").read_text(encoding="utf-8")
    labels = re.findall(r"<text[^>]*>([^<]+)</text>", text)
    assert len(labels) > 60
    assert [label for label in labels if re.fullmatch(r".*\de[+−-]?\d.*", label)] == []


def test_answers_from_the_release_alone_can_be_published(only, whole):
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
    alone = {"source": "card", "measured": False, "level": 0.95, "questions": questions}
    made = page_of(only(answered=Stated(alone)))
    assert made.notice == ""
    section = next(one for one in made.sections if one.anchor == "utility")
    assert [grid.caption for grid in section.grids] == ["Answers from the release alone"]
    assert section.grids[0].rows == (("by-mode", "4", "75.5", "4.0%", "–"),)
    (figure,) = section.figures
    assert "half of the interval" in figure.caption
    assert "75.5 events, for by-mode" in figure.alt
    measured = next(one for one in page_of(whole).sections if one.anchor == "utility")
    assert "Lots of Manly Wharf are not written down." in measured.paragraphs
    assert [grid.caption for grid in measured.grids] == [
        "Mean error of an answer by cause, in events",
        "Answers beside the truth",
        "Rankings beside the truth",
        "Queries that cannot be answered",
    ]


def test_causes_that_cannot_be_told_apart_are_shown_as_one(only):
    errors = {"aggregation": 0.0, "noise and bounding": 12.0, "suppression": 3.0}
    questions = [{"name": "total", "answered": True, "absolute": errors, "total": {"absolute": 11.0}}]
    made = page_of(only(useful=Stated({"measured": True, "questions": questions})))
    section = next(one for one in made.sections if one.anchor == "utility")
    assert section.grids[0].columns == (
        "query",
        "noise and bounding",
        "suppression",
        "aggregation",
        "together",
    )
    assert section.grids[0].rows == (("total", "12", "3", "0", "11"),)
    assert "noise and bounding" in drawn_inline(section.figures[0].picture)


def test_an_assessment_and_its_findings_show_themselves_on_one_screen(bare, whole):
    for one in (bare["plain"], whole, *whole.findings, *bare["plain"].findings, *bare["plain"].checks):
        text = repr(one)
        assert len(text.splitlines()) <= 20
        assert max(map(len, text.splitlines())) <= 120


def test_what_a_notebook_shows_is_text(assessments, hostile):
    for one in (assessments["hostile"], *assessments["hostile"].findings):
        assert hostile[0] not in one._repr_html_()
        assert "<script" not in one._repr_html_()


def test_every_picture_that_a_finding_names_is_there(bare):
    found = bare["plain"]
    named = {one.picture for one in found.findings} - {None}
    assert named >= {"noise-1", "noise-2", "exposed", "weeks"}
    assert named <= set(figures_of(found))


def test_what_people_say_stands_in_the_report_and_turns_nothing_round(whole):
    kind = whole.findings[0].id
    said = {kind: "Accepted by Ada \u202e<b>, 2026: well", f"{kind}-9": "of nothing"}
    page = page_of(whole, judged=said, signed="Signed by \u202eAda.")
    assert [one.judged for one in page.findings if one.judged] == [said[kind]]
    text = render_html(page)
    assert "Accepted by Ada \ufffd&lt;b&gt;, 2026: well" in text
    assert "Signed by \ufffdAda." in text
    assert "\u202e" not in text + render_markdown(page)


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString", "</svg><script>"])
def test_a_question_may_be_called_like_anything(name):
    picture = QueryErrors(queries={name: {"noise": 3.0}}, title="errors")
    assert "<script>" not in drawn_inline(picture)
