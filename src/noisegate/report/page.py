"""The page: what a report says, before anybody decides whether it becomes HTML, Markdown or paper.

All texts are plain: values that came from data stand in them as they are. Each writer escapes them for its
own format, and nothing here is markup but `Figure.svg`, which the picture writer made and escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from noisegate.errors import InternalError
from noisegate.report.words import number

#: Texts that stand in a column of numbers: digits and their signs, and words for what is no number.
_NUMBER = re.compile(
    r"(?:below |above |about |1 in )?[-−]?[\d.,]+(?:e[-+]?\d+)?%?(?: to [-−\d.,]+%?)?(?: \(.*\))?"
)
_NO_NUMBER = frozenset(("–", "never", "none", "not known", "no bound"))

Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
Standing = Literal["high", "medium", "low", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table: caption, names of columns, rows of texts; `numeric` columns are set to the right."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    left_out: int = 0

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise InternalError("the rows of a table in the report do not fit its columns")

    @classmethod
    def of(
        cls, caption: str, columns: Sequence[str], rows: Iterable[Sequence[object]], /, *, most: int = 60
    ) -> Grid:
        """A table of any values, as many rows as are worth reading; columns of numbers are set to the right."""
        every = list(rows)
        shown = [tuple(number(value) for value in row) for row in every[:most]]
        numeric = [
            place for place in range(len(columns)) if shown and all(_sets_right(row[place]) for row in shown)
        ]
        return cls(
            caption=caption,
            columns=tuple(columns),
            rows=tuple(shown),
            numeric=tuple(numeric),
            left_out=len(every) - len(shown),
        )


def _sets_right(text: str, /) -> bool:
    return text in _NO_NUMBER or _NUMBER.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A picture with everything that stands around it.

    Attributes
    ----------
    key
        Its name; a figure is drawn once.
    number
        Its place on the page, from 1.
    caption
        What it shows, and how to read it.
    alt
        What it says, with the main number, for those who do not see it.
    svg
        The picture itself, safe to stand in HTML.
    data
        The numbers behind it.
    about
        The kinds of finding it belongs to, the closest first.
    table
        The table it is about, if it is about one.
    """

    key: str
    caption: str
    alt: str
    svg: str
    number: int = 0
    data: Grid | None = None
    about: tuple[str, ...] = ()
    table: str = ""

    @property
    def anchor(self) -> str:
        """Where it stands."""
        return f"figure-{self.key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One of the five numbers."""

    value: str
    label: str
    note: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a decision-maker takes away: a headline, reasons with the findings they stand for, and a tally."""

    standing: Standing
    headline: str
    reasons: tuple[tuple[str, str], ...]
    tally: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Something to do, and the findings that ask for it."""

    text: str
    findings: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An item of the cross-walk that a finding answers."""

    text: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingPart:
    """One finding with its evidence, pictures, method and assumptions."""

    anchor: str
    kind: str
    severity: Severity
    title: str
    advice: str
    method: str
    evidence: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    numbers: Grid | None = None
    figures: tuple[Figure, ...] = ()
    elsewhere: tuple[Figure, ...] = ()
    answers: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPart:
    """Something that was looked at and gave no reason to act."""

    anchor: str
    outcome: str
    title: str
    evidence: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """What is open comes first, what is settled last."""
        order = ("refused", "cannot tell", "fine", "known")
        return order.index(self.outcome) if self.outcome in order else len(order)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A text to copy, line by line as it is."""

    caption: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page: paragraphs, tables, figures. One with nothing in it is left out."""

    anchor: str
    title: str
    paragraphs: tuple[str, ...] = ()
    grids: tuple[Grid, ...] = ()
    figures: tuple[Figure, ...] = ()
    listings: tuple[Listing, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.grids or self.figures or self.listings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What this assessment says to one item of the cross-walk."""

    text: str
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One row of the cross-walk: what is asked, what answers it here, what a person must still answer."""

    anchor: str
    name: str
    asks: str
    status: str
    answers: tuple[Answer, ...]
    person: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A set of questions that others ask of a release."""

    anchor: str
    title: str
    note: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The whole report."""

    title: str
    about: str
    software: str
    notice: str
    verdict: Verdict
    tiles: tuple[Tile, ...]
    steps: tuple[Step, ...]
    findings: tuple[FindingPart, ...]
    sections: tuple[Section, ...]
    checks: tuple[CheckPart, ...]
    frameworks: tuple[Framework, ...]
    glossary: tuple[tuple[str, str], ...] = field(default=())
