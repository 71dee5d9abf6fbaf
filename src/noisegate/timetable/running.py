"""How vehicles keep to the timetable: a law for when the taps of a scheduled call fall."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.timetable.tolerance import OFF, ON
from noisegate.timetable.visits import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """An assumption about running early and late, stated by whoever uses it.

    A vehicle deviates from the timetable by D seconds. With chance `early_share` it is early, by an exponential
    time of mean `early_mean_s`; otherwise it is on time or late, by an exponential time of mean `late_mean_s`.
    Cards are read `on_lead_s` before it leaves, and `off_lag_s` after it arrives: the walk to the reader.

    *Guarantee*: none. The law is a prior; nothing in a timetable or in a table of counts confirms it.

    Examples
    --------
    >>> punctual = Running(early_share=0, late_mean_s=0)
    >>> float(punctual.chance([600], low_s=0, high_s=900, tap=OFF)[0])
    1.0
    """

    early_share: float = 0.1
    early_mean_s: float = 60.0
    late_mean_s: float = 120.0
    on_lead_s: float = 0.0
    off_lag_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.early_share <= 1:
            raise SpecError.for_value("early_share", found=self.early_share, allowed="from 0 to 1")
        for name in ("early_mean_s", "late_mean_s", "on_lead_s", "off_lag_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise SpecError.for_value(name, found=value, allowed="a finite number of seconds, at least 0")
        if self.early_share > 0 and self.early_mean_s == 0:
            raise SpecError(
                "early_mean_s must be more than 0 where vehicles can be early; or set early_share to 0."
            )

    def chance(self, at_s: ArrayLike, /, *, low_s: ArrayLike, high_s: ArrayLike, tap: ArrayLike) -> Floats:
        """The chance that the taps of a call scheduled at `at_s` fall from `low_s` up to (not with) `high_s`."""
        early, late = self.early_and_late(at_s, low_s=low_s, high_s=high_s, tap=tap)
        return early + late

    def early_and_late(
        self, at_s: ArrayLike, /, *, low_s: ArrayLike, high_s: ArrayLike, tap: ArrayLike
    ) -> tuple[Floats, Floats]:
        """The same chance in two parts: with a vehicle that is early, and with one that is not."""
        walk = np.where(np.asarray(tap) == OFF, self.off_lag_s, -self.on_lead_s)
        read = np.asarray(at_s, dtype=np.float64) + walk
        low, high = np.asarray(low_s) - read, np.asarray(high_s) - read
        early = self.early_share * (_survival(-high, self.early_mean_s) - _survival(-low, self.early_mean_s))
        late = (1 - self.early_share) * (_survival(low, self.late_mean_s) - _survival(high, self.late_mean_s))
        return early, late

    def describe(self) -> str:
        """The assumption in words, for a report."""
        return (
            f"{100 * self.early_share:.0f} % of vehicles early, by {self.early_mean_s:.0f} s on average; the others late "
            f"by {self.late_mean_s:.0f} s on average; taps {self.on_lead_s:.0f} s before leaving, "
            f"{self.off_lag_s:.0f} s after arriving"
        )


def _survival(x: NDArray[np.float64], mean: float, /) -> Floats:
    """P(X >= x) for an exponential of that mean; all at 0 for mean 0."""
    inside = np.maximum(x, 0.0)
    if mean == 0:
        return np.where(x <= 0, 1.0, 0.0)
    return np.asarray(np.exp(-inside / mean))


__all__ = ["OFF", "ON", "Running"]
