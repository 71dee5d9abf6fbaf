"""The page as Markdown: the same text without pictures, for a repository or a mail."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from noisegate.assessment import Figure, Grid, Listing
from noisegate.pictures import calm
from noisegate.report.crosswalk import DISCLAIMER
from noisegate.report.html import OUTCOMES
from noisegate.report.page import FindingPart, Framework, Page

#: What has a meaning in Markdown or in HTML inside it.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&$^=:@])")
#: Signs of these that are harmless inside a word or a number, and stand in almost every one.
_HARMLESS = frozenset("-.()+:=")
_SPACES = re.compile(r"\s+")


def escaped(text: str, /) -> str:
    r"""The text with everything escaped that Markdown, or HTML in it, would act on; on one line.

    >>> escaped("<script>alert(1)</script> | a_b")
    '\\<script\\>alert(1)\\</script\\> \\| a\\_b'
    """
    flat = calm(_SPACES.sub(" ", text).strip())
    safe = _SPECIAL.sub(lambda sign: sign[1] if sign[1] in _HARMLESS else f"\\{sign[1]}", flat)
    # A line that starts like a list, a heading or an underline is none, and a bare address is no link.
    safe = re.sub(r"^([-+=]|\d+[.)](?=\s|$))", lambda start: f"{start[1][:-1]}\\{start[1][-1]}", safe)
    return re.sub(r"(?i)\b(https?|ftp|www)([:.])", r"\1\\\2", safe)


def render_markdown(page: Page, /) -> str:
    """The report as Markdown."""
    lines = [f"# Privacy assessment: {escaped(page.title)}", "", escaped(page.about), ""]
    lines += [f"**{escaped(page.notice)}**", ""] if page.notice else []
    lines += _summary(page)
    if page.findings:
        lines += ["## Findings", ""]
        for finding in page.findings:
            lines += _finding(finding)
    for section in page.sections:
        lines += [f"## {escaped(section.title)}", ""]
        lines += [f"{escaped(text)}\n" for text in section.paragraphs]
        for grid in section.grids:
            lines += _grid(grid)
        lines += _figures(section.figures)
        for listing in section.listings:
            lines += _listing(listing)
    if page.checks:
        lines += ["## What else was looked at", ""]
        lines += [f"- **{OUTCOMES[one.outcome]}**: {escaped(one.title)}" for one in page.checks]
        lines.append("")
    lines += ["## What others ask", "", escaped(DISCLAIMER), ""]
    for framework in page.frameworks:
        lines += _framework(framework)
    lines += ["## Words", ""]
    lines += [f"- **{escaped(word)}**: {escaped(meaning)}" for word, meaning in page.glossary]
    lines += ["", f"Made by {escaped(page.software or 'noisegate')}; the pictures are in report.html.", ""]
    lines += [f"- {escaped(line)}" for line in page.provenance]
    return "\n".join(lines)


def _summary(page: Page, /) -> Iterator[str]:
    yield from (f"**{escaped(page.verdict.headline)}**", "")
    yield from (f"- {escaped(reason)}" for reason, _ in page.verdict.reasons)
    yield from ("", escaped(page.verdict.tally), "")
    if page.signed:
        yield from (escaped(page.signed), "")
    yield from (f"- Not examined: {escaped(gap)}" for gap in page.verdict.gaps)
    yield ""
    if page.tiles:
        yield from ("| number | what it is |", "| ---: | --- |")
        for tile in page.tiles:
            note = f" ({escaped(tile.note)})" if tile.note else ""
            yield f"| {escaped(tile.value)} | {escaped(tile.label)}{note} |"
        yield ""
    if page.steps:
        yield from ("## What to do", "")
        for place, step in enumerate(page.steps, 1):
            why = ", ".join(escaped(kind) for kind, _ in step.findings)
            yield f"{place}. {escaped(step.text)} (Why: {why})"
        yield ""


def _finding(finding: FindingPart, /) -> Iterator[str]:
    yield from (f"### {finding.severity.capitalize()}: {escaped(finding.title)}", "")
    for name, lines in (("Evidence", finding.evidence), ("Assumed", finding.assumptions)):
        if lines:
            yield from (f"**{name}**", "", *(f"- {escaped(line)}" for line in lines), "")
    yield from _figures(finding.figures)
    if finding.comparison:
        yield from (f"**By comparison**: {escaped(finding.comparison)}", "")
    yield from (f"**Method**: {escaped(finding.method)}", "")
    if finding.advice:
        yield from (f"**What to do**: {escaped(finding.advice)}", "")
    if finding.judged:
        yield from (f"**What people say of it**: {escaped(finding.judged)}", "")
    if finding.answers:
        yield from (f"Answers to: {'; '.join(escaped(one.text) for one in finding.answers)}.", "")


def _figures(figures: Iterable[Figure], /) -> Iterator[str]:
    for figure in figures:
        yield from (f"*Figure {figure.number}.* {escaped(figure.caption)} {escaped(figure.alt)}", "")


def _grid(grid: Grid, /) -> Iterator[str]:
    yield from (f"**{escaped(grid.caption)}**", "")
    yield f"| {' | '.join(map(escaped, grid.columns))} |"
    yield f"|{'|'.join('---:' if place in grid.numeric else '---' for place in range(len(grid.columns)))}|"
    for row in grid.rows:
        yield f"| {' | '.join(map(escaped, row))} |"
    yield ""


def _listing(listing: Listing, /) -> Iterator[str]:
    """The text inside a fence that is longer than any in it."""
    longest = max((len(run) for run in re.findall("`+", listing.text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"**{escaped(listing.caption)}**", "", fence, *listing.text.splitlines(), fence, "")


def _framework(framework: Framework, /) -> Iterator[str]:
    yield from (f"### {escaped(framework.title)}", "", escaped(framework.note), "")
    yield from ("| asked | answered here | a person must answer |", "| --- | --- | --- |")
    for item in framework.items:
        said = "; ".join(escaped(answer.text) for answer in item.answers)
        answer = f"**{escaped(item.status)}**{': ' + said if said else ''}"
        yield f"| **{escaped(item.name)}** {escaped(item.asks)} | {answer} | {escaped(item.person)} |"
    yield ""
