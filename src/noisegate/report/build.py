"""From the files of an assessment to the page: what stands where, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from noisegate.report.crosswalk import Places, frameworks_of
from noisegate.report.figures.cells import cell_figures
from noisegate.report.figures.detection import detection_figures
from noisegate.report.figures.noise import noise_figures
from noisegate.report.figures.responses import response_figures
from noisegate.report.figures.services import service_figures
from noisegate.report.figures.utility import utility_figures
from noisegate.report.figures.weeks import week_figures
from noisegate.report.glossary import GLOSSARY
from noisegate.report.page import Figure, FindingPart, Page, Section
from noisegate.report.parts import anchors_of, check_parts, finding_parts, with_references
from noisegate.report.sections import SECTIONS, section_of
from noisegate.report.source import Source
from noisegate.report.tiles import tiles_of
from noisegate.report.utility import is_measured
from noisegate.report.verdict import steps_of, verdict_of
from noisegate.report.words import plural

#: Figures in the order in which they are looked for.
_FIGURES: tuple[Callable[[Source], Iterator[Figure]], ...] = (
    noise_figures,
    detection_figures,
    response_figures,
    cell_figures,
    service_figures,
    utility_figures,
    week_figures,
)

#: Said above all else where figures were measured against raw data.
_NOTICE = (
    "For the custodian only: raw data was at hand, and figures here were measured against it. They are not private; do not "
    "publish this report. One without the raw data can be published."
)


def page_of(source: Source, /) -> Page:
    """The whole report."""
    figures = [figure for draw in _FIGURES for figure in draw(source)]
    anchors, check_anchors = anchors_of(source.findings, "finding"), anchors_of(source.checks, "check")
    findings, rest = finding_parts(source, anchors, figures)
    checks = check_parts(source, check_anchors)
    sections = [section_of(name, source, rest) for name in SECTIONS]
    shown = [one for one in sections if not one.empty]
    frameworks = frameworks_of(source, _places(source, findings, check_anchors, shown))
    findings, placed = _numbered(with_references(findings, frameworks), shown)
    software = source.section("software") or {}
    return Page(
        title=str(source.base.get("name") or "Published tables"),
        about=_about(source),
        software=" ".join(str(software[key]) for key in ("name", "version") if key in software),
        notice=_NOTICE if _knows_the_truth(source) else "",
        verdict=verdict_of(source, anchors),
        tiles=tiles_of(source),
        steps=steps_of(source, anchors),
        findings=findings,
        sections=placed,
        checks=checks,
        frameworks=frameworks,
        glossary=GLOSSARY,
    )


def _knows_the_truth(source: Source, /) -> bool:
    """Whether anything in the assessment was measured against raw data."""
    return (
        any(source.content.get(name) for name in ("score", "microdata"))
        or is_measured(source)
        or bool((source.section("weeks") or {}).get("persons"))
    )


def _about(source: Source, /) -> str:
    """One line: which tables, which days."""
    details = [one for one in source.base.get("details") or () if one.get("kind") == "date"]
    days = f", {details[0].get('first')} to {details[0].get('last')}" if details else ""
    names = ", ".join(str(table.get("name")) for table in source.tables)
    return f"{plural(len(source.tables), 'table')}: {names}{days}"


def _places(
    source: Source, findings: Iterable[FindingPart], checks: Mapping[int, str], sections: Iterable[Section], /
) -> Places:
    """Where the cross-walk can point to; `checks` gives the place of each check by its number."""
    found: dict[str, str] = {}
    for part in findings:
        found.setdefault(part.kind, part.anchor)
    looked: dict[str, tuple[str, frozenset[str]]] = {}
    for place, one in enumerate(source.checks):
        anchor, outcomes = looked.get(str(one.get("id")), (checks[place], frozenset()))
        looked[str(one.get("id"))] = (anchor, outcomes | {str(one.get("outcome"))})
    return Places(findings=found, checks=looked, sections={one.anchor: one.title for one in sections})


def _numbered(
    findings: Iterable[FindingPart], sections: Iterable[Section], /
) -> tuple[tuple[FindingPart, ...], tuple[Section, ...]]:
    """Findings and sections with their figures numbered in the order in which they are read."""
    numbers: dict[str, int] = {}

    def numbered(figures: Iterable[Figure]) -> tuple[Figure, ...]:
        return tuple(replace(one, number=numbers.setdefault(one.key, len(numbers) + 1)) for one in figures)

    parts = [replace(part, figures=numbered(part.figures)) for part in findings]
    placed = tuple(replace(one, figures=numbered(one.figures)) for one in sections)
    return tuple(replace(part, elsewhere=numbered(part.elsewhere)) for part in parts), placed
