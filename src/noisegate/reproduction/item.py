"""One statement of the 2017 report, recomputed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

#: `not told`: what is printed, what it means, or what it would be compared with is not at hand.
Verdict = Literal["agrees", "agrees with log base 10", "wrong", "not told"]

#: The scale that the report recovered and uses throughout, and the cut of the 2016 release.
SCALE = 1.4
THRESHOLD = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """What the report prints, what its own formula gives, and what is exact.

    `printed` is quoted; `formula` is the printed formula evaluated as it stands (None where
    there is none); `exact` is recomputed here from the laws.
    """

    id: str
    where: str
    claim: str
    printed: Any
    formula: Any
    exact: Any
    verdict: Verdict
    note: str

    def as_json(self) -> dict[str, Any]:
        """The item as plain data."""
        return asdict(self)


def rounds_to(value: float, printed: str, /) -> bool:
    """Whether `value` is within half of the last printed digit of `printed`."""
    decimals = len(printed.partition(".")[2])
    return math.isclose(value, float(printed), rel_tol=0, abs_tol=0.5 * 10**-decimals * (1 + 1e-9))


def judged(value: float, printed: str, /, *, log10: float | None = None) -> Verdict:
    """The verdict on a printed number, given its exact value and its value with log base 10."""
    if rounds_to(value, printed):
        return "agrees"
    if log10 is not None and rounds_to(log10, printed):
        return "agrees with log base 10"
    return "wrong"
