"""Values that are code somewhere are text here: in HTML, in pictures, in Markdown."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from noisegate.pictures import Exposed, ExposedCells, exposed_picture
from noisegate.report import escaped

#: Elements that our page is made of; anything else came from data.
OURS = {
    "html",
    "head",
    "meta",
    "title",
    "link",
    "style",
    "body",
    "a",
    "header",
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "div",
    "nav",
    "ol",
    "li",
    "main",
    "section",
    "ul",
    "span",
    "b",
    "article",
    "figure",
    "figcaption",
    "details",
    "summary",
    "table",
    "caption",
    "thead",
    "tr",
    "th",
    "tbody",
    "td",
    "dl",
    "dt",
    "dd",
    "footer",
    "i",
    "svg",
    "g",
    "path",
    "line",
    "text",
    "pre",
    "code",
    "script",
    "template",
}


class Elements(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def page(reported):
    return (reported["hostile"] / "report.html").read_text(encoding="utf-8")


def test_hostile_values_add_no_element_and_no_handler_to_the_page(page, reported):
    hostile, plain = Elements(page), Elements((reported["plain"] / "report.html").read_text(encoding="utf-8"))
    assert {tag for tag, _ in hostile.found} <= OURS
    assert {tag for tag, _ in hostile.found} == {tag for tag, _ in plain.found}
    for one in (hostile, plain):
        kinds = [attrs["type"] for tag, attrs in one.found if tag == "script"]
        assert kinds == ["application/json", "module"]
    for tag, attrs in hostile.found:
        assert not any(name.startswith("on") for name in attrs)
        assert not (tag == "a" and not attrs["href"].startswith("#"))


def test_hostile_values_are_shown_as_they_are(page, hostile):
    text = Elements(page).text
    for value in hostile:
        assert value in text


def test_hostile_values_in_a_picture_are_its_letters(hostile):
    for value in hostile:
        cell = Exposed(name=value, low=1, high=3, mode=2, chance_empty=0.001)
        svg = exposed_picture(ExposedCells(cells=[cell])).inline()
        root = ET.fromstring(svg)  # well-formed, so nothing broke out
        texts = [element.text or "" for element in root.iter() if element.tag.endswith("text")]
        assert value in texts
        names = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert names <= {"svg", "g", "path", "line", "text", "title"}


def test_a_picture_has_no_names_that_another_on_the_page_could_have():
    cell = Exposed(name="a", low=1, high=3, mode=2, chance_empty=0.001)
    picture = exposed_picture(ExposedCells(cells=[cell]))
    assert not re.search(r"\bid=|url\(|href", picture.inline() + picture.svg)
    assert picture.inline() == picture.inline()


def rendered(text):
    """Markdown as the most permissive reader shows it: HTML passes, bare addresses become links, tables work."""
    return MarkdownIt("commonmark", {"html": True}).enable("table").enable("strikethrough").render(text)


def test_markdown_holds_no_html_no_link_and_every_value(reported, hostile):
    html = rendered((reported["hostile"] / "report.md").read_text(encoding="utf-8"))
    page = Elements(html)
    assert {tag for tag, _ in page.found} <= {
        "h1",
        "h2",
        "h3",
        "p",
        "ul",
        "ol",
        "li",
        "strong",
        "em",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "pre",
        "code",
    }
    for value in hostile:
        assert re.sub(r"\s+", " ", value) in page.text


def test_markdown_tables_keep_their_columns(reported):
    for kind in ("plain", "hostile"):
        lines = (reported[kind] / "report.md").read_text(encoding="utf-8").splitlines()
        width = None
        for line in lines:
            bars = len(re.findall(r"(?<!\\)\|", line))
            width = (
                bars if line.startswith("|") and width is None else width if line.startswith("|") else None
            )
            assert width is None or bars == width


@given(st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf")), max_size=60))
def test_any_text_in_markdown_is_that_text(text):
    html = Elements(rendered(f"- {escaped(text)}"))
    assert {tag for tag, _ in html.found} <= {"ul", "li", "p"}
    assert " ".join(html.text.split()) == " ".join(text.split())
