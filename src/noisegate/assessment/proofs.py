"""One cell looked at closely where counts are shown as they are and some are hidden: what sums prove of it, and what is left without a table.

Nothing here is likely or unlikely: a count is possible or it is not. So a look has ranges and no law, and its level is 1.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.cell_state import CellState
from noisegate.assessment.known_counts import KnownCounts
from noisegate.assessment.microscope import CloseLook, CountLaw, Witness
from noisegate.errors import SpecError
from noisegate.inference import ENDLESS, Bounds

Ints = NDArray[np.int64]

#: How long bounds without some table are sharpened, and so many such bounds are kept.
_SECONDS, _KEPT = 2.0, 12
#: What a sum that no table here has is called among the tables that can be left out.
BESIDE = "tables beside these"


@dataclass(kw_only=True, eq=False)
class ProofScope:
    """Close looks at single cells of a base whose hidden counts are bounded by sums."""

    known: KnownCounts
    _solved: OrderedDict[tuple[str, ...], Bounds] = field(default_factory=OrderedDict, init=False, repr=False)

    @cached_property
    def states(self) -> NDArray[np.uint8]:
        """The state of every cell of the base."""
        return self.known.states

    @cached_property
    def tables(self) -> tuple[str, ...]:
        """The tables whose sums are used, by the name that `without` takes."""
        return tuple(dict.fromkeys(self._called(k) for k in range(len(self.known.linked.families))))

    def look(self, cell: int, /, *, without: Collection[str] = ()) -> CloseLook:
        """What is proved of one cell of the base, by its number, if some tables are left out.

        Raises
        ------
        SpecError
            For a cell or a table that there is not.
        """
        linked, base = self.known.linked, self.known.linked.tables[0]
        if not 0 <= cell < base.size:
            raise SpecError.for_value("a cell", found=cell, allowed=f"a number from 0 to {base.size - 1}")
        for name in without:
            if name not in self.tables:
                raise SpecError.for_choice("a table that is left out", found=name, allowed=self.tables)
        gone = tuple(sorted(without))
        bounds = self._bounds(gone)
        shown = float(base.at(np.array([cell]))[0])
        witnesses = [
            replace(one, otherwise=_range(self._bounds(tuple(sorted({*gone} ^ {one.name}))), cell))
            for one in self._witnesses(cell)
        ]
        whole = self._bounds(())
        witnesses.sort(key=lambda one: (-_moved(whole, self._bounds((one.name,)), cell), one.name))
        return CloseLook(
            cell=cell,
            labels={name: str(one[0]) for name, one in base.labels(np.array([cell])).items()},
            state=CellState(int(self.states[cell])),
            published=shown if np.isfinite(shown) else None,
            threshold=None,
            level=1.0,
            law=_range(bounds, cell),
            alone=_law(int(linked.low[cell]), int(linked.high[cell])),
            witnesses=tuple(witnesses),
            left_out=gone,
            neighbours=int((linked.low < linked.high).sum()),
            whole=bool(bounds.sharp[cell]),
            proof=tuple(self.known.proof(cell)) if not gone else (),
        )

    def _called(self, family: int, /) -> str:
        total = self.known.linked.families[family].total
        return self.known.linked.tables[total].name if total >= 0 else BESIDE

    def _bounds(self, gone: tuple[str, ...], /) -> Bounds:
        """What is proved without these tables, worked out once."""
        if not gone:
            return self.known.bounds
        if gone not in self._solved:
            refused = [k for k in range(len(self.known.linked.families)) if self._called(k) in gone]
            self._solved[gone] = self.known.linked.without(refused).solve(seconds=_SECONDS)
            while len(self._solved) > _KEPT:
                self._solved.popitem(last=False)
        self._solved.move_to_end(gone)
        return self._solved[gone]

    def _witnesses(self, cell: int, /) -> Iterator[Witness]:
        """The sums that a cell is part of, one of each table."""
        linked, seen = self.known.linked, set[str]()
        for equation in np.unique(linked.equations.owner[linked.equations.cells == cell]).tolist():
            family = linked.families[int(linked.family[equation])]
            name = self._called(int(linked.family[equation]))
            cells, signs = linked.equations.terms(equation)
            if name in seen or cell not in cells[signs > 0].tolist():
                continue
            seen.add(name)
            parts = cells[signs > 0]
            parts = parts[parts < linked.offsets[-1]]
            known = linked.low[parts] == linked.high[parts]
            where, total = {}, None
            if family.total >= 0:
                row = np.array([int(cells[signs < 0][0]) - int(linked.offsets[family.total])])
                table = linked.tables[family.total]
                where = {label: str(one[0]) for label, one in table.labels(row).items()}
                value = float(table.at(row)[0])
                total = value if np.isfinite(value) else None
            yield Witness(
                name=name,
                where=where,
                total=total,
                printed=int(known.sum()),
                printed_sum=float(linked.low[parts[known]].sum()),
                hidden=int((~known).sum()),
                threshold=None,
            )


def _moved(whole: Bounds, left: Bounds, cell: int, /) -> float:
    """By how many persons both ends move if a table is left out."""
    return float(
        abs(int(whole.low[cell]) - int(left.low[cell])) + abs(int(whole.high[cell]) - int(left.high[cell]))
    )


def _range(bounds: Bounds, cell: int, /) -> CountLaw:
    return _law(int(bounds.low[cell]), int(bounds.high[cell]))


def _law(low: int, high: int, /) -> CountLaw:
    """A range without probabilities; one that nothing ends has `ENDLESS`."""
    return CountLaw(
        counts=np.zeros(0, np.int64),
        probabilities=np.zeros(0),
        low=low,
        high=min(high, ENDLESS),
        mode=low,
        mean=float(low),
        p_zero=0.0 if low > 0 else 1.0 if high == 0 else 0.5,
    )
