"""Identities with every member published, as recognition wants them: residuals, and how many noises of which table each holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noisegate.recovery.families import Family
from noisegate.recovery.identity_sets import IdentitySet
from noisegate.recovery.lattice import find_lattice
from noisegate.recovery.table_scales import TableResiduals

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Parts from this count on are clear of what is done to small ones, if noise is small beside it; so many equations of such parts are enough.
_CLEAR, _ENOUGH, _BESIDE = 10, 100, 4.0
#: So many sums of nothing but zeros, or of one count and zeros, show what is done to these.
_FEW = 5
#: So large a share of sums that hold, and so many units of log-likelihood above what is usual, are no chance.
_MOSTLY, _NO_CHANCE = 0.75, 7.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompleteIdentities:
    """Identities of one origin with every member published.

    Attributes
    ----------
    tables
        Names of the tables of the parts and of the totals.
    residual
        The total minus its parts.
    parts
        How many parts carry noise, if their table does.
    size
        How large the count is.
    totals
        The base that totals are rounded to; 1 if to none.
    pairs
        Whether these are pairs of counts that should be equal, of which some may not be.
    same_cell
        Whether totals of a single count that is not 0 have that count's noise: the same cell, the same noise.
    zeros_kept
        Whether sums of zeros stay 0.
    """

    tables: tuple[str, str]
    residual: Ints
    parts: Ints
    size: Floats
    totals: int
    pairs: bool = False
    same_cell: bool = False
    zeros_kept: bool = False

    @classmethod
    def of_family(cls, family: Family, /) -> CompleteIdentities:
        """The complete equations of a family; those with small parts are left out if enough others remain."""
        whole = cls(
            tables=(family.parts.name, family.total.name),
            residual=family.residual,
            parts=family.members,
            size=family.size,
            totals=find_lattice(family.total.values).base,
        )
        if not family.n or family.holds:
            return whole
        alone, empty = family.positive == 1, family.positive == 0
        rest = ~alone & ~empty
        usual = float(np.mean(family.residual[rest] == 0)) if rest.any() else 1.0
        same = _mostly_equal(family.residual[alone & (family.members > 1)], usual)
        kept = _mostly_equal(family.residual[empty], usual)
        if kept:
            whole = replace(whole, parts=family.positive, zeros_kept=True, same_cell=same)
        # Parts that are chosen for being large are large for their noise, unless they are far larger than that.
        noise = float(np.median(np.abs(family.residual) / np.sqrt(family.members + 1.0))) * 1.5
        clear = family.smallest >= max(_CLEAR, _BESIDE * noise)
        if not kept and (family.smallest < 0).sum() >= _FEW:
            return whole  # counts below 0 are shown, so that nothing is done to small ones
        few = clear.sum() < max(_ENOUGH, 0.3 * family.n)
        keep = clear if not few else rest if kept and same else ~empty if kept else np.ones(family.n, bool)
        return whole.take(keep) if keep.any() else whole

    @classmethod
    def of_set(cls, one: IdentitySet, /, *, lattice: int) -> CompleteIdentities:
        """Of identities inside one table."""
        found = one.identities
        whole = (found.missing == 0) & (found.low == found.high)
        return cls(
            tables=found.tables,
            residual=found.low[whole].astype(np.int64),
            parts=found.noises[whole].sum(axis=1).astype(np.int64) - 1,
            size=np.abs(found.size[whole]),
            totals=lattice,
            pairs=one.kind == "pair",
        )

    def take(self, rows: NDArray[np.bool_], /) -> CompleteIdentities:
        """Only these identities."""
        return replace(self, residual=self.residual[rows], parts=self.parts[rows], size=self.size[rows])


def _mostly_equal(residual: Ints, usual: float, /) -> bool:
    """Whether nearly all are 0, far more than is usual: a few are off where a part of 1 or 2 was published as 0."""
    if residual.size < _FEW:
        return False
    share, usual = float(np.mean(residual == 0)), min(max(usual, 1e-9), 1 - 1e-9)
    if share < max(_MOSTLY, usual):
        return False
    rest = 0.0 if share == 1 else (1 - share) * math.log((1 - share) / (1 - usual))
    return residual.size * (share * math.log(share / usual) + rest) > _NO_CHANCE


def joined(complete: Sequence[CompleteIdentities], /) -> TableResiduals:
    """All identities together."""
    return TableResiduals.joined(
        [(one.tables, one.residual, one.parts, np.ones(one.residual.size, np.int64)) for one in complete],
        off=all(one.pairs for one in complete),
    )
