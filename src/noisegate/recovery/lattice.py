"""Published values that are multiples of a base, and of which: rounding leaves a lattice that no smooth law of counts makes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.tables import Table

#: The largest base that is looked for, the share of values that may be odd exceptions, and the log-odds that make a lattice.
_LARGEST, _ODD, _SURE = 1_000, 0.02, 12.0
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


_FOUND: dict[bytes, RoundingBase] = {}
_KEPT = 4_096


def find_lattice(values: NDArray[np.generic], /) -> RoundingBase:
    """The largest base that all but the odd exception of the values are multiples of, if chance does not explain it.

    Examples
    --------
    >>> find_lattice(np.array([5, 10, 0, 35, 20, 15, 110, 25, 40, 5, 60])).base
    5
    """
    whole = np.ascontiguousarray(values, np.float64)
    key = hashlib.blake2b(whole.tobytes(), digest_size=16).digest()
    if key not in _FOUND:  # the same table is asked of by every family that it takes part in
        if len(_FOUND) >= _KEPT:
            _FOUND.clear()
        _FOUND[key] = _lattice_of(whole)
    return _FOUND[key]


def _lattice_of(whole: NDArray[np.float64], /) -> RoundingBase:
    if not whole.size or (whole != np.rint(whole)).any():
        return RoundingBase(base=1, exceptions=0, n=int(whole.size))
    counts = np.abs(whole[whole != 0]).astype(np.int64)
    best = RoundingBase(base=1, exceptions=0, n=int(counts.size))
    if not counts.size or (counts.size == whole.size and counts.min() == counts.max()):
        return best  # one value over and over, and no 0 beside it, is no lattice
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
        elif _log_odds(counts.size, odd, base) >= _SURE and _differ(counts, odd, base):
            best = RoundingBase(base=base, exceptions=odd, n=int(counts.size))
    return best


def find_grades(values: NDArray[np.generic], /) -> tuple[tuple[int, int], ...]:
    """The bases of counts from 1, 10, 100, ... on, where larger ones are multiples of a larger base than all are; else nothing.

    Examples
    --------
    >>> small, large = 5 * np.arange(1, 40), 100 * np.arange(10, 40)
    >>> find_grades(np.concatenate([small, large]))
    ((10, 5), (1000, 100))
    """
    whole = np.ascontiguousarray(values, np.float64)
    if not whole.size or (whole != np.rint(whole)).any():
        return ()
    counts, base = np.abs(whole), find_lattice(whole).base
    found: list[tuple[int, int]] = []
    for start in (10**power for power in range(16)):
        band = counts[(counts >= start) & (counts < 10 * start)]
        # By chance every other multiple of a base is one of twice that.
        if band.size * math.log(2) < _SURE or band.min() == band.max():
            continue
        own = find_lattice(band).base
        if not found or found[-1][1] != own:
            found.append((start, own))
    return tuple(found) if any(one > base for _, one in found) else ()


def _least_factor(number: int, /) -> int:
    """The smallest prime in a number."""
    return next((one for one in range(2, math.isqrt(number) + 1) if number % one == 0), number)


#: Every base with its smallest prime.
_BASES = tuple((base, _least_factor(base)) for base in range(2, _LARGEST + 1))


def rounding_bases(tables: Iterable[Table], /) -> dict[str, int]:
    """The base that the values of each table are rounded to, by its name; tables that are not rounded are left out."""
    return {table.name: base for table in tables if (base := find_lattice(table.values).base) > 1}


def _differ(counts: NDArray[np.int64], odd: int, base: int, /) -> bool:
    """Whether enough different values are multiples: a large count that is there again and again was counted alike, and tells no more than once.

    Neighbours on the lattice are what rounding makes of one count, or of counts that differ by one.
    """
    large = counts > 3 * base
    values = np.unique(counts[large])
    n = int((~large).sum()) + values.size
    return bool((np.diff(values) == base).any()) or _log_odds(n, min(odd, n), base) >= _SURE


def _log_odds(n: int, odd: int, base: int, /) -> float:
    """How much likelier so few exceptions are if values are rounded than if remainders are equally likely."""
    choices = math.lgamma(n + 1) - math.lgamma(odd + 1) - math.lgamma(n - odd + 1)
    return (n - odd) * math.log(base) - odd * math.log(base / (base - 1)) - choices - 2 * math.log(base)
