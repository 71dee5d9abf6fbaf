"""Published values that are multiples of a base: which base, and whether they were rounded to the nearest multiple or at random.

Rounding leaves a lattice that no smooth law of counts makes. How totals differ from the sums of their parts then tells the two
kinds of rounding apart: remainders of parts are taken to be equally likely, and that of a total is the sum of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.tables import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RoundingKind = Literal["nearest-rounding", "random-rounding"]

#: The largest base that is looked for, the share of values that may be odd exceptions, and the log-odds that make a lattice.
_LARGEST, _ODD, _SURE = 1_000, 0.02, 12.0
_NEVER = 1e-12
#: So many values are looked at first.
_SOME = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundingBase:
    """The base that values are multiples of.

    Attributes
    ----------
    base
        1 if there is none.
    exceptions
        How many values are no multiples of it.
    n
        How many values other than 0 were looked at.
    """

    base: int
    exceptions: int
    n: int

    @property
    def evidence(self) -> str:
        """In words."""
        if self.base == 1:
            return "values are multiples of nothing but 1"
        odd = f", but for {self.exceptions:,}" if self.exceptions else ""
        return f"all {self.n:,} values other than 0 are multiples of {self.base}{odd}"


def find_lattice(values: NDArray[np.generic], /) -> RoundingBase:
    """The largest base that all but the odd exception of the values are multiples of, if chance does not explain it.

    Examples
    --------
    >>> find_lattice(np.array([5, 10, 0, 35, 20, 15, 110, 25, 40, 5, 60])).base
    5
    """
    whole = np.asarray(values, np.float64)
    if not whole.size or (whole != np.rint(whole)).any():
        return RoundingBase(base=1, exceptions=0, n=int(whole.size))
    counts = np.abs(whole[whole != 0]).astype(np.int64)
    best = RoundingBase(base=1, exceptions=0, n=int(counts.size))
    if not counts.size:
        return best
    some = counts[: max(_SOME, int(2 * _ODD * counts.size) + 1)]
    largest = int(np.median(counts)) + 1
    most, refused = _ODD * counts.size, set[int]()
    for base, prime in _BASES:
        if base > largest:
            break
        if base // prime in refused or prime in refused:  # what is no multiple of a part is none of the whole
            refused.add(base)
            continue
        odd = int((some % base != 0).sum())
        if odd <= most:  # of most bases the first values tell
            odd = int((counts % base != 0).sum())
        if odd > most:
            refused.add(base)
        elif _log_odds(counts.size, odd, base) >= _SURE:
            best = RoundingBase(base=base, exceptions=odd, n=int(counts.size))
    return best


def _least_factor(number: int, /) -> int:
    """The smallest prime in a number."""
    return next((one for one in range(2, math.isqrt(number) + 1) if number % one == 0), number)


#: Every base with its smallest prime.
_BASES = tuple((base, _least_factor(base)) for base in range(2, _LARGEST + 1))


def rounding_bases(tables: Iterable[Table], /) -> dict[str, int]:
    """The base that the values of each table are rounded to, by its name; tables that are not rounded are left out."""
    return {table.name: base for table in tables if (base := find_lattice(table.values).base) > 1}


def _log_odds(n: int, odd: int, base: int, /) -> float:
    """How much likelier so few exceptions are if values are rounded than if remainders are equally likely."""
    choices = math.lgamma(n + 1) - math.lgamma(odd + 1) - math.lgamma(n - odd + 1)
    return (n - odd) * math.log(base) - odd * math.log(base / (base - 1)) - choices - 2 * math.log(base)


@lru_cache(maxsize=256)
def _change(kind: RoundingKind, base: int, /) -> tuple[tuple[int, int, float], ...]:
    """For each remainder what may be added, and how likely: (remainder, change, probability)."""
    if kind == "nearest-rounding":
        return tuple((r, base - r if 2 * r >= base else -r, 1.0) for r in range(base))
    down = [(r, -r, 1 - r / base) for r in range(base)]
    return (*down, *((r, base - r, r / base) for r in range(1, base)))


def residual_pmf(kind: RoundingKind, base: int, parts: int, /, *, total: int = 0) -> tuple[int, Floats]:
    """The law of a rounded total minus the sum of its rounded parts: the least value, and probabilities from there on.

    Parameters
    ----------
    parts
        How many parts are rounded.
    total
        The base that the total is rounded to: the same, or 1 if it is not rounded; 0 is the same.
    """
    changes = np.zeros(2 * base + 1)
    for _, change, chance in _change(kind, base):
        changes[change + base] += chance / base
    summed, first = _power(changes, parts), -base * parts
    if total == 1:
        return -(first + summed.size - 1), summed[::-1]
    low = -base - (first + summed.size - 1)
    law = np.zeros(base - first - low + 1)
    by_rest: dict[int, list[tuple[int, float]]] = {}
    for rest, change, chance in _change(kind, base):
        by_rest.setdefault(rest, []).append((change, chance))
    for place, weight in enumerate(summed.tolist()):
        value = first + place
        if weight > 0:
            for change, chance in by_rest[-value % base]:
                law[change - value - low] += weight * chance
    return low, law


def _power(law: Floats, n: int, /) -> Floats:
    """The n-fold convolution of a law with itself."""
    found, factor = np.ones(1), law
    while n:
        if n & 1:
            found = np.convolve(found, factor)
        n >>= 1
        if n:
            factor = np.convolve(factor, factor)
    return found


def rounding_evidence(
    residual: Ints, parts: Ints, /, *, base: int, totals: int, noise: Floats | None = None
) -> Mapping[RoundingKind, float]:
    """The log-likelihood of each kind of rounding.

    Parameters
    ----------
    totals
        The base that totals are rounded to.
    noise
        The law of noise that totals have, from its least value to its largest, if they have any.
    """
    kinds: Sequence[RoundingKind] = ("nearest-rounding", "random-rounding")
    found = dict.fromkeys(kinds, 0.0)
    for kind in kinds:
        for number in np.unique(parts).tolist():
            low, law = residual_pmf(kind, base, int(number), total=1 if totals == 1 else 0)
            if noise is not None:
                low, law = low - noise.size // 2, np.convolve(law, noise)
            place = residual[parts == number] - low
            inside = (place >= 0) & (place < law.size)
            chance = np.where(inside, law[np.where(inside, place, 0)], 0.0)
            found[kind] += float(np.log(np.maximum(chance, _NEVER)).sum())
    return found
