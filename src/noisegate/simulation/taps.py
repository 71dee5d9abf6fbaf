"""Tap records in columns, and their order in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from noisegate.timetable.visits import Flags, Ints

TAPS = ("on", "off")
NOWHERE = -1
"""The recorded stop of a forgotten tap-off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TapTable:
    """Taps: what the ticketing system records, and the truth behind it.

    Attributes
    ----------
    card, tap, at_s, stop
        The record. `at_s` counts seconds from 1970 in local time; `stop` is NOWHERE for a forgotten tap-off.
    trip, service_day, true_stop
        The truth: the vehicle, its service day (days from 1970), and where the rider really was.
    """

    card: NDArray[np.int64]
    tap: NDArray[np.int8]
    at_s: NDArray[np.int64]
    stop: NDArray[np.int32]
    trip: NDArray[np.int32]
    service_day: NDArray[np.int32]
    true_stop: NDArray[np.int32]

    @classmethod
    def joined(cls, parts: Sequence[Self], /) -> Self:
        """All taps of `parts`, in their order; `parts` is not empty."""
        return cls(**{f.name: np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)})

    def __len__(self) -> int:
        return len(self.card)

    def __getitem__(self, index: Ints | Flags | slice) -> Self:
        columns: dict[str, Any] = {f.name: getattr(self, f.name)[index] for f in fields(self)}
        return type(self)(**columns)

    def by_time(self) -> Self:
        """The taps in order of time; ties keep their order, on every machine."""
        if not len(self):
            return self
        bits = len(self).bit_length()
        key = np.sort(((self.at_s - self.at_s.min()) << bits) | np.arange(len(self)))
        return self[key & ((1 << bits) - 1)]
