"""How much cells vary together because what they are predicted from is not known for certain.

Intensities are products of multipliers: the place's, the hour's, the day's and those of pairs. Each is known up to a relative
variance. Cells with a common multiplier err together, so in a sum of n of them that error grows with n and not
with its root. Leaving it out is what makes totals of missing cells look surer than they are.

Multipliers of which little was seen hang on what such multipliers are like in general. If that is wrong, it is wrong for
all of them at once; so that part of their error is one error, common to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.linked.prior import NegativeBinomial

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedError:
    """For each effect the level of every cell, and how far one standard deviation of the effect moves the cell.

    `common` is the same for the one error of all that is little seen: the standard deviation of a sum is the sum of these.
    `joint` is what a posterior variance under the prior already holds of all of this together.
    """

    codes: tuple[NDArray[np.int32], ...]
    moves: tuple[NDArray[np.float32], ...]
    common: Floats
    joint: Floats

    @classmethod
    def of(
        cls,
        effects: Sequence[Ints],
        /,
        *,
        own: Sequence[Floats],
        common: Sequence[Floats],
        prior: NegativeBinomial,
        variance: Floats,
    ) -> SharedError:
        """From the relative variances of each level of each effect, and the posterior variance of each cell."""
        # The posterior mean moves with the log of the intensity by its variance, less what the shape absorbs.
        slope = variance / (1 + prior.mean / prior.shape)
        alone = [levels[codes] for codes, levels in zip(effects, own, strict=True)]
        together = np.zeros(len(slope))
        for codes, levels in zip(effects, common, strict=True):
            together += levels[codes]
        return cls(
            codes=tuple(codes.astype(np.int32) for codes in effects),
            moves=tuple((slope * np.sqrt(spread)).astype(np.float32) for spread in alone),
            common=slope * np.sqrt(together),
            joint=slope**2 * sum(alone, start=together),
        )

    def variance(self, cells: Ints, groups: Ints, /, *, size: int) -> Floats:
        """What effects add to the variance of the sum of each of `size` groups of cells."""
        found = np.zeros(size)
        for codes, moves in zip(self.codes, self.moves, strict=True):
            levels = int(codes.max(initial=0)) + 1
            keys = groups * levels + codes[cells]
            if size * levels <= 4 * len(keys) + 1_000_000:
                sums = np.bincount(keys, weights=moves[cells], minlength=size * levels)
                found += (sums.reshape(size, levels) ** 2).sum(axis=1)
            else:
                distinct, place = np.unique(keys, return_inverse=True)
                sums = np.bincount(place, weights=moves[cells])
                found += np.bincount(distinct // levels, weights=sums**2, minlength=size)
        return found
