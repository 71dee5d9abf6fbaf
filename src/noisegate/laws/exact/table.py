"""Exact inversion: an outcome from as few random bits as decide it.

A table cuts [0, 2**192) into one interval for each outcome. A draw is the outcome in whose interval
a uniform 192-bit number U falls, but U is revealed only as far as needed: 16 bits first, and a guide
of 2**16 entries says which outcome they decide; where an interval ends inside those 2**-16, 48 bits
more; where even those 64 bits agree with an end, the rest. The result is that of comparing
all 192 bits, every comparison is one of integers, and the law drawn from is known to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisegate.laws.entropy import Entropy

#: Bits of the uniform number behind each draw, all revealed only once in 2**64 or so.
UNIFORM_BITS = 192


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OutcomeTable:
    """A law on 0 .. m-1, ready to be drawn from.

    Parameters
    ----------
    guide
        For each value of the first 16 bits the outcome they decide, or -1.
    ends
        Where the intervals of outcomes 0 .. m-2 end, ascending: one column for each, three 64-bit
        words, the most significant first. Outcome m-1 has what is left.
    """

    guide: NDArray[np.int32]
    ends: NDArray[np.uint64]

    @classmethod
    def from_weights(cls, weights: Sequence[int], /) -> Self:
        """The table whose probabilities are nearest to `weights` divided by their sum.

        Each interval ends within 2**-193 of the exact quotient. Outcomes at the end of the list
        that are left with nothing are dropped.
        """
        total = sum(weights)
        half = total >> 1
        ends = (((sum_ << UNIFORM_BITS) + half) // total for sum_ in accumulate(weights[:-1]))
        return cls._from_ends(end for end in ends if end < 1 << UNIFORM_BITS)

    @classmethod
    def _from_ends(cls, ends: Iterable[int], /) -> Self:
        octets = b"".join(end.to_bytes(UNIFORM_BITS // 8, "big") for end in ends)
        words = np.ascontiguousarray(np.frombuffer(octets, dtype=">u8").reshape(-1, 3).T, dtype=np.uint64)
        first, rest = words[0] >> np.uint64(48), words[0] << np.uint64(16)
        inside = (rest | words[1] | words[2]) != 0
        prefix = np.arange(1 << 16, dtype=np.uint64)
        # Ends at or below the first number with this prefix, and at or below the last one.
        lowest = np.searchsorted(first + inside, prefix, side="right")
        highest = np.searchsorted(first, prefix, side="right")
        guide = np.where(lowest == highest, lowest, -1).astype(np.int32)
        return cls(guide=guide, ends=words)

    @property
    def outcomes(self) -> int:
        """How many outcomes can occur."""
        return int(self.ends.shape[1]) + 1

    def probabilities(self) -> list[Fraction]:
        """The law that is drawn from, exactly."""
        ends = [_join(end) for end in self.ends.T.tolist()]
        gaps = zip([0, *ends], [*ends, 1 << UNIFORM_BITS], strict=True)
        return [Fraction(end - begin, 1 << UNIFORM_BITS) for begin, end in gaps]

    def draw(self, size: int, /, *, entropy: Entropy) -> NDArray[np.int32]:
        """`size` independent outcomes."""
        prefix = entropy.words16(size)
        outcome = self.guide.take(prefix)
        undecided = np.flatnonzero(outcome < 0)
        if undecided.size:
            outcome[undecided] = self._refine(prefix[undecided], entropy)
        return outcome

    def _refine(self, prefix: NDArray[np.uint16], entropy: Entropy) -> NDArray[np.int64]:
        """Outcomes of draws that their first 16 bits leave open: reveal 48 bits more."""
        more = entropy.words64(prefix.size) >> np.uint64(16)
        known = (prefix.astype(np.uint64) << np.uint64(48)) | more
        first = self.ends[0]
        outcome = np.searchsorted(first, known, side="right")
        for draw in np.flatnonzero(first[np.maximum(outcome, 1) - 1] == known):
            outcome[draw] = self._settle(known[draw], entropy)
        return outcome

    def _settle(self, known: np.uint64, entropy: Entropy) -> int:
        """Outcome of one draw whose first 64 bits are those of an end: reveal the other 128."""
        uniform = _join([int(known), *entropy.words64(2).tolist()])
        low = int(np.searchsorted(self.ends[0], known, side="left"))
        high = int(np.searchsorted(self.ends[0], known, side="right"))
        return low + sum(_join(end) <= uniform for end in self.ends[:, low:high].T.tolist())


def _join(words: Sequence[int], /) -> int:
    """The 192-bit number made of three 64-bit words, the most significant first."""
    first, second, third = words
    return (first << 128) | (second << 64) | third
