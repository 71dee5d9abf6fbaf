"""Whether cells record the same raw count twice, and how much sharper that makes it known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.inquiry import Words
from noisegate.recovery import Coupling, Noise, NoiseFit, Pieces, Search, describe, pair_numbers, sharpen

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

#: A pair further apart than this many standard deviations is off.
_FAR = 6.0

_ADVICE = (
    "Decouple the two records: publish one of them only, or merge bins and places until each cell mixes several services. "
    "If both are published, count each rider twice when the noise is chosen."
)

_NOT_TOLD = "the counts are equal, which so few do not tell from series that share 96 % of their events"

WORDS: Mapping[str, Words] = {
    "close-series": Words(
        says="Series run in parallel far beyond chance and yet are not equal.",
    ),
    "coupled-cells": Words(
        says="Cells record one raw count twice, such as both ends of a closed service.",
        meaning="Some people are counted in two published places, so their number is known more sharply than intended.",
        method=(
            "Every series of counts is compared with every other one at constant lags. A pair is reported when "
            "the two track each other far more closely than different counts could, after allowing for the number"
            " of pairs tried. The gain compares the spread of the raw count given one record with that given "
            "both."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """Couplings that hold, and series that only look like one."""
    return about_couplings(facts.couplings, facts.search, facts.noise, pieces=facts.pieces)


def about_couplings(
    couplings: Sequence[Coupling],
    search: Search,
    noise: Mapping[str, Noise],
    /,
    *,
    pieces: Pieces | None,
) -> list[Result]:
    """Couplings that hold, and series that only look like one."""
    results: list[Result] = []
    if couplings:
        results.append(_coupled(couplings, noise, pieces))
    elif search.series:
        title = f"no two series record the same counts ({describe(search)})"
        results.append(
            Check(id="coupled-cells", outcome="fine", title=title, numbers={"series": search.series})
        )
    else:
        results.append(Check(id="coupled-cells", outcome="cannot tell", title=describe(search)))
    results += [
        Check(
            id="close-series",
            outcome="refused",
            title=f"{one.title}: close, but not equal counts: {one.equality.doubt}",
            numbers=pair_numbers(one),
        )
        for one in search.doubtful
        if one.equality is not None
    ]
    return results


def _coupled(couplings: Sequence[Coupling], noise: Mapping[str, Noise], pieces: Pieces | None, /) -> Finding:
    details: list[dict[str, Any]] = []
    evidence: list[str] = []
    for one in couplings:
        sharper = {} if pieces is not None else _sharper(one, noise[one.cells.name].fit)
        pairs = int(one.both.sum())
        details.append(
            {
                "table": one.cells.name,
                "first": one.first,
                "second": one.second,
                "lag_min": one.lag,
                "source": one.source,
                "pairs": pairs,
                **pair_numbers(one),
                **sharper,
                "told": _told(one),
                "power": None if one.equality is None else round(one.equality.power, 3),
            }
        )
        gain = (
            f"; from both, the raw count is known {sharper['gain']:.2f} times as sharply" if sharper else ""
        )
        evidence.append(f"{one.title}: {pairs:,} pairs of published counts{gain}.")
        evidence += [f"For example {example}." for example in one.examples(1)]
    total = sum(detail["pairs"] for detail in details)
    gains = [detail["gain"] for detail in details if "gain" in detail]
    known = f", and so known {np.mean(gains):.2f} times as sharply" if gains else ""
    told = all(detail["told"] for detail in details)
    title = (
        f"{total:,} raw counts are published twice{known}"
        if told
        else f"{total:,} pairs of counts are as close as one count that is published twice{known}"
    )
    return Finding(
        id="coupled-cells",
        severity="medium",
        title=title,
        numbers={"pairs": total, "couplings": details, "told": told},
        assumptions=() if told else (_NOT_TOLD,),
        baseline=_baseline(details),
        evidence=evidence,
        advice=_ADVICE,
    )


def _told(coupling: Coupling, /) -> bool:
    """Whether two records are known to be of one count: a person says so, or the counts tell it from a share of 96 %."""
    return coupling.source == "stated" or (coupling.equality is not None and coupling.equality.told)


def _baseline(details: Sequence[Mapping[str, Any]], /) -> dict[str, Any]:
    """How well a raw count is known from one of its two records, on average; where that is not known, how often it is told by that."""
    known = [one for one in details if "sd_one" in one]
    if not known:
        return {"from": "one of the two records, of which nothing tells how far off it is", "known": 0}
    return {
        "from": "one of the two records",
        "sd": round(float(np.mean([one["sd_one"] for one in known])), 4),
        "width": float(np.mean([one["width_one"] for one in known])),
    }


def _sharper(coupling: Coupling, fit: NoiseFit | None, /) -> dict[str, float]:
    """What one record and both records say about a raw count: spread, width of the interval, and the gain."""
    if fit is None or fit.law == "none" or not coupling.both.any():
        return {}
    first, second = coupling.values[:, coupling.both]
    # The odd pair that is off, because somebody alighted late, says nothing about the others.
    near = np.abs(second - first) <= _FAR * np.sqrt(2 * fit.noise.variance)
    known = sharpen(first[near], second[near], laws=(fit.noise, fit.noise), level=fit.level)
    one, both = (float(np.sqrt(np.mean(sd**2))) for sd in (known.sd_one, known.sd_both))
    return {
        "sd_one": round(one, 4),
        "sd_both": round(both, 4),
        "gain": round(known.gain, 4),
        "width_one": float(np.median(known.width_one)),
        "width_both": float(np.median(known.width_both)),
    }


def show(_: Assessment, /) -> None:
    """Nothing beside the finding."""
