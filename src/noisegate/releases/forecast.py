"""What the custodian should know before the budget is spent.

The forecast looks at raw counts and is shown on the custodian's console only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisegate.engine import Counts
from noisegate.laws import LatticeLaw
from noisegate.releases.plan import Plan
from noisegate.tables import Ints

#: More spurious rows than this, and a release is hard to read.
MOST_SPURIOUS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Forecast:
    """Expected rows of the base table: how many cells are empty, and how often each raw count is there."""

    law: LatticeLaw
    empty: int = field(repr=False)
    raw_counts: Ints = field(repr=False)
    times: Ints = field(repr=False)

    @classmethod
    def of(cls, plan: Plan, counts: Counts, /) -> Forecast | None:
        """The forecast by the noise of the base; None where empty cells are never published."""
        if plan.spec.privacy.zeros == "keep" or plan.base.noise is None:
            return None
        raw, times = np.unique(counts.raw_counts, return_counts=True)
        return cls(
            law=plan.base.noise.law, empty=plan.base.cells - len(counts.cells), raw_counts=raw, times=times
        )

    def spurious(self, least: int | None, /) -> float:
        """The expected share of rows that are really empty if values from `least` on are published."""
        if least is None:
            return self.empty / (self.empty + int(self.times.sum()))
        spurious = self.empty * float(np.exp(self.law.logsf(least - 1)))
        real = float(self.times @ np.exp(self.law.logsf(least - 1 - self.raw_counts)))
        return spurious / (spurious + real) if spurious + real > 0 else 0.0

    def good_threshold(self, *, above: int) -> int | None:
        """The least threshold above `above` with few spurious rows; None if none up to the largest count has.

        The share falls as the threshold rises to the largest count, and hardly beyond: what passes there is noise.
        """
        low, high = above, int(self.raw_counts.max(initial=0))
        if high <= low or self.spurious(high) > MOST_SPURIOUS:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.spurious(middle) <= MOST_SPURIOUS else (middle, high)
        return high


def warnings_before_spending(plan: Plan, counts: Counts, /) -> tuple[str, ...]:
    """Sentences about choices that will disappoint, each with a better one."""
    forecast = Forecast.of(plan, counts)
    share = 0.0 if forecast is None else forecast.spurious(plan.base.least)
    if forecast is None or share <= MOST_SPURIOUS:
        return ()
    better = forecast.good_threshold(above=plan.base.least or 0)
    advice = (
        "no threshold would do: use wider cells, fewer tables or a larger epsilon"
        if better is None
        else f"with suppress: {{below: {better}}} it would be at most 5 %"
    )
    # Reconciling moves noise out of empty places; by how much depends on the counts.
    about = "up to" if plan.spec.privacy.margins == "reconcile" else "about"
    what = f"{about} {100 * share:.0f} % of the rows of {plan.base.name} will be cells that are really empty"
    return (f"{what}, shown because of noise; {advice}.",)
