"""The ledger of identities: every family of sums among the tables, what speaks for it, what refutes it, and what rests on it.

A family says that each cell of one table is the sum of cells of a finer one. Tables that were published as they were counted
satisfy it to the last digit, or leave for hidden parts what their markers allow. One measure alone can look consistent by
chance. A family is accepted only if no sister measure over the same dimensions refutes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.inference import ENDLESS, LinkedCells, link_cells
from noisegate.recovery.lattice import find_lattice
from noisegate.tables import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Standing = Literal["exact", "noisy", "refuted", "untested"]

#: The share of a family's equations that may be off by a slip of the pen where all others hold.
SLIPS = 0.01
#: A bias of so many standard errors shows that totals do not count what their parts do.
_BIASED = 6.0
#: Parts from this count on are clear of noise that is cut off at 0, if that is small beside them; so many sums of such parts tell.
_FAR_ABOVE, _ENOUGH_CLEAR = 10, 60
#: So many complete sums, or log-odds from incomplete ones, show that counts are published as they are.
_SOLID = 6.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Family:
    """One family of sums: each cell of `total` is the sum of cells of `parts`.

    Attributes
    ----------
    total, parts
        The two tables.
    summed
        The dimensions that are summed over.
    number
        Its place among the families of the linked cells.
    residual, members, positive, smallest, size
        Of each equation with every member published: the total minus its parts, how many parts, how many of them are not 0,
        the smallest of them, and the sum of the parts.
    open
        How many equations have hidden members; `broken` of them are not within what the markers allow.
    odds
        The log-odds that so many hold within what markers allow, against noise of about one person on every count.
    rest
        Whether totals count what the parts do not list.
    derived
        Whether totals with hidden parts are the sums of the published ones alone: they say nothing of the hidden ones.
    refuted_by
        What speaks against it, in words.
    clear
        Whether sums with small parts were left out, since noise is cut off at 0.
    whole
        Whether all its values are whole numbers; nothing is said of others.
    """

    total: Table
    parts: Table
    summed: tuple[str, ...]
    number: int
    residual: Ints
    members: Ints
    positive: Ints
    smallest: Floats
    size: Floats
    open: int
    broken: int
    odds: float
    rest: bool = False
    derived: bool = False
    refuted_by: tuple[str, ...] = ()
    clear: bool = False
    whole: bool = True

    @property
    def off(self) -> int:
        """How many complete equations do not hold."""
        return int((self.residual != 0).sum())

    @property
    def n(self) -> int:
        """How many equations have every member published."""
        return int(self.residual.size)

    @property
    def holds(self) -> bool:
        """Whether all equations that can be checked hold, but for slips."""
        slips = max(SLIPS * self.n, 1.0 if self.n >= 50 else 0.0)
        return self.off <= slips and self.broken == 0

    @property
    def standing(self) -> Standing:
        """What can be said of it."""
        if self.refuted_by:
            return "refuted"
        if self.n + self.open == 0 or self.rest or self.derived or not self.whole:
            return "untested"
        return "exact" if self.holds else "noisy"

    @property
    def title(self) -> str:
        """In words."""
        over = " and ".join(self.summed) or "finer bins"
        return f"{self.total.name} is the sum of {self.parts.name} over {over}"

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "total": self.total.name,
            "parts": self.parts.name,
            "summed": list(self.summed),
            "standing": self.standing,
            "complete": self.n,
            "off": self.off,
            "incomplete": self.open,
            "out_of_range": self.broken,
            "derived": self.derived,
            "refuted_by": list(self.refuted_by),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IdentityLedger:
    """All families of sums among the tables of one measure, as the published values show them.

    Attributes
    ----------
    linked
        The cells of all tables as one system, each with the range that its own marker gives.
    families
        In the order of `linked.families`.
    shown
        Which of the linked cells are published.
    """

    linked: LinkedCells
    families: tuple[Family, ...]
    shown: Mask

    @property
    def refuted_totals(self) -> frozenset[str]:
        """Tables that do not count what their parts do."""
        return frozenset(one.total.name for one in self.families if one.refuted_by)

    def never_below(self, exact: AbstractSet[str], /) -> frozenset[str]:
        """Tables that count more than exact ones list, and whose totals never fall below what those leave: exact as well."""
        return frozenset(
            one.total.name
            for one in self.families
            if one.rest
            and one.parts.name in exact
            and not one.broken
            and not one.refuted_by
            and one.odds >= _SOLID
        )

    @property
    def refused(self) -> tuple[int, ...]:
        """The families that nothing may rest on: refuted, sums of published parts alone, or of values that are not whole."""
        return tuple(one.number for one in self.families if one.refuted_by or one.derived or not one.whole)

    def steps(self, family: Family, base: int, most: int, /) -> Ints:
        """How many parts of each complete equation are shown as 0, 1, ... times the base, from `most` - 1 on together."""
        linked = self.linked
        mine = linked.equations.take(linked.family == family.number)
        shown = self.shown
        rows, parts = len(mine), mine.signs > 0
        complete = np.bincount(mine.owner, weights=~shown[mine.cells], minlength=rows) == 0
        step = np.minimum(np.abs(linked.low[mine.cells[parts]]) // base, most - 1)
        found = np.bincount(mine.owner[parts] * most + step, minlength=rows * most)
        return np.asarray(found.reshape(rows, most)[complete])

    def of(self, table: str, /) -> tuple[Family, ...]:
        """The families that a table takes part in and nothing refutes."""
        return tuple(
            one
            for one in self.families
            if table in {one.total.name, one.parts.name} and one.standing not in {"refuted", "untested"}
        )


def weigh_identities(
    tables: Sequence[Table], /, *, sisters: Sequence[tuple[str, Sequence[Table]]] = ()
) -> IdentityLedger:
    """Every family of sums among `tables`, the base first, with its evidence.

    Parameters
    ----------
    sisters
        The same tables of other measures, by name: what does not hold there is not accepted here.
    """
    linked = link_cells(tables)
    own = _against_each_other([_biased(one) for one in _families(linked)])
    others = [(name, _families(link_cells(other))) for name, other in sisters]
    families = tuple(_refuted(one, others) for one in own)
    return IdentityLedger(linked=linked, families=families, shown=_shown(linked))


def _shown(linked: LinkedCells, /) -> Mask:
    """Which of the linked cells are published."""
    found = np.zeros(linked.low.size, bool)
    for table, start in zip(linked.tables, linked.offsets, strict=False):
        found[start : start + table.size] = table.status(np.arange(table.size)) == 0
    return found


def _families(linked: LinkedCells, /) -> list[Family]:
    equations, found = linked.equations, []
    shown = _shown(linked)
    whole = [bool((np.asarray(one.values) == np.rint(one.values)).all()) for one in linked.tables]
    for number, family in enumerate(linked.families):
        mine = equations.take(linked.family == number)
        owner, parts = mine.owner, mine.signs > 0
        rows = len(mine)
        values = linked.low[mine.cells]
        complete = np.bincount(owner, weights=~shown[mine.cells], minlength=rows) == 0
        members = np.bincount(owner[parts], minlength=rows)
        positive = np.bincount(owner[parts], weights=values[parts] != 0, minlength=rows).astype(np.int64)
        size = np.bincount(owner[parts], weights=values[parts], minlength=rows)
        smallest = np.full(rows, np.inf)
        np.minimum.at(smallest, owner[parts], values[parts])
        residual = -mine.sums_of(linked.low)
        listed = shown[mine.cells]
        left = -np.bincount(owner, weights=values * mine.signs * listed, minlength=rows)
        total_shown = np.bincount(owner[~parts], weights=listed[~parts], minlength=rows) > 0
        left = left[~complete & total_shown]
        open_rows, broken, odds = _within(mine, linked.low, linked.high, complete, members)
        found.append(
            Family(
                total=linked.tables[family.total],
                parts=linked.tables[family.parts],
                summed=family.summed,
                number=number,
                residual=residual[complete],
                members=members[complete],
                positive=positive[complete],
                smallest=smallest[complete],
                size=size[complete],
                open=open_rows,
                broken=broken,
                odds=odds,
                rest=family.rest,
                derived=bool(left.size) and not left.any(),
                whole=whole[family.total] and whole[family.parts],
            )
        )
    return found


def _within(
    equations: Any, low: Ints, high: Ints, complete: NDArray[np.bool_], members: Ints, /
) -> tuple[int, int, float]:
    """Incomplete equations, those that cannot hold, and the log-odds that they hold against noise of about one person."""
    owner, plus = equations.owner, equations.signs > 0
    least = np.where(plus, low[equations.cells], -np.minimum(high[equations.cells], ENDLESS)).astype(float)
    most = np.where(plus, np.minimum(high[equations.cells], ENDLESS), -low[equations.cells]).astype(float)
    ends = [np.bincount(owner, weights=one, minlength=complete.size)[~complete] for one in (least, most)]
    gaps = [equations.right[~complete] - ends[0], ends[1] - equations.right[~complete]]
    broken = (gaps[0] < 0) | (gaps[1] < 0)
    spread = np.sqrt(members[~complete] + 1.0)
    leave = sum(special.ndtr(-(np.maximum(gap, 0) + 0.5) / spread) for gap in gaps)
    odds = -np.log(np.maximum(1 - leave, 1e-6))
    return int((~complete).sum()), int(broken.sum()), float(odds[~broken].sum())


def _biased(family: Family, /) -> Family:
    """The family, refuted if its totals are all too large or too small: they do not count what the parts do."""
    if family.n < 5 or family.holds or not family.whole:
        return family
    # Halves that are rounded up add half a person to each part, and to the total, on average.
    bases = [find_lattice(one.values).base for one in (family.parts, family.total)]
    halves = [0.5 * (base % 2 == 0) for base in bases]
    ties = halves[0] * float(family.members.mean()) + halves[1]
    drift = float(family.residual.mean())
    scaled = (family.residual - math.copysign(min(ties, abs(drift)), drift)) / np.sqrt(family.members + 1.0)
    error = float(np.std(scaled)) / math.sqrt(family.n) or 1e-9
    share = float(np.mean(family.residual / np.maximum(family.size, 1.0)))
    mean = float(np.mean(scaled))
    if abs(mean) < max(_BIASED * error, 0.5) or abs(share) < 1e-4:
        return family
    clear = family if family.clear or max(bases) > 1 else _clear_of_zero(family)
    if clear is not family:
        return _biased(clear)
    side = "above" if mean > 0 else "below"
    said = f"totals are {side} the sums of their parts, by {abs(share):.2%} on average"
    return replace(family, refuted_by=(*family.refuted_by, said))


def _clear_of_zero(family: Family, /) -> Family:
    """The family with those sums alone whose parts are all far above 0, if totals are below, some parts are 0, none is negative, and enough are left.

    Noise that would make a count negative is often cut off at 0, which adds to the sums of small parts.
    """
    noise = float(np.median(np.abs(family.residual) / np.sqrt(family.members + 1.0))) * 1.5
    rows = family.smallest >= max(_FAR_ABOVE, 6.0 * noise)
    cut_off = family.residual.mean() < 0 and family.smallest.min() == 0
    if not cut_off or rows.sum() < _ENOUGH_CLEAR:
        return family
    return replace(
        family,
        residual=family.residual[rows],
        members=family.members[rows],
        positive=family.positive[rows],
        smallest=family.smallest[rows],
        size=family.size[rows],
        clear=True,
    )


def _against_each_other(families: Sequence[Family], /) -> list[Family]:
    """The families, those refuted whose totals lie on one side of their parts while other sums of the same counts are exact.

    Noise of its own would lie on both sides; what lies on one side counts others.
    """
    solid = [one for one in families if one.standing == "exact" and one.n + one.odds >= _SOLID]
    exact = {name for one in solid for name in (one.parts.name, one.total.name)}
    return [
        replace(
            one,
            refuted_by=(
                "totals that are off are all on one side, and other sums of the same counts are exact",
            ),
        )
        if one.standing == "noisy" and one.parts.name in exact and _one_sided(one)
        else one
        for one in families
    ]


def _one_sided(family: Family, /) -> bool:
    off = family.residual[family.residual != 0]
    return bool((off > 0).all() or (off < 0).all())


def _refuted(family: Family, sisters: Sequence[tuple[str, Sequence[Family]]], /) -> Family:
    """The family, refuted if it holds in this measure and not in a sister."""
    said = list(family.refuted_by)
    for name, others in sisters:
        for one in others:
            same = set(one.summed) == set(family.summed)
            if not same or set(one.total.domain.names) != set(family.total.domain.names):
                continue
            checked = _biased(one)
            if checked.refuted_by:
                said.append(f"in {name} {checked.refuted_by[0]}")
            elif not one.holds and family.holds:
                said.append(
                    f"in {name} {one.off:,} of {one.n:,} complete sums and {one.broken:,} of {one.open:,} others do not hold"
                )
    return replace(family, refuted_by=tuple(said)) if said else family
