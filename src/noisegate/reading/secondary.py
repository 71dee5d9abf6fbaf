"""Whether a sign that seems to hide small counts also hides others: totals tell, by what they leave for it.

A count that nobody need protect is hidden as well where its row would give a small one away (secondary suppression), often behind the same
sign. Where all complete sums hold and totals leave more for hidden cells than small counts make, the sign can stand for any count. Where
they leave less than one for each and no 0 is shown, it stands for empty cells too. Sums of rounded counts may be off by what rounding makes
of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noisegate.mechanisms import Marker
from noisegate.reading.markers import own_range
from noisegate.reading.values import common_step
from noisegate.tables import Status, Table

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: The share of complete sums that may be off by a slip, and of others that may not fit before a sign stands for any count.
_SLIPS, _MISFITS = 0.01, 0.01
#: Sums of rounded counts may be off by so many standard deviations.
_DEVIATIONS = 4.0
#: So many sums tell if none is complete.
_TELLING = 8
#: More cells than this are not looked at.
_MOST_CELLS = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class _Left:
    """What totals leave for hidden cells: how much, how many cells of each sign, and by how much rounding may have moved it."""

    left: Floats
    signs: Ints
    slack: Floats

    @property
    def complete(self) -> NDArray[np.bool_]:
        return np.asarray(self.signs.sum(axis=1) == 0)

    def of(self, rows: NDArray[np.bool_], /) -> _Left:
        return _Left(self.left[rows], self.signs[rows], self.slack[rows])


def find_secondary(tables: Sequence[Table], /, *, told: Collection[str] = ()) -> dict[str, Marker]:
    """New meanings of the signs that hide other counts than small ones as well, by their text.

    Parameters
    ----------
    tables
        The base first, then its margins.
    told
        Signs of which a person decided what they mean.
    """
    base = tables[0]
    able = [
        place
        for place, one in enumerate(base.markers)
        if one.cause == "primary" and one.high and one.text not in told and own_range(one.text) is None
    ]
    if not able or base.size > _MOST_CELLS:
        return {}
    rows = list(_sums(tables))
    if not rows:
        return {}
    found = _Left(
        np.concatenate([one.left for one in rows]),
        np.concatenate([one.signs for one in rows]),
        np.concatenate([one.slack for one in rows]),
    )
    whole, rest = found.of(found.complete), found.of(~found.complete)
    if (np.abs(whole.left) > whole.slack).sum() > _SLIPS * whole.left.size or (rest.left < -rest.slack).any():
        return {}
    return _misfits(base, able, rest, sure=bool(whole.left.size) or rest.left.size >= _TELLING)


def _sums(tables: Sequence[Table]) -> Iterator[_Left]:
    """Of each margin what its published totals leave for the hidden cells of the base; not where cells have no row, or totals count others."""
    base, *margins = tables
    cells = np.arange(base.size, dtype=np.int64)
    status = base.status(cells)
    if (status == Status.ABSENT).any() and (base.absent is None or base.absent.high != 0):
        return
    values = np.zeros(base.size)
    values[base.cells] = base.values
    moved = values != 0
    step = common_step(base.values)
    for table in margins:
        if table.margin is None or table.margin.unlisted:
            continue
        onto = np.asarray(table.margin.of(cells))
        inside = onto >= 0
        shown = np.bincount(onto[inside], weights=values[inside], minlength=table.size)
        signs = np.stack(
            [
                np.bincount(onto[one][onto[one] >= 0], minlength=table.size)
                for one in (base.hidden[base.marks == place] for place in range(-1, len(base.markers)))
            ],
            axis=1,
        )
        met = np.bincount(onto[inside], minlength=table.size)[table.cells] > 0
        at = table.cells[met]
        counted = np.bincount(onto[inside & moved], minlength=table.size)[at]
        variance = counted * (step**2 - 1) + (common_step(table.values) ** 2 - 1)
        yield _Left(
            np.asarray(table.values, np.float64)[met] - shown[at],
            signs[at],
            _DEVIATIONS * np.sqrt(variance / 6.0),  # of random rounding; nearest rounding has half of it
        )


def _limits(base: Table, found: _Left) -> tuple[Floats, Floats]:
    """The least and the most that the signs of each sum can hide as they seem to."""
    low = np.array([0.0, *(float(one.low) for one in base.markers)])
    high = np.array([np.inf, *(np.inf if one.high is None else float(one.high) for one in base.markers)])
    with np.errstate(invalid="ignore"):
        most = np.where(found.signs > 0, found.signs * high, 0.0).sum(axis=1)
    return np.asarray(found.signs @ low), most


def _misfits(base: Table, able: Sequence[int], found: _Left, *, sure: bool) -> dict[str, Marker]:
    """Signs for which totals leave what small counts do not make; of several in one sum those that do not fit alone, else all.

    Where too few sums tell whether that is so or totals are off, such a sign still hides nobody knows what.
    """
    least, most = _limits(base, found)
    short = found.left < least - found.slack
    misfit = (found.left > most + found.slack) | short
    if short.any() and not (misfit & ~short).any() and (np.asarray(base.values) != 0).all():
        return _for_empty_too(base, able, int(short.sum()), found.left.size)
    wide: set[int] = set()
    fits: set[int] = set()
    for place in able:
        alone = (found.signs[:, place + 1] > 0) & (found.signs.sum(axis=1) == found.signs[:, place + 1])
        if alone.any() and misfit[alone].mean() > _MISFITS:
            wide.add(place)
        elif alone.sum() >= _TELLING:
            fits.add(place)
    mixed = misfit & ~(found.signs[:, [place + 1 for place in wide]] > 0).any(axis=1)
    mixed &= (found.signs > 0).sum(axis=1) > 1
    if mixed.sum() > _MISFITS * (~mixed).sum():
        used = [place for place in able if (found.signs[mixed, place + 1] > 0).any()]
        wide |= set(used) - fits or set(used)
    why = (
        f"{int(misfit.sum()):,} of {misfit.size:,} totals leave other counts for it than small ones, and all complete sums hold: "
        "it also hides counts that would give small ones away"
    )
    if not sure:
        why = (
            f"{int(misfit.sum()):,} of {misfit.size:,} totals leave other counts for it than small ones, and too few sums "
            "tell whether it hides others or totals are off"
        )
    return {
        base.markers[place].text: Marker(
            text=base.markers[place].text, cause="secondary" if sure else "unknown", evidence=why
        )
        for place in sorted(wide)
    }


def _for_empty_too(base: Table, able: Sequence[int], short: int, sums: int) -> dict[str, Marker]:
    """Signs for counts from 1 that stand for 0 as well, as totals leave less than that for their cells."""
    why = f"{short:,} of {sums:,} totals leave less than one for each of its cells and no 0 is shown: it stands for those too"
    return {
        one.text: replace(one, low=0, evidence=why)
        for one in (base.markers[place] for place in able)
        if one.low > 0
    }


def with_meanings(table: Table, found: dict[str, Marker], /) -> Table:
    """The table with other meanings of some signs."""
    return replace(table, markers=tuple(found.get(one.text, one) for one in table.markers))
