"""What an attacker believes about counts before inferring single cells.

The *minimal* one takes each day by itself and knows only the levels of the totals that were published; with no
totals, nothing. The *informed* one learns from all tables which place is busy when, and how alike days are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.inference import Flat, Layout, Prior, Problem, crossed, fit_levels, fit_prior

Report = Callable[[str], None]
Attacker = Literal["minimal", "informed"]
Ints = NDArray[np.int64]

#: Values of a dimension that set its groups apart (a mode, a direction); with more it is a row.
_FEW_VALUES = 12


def believe(attacker: Attacker, problem: Problem, layout: Layout, report: Report, /) -> Prior:
    """What `attacker` makes of the tables before looking at single cells of the base, whose dimensions are `layout`."""
    report("learning how counts vary")
    roles = _Roles.of(layout)

    def progress(done: int, most: int) -> None:
        report(f"learning how counts vary ({done} of at most {most} rounds)")

    if attacker == "minimal":
        return fit_levels(problem, groups=roles.group_and_day, progress=progress)
    if not roles.effects:
        return Flat()
    return fit_prior(problem, effects=roles.effects, groups=roles.group, progress=progress).prior


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Roles:
    """What each dimension is to a prior, as codes for every cell.

    Dates are days, times of day are columns, the dimension with the most values is the row; dimensions of
    few values (a mode, a direction) are groups that share nothing, and any other one splits rows.
    """

    effects: tuple[Ints, ...]
    group: Ints
    group_and_day: Ints

    @classmethod
    def of(cls, layout: Layout, /) -> _Roles:
        codes = np.stack(layout.decode(np.arange(layout.size)))
        sizes = list(layout.labels.values())
        day = next((j for j, name in enumerate(layout.names) if name in layout.days), None)
        column = next((j for j, name in enumerate(layout.names) if name in layout.times), None)
        rest = sorted((j for j in range(len(sizes)) if j not in (day, column)), key=lambda j: -sizes[j])
        if column is None and len(rest) > 1:
            column = rest.pop(1)
        rows = [j for k, j in enumerate(rest) if k == 0 or sizes[j] > _FEW_VALUES]
        group = _joined(codes, [j for j in rest if j not in rows], sizes)
        row = _within(group, _joined(codes, rows, sizes))
        days = group if day is None else _within(group, codes[day])
        effects: tuple[Ints, ...] = (row,) if rows else ()
        if day is not None or column is not None:
            effects = crossed(
                row=row,
                column=_within(group, codes[column]) if column is not None else group,
                day=None if day is None else days,
            )
        return cls(effects=effects, group=group, group_and_day=days)


def _joined(codes: Ints, which: Sequence[int], sizes: Sequence[int], /) -> Ints:
    """One code for the combination of some dimensions."""
    joined = np.zeros(codes.shape[1], dtype=np.int64)
    for j in sorted(which):
        joined = joined * sizes[j] + codes[j]
    return joined


def _within(group: Ints, codes: Ints, /) -> Ints:
    return group * (int(codes.max(initial=0)) + 1) + codes
