"""How far a learnt law is off for what is hidden in rows of a margin, by what the rows themselves say.

The hidden cells of row r have means that add up to M_r, and variances that add up to W_r; the row says L_r, up to noise of variance N_r. Wherever the means come from, if they are right (L - M)^2 is N at most on average,
and less as far as they follow the row. What it is more than that, the law is off by.

All rows of a unit together may be off by one factor as well: that is known only as well as other rows tell it. The posterior of the hidden sum of some rows then is the mean of what they say and of what the law and all
other rows say, each weighed by how sure it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate.inference.hidden import PRIOR_OFF, RowTotals
from noisegate.inference.linked.problem import Floats, Ints, paired

#: What hidden cells of a row add up to varies by so many times what their laws say: these are learnt from cells that are shown.
_SPREAD_OFF = 1.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowMisfit:
    """For each row of a margin what the law gives its hidden cells (`mean`), what it leaves open beside the variances of cells (`more`), and how much the row tells of one factor for all rows of its unit (`told`, and `told_in` all of them together).

    `apart` says whether rows have noise of their own: what sums of one estimate say is in the records of cells as well, and the law adds little to it. `crossed` is what shown values of a row hold too much by the laws of its cells. `common` is the variance of the factor of each unit which no row can tell, as all have the same doubt.
    """

    mean: Floats
    more: Floats
    told: Floats
    crossed: Floats
    unit: Ints
    told_in: Floats
    common: Floats
    apart: bool

    @classmethod
    def of(
        cls, rows: RowTotals, cells: Ints, units: Ints, mean: Floats, variance: Floats, crossed: Floats, /
    ) -> RowMisfit:
        """From the means and variances of the cells of a margin's rows, what they say of excess, and the unit that each cell was solved in; what is not solved yet has no mean."""
        margin, size = rows.margin, len(rows.margin.values)
        row = margin.where.of(cells)
        values = rows.evidence.base.values[cells]
        inside = row >= 0
        hidden = np.isnan(values) & inside
        unit, many = np.zeros(size, np.int64), int(units.max(initial=0)) + 1
        unit[row[inside]] = units[inside]
        found = rows.of_groups(cells[hidden], row[hidden], size)
        taken = np.flatnonzero(hidden)[found.taken]
        noise = found.variance

        def added(which: Ints, what: Floats) -> Floats:
            return np.bincount(row[which], weights=what[which], minlength=size).astype(np.float64)

        def in_unit(what: Floats) -> Floats:
            return np.bincount(unit, weights=what, minlength=many).astype(np.float64)

        own, width = added(taken, mean), added(taken, variance)
        some = (own > 0) & (noise > 0)
        squares = np.where(some, (found.sum - own) ** 2 / np.maximum(noise, 1e-12), 0.0)
        strays = np.maximum(in_unit(squares) / np.maximum(in_unit(some.astype(np.float64)), 1.0), 1.0)
        more = (strays[unit] - 1) * (width + noise) + (_SPREAD_OFF - 1) * width
        told = own**2 / np.maximum(width + more + noise, 1e-9)
        every = rows.of_groups(cells[taken], units[taken], many)
        common = np.maximum(every.variance - in_unit(noise), 0.0) / np.maximum(in_unit(own) ** 2, 1e-9)
        return cls(
            mean=own,
            more=more,
            told=told,
            crossed=added(np.flatnonzero(inside), crossed),
            unit=unit,
            told_in=in_unit(told),
            common=common,
            apart=not rows.evidence.consistent,
        )

    def off(self, group: Ints, row: Ints, size: int, /) -> Floats:
        """The variance of what the law is off by beyond cells, for each of `size` groups of whole rows: pairs of a group and a row of it."""
        of, unit, place = paired(group, self.unit[row], len(self.told_in))
        mean = np.bincount(place, weights=self.mean[row], minlength=len(of))
        others = self.told_in[unit] - np.bincount(place, weights=self.told[row], minlength=len(of))
        precision = PRIOR_OFF**-2 + self.apart * np.maximum(others, 0.0)
        factor = np.minimum(1 / precision + self.common[unit], PRIOR_OFF**2)
        found = np.bincount(group, weights=self.more[row], minlength=size)
        return np.asarray(found + np.bincount(of, weights=factor * mean**2, minlength=size))

    def off_alone(self) -> Floats:
        """The same for each row by itself."""
        every = np.arange(len(self.mean))
        return self.off(every, every, len(every))
