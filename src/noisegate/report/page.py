"""The page: what a report says, before anybody decides whether it becomes HTML, Markdown or paper.

All texts are plain: values that came from data stand in them as they are. Each writer escapes them for its
own format, and nothing here is markup; figures are plain data, drawn by whoever writes the page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from noisegate.assessment import Figure, Grid, Listing, Outcome, Severity

Standing = Literal["high", "medium", "low", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """One of the five numbers."""

    value: str
    label: str
    note: str = ""
    target: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a decision-maker takes away: a headline, reasons with the findings they stand for, a tally, and what was not examined."""

    standing: Standing
    headline: str
    reasons: tuple[tuple[str, str], ...]
    tally: str
    gaps: tuple[str, ...] = ()


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
    """One finding with its evidence, what would be known without it, pictures, method and assumptions."""

    anchor: str
    kind: str
    severity: Severity
    title: str
    advice: str
    method: str
    evidence: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    comparison: str = ""
    numbers: Grid | None = None
    figures: tuple[Figure, ...] = ()
    elsewhere: tuple[Figure, ...] = ()
    answers: tuple[Reference, ...] = ()
    judged: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckPart:
    """Something that was looked at and gave no reason to act."""

    anchor: str
    outcome: Outcome
    title: str
    evidence: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        """What is open comes first, what is settled last."""
        return ("refused", "cannot tell", "fine", "known").index(self.outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
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
class AnsweredItem:
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
    items: tuple[AnsweredItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The whole report."""

    title: str
    about: str
    software: str
    provenance: tuple[str, ...]
    notice: str
    verdict: Verdict
    tiles: tuple[Tile, ...]
    steps: tuple[Step, ...]
    findings: tuple[FindingPart, ...]
    sections: tuple[PageSection, ...]
    checks: tuple[CheckPart, ...]
    frameworks: tuple[Framework, ...]
    glossary: tuple[tuple[str, str], ...] = field(default=())
    signed: str = ""
