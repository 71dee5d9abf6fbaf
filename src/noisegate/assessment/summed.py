"""Whether the cells of the base are sums of counts that were published one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from noisegate.assessment.finding import Check, Result
from noisegate.assessment.inquiry import Words

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

WORDS: Mapping[str, Words] = {
    "summed-cells": Words(
        says="Cells of the base are sums of counts that were cut one by one.",
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """How many counts a cell of the base is a sum of, if it is one."""
    pieces = facts.pieces
    if pieces is None:
        return []
    name = facts.structure.base.name
    if pieces.number is None:
        title = f"{name}: its cells are sums of counts that were cut one by one, nobody says how many"
    else:
        title = f"{name}: its cells are sums of up to {pieces.number} counts of {pieces.minutes} min"
    said = [pieces.evidence]
    fit = facts.noise[name].fit
    if pieces.number is not None:
        said.append(f"Assumed: {pieces.assumption}.")
    if pieces.number is not None and fit is not None:
        said.append(
            f"If each cell held one noise only, the scale would be about {fit.scale * pieces.number**0.5:.2g}."
        )
    return [
        Check(
            id="summed-cells",
            outcome="known",
            title=title,
            numbers={"pieces": pieces.number, "minutes": pieces.minutes, "cut": pieces.cut},
            evidence=said,
        )
    ]


def show(_: Assessment, /) -> None:
    """Nothing beside the finding."""
