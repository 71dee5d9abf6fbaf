"""The page as one HTML file: style, pictures and text in it, no script, nothing to fetch.

Every text is escaped by the template engine. The only markup taken as it is are the pictures, whose texts
the converter escaped, and our own style sheet. A content security policy forbids everything else.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from noisegate.assessment import Figure
from noisegate.pictures import dark_rules, drawn_inline
from noisegate.report.crosswalk import DISCLAIMER
from noisegate.report.page import Page

_TEMPLATES = Path(__file__).parent / "templates"
_PAGE, _STYLE = "report.html.j2", "report.css"
#: How each outcome of a check is said.
OUTCOMES = {
    "fine": "in order",
    "known": "known",
    "cannot tell": "cannot be told",
    "refused": "refused",
}


def render_html(page: Page, /) -> str:
    """The report as HTML."""
    template = _environment().get_template(_PAGE)
    return template.render(page=page, style=_style(), disclaimer=DISCLAIMER, outcomes=OUTCOMES).lstrip()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["picture"] = _picture
    environment.filters["first_sentence"] = lambda text: _split(text)[0]
    environment.filters["other_sentences"] = lambda text: _split(text)[1]
    return environment


def _picture(figure: Figure, /) -> Markup:
    """The picture, drawn: the converter escaped what came from data."""
    return Markup(drawn_inline(figure.picture, key=figure.key))  # noqa: S704 - made by us, see inline_svg


def _split(text: str, /) -> tuple[str, str]:
    """The first sentence, and the rest."""
    first, dot, rest = text.partition(". ")
    return (first + dot.strip(), rest) if dot else (text, "")


@cache
def _style() -> Markup:
    dark = "\n".join(dark_rules(".picture svg"))
    sheet = (_TEMPLATES / _STYLE).read_text(encoding="utf-8")
    # No text of this came from data.
    return Markup(f"{sheet}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n")  # noqa: S704 - our own sheet
