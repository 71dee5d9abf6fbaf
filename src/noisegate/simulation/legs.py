"""Rides as pairs of calls, many at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from noisegate.timetable.visits import Flags, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Legs:
    """Rides by their two calls; -1 in both where there is no ride."""

    board: Ints
    alight: Ints

    @classmethod
    def none(cls, count: int, /) -> Self:
        """`count` times no ride."""
        return cls(board=np.full(count, -1), alight=np.full(count, -1))

    def __len__(self) -> int:
        return len(self.board)

    def __getitem__(self, index: Ints | Flags) -> Legs:
        return Legs(board=self.board[index], alight=self.alight[index])

    def exist(self) -> Flags:
        """Which of them are rides."""
        return self.board >= 0

    def followed_by(self, other: Legs, /) -> Legs:
        """The legs of both, one after the other."""
        return Legs(
            board=np.concatenate([self.board, other.board]),
            alight=np.concatenate([self.alight, other.alight]),
        )
