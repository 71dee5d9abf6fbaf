"""What a total counts and no table lists, told by margin against margin with no prior (MATH 10 f).

Two margins add up the same listed cells. If one shows more than the other by more than noise and what the other hides can explain, it counts people in places or hours that no table lists. Its
totals then say nothing of listed cells by themselves: hidden cells would have to hold those people. It is left out, and what it counts beyond the other is said.
With a single margin nothing tells hidden cells and a remainder apart; that the base lists all is then an assumption, and is named.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np

from noisegate.inference.checks import FitCheck
from noisegate.inference.evidence import Evidence, Observation

#: So many standard deviations of noise are no chance.
_CLEAR = 3.5


def without_remainders(evidence: Evidence, /) -> tuple[Evidence, tuple[FitCheck, ...]]:
    """The evidence without margins that count more than tables list, and what was found."""
    measured = [margin for margin in evidence.margins if margin.measured and margin.usable_rows.all()]
    if evidence.consistent or len(measured) < 2:
        return evidence, ()
    beyond: dict[str, FitCheck] = {}
    worst = 0.0
    for more, less in permutations(measured, 2):
        least, z = _beyond(evidence, more, less)
        worst = max(worst, z)
        if z > _CLEAR and more.name not in beyond:
            beyond[more.name] = FitCheck(
                name="margin against margin",
                outcome="widened",
                says=(
                    f"{more.name} counts at least {least:,.0f} more than {less.name}: people that no table lists; "
                    f"{more.name} is not used for single cells"
                ),
                z=z,
                numbers={"table": more.name, "beside": less.name, "at_least": least},
            )
    if not beyond:
        says = "margins add up to each other, as far as noise and hidden rows let them"
        return evidence, (FitCheck(name="margin against margin", outcome="holds", says=says, z=worst),)
    kept = tuple(margin for margin in evidence.margins if margin.name not in beyond)
    return replace(evidence, margins=kept), tuple(beyond.values())


def _beyond(evidence: Evidence, more: Observation, less: Observation, /) -> tuple[float, float]:
    """By how much one margin exceeds another at least, and in standard deviations of their noise."""
    live = [evidence.cells_in(margin) > 0 for margin in (more, less)]
    if any((margin.where.of(evidence.live) < 0).any() for margin in (more, less)):
        return 0.0, 0.0
    shown = [~np.isnan(margin.values) & there for margin, there in zip((more, less), live, strict=True)]
    cut = less.mechanism.whole_threshold
    hidden = int((live[1] & ~shown[1]).sum())
    if hidden and cut is None:
        return 0.0, 0.0
    least = float(more.values[shown[0]].sum() - less.values[shown[1]].sum())
    least -= hidden * float((cut or 1) - 1)
    noise = more.noise * int(shown[0].sum()) + less.noise * (int(shown[1].sum()) + hidden)
    if noise <= 0:
        return least, math.inf if least > 0 else 0.0
    return least, least / math.sqrt(noise)
