"""Whether empty cells get noise, and who shows if they do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.inquiry import Exhibit, Figure, Grid, Words
from noisegate.assessment.loss import LossSummary, shown_mechanism
from noisegate.assessment.words import chance
from noisegate.mechanisms import MEANINGFUL_DELTA, detection
from noisegate.pictures import GroupChances
from noisegate.recovery import ZeroRule

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

#: Groups up to the threshold are drawn, but no fewer and no more than these.
_FEWEST, _MOST = 12, 60

WORDS: Mapping[str, Words] = {
    "zeros": Words(
        says="Empty cells get noise, or too few cells are known to be empty.",
    ),
    "zeros-kept": Words(
        says="Empty cells stay empty, so that a published count proves that somebody was there.",
        meaning="A published count proves that somebody was there.",
        method=(
            "If empty cells get no noise, a published value rules out an empty cell. The chance of that is the "
            "exact upper tail of the noise above the cut. Whether zeros are kept is tested on cells that a small "
            "total shows to be empty, or read from the card."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """The zero rule, and the exact delta if zeros are kept."""
    made = facts.recognised.get(facts.structure.base.name)
    if facts.zeros.rule is None and made is not None and (made.raw_counts or made.rounded):
        why = "counts stand as they were counted" if made.raw_counts else "values are rounded, and 0 stays 0"
        title = f"empty cells get no noise: {why}"
        return [Check(id="zeros", outcome="known", title=title, numbers=facts.zeros.numbers)]
    return about_zeros(facts.zeros, facts.privacy)


def about_zeros(zeros: ZeroRule, privacy: LossSummary, /) -> list[Result]:
    """The zero rule, and the exact delta if zeros are kept."""
    if zeros.rule == "perturb":
        return [
            Check(
                id="zeros",
                outcome="fine",
                title=f"empty cells get noise like any other: {zeros.statement}",
                numbers=zeros.numbers,
            )
        ]
    if zeros.rule is None:
        title = f"whether empty cells get noise cannot be told: {zeros.statement}"
        return [Check(id="zeros", outcome="cannot tell", title=title, numbers=zeros.numbers)]
    delta = privacy.delta
    known = "" if delta is None else f"; one event shows itself with probability {delta:.3g}"
    chances = privacy.numbers.get("detection", {})
    groups = [
        f"A group of {group} in an otherwise empty cell shows itself with probability {p:.3g}."
        for group, p in chances.items()
    ]
    return [
        Finding(
            id="zeros-kept",
            severity="high" if (delta or 0.0) > MEANINGFUL_DELTA else "medium",
            title=f"Empty cells stay empty, so a published count proves that somebody was there{known}",
            numbers={**zeros.numbers, "source": zeros.source, "delta": delta, "detection": chances},
            evidence=[f"{zeros.statement[0].upper()}{zeros.statement[1:]}.", *groups],
            baseline={"from": "zeros that are perturbed", "delta": 0.0},
            picture=None if delta is None else "groups",
            advice="Perturb zeros like any count (zeros: perturb); then delta is 0 and a published count proves nothing.",
        )
    ]


def show(assessment: Assessment, /) -> Exhibit | None:
    """The chance of showing by size of the group; nothing where zeros get noise, and so no value proves anything."""
    mechanism, rule = shown_mechanism(assessment), assessment.zeros.rule
    if mechanism is None or rule == "perturb":
        return None
    kept = replace(mechanism, zeros="keep")
    sizes = range(1, min(max(kept.whole_threshold or 0, _FEWEST), _MOST) + 1)
    chances = {size: p for size in sizes if (p := detection(kept, size)) > 0}
    if not chances:
        return None
    doubt = "" if rule else " This holds if empty cells get no noise, which these tables do not decide."
    figure = Figure(
        key="groups",
        caption=(
            f"Who shows in {assessment.base.name}: the chance that people in a cell that would otherwise be empty are "
            f"published, and so proved to have been there.{doubt}"
        ),
        alt=(
            f"Rising line on a logarithmic scale. One person shows with a chance of {chance(chances.get(1, 0.0))}, a "
            f"group of 12 with {chance(chances.get(12, 0.0))}."
        ),
        picture=GroupChances(sizes=list(chances), chances=list(chances.values())),
        data=Grid.of(
            "Chance of showing, by size of the group",
            ("people", "probability", "odds"),
            ((size, float(f"{p:.3g}"), chance(p)) for size, p in chances.items()),
        ),
        about=("zeros-kept", "privacy-loss"),
    )
    return Exhibit(section="who", figures=(figure,))
