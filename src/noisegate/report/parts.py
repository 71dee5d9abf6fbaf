"""Findings and checks as parts of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from noisegate.report.methods import method_of
from noisegate.report.page import (
    SEVERITIES,
    CheckPart,
    Figure,
    FindingPart,
    Framework,
    Grid,
    Reference,
    Severity,
)
from noisegate.report.source import Json, Source
from noisegate.report.words import flat

_ASSUMED = "Assumed:"
#: Kinds that rest on the inference of all cells.
_INFERRED = ("pinned-cells", "presence")
#: More numbers than this are left to `assessment.json`.
_MOST_NUMBERS = 60


def anchors_of(results: Iterable[Json], prefix: str, /) -> dict[int, str]:
    """A name on the page for each result, by its number: its kind, and a count where a kind occurs again."""
    seen: dict[str, int] = {}
    anchors = {}
    for place, one in enumerate(results):
        kind = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(one.get("id") or "result"))
        seen[kind] = seen.get(kind, 0) + 1
        anchors[place] = f"{prefix}-{kind}" + (f"-{seen[kind]}" if seen[kind] > 1 else "")
    return anchors


def finding_parts(
    source: Source, anchors: Mapping[int, str], figures: Sequence[Figure], /
) -> tuple[tuple[FindingPart, ...], tuple[Figure, ...]]:
    """The findings, each with the figures that belong to it, and the figures that belong to none."""
    owner = {figure.key: _owner(figure, source.findings) for figure in figures}
    parts = [
        _part(one, anchors[place], tuple(f for f in figures if owner[f.key] == place), source)
        for place, one in enumerate(source.findings)
    ]
    rest = tuple(figure for figure in figures if owner[figure.key] is None)
    return tuple(_with_others(parts, figures)), rest


def _owner(figure: Figure, findings: Sequence[Json], /) -> int | None:
    """The number of the finding that a figure stands in: the first of the first kind it is about."""
    for kind in figure.about:
        for place, one in enumerate(findings):
            table = (one.get("numbers") or {}).get("table")
            if one.get("id") == kind and (not figure.table or table in (None, figure.table)):
                return place
    return None


def _part(one: Json, anchor: str, figures: tuple[Figure, ...], source: Source, /) -> FindingPart:
    kind = str(one.get("id"))
    said = [str(line) for line in one.get("evidence") or ()]
    numbers = one.get("numbers")
    return FindingPart(
        anchor=anchor,
        kind=kind,
        severity=_severity(one.get("severity")),
        title=str(one.get("title", "")),
        advice=str(one.get("advice") or ""),
        method=method_of(kind),
        evidence=tuple(line for line in said if not line.startswith(_ASSUMED)),
        assumptions=(
            *(line.removeprefix(_ASSUMED).strip() for line in said if line.startswith(_ASSUMED)),
            *(_of_inference(source) if kind in _INFERRED else ()),
        ),
        numbers=Grid.of("Numbers", ("name", "value"), list(flat(numbers)), most=_MOST_NUMBERS)
        if isinstance(numbers, dict) and numbers
        else None,
        figures=figures,
    )


def _severity(value: object, /) -> Severity:
    return next((one for one in SEVERITIES if one == value), "low")


def _with_others(parts: Iterable[FindingPart], figures: Sequence[Figure], /) -> Iterable[FindingPart]:
    """Each finding with links to figures that are about it and stand elsewhere."""
    for part in parts:
        rest = (one for one in figures if part.kind in one.about and one not in part.figures)
        yield replace(part, elsewhere=tuple(one for one in rest if not one.table))


def _of_inference(source: Source, /) -> Iterable[str]:
    """What the inference of all cells rests on."""
    return map(str, (source.section("inference") or {}).get("assumes") or ())


def check_parts(source: Source, anchors: Mapping[int, str], /) -> tuple[CheckPart, ...]:
    """The checks: what cannot be told first, then what is in order."""
    parts = [
        CheckPart(
            anchor=anchors[place],
            outcome=str(one.get("outcome")),
            title=str(one.get("title", "")),
            evidence=tuple(str(line) for line in one.get("evidence") or ()),
        )
        for place, one in enumerate(source.checks)
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
