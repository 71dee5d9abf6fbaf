"""What the custodian should know before the budget is spent.

The forecast looks at raw counts and is shown on the custodian's console only.
"""

from __future__ import annotations

import numpy as np

from noisegate.engine import Counts
from noisegate.release.plan import Plan

#: More spurious rows than this, and a release is hard to read.
MOST_SPURIOUS = 0.05


def warnings_before_spending(plan: Plan, counts: Counts, /) -> tuple[str, ...]:
    """Sentences about choices that will disappoint, each with a better one."""
    found = []
    share = spurious_rows(plan, counts, least=plan.base.least)
    if share > MOST_SPURIOUS:
        better = next(
            (
                t
                for t in range((plan.base.least or 0) + 1, 10_000)
                if spurious_rows(plan, counts, least=t) <= MOST_SPURIOUS
            ),
            None,
        )
        advice = f"; with suppress: {{below: {better}}} it would be at most 5 %" if better is not None else ""
        found.append(
            f"about {100 * share:.0f} % of the rows of {plan.base.name} will be cells that are really empty, shown because of noise{advice}."
        )
    return tuple(found)


def spurious_rows(plan: Plan, counts: Counts, /, *, least: int | None) -> float:
    """The expected share of published base rows whose raw count is 0, by the measured noise."""
    if plan.spec.privacy.zeros == "keep" or plan.base.noise is None:
        return 0.0
    law, empty = plan.base.noise.law, plan.base.cells - len(counts.cells)
    if least is None:
        return empty / plan.base.cells
    spurious = empty * float(np.exp(law.logsf(least - 1)))
    raw, times = np.unique(counts.raw_counts, return_counts=True)
    real = float(times @ np.exp(law.logsf(least - 1 - raw)))
    return spurious / (spurious + real) if spurious + real > 0 else 0.0
