"""What a release would count, before anything is spent: for the custodian's eyes only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisegate.engine import Tally, connect, count
from noisegate.laws import Entropy, OsNoise
from noisegate.releases.plan import Plan, make_plan
from noisegate.releases.prediction import warnings_before_spending
from noisegate.spec import ReleaseSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCheck:
    """What a release would count, before anything is spent. Raw numbers: for the custodian's eyes only.

    `tally` says what became of the events, `occupied` how many cells of each table hold any of them, `warnings` what looks wrong.
    """

    plan: Plan
    tally: Tally
    occupied: Mapping[str, int] = field(repr=False)
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [*self.tally.lines(), *(f"warning: {sentence}" for sentence in self.warnings)]
        return "\n".join(["For the custodian only; nothing was spent.", *lines])


def check_events(
    spec: ReleaseSpec,
    /,
    *,
    engine: Any = None,
    entropy: Entropy | None = None,
    progress: Callable[[int], None] | None = None,
    week: int | None = None,
) -> EventCheck:
    """Count the events of a spec as a release would; spends nothing. `engine` and `week` are as for `release`."""
    plan = make_plan(spec, week=week)
    spec = plan.spec
    connection = connect(engine) if isinstance(engine, str) else engine
    own = spec if week is None else spec.of_week(week)
    counts = count(own, entropy=entropy or OsNoise(), connection=connection, progress=progress, total=True)
    occupied = {plan.base.name: len(counts.cells)}
    for name, margin in spec.margins.items():
        occupied[name] = int(np.unique(margin.of(counts.cells)).size)
    warnings = (*_uncounted(plan, counts.tally), *warnings_before_spending(plan))
    return EventCheck(plan=plan, tally=counts.tally, occupied=occupied, warnings=warnings)


def _uncounted(plan: Plan, tally: Tally, /) -> tuple[str, ...]:
    """The sentence about events of which none counts; nothing if some do."""
    if tally.counted:
        return ()
    start = "none of the events is counted, so that the release would be noise alone"
    if not tally.events:
        return (f"{start}: the source holds none.",)
    reasons = list(tally.outside)
    if reasons == ["no person is named"]:
        return (
            f"{start}: column {plan.spec.events.person!r} is empty throughout; name the column of persons.",
        )
    unread = any(reason.endswith("cannot be read") for reason in reasons)
    hint = "; dates with the day or the month first need events.dates" if unread else ""
    return (
        f"{start}; compare the values, dates and columns of the spec with the events ({'; '.join(reasons)}){hint}.",
    )
