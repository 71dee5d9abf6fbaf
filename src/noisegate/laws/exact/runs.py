"""Laws made of runs: stretches of the integers on which probabilities fall geometrically.

The base-256 digits of a geometric number are independent (docs/proofs/exact-noise.md, lemma 3), so
any scale needs a few small tables: one for each low digit, and a *top* table for the rest. The top
table also carries what makes the law more than geometric: a sign, an atom, a limit.
A draw is start + step * low, where the top outcome gives `start` and `step` (-1, 0 or 1)
and `low` is made of the low digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import itemgetter
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisegate.laws.entropy import Entropy
from noisegate.laws.exact.fixed import ONE, geometric_weights, power_256
from noisegate.laws.exact.table import UNIFORM_BITS, OutcomeTable

#: Draws made at a time: working memory stays within a few megabytes for any size.
CHUNK = 1 << 16
#: No run reaches further than this from its start.
REACH = 1 << 62
_MOST_DIGITS = 7
_STEEP = ONE - ONE // 64  # a top table falls off within some nine thousand outcomes on either side


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """`mass` (fixed point) spread over first, first + step, first + 2 step ...; on `first` if step is 0."""

    mass: int
    first: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RunLaw:
    """A law on the integers, ready to be drawn from."""

    top: OutcomeTable
    digits: tuple[OutcomeTable, ...]
    start: NDArray[np.int64]
    step: NDArray[np.int64]

    @classmethod
    def falling(cls, ratio: int, runs: Sequence[Run], /) -> Self:
        """Runs along each of which probabilities fall by `ratio`, a fixed number in [0, 1].

        Their masses must add up to one, to within a few ulps.
        """
        digits: list[OutcomeTable] = []
        while ratio > _STEEP and len(digits) < _MOST_DIGITS:
            digits.append(OutcomeTable.from_weights(geometric_weights(ratio, most=256)))
            ratio = power_256(ratio)
        unit = 256 ** len(digits)
        weights = geometric_weights(ratio, most=REACH // unit)
        total = sum(weights)
        rows = [
            (run.mass * weight // total, run.first + run.step * unit * place, run.step)
            for run in runs
            for place, weight in enumerate(weights if run.step else [total])
        ]
        rows.sort(key=itemgetter(0), reverse=True)
        top_weights, start, step = zip(*rows, strict=True)
        return cls._of(top_weights, start=start, step=step, digits=digits)

    @classmethod
    def of_weights(cls, weights: Sequence[int], values: Sequence[int], /) -> Self:
        """Each of `values` with probability proportional to its weight; weights do not rise."""
        return cls._of(weights, start=values, step=[0] * len(values), digits=())

    @classmethod
    def _of(
        cls,
        weights: Sequence[int],
        /,
        *,
        start: Sequence[int],
        step: Sequence[int],
        digits: Sequence[OutcomeTable],
    ) -> Self:
        top = OutcomeTable.from_weights(weights)
        kept = slice(top.outcomes)  # the last ones may have been left with nothing
        return cls(
            top=top,
            digits=tuple(digits),
            start=np.array(start[kept], dtype=np.int64),
            step=np.array(step[kept], dtype=np.int64),
        )

    @property
    def distance_bound(self) -> Fraction:
        """Proven bound on the total-variation distance of one draw from the ideal law."""
        outcomes = self.top.outcomes + sum(digit.outcomes for digit in self.digits)
        return Fraction(outcomes, 1 << UNIFORM_BITS)

    def draw(self, size: int, /, *, entropy: Entropy) -> NDArray[np.int64]:
        """`size` independent draws."""
        out = np.empty(size, dtype=np.int64)
        for begin in range(0, size, CHUNK):
            part = out[begin : begin + CHUNK]
            outcome = self.top.draw(part.size, entropy=entropy)
            self.start.take(outcome, out=part, mode="clip")
            if self.digits:
                part += self.step.take(outcome) * self._low(part.size, entropy)
        return out

    def _low(self, size: int, entropy: Entropy) -> NDArray[np.int64]:
        """The low digits of `size` draws, put together."""
        low = np.zeros(size, dtype=np.int64)
        for digit in reversed(self.digits):
            low <<= 8
            low += digit.draw(size, entropy=entropy)
        return low
