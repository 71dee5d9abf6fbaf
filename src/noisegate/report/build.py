"""From an assessment to the page: what stands where, in which order, and each finding and check as a part of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import metadata

from noisegate.assessment import (
    Assessment,
    Check,
    Exhibit,
    Figure,
    Finding,
    Grid,
    Result,
    Section,
    exhibits_of,
    flat,
    plain,
    plural,
    words_of,
)
from noisegate.report.crosswalk import Places, frameworks_of
from noisegate.report.page import CheckPart, FindingPart, Framework, Page, PageSection, Reference
from noisegate.report.summary import glossary_of, steps_of, tiles_of, verdict_of

#: More numbers than this are left to `assessment.json`.
_MOST_NUMBERS = 60


def anchors_of(results: Iterable[Result], prefix: str, /) -> dict[int, str]:
    """A name on the page for each result, by its number: its kind, and a count where a kind occurs again."""
    seen: dict[str, int] = {}
    anchors = {}
    for place, one in enumerate(results):
        seen[one.id] = seen.get(one.id, 0) + 1
        anchors[place] = f"{prefix}-{one.id}" + (f"-{seen[one.id]}" if seen[one.id] > 1 else "")
    return anchors


def finding_parts(
    findings: Sequence[Finding], anchors: Mapping[int, str], figures: Sequence[Figure], /
) -> tuple[tuple[FindingPart, ...], tuple[Figure, ...]]:
    """The findings, each with the figures that belong to it, and the figures that belong to none."""
    owner = {figure.key: _owner(figure, findings) for figure in figures}
    parts = [
        _part(one, anchors[place], tuple(f for f in figures if owner[f.key] == place))
        for place, one in enumerate(findings)
    ]
    rest = tuple(figure for figure in figures if owner[figure.key] is None)
    return tuple(_with_others(parts, figures)), rest


def _owner(figure: Figure, findings: Sequence[Finding], /) -> int | None:
    """The number of the finding that a figure stands in: the first of the first kind it is about."""
    for kind in figure.about:
        for place, one in enumerate(findings):
            table = one.numbers.get("table")
            if one.id == kind and (not figure.table or table in (None, figure.table)):
                return place
    return None


def _part(one: Finding, anchor: str, figures: tuple[Figure, ...], /) -> FindingPart:
    numbers = plain({name: value for name, value in one.numbers.items() if name != "members"})
    return FindingPart(
        anchor=anchor,
        kind=one.id,
        severity=one.severity,
        title=one.title,
        advice=one.advice,
        method=words_of(one.id, one.title).method,
        evidence=tuple(one.evidence),
        assumptions=tuple(f"{line}." for line in one.assumptions),
        comparison=one.comparison,
        numbers=Grid.of("Numbers", ("name", "value"), list(flat(numbers)), most=_MOST_NUMBERS)
        if numbers
        else None,
        figures=figures,
    )


def _with_others(parts: Iterable[FindingPart], figures: Sequence[Figure], /) -> Iterable[FindingPart]:
    """Each finding with links to figures that are about it and stand elsewhere."""
    for part in parts:
        rest = (one for one in figures if part.kind in one.about and one not in part.figures)
        yield replace(part, elsewhere=tuple(one for one in rest if not one.table))


def check_parts(checks: Sequence[Check], anchors: Mapping[int, str], /) -> tuple[CheckPart, ...]:
    """The checks: what cannot be told first, then what is in order."""
    parts = [
        CheckPart(anchor=anchors[place], outcome=one.outcome, title=one.title, evidence=tuple(one.evidence))
        for place, one in enumerate(checks)
    ]
    return tuple(sorted(parts, key=lambda part: part.rank))


def with_references(
    parts: Iterable[FindingPart], frameworks: Iterable[Framework], /
) -> tuple[FindingPart, ...]:
    """Each finding with the items of the cross-walk that it answers."""
    answered: dict[str, list[Reference]] = {}
    for framework in frameworks:
        for item in framework.items:
            for answer in item.answers:
                said = Reference(text=f"{_short(framework)} {item.name}", anchor=item.anchor)
                answered.setdefault(answer.target, []).append(said)
    return tuple(replace(part, answers=tuple(answered.get(part.anchor, ()))) for part in parts)


def _short(framework: Framework, /) -> str:
    return {
        "iso-27559": "ISO/IEC 27559",
        "opendp-registry": "OpenDP registry",
        "report-2017": "2017 report:",
    }.get(framework.anchor, framework.title)


#: Said above all else where figures were measured against raw data.
_NOTICE = (
    "For the custodian only: raw data was at hand, and figures here were measured against it. They are not private; do not "
    "publish this report. One without the raw data can be published."
)

#: In the order of the page: the title of a section, and what is said first.
SECTIONS: Mapping[Section, tuple[str, str]] = {
    "tables": (
        "The tables, and how they were made",
        "What was read, and what was found out about the cut and the noise of each table.",
    ),
    "who": (
        "Who shows",
        "A value that is published from a cell that would otherwise be empty proves that somebody was there.",
    ),
    "cells": (
        "What suppressed cells were",
        "Cells that were withheld can often be told from the totals they are in.",
    ),
    "services": (
        "One vehicle, one cell",
        "Where a timetable leaves one vehicle only for a cell, the count is that vehicle's.",
    ),
    "dropped": ("Rows that were dropped", "What the public domain allows, and what is missing from it."),
    "weeks": ("More weeks", "How the risks grow if the release goes on."),
    "microdata": (
        "Why linked trips are another matter",
        "How many persons a few known places and times single out in the raw events, which are not published.",
    ),
    "utility": (
        "Utility by query",
        "What analysts lose: how far off the answer to each query is or may be, and which queries have none.",
    ),
}


def page_of(assessment: Assessment, /, *, judged: Mapping[str, str] | None = None, signed: str = "") -> Page:
    """The whole report; `judged` says what people make of findings, by kind and, from the second of a kind on, its number."""
    origin = assessment.provenance
    exhibits = exhibits_of(assessment)
    figures = [figure for one in exhibits for figure in one.figures]
    found, looked = assessment.findings, assessment.checks
    anchors, check_anchors = anchors_of(found, "finding"), anchors_of(looked, "check")
    findings, rest = finding_parts(found, anchors, figures)
    said = judged or {}
    findings = tuple(
        replace(one, judged=said.get(one.anchor.removeprefix("finding-"), "")) for one in findings
    )
    shown = [one for name in SECTIONS if not (one := _section(name, exhibits, rest)).empty]
    frameworks = frameworks_of(
        assessment.privacy,
        _places(findings, looked, check_anchors, shown),
        transport=assessment.about_transport,
    )
    findings, placed = _numbered(with_references(findings, frameworks), shown)
    return Page(
        title=(origin.title if origin is not None else "") or assessment.base.name,
        about=_about(assessment),
        software=f"noisegate {metadata.version('noisegate')}",
        provenance=() if origin is None else origin.lines(),
        notice=_NOTICE if assessment.custodian_only else "",
        verdict=verdict_of(assessment, anchors),
        tiles=tiles_of(assessment),
        steps=steps_of(assessment, anchors),
        findings=findings,
        sections=placed,
        checks=check_parts(looked, check_anchors),
        frameworks=frameworks,
        glossary=glossary_of(assessment),
        signed=signed,
    )


def _section(name: Section, exhibits: Iterable[Exhibit], rest: Sequence[Figure], /) -> PageSection:
    """One section with its tables, and those of its figures that belong to no finding; maybe empty."""
    title, lead = SECTIONS[name]
    mine = [one for one in exhibits if one.section == name]
    return PageSection(
        anchor=name,
        title=title,
        paragraphs=(lead, *(line for one in mine for line in one.paragraphs)),
        grids=tuple(grid for one in mine for grid in one.grids if grid.rows),
        figures=tuple(figure for one in mine for figure in one.figures if figure in rest),
        listings=tuple(listing for one in mine for listing in one.listings),
    )


#: As many tables are named in the line under the title.
_NAMED = 6


def _about(assessment: Assessment, /) -> str:
    """One line: which tables, which days."""
    dates = [one for one in assessment.base.details if one.kind == "date"]
    days = f", {dates[0].first} to {dates[0].last}" if dates else ""
    names = [table.summary.name for table in assessment.tables]
    if len(names) > _NAMED:  # those of workbooks are hundreds; the section on tables has all of them
        roots = [table.summary.name for table in assessment.tables if table.summary.link is None]
        names = [*(roots or names)[:_NAMED], f"and {len(names) - min(len(roots or names), _NAMED):,} more"]
    return f"{plural(len(assessment.tables), 'table')}: {', '.join(names)}{days}".replace(", and ", " and ")


def _places(
    findings: Iterable[FindingPart],
    checks: Sequence[Check],
    anchors: Mapping[int, str],
    sections: Iterable[PageSection],
    /,
) -> Places:
    """Where the cross-walk can point to; `anchors` gives the place of each check by its number."""
    found: dict[str, str] = {}
    for part in findings:
        found.setdefault(part.kind, part.anchor)
    looked: dict[str, tuple[str, frozenset[str]]] = {}
    for place, one in enumerate(checks):
        anchor, outcomes = looked.get(one.id, (anchors[place], frozenset()))
        looked[one.id] = (anchor, outcomes | {one.outcome})
    return Places(findings=found, checks=looked, sections={one.anchor: one.title for one in sections})


def _numbered(
    findings: Iterable[FindingPart], sections: Iterable[PageSection], /
) -> tuple[tuple[FindingPart, ...], tuple[PageSection, ...]]:
    """Findings and sections with their figures numbered in the order in which they are read."""
    numbers: dict[str, int] = {}

    def numbered(figures: Iterable[Figure]) -> tuple[Figure, ...]:
        return tuple(replace(one, number=numbers.setdefault(one.key, len(numbers) + 1)) for one in figures)

    parts = [replace(part, figures=numbered(part.figures)) for part in findings]
    placed = tuple(replace(one, figures=numbered(one.figures)) for one in sections)
    return tuple(replace(part, elsewhere=numbered(part.elsewhere)) for part in parts), placed
