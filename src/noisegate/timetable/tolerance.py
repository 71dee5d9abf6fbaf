"""How far from the timetable a card may be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisegate.errors import SpecError
from noisegate.timetable.visits import Ints

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
