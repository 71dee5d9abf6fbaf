"""Everything that speaks about the cells of the base (MATH 4).

The base and every margin with noise of its own are evidence; so are couplings that hold and cells that are
empty for a public reason. A margin that was summed from the published base adds nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.inference.linked.problem import Identities, Problem, Sums
from noisegate.laws.bounded import PointMass
from noisegate.reading.structure import Structure
from noisegate.recovery.couplings import Coupling
from noisegate.recovery.makers import Makers, Seen
from noisegate.recovery.margin_rows import MarginRows, perturbed_apart
from noisegate.tables.table import Table

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """Everything that speaks about the cells of the base, ready for the engine.

    Attributes
    ----------
    base
        The base as evidence; `margins` are the links used with theirs.
    left_out
        Margins that are not used, each with the reason.
    zero
        Cells that are empty for a public reason.
    """

    base: Seen
    margins: tuple[tuple[MarginRows, Seen], ...]
    left_out: tuple[tuple[str, str], ...]
    couplings: tuple[Coupling, ...] = ()
    zero: Bools | None = None

    @classmethod
    def of(
        cls,
        structure: Structure,
        rows: Sequence[MarginRows],
        makers: Makers,
        /,
        *,
        couplings: Sequence[Coupling] = (),
        zero: Bools | None = None,
    ) -> Evidence | None:
        """The evidence in these tables; None if nothing is known about the noise of the base."""
        base = makers.of(structure.base, structure)
        if base is None:
            return None
        used, left_out = [], []
        for one in rows:
            seen = makers.of(one.link.margin, structure)
            reason = _why_not(one, seen, makers)
            if seen is None or reason:
                left_out.append((one.link.margin.name, reason))
            else:
                used.append((one, seen))
        inside = tuple(c for c in couplings if c.cells is structure.base)
        return cls(base=base, margins=tuple(used), left_out=tuple(left_out), couplings=inside, zero=zero)

    @property
    def cells(self) -> Table:
        """The base on its domain."""
        return self.base.cells

    @property
    def suppressed(self) -> Bools:
        """Cells of the base that are not published and could hold something."""
        hidden: Bools = np.isnan(self.base.values)
        return hidden if self.zero is None else hidden & ~self.zero

    @property
    def linked(self) -> bool:
        """Whether anything but a cell's own record speaks about it."""
        return bool(self.margins or self.couplings)

    @property
    def assumes(self) -> tuple[str, ...]:
        """What had to be assumed about the making of the tables, without repetition."""
        said = [line for seen in (self.base, *(s for _, s in self.margins)) for line in seen.assumes]
        said += [f"{coupling.title}: equal counts" for coupling in self.couplings]
        if self.margins:
            said.append(f"{self.cells.name} lists every cell that its margins count")
        return tuple(dict.fromkeys(said))

    def problem(self, *, linked: bool = True) -> Problem:
        """The problem for the engine; without margins and couplings if not `linked`."""
        known = np.flatnonzero(self.base.usable)
        base = Sums.of_cells(
            self.base.values[known], cells=known, mechanism=self.base.mechanism, name=self.cells.name
        )
        zero = self._clear_zero()
        if not linked:
            return Problem(cells=self.cells.size, tables=(base,), structural_zero=zero)
        tables = [base]
        for rows, seen in self.margins:
            groups = rows.link.groups()
            fit = (groups >= 0) & seen.usable[groups]
            tables.append(
                Sums.by(
                    np.where(fit, groups, -1),
                    np.where(seen.usable, seen.values, np.nan),
                    mechanism=seen.mechanism,
                    name=seen.cells.name,
                )
            )
        pairs = tuple(
            Identities.between_cells(left, right) for left, right in map(_both_inside, self.couplings)
        )
        return Problem(cells=self.cells.size, tables=tuple(tables), identities=pairs, structural_zero=zero)

    def _clear_zero(self) -> Bools | None:
        """Structural zeros that the tables do not contradict: a published cell was not empty."""
        return None if self.zero is None else self.zero & np.isnan(self.base.values)


def _why_not(rows: MarginRows, seen: Seen | None, makers: Makers, /) -> str:
    """Why a margin is not used; empty if it is."""
    if rows.link.unlisted:
        return f"it counts what the base does not list ({', '.join(rows.link.unlisted[:2])})"
    if seen is None:
        return "nothing is known about its noise"
    said = makers.card.margins if makers.card is not None else None
    if said == "derive" or not rows.residual.any():
        return "it was summed from the published base and adds nothing"
    exact = isinstance(seen.mechanism.law, PointMass)
    if said == "reconcile" or (perturbed_apart(rows) is False and not exact):
        return "it adds up with the base, so its noise is not its own"
    return ""


def consistent_tables(rows: Sequence[MarginRows], /) -> frozenset[str]:
    """Tables that add up where it can be checked, and hold more than their published parts."""
    found = [one for one in rows if perturbed_apart(one) is False and one.residual.any()]
    names = {one.link.margin.name for one in found} | {one.link.base.name for one in found}
    return frozenset(names)


def _both_inside(coupling: Coupling, /) -> tuple[Ints, Ints]:
    """The pairs of a coupling whose two cells the domain has."""
    inside = (coupling.left >= 0) & (coupling.right >= 0)
    return coupling.left[inside], coupling.right[inside]
