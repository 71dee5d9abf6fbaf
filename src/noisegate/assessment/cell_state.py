"""What an outsider sees of a cell."""

from __future__ import annotations

from enum import IntEnum


class CellState(IntEnum):
    """What an outsider sees of a cell, from nothing at all to everything."""

    IMPOSSIBLE = 0
    EMPTY = 1
    HIDDEN = 2
    OCCUPIED = 3
    SHARP = 4
    EXACT = 5
    PUBLISHED = 6
