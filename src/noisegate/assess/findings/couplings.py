"""Whether cells record the same raw count twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from noisegate.assess.couplings import Coupling
from noisegate.assess.finding import Check, Finding, Result
from noisegate.assess.recover import Noise
from noisegate.assess.search import Search, describe, pair_numbers


def about_couplings(
    couplings: Sequence[Coupling], search: Search, noise: Mapping[str, Noise], /, *, level: float
) -> list[Result]:
    """Couplings that hold, and series that only look like one."""
    results: list[Result] = []
    if couplings:
        results.append(_coupled(couplings, noise, level))
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


def _coupled(couplings: Sequence[Coupling], noise: Mapping[str, Noise], level: float, /) -> Finding:
    del noise, level
    details: list[dict[str, Any]] = []
    evidence: list[str] = []
    for one in couplings:
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
            }
        )
        evidence.append(f"{one.title}: {pairs:,} pairs of published counts.")
        evidence += one.examples(1)
    total = sum(detail["pairs"] for detail in details)
    return Finding(
        id="coupled-cells",
        severity="medium",
        title=f"{total:,} counts are recorded twice, in cells that are equal in the raw data",
        numbers={"pairs": total, "couplings": details},
        evidence=evidence,
        advice="",
    )
