"""How the loss is spread over the persons in the raw data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

#: Shares of persons whose loss is told.
_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Persons:
    """How many events the persons in the raw data have, and what that costs them in the worst case.

    `quantiles` maps a share of persons to the number of events that this share stays within.
    """

    persons: int
    days: int
    quantiles: dict[float, int]
    event_epsilon: float | None

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        per_week = 7 / self.days
        costs = [
            {
                "share_of_persons": share,
                "events": events,
                "events_per_week": round(events * per_week, 2),
                "epsilon": None if self.event_epsilon is None else events * self.event_epsilon,
                "epsilon_per_week": None
                if self.event_epsilon is None
                else events * per_week * self.event_epsilon,
            }
            for share, events in self.quantiles.items()
        ]
        return {"persons": self.persons, "days": self.days, "quantiles": costs}

    @classmethod
    def of(cls, events: Ints, /, *, days: int, event_epsilon: float | None) -> Persons:
        """The distribution of the number of events over persons who have any."""
        active = events[events > 0]
        found = np.quantile(active, _SHARES, method="inverted_cdf") if active.size else np.zeros(len(_SHARES))
        return cls(
            persons=int(active.size),
            days=days,
            quantiles={share: int(value) for share, value in zip(_SHARES, found, strict=True)},
            event_epsilon=event_epsilon,
        )
