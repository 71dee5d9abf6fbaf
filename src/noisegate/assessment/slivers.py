"""Whether tables that count the same people, together with each other or with an earlier release, single a few of them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from noisegate.assessment.differencing import Sliver, Slivers
from noisegate.assessment.finding import Check, Finding, Result, Severity
from noisegate.assessment.inquiry import Exhibit, Grid, Words
from noisegate.assessment.words import plural

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

#: A sliver that surely holds fewer people than this gives them away.
_FEW = 10
#: Slivers that are named in a finding.
_NAMED = 5

_ADVICE = (
    "Do not publish two versions of one table for nearly the same people: withdraw one of them, publish the new one for whole cells only, or give "
    "both the same noise from one budget (a series), so that a difference tells no more than the budget allows."
)

WORDS: Mapping[str, Words] = {
    "slivers": Words(
        says="Two releases count the same people but for a few, and their difference counts those few.",
        meaning="Whoever has both releases can subtract one from the other, and sees the few people in whom they differ.",
        method=(
            "The cells of both releases are compared one by one. Counts of different people differ by chance, by about the root of "
            "their sum; where most differences are far smaller than that, the people are the same, and every difference "
            "that noise does not explain is a count of the people who are in one release only."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """What every two releases give away together."""
    return [one for pair in facts.slivers for one in about_slivers(pair)]


def about_slivers(pair: Slivers, /) -> list[Result]:
    """A finding where two releases differ in slivers; a check where they do not, or where it cannot be told."""
    both = f"{pair.first} and {pair.second}"
    numbers = pair.to_json()
    if pair.verdict == "slivers":
        return [_finding(pair, both)]
    if pair.verdict == "different people":
        title = (
            f"{both} do not count the same people: their cells differ as much as those of different people"
        )
        return [Check(id="slivers", outcome="fine", title=title, numbers=numbers)]
    if pair.verdict == "the same":
        beyond = (
            "no cell differs"
            if pair.seen_from == 1
            else f"no cell differs beyond noise; a sliver of {pair.seen_from:,} would have shown"
        )
        return [
            Check(
                id="slivers", outcome="fine", title=f"{both} count the same people: {beyond}", numbers=numbers
            )
        ]
    title = f"whether {both} count the same people cannot be told from {plural(pair.telling, 'cell')} that would tell"
    if pair.found:
        smallest = _people(pair.slivers[0])
        title += (
            f"; if they do, their differences are {plural(pair.found, 'sliver')}, the smallest of {smallest}"
        )
    return [Check(id="slivers", outcome="cannot tell", title=title, numbers=numbers)]


def _finding(pair: Slivers, both: str, /) -> Finding:
    few = pair.below(_FEW)
    smallest = pair.slivers[0]
    severity: Severity = "high" if few else "medium" if smallest.low < _FEW else "low"
    held = f"; {few:,} of them hold fewer than {_FEW}" if few > 1 else ""
    title = f"{both} count the same people but for {plural(pair.found, 'sliver')}, the smallest of {_people(smallest)}{held}"
    evidence = [_said(one) for one in pair.slivers[:_NAMED]]
    if pair.found > _NAMED:
        evidence.append(f"And {plural(pair.found - _NAMED, 'sliver')} more, each as large or larger.")
    evidence.append(
        f"{pair.agreeing:,} of {pair.telling:,} cells that would tell agree; of different people that has a chance of {pair.chance:.1g} at most."
    )
    if pair.seen_from > 1:
        evidence.append(
            f"Under this noise a sliver shows from about {pair.seen_from:,} people on; smaller ones are not excluded."
        )
    return Finding(
        id="slivers",
        severity=severity,
        title=title,
        numbers=pair.to_json(),
        baseline={"from": "each release by itself", "slivers": 0},
        evidence=evidence,
        assumptions=pair.assumes,
        advice=_ADVICE,
    )


def _people(sliver: Sliver, /) -> str:
    if sliver.low == sliver.high:
        return "1 person" if sliver.low == 1 else f"{sliver.low:,} people"
    return f"{sliver.low:,} to {sliver.high:,} people"


def _said(sliver: Sliver, /) -> str:
    where = ", ".join(f"{name} {label}" for name, label in sliver.labels) or "all"
    first, second = ("hidden" if one is None else f"{one:,.10g}" for one in (sliver.first, sliver.second))
    return f"{where}: {first} and then {second}, so {_people(sliver)}."


def show(assessment: Assessment, /) -> Exhibit | None:
    """The slivers, the smallest first."""
    grids = [_grid(one) for one in assessment.slivers if one.slivers and one.verdict == "slivers"]
    return Exhibit(section="tables", grids=grids) if grids else None


def _grid(pair: Slivers, /) -> Grid:
    names: Sequence[str] = [name for name, _ in pair.slivers[0].labels]
    rows = [
        [*(label for _, label in one.labels), one.first, one.second, one.low, one.high]
        for one in pair.slivers
    ]
    caption = f"People in one of {pair.first} and {pair.second} only, the fewest first"
    return Grid.of(caption, [*names, pair.first, pair.second, "at least", "at most"], rows, most=30)
