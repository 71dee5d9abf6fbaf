"""How much cells vary together because what they are predicted from is not known for certain.

Intensities are sums of effects on the log scale: the place's, the hour's, the day's and those of pairs. Each effect is
known up to a variance. Cells with a common effect err together, so in a sum of n of them that error grows with n
and not with its root. Leaving it out is what makes totals of missing cells look surer than they are.

An effect of which nothing was seen is bounded by its prior alone. If that prior is wrong, it is wrong for all
such effects at once; so the errors of effects that are hardly known are taken as one error, common to all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.core.linked import NegativeBinomial

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A level with a larger variance than this, on the log scale, is unseen.
_UNSEEN = 0.25
#: What it is then off by at least, as a variance on the log scale.
_BLIND = 2.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedError:
    """For each effect the level of every cell, and how far one standard deviation of the effect moves the cell.

    `common` is the same for the one error of all that is unseen: the standard deviation of a sum is the sum of these.
    `own` is what a posterior variance under the prior already holds of all effects together.
    """

    codes: tuple[NDArray[np.int32], ...]
    moves: tuple[NDArray[np.float32], ...]
    common: Floats
    own: Floats

    @classmethod
    def of(
        cls,
        effects: Sequence[Ints],
        uncertainty: Sequence[Floats],
        /,
        *,
        prior: NegativeBinomial,
        variance: Floats,
    ) -> SharedError:
        """From the variance of each level of each effect, and the posterior variance of each cell."""
        # The posterior mean moves with the log of the intensity by its variance, less what the shape absorbs.
        slope = variance / (1 + prior.mean / prior.shape)
        spreads = [levels[codes] for codes, levels in zip(effects, uncertainty, strict=True)]
        blind = np.zeros(len(slope))
        for spread in spreads:
            blind += np.where(spread > _UNSEEN, spread, 0.0)
        unseen = blind > 0
        return cls(
            codes=tuple(codes.astype(np.int32) for codes in effects),
            moves=tuple(np.where(unseen, 0.0, slope * np.sqrt(s)).astype(np.float32) for s in spreads),
            common=np.where(unseen, slope * np.sqrt(np.maximum(blind, _BLIND)), 0.0),
            own=slope**2 * np.sum(spreads, axis=0) if spreads else np.zeros(len(slope)),
        )

    def variance(self, cells: Ints, groups: Ints, /, *, size: int) -> Floats:
        """What effects that were seen add to the variance of the sum of each of `size` groups of cells."""
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
