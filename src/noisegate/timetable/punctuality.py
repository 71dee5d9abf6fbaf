"""How far from the timetable a card may be read: hard bounds, and a law for vehicles that are early or late."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.timetable.visits import Floats, Ints

#: The code of each kind of tap.
ON, OFF = 0, 1
_LONGEST_S = 6 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Bounds on when cards are read, in whole seconds, both ends included.

    A tap-on lies between `on_before_s` before the scheduled departure and `on_after_s` after it; a
    tap-off between `off_before_s` before the scheduled arrival and `off_after_s` after it. With all four 0,
    vehicles run to the second and cards are read at scheduled times.

    *Guarantee*: none by itself. What is called impossible with a tolerance is impossible as long as every tap
    lies inside it; choose the bounds so that this is certain, not so that it is usual.
    """

    on_before_s: int = 0
    on_after_s: int = 0
    off_before_s: int = 0
    off_after_s: int = 0

    def __post_init__(self) -> None:
        for name in ("on_before_s", "on_after_s", "off_before_s", "off_after_s"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LONGEST_S:
                raise SpecError.for_value(name, found=value, allowed="whole seconds from 0 to six hours")

    @property
    def reach_s(self) -> int:
        """The largest of the bounds: how far beyond its date a call matters."""
        return max(self.on_before_s, self.on_after_s, self.off_before_s, self.off_after_s)

    def before_s(self, tap: int, /) -> int:
        """How early a card may be read."""
        return self.on_before_s if tap == ON else self.off_before_s

    def after_s(self, tap: int, /) -> int:
        """How late a card may be read."""
        return self.on_after_s if tap == ON else self.off_after_s


EXACT = Tolerance()
"""Everything on time, to the second."""

EARLY_OR_LATE = Tolerance(on_before_s=900, on_after_s=900, off_before_s=300, off_after_s=900)
"""A quarter of an hour either way, but nobody alights more than five minutes early."""


def by_mode(tolerance: Tolerance | Sequence[Tolerance], modes: int, /) -> tuple[Tolerance, ...]:
    """One tolerance for each mode of a timetable; a single one serves them all."""
    if isinstance(tolerance, Tolerance):
        return (tolerance,) * modes
    if len(tolerance) != modes:
        raise SpecError(
            f"The timetable has {modes} modes, got {len(tolerance)} tolerances; give one for each."
        )
    return tuple(tolerance)


def bounds_s(tolerances: Sequence[Tolerance], tap: int, /) -> tuple[Ints, Ints]:
    """How early and how late cards are read, by mode."""
    return (
        np.array([tolerance.before_s(tap) for tolerance in tolerances], dtype=np.int64),
        np.array([tolerance.after_s(tap) for tolerance in tolerances], dtype=np.int64),
    )


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
