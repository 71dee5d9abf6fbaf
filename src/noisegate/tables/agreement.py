"""Whether a statement that lies beside a card says what the card says, point by point."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

#: What stands where somebody has to say something and nobody did.
NOT_STATED: Final = "Not stated."


class Agreement(NamedTuple):
    """In which points two statements agree, and in which they do not."""

    good: list[str]
    bad: list[str]


def compared(what: str, points: Iterable[tuple[str, object, object]], /) -> Agreement:
    """The points in which `what` says what the card says: each with its name, what is said there and what the card says."""
    found = Agreement([], [])
    for name, theirs, mine in points:
        if same(theirs, mine):
            found.good.append(f"{what} has the card's {name}")
        else:
            found.bad.append(f"{name}: {what} says {_shown(theirs)}, the card {_shown(mine)}")
    return found


def block_of(told: object, name: str, /) -> Mapping[str, Any]:
    """A block of keys, empty where there is none."""
    found = told.get(name) if isinstance(told, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def same(theirs: object, mine: object, /) -> bool:
    """Whether two values are the same: numbers up to how they are written, dates however they were read."""
    if isinstance(theirs, dt.date):
        theirs = theirs.isoformat()
    if isinstance(mine, bool) or isinstance(theirs, bool):
        return theirs is mine
    if isinstance(mine, int | float) or isinstance(theirs, int | float):
        try:
            return abs(float(theirs) - float(mine)) <= 1e-9 * max(1.0, abs(float(mine)))  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            return False
    return theirs == mine


def _shown(value: object, /) -> str:
    return "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)[:100]
