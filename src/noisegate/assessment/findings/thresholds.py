"""Whether a table was cut, where, and how sure that is."""

from __future__ import annotations

from noisegate.assessment.finding import Check, Result
from noisegate.tables.table import Table

_SIGNS = {"ge": "at least", "gt": "more than"}


def about_thresholds(cells: Table, /) -> list[Result]:
    """The cut of one table."""
    cut = cells.threshold
    if cut.value is None or cut.rule is None:
        return [
            Check(
                id="threshold",
                outcome="known" if cut.sure >= 0.99 else "cannot tell",
                title=f"{cells.name}: no cut to be seen ({cut.evidence})",
                numbers={"table": cells.name, **cut.to_json()},
            )
        ]
    rest = [f"{_SIGNS[other.rule]} {other.value:g}: {other.probability:.0%}" for other in cut.alternatives]
    others = f" (other readings: {', '.join(rest)})" if rest else ""
    return [
        Check(
            id="threshold",
            outcome="known",
            title=f"{cells.name}: published from {cut.value:g} on, {cut.sure:.1%} sure",
            numbers={"table": cells.name, **cut.to_json()},
            evidence=[f"{cut.evidence}{others}"],
        )
    ]
