"""Findings and checks as parts of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from noisegate.assessment import Check, Figure, Finding, Grid, Result, flat, plain, words_of
from noisegate.report.page import CheckPart, FindingPart, Framework, Reference

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
    numbers = plain(dict(one.numbers))
    return FindingPart(
        anchor=anchor,
        kind=one.id,
        severity=one.severity,
        title=one.title,
        advice=one.advice,
        method=words_of(one.id, one.title).method,
        evidence=tuple(one.evidence),
        assumptions=tuple(f"{line}." for line in one.assumptions),
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
