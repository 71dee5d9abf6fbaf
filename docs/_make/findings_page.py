"""Ids of findings and checks, read from the code that makes them."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from markdown import code, page, table

import noisegate
from noisegate.assessment.judgement import INQUIRIES

_SEVERITIES = ("low", "medium", "high")
_OUTCOMES = ("fine", "cannot tell", "known", "refused")

#: What each id says, in one sentence; an id without one stops the script.
_MEANINGS: Mapping[str, str] = {
    "attack-score": "How well suppressed cells were inferred, measured on the raw counts.",
    "card": "Points in which tables and card agree.",
    "card-disagrees": "Cut, law, scale or zero rule are not those on the card.",
    "close-series": "Series run in parallel far beyond chance and yet are not equal.",
    "closed-services": "Lines between two stops that nothing else serves, which the timetable names.",
    "coupled-cells": "Cells record one raw count twice, such as both ends of a closed service.",
    "dropped-rows": "Rows and trips that are not published; a claim about them that is wrong is a finding.",
    "identity-left-out": "Identities that hold alone, but not together with a larger set.",
    "identity-refused": "Identities that do not hold among the raw counts, so no number is given.",
    "independent-margins": "A margin and the base got noise of their own, and differences give both away.",
    "inference": "How suppressed cells were inferred, and what was assumed.",
    "margins": "A margin adds up to the base, or no row shows whether it does.",
    "microdata": "How few known places and times single a person out in the raw events.",
    "missing-taps": "Taps missing from the published cells of a total are traced to a suppressed cell by the timetable.",
    "more-weeks": "What further weeks of such releases add: detection, width, loss.",
    "no-noise": "All pairs of equal counts are exactly equal: nothing was added to them.",
    "noise-not-recovered": "Why there is no number: no identity, too few, or too many noises in each.",
    "noise-recovered": "Law and scale of the noise can be read off the tables.",
    "pinned-cells": "Suppressed cells with people in them are known to within a few.",
    "presence": "Suppressed cells are shown to hold somebody, with more than 99 %.",
    "privacy-loss": "Epsilon of an event and of a person.",
    "sharpest-rows": "Totals under which suppressed cells are known best.",
    "summed-cells": "Cells of the base are sums of counts that were cut one by one.",
    "suppressed-cells": "Whether suppressed cells could be inferred at all, and if not, why.",
    "suppressed-total": "What the suppressed cells of a table add up to.",
    "threshold": "The least count that is shown, how sure that is, and other readings.",
    "timetable": "How places were matched to the stops of the timetable.",
    "utility": "Error of the questions that people ask, by what causes it.",
    "vehicle-unique-cells": "Published cells that only one scheduled vehicle can have filled.",
    "zeros": "Empty cells get noise, or too few cells are known to be empty.",
    "zeros-kept": "Empty cells stay empty, so that a published count proves that somebody was there.",
}


def findings_page() -> str:
    """`findings.md`: every id, what it can be, and how it is worked out."""
    methods = {kind: words.method for one in INQUIRIES for kind, words in one.WORDS.items()}
    findings, checks = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for kind, name, words in _made():
        (findings if kind == "Finding" else checks)[name].update(words)
    unknown = sorted({*findings, *checks} - set(_MEANINGS))
    if unknown:
        raise SystemExit(f"no meaning in docs/_make/findings_page.py: {', '.join(unknown)}.")
    parts = [
        (
            "A *finding* is something to act on. *Low* is worth knowing, *medium* weakens the protection, *high* means that the "
            "protection is not what it seems; `--fail-on` turns these into an exit code. A *check* was looked at and gives no "
            "reason to act. Ids do not change between versions. What the severities depend on is in "
            "[What assess does](../explanation/assessment.md)."
        ),
        "## Findings\n\n" + _table("severity", findings, _SEVERITIES),
        "## Checks\n\n" + _table("outcome", checks, _OUTCOMES),
        "## How findings are worked out",
        *(f"### {name}\n\n{methods[name]}" for name in sorted(findings) if name in methods),
    ]
    return page("Findings and checks", "\n\n".join(parts))


def _table(head: str, found: Mapping[str, set[str]], order: tuple[str, ...], /) -> str:
    rows = [
        (
            code(name),
            ", ".join(one for one in order if one in found[name]) or "by its numbers",
            _MEANINGS[name],
        )
        for name in sorted(found)
    ]
    return table(("id", head, "what it says"), rows)


def _made() -> Iterator[tuple[str, str, set[str]]]:
    """Every `Finding(id=..., severity=...)` and `Check(id=..., outcome=...)` that the assessment can make."""
    for path in sorted((Path(noisegate.__file__).parent / "assessment").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    given = {one.arg: one.value for one in node.keywords}
                    name = given.get("id")
                    if node.func.id in {"Finding", "Check"} and isinstance(name, ast.Constant):
                        said = given.get("severity", given.get("outcome"))
                        yield node.func.id, str(name.value), set(_words(said, function))


def _words(said: ast.expr | None, function: ast.FunctionDef, /) -> Iterator[str]:
    """Severities and outcomes that an expression can be; those of a variable are what its function assigns."""
    if isinstance(said, ast.Name):
        for node in ast.walk(function):
            targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
            if isinstance(node, ast.Assign | ast.AnnAssign) and said.id in {
                getattr(one, "id", "") for one in targets
            }:
                yield from _words(node.value, function)
        return
    for one in ast.walk(said) if said is not None else ():
        if isinstance(one, ast.Constant) and one.value in (*_SEVERITIES, *_OUTCOMES):
            yield str(one.value)
