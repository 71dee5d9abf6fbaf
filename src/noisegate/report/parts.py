"""Findings and checks as parts of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from noisegate.report.methods import method_of
from noisegate.report.page import CheckPart, Figure, FindingPart, Framework, Grid, Reference, Severity
from noisegate.report.source import Json, Source
from noisegate.report.words import flat

_ASSUMED = "Assumed:"
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
    left = list(figures)
    parts = []
    for place, one in enumerate(source.findings):
        mine = [figure for figure in left if str(one.get("id")) in figure.about and _is_about(figure, one, source)]
        left = [figure for figure in left if figure not in mine]
        parts.append(_part(one, anchors[place], tuple(mine)))
    return tuple(_with_others(parts, figures)), tuple(left)


def _is_about(figure: Figure, finding: Json, source: Source, /) -> bool:
    """Whether a figure of one table is about the table of this finding; other figures always are."""
    table = (finding.get("numbers") or {}).get("table")
    if not figure.key.startswith("noise-") or table is None:
        return True
    names = [str(one.get("name")) for one in source.tables]
    return names.index(str(table)) + 1 == int(figure.key[6:]) if str(table) in names else True


def _part(one: Json, anchor: str, figures: tuple[Figure, ...], /) -> FindingPart:
    kind, severity = str(one.get("id")), one.get("severity")
    said = [str(line) for line in one.get("evidence") or ()]
    numbers = one.get("numbers")
    return FindingPart(
        anchor=anchor,
        kind=kind,
        severity=severity if severity in get_args(Severity) else "low",
        title=str(one.get("title", "")),
        advice=str(one.get("advice") or ""),
        method=method_of(kind),
        evidence=tuple(line for line in said if not line.startswith(_ASSUMED)),
        assumptions=tuple(_sentence(line.removeprefix(_ASSUMED)) for line in said if line.startswith(_ASSUMED)),
        numbers=Grid.of("Numbers", ("name", "value"), list(flat(numbers)), most=_MOST_NUMBERS)
        if isinstance(numbers, dict) and numbers
        else None,
        figures=figures,
    )


def _with_others(parts: Iterable[FindingPart], figures: Sequence[Figure], /) -> Iterable[FindingPart]:
    """Each finding with links to figures that are about it and stand elsewhere."""
    for part in parts:
        rest = tuple(one for one in figures if part.kind in one.about and one not in part.figures)
        yield replace(part, elsewhere=tuple(one for one in rest if not one.key.startswith("noise-")))


def _sentence(text: str, /) -> str:
    stripped = text.strip()
    return stripped[:1].upper() + stripped[1:]


def check_parts(source: Source, anchors: Mapping[int, str], /) -> tuple[CheckPart, ...]:
    """The checks: what cannot be told first, then what is in order."""
    order = {"refused": 0, "cannot tell": 1, "fine": 2, "known": 3}
    parts = [
        CheckPart(
            anchor=anchors[place],
            outcome=str(one.get("outcome")),
            title=_sentence(str(one.get("title", ""))),
            evidence=tuple(str(line) for line in one.get("evidence") or ()),
        )
        for place, one in enumerate(source.checks)
    ]
    return tuple(sorted(parts, key=lambda part: order.get(part.outcome, 4)))


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
    return {"iso-27559": "ISO/IEC 27559", "opendp-registry": "OpenDP registry", "report-2017": "2017 report:"}.get(
        framework.anchor, framework.title
    )
