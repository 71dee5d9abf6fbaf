"""One cell looked at closely: what is known of it, which tables gave it away, and what is left without one of them.

The engine fits beliefs to all tables and solves all cells, which takes seconds. A close look takes those beliefs as they are and
solves again only the cells that hang together with the one asked for: those that share a total with it, directly or through others,
and those that hold the same count. So a table can be left out and the answer is there at once, with the prior held fixed. Where too
much hangs together, only the totals that count the cell itself are looked at; `CloseLook.whole` says which it was. With all tables a
look says what the engine says: how far the engine moved the cell beyond its neighbours is held fixed too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.assessment.cell_state import CellState
from noisegate.assessment.inference import Inference
from noisegate.errors import DataError, SpecError
from noisegate.inference import (
    CellEstimates,
    Evidence,
    Floats,
    Ints,
    Observation,
    Options,
    Pmfs,
    infer,
)

#: What equal counts are called among the tables that can be left out.
EQUAL_COUNTS = "equal counts"
#: A hidden cell "surely" holds somebody, or nobody, if that is more likely than this.
SURELY = 0.99
_LEANS, _LONGEST_LEAN = 60, 0.5

Bools = NDArray[np.bool_]


def cell_states(inference: Inference, /) -> NDArray[np.uint8]:
    """The state of every cell of the base.

    A hidden cell is `OCCUPIED` if it surely holds somebody, `SHARP` if its interval is then also no wider than that of half of the
    published cells, `EXACT` if one count is left, and `EMPTY` if it surely holds nobody.
    """
    found, evidence = inference.posterior, inference.evidence
    width = found.high - found.low
    shown = ~np.isnan(evidence.base.values)
    state = np.full(found.cells, CellState.HIDDEN, np.uint8)
    state[found.p_zero > SURELY] = CellState.EMPTY
    held = found.p_zero < 1 - SURELY
    state[held] = CellState.OCCUPIED
    if shown.any():
        state[held & (width <= np.median(width[shown]))] = CellState.SHARP
    state[held & (width == 0)] = CellState.EXACT
    if inference.looked is not None:
        state[inference.looked.block_of < 0] = CellState.HIDDEN
    if evidence.zero is not None:
        state[evidence.zero] = CellState.IMPOSSIBLE
    state[shown] = CellState.PUBLISHED
    return state


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountLaw:
    """How likely each count of a cell is, and the interval of this level; without probabilities where sums prove a range."""

    counts: Ints
    probabilities: NDArray[np.float64]
    low: int
    high: int
    mode: int
    mean: float
    p_zero: float

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON; counts less likely than one in a million at both ends are left out."""
        there = np.flatnonzero(self.probabilities > 1e-6)
        kept = slice(int(there[0]), int(there[-1]) + 1) if there.size else slice(0, 1)
        return {
            "first": int(self.counts[kept][0]) if self.counts.size else self.low,
            "probabilities": [round(float(p), 7) for p in self.probabilities[kept]],
            "low": self.low,
            "high": self.high,
            "mode": self.mode,
            "mean": round(self.mean, 3),
            "p_zero": self.p_zero,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Witness:
    """One table, or the cells of equal count, and what it adds about a cell.

    Attributes
    ----------
    name
        The table's name, or `EQUAL_COUNTS`; what `without` takes.
    where
        The labels of the row that counts the cell.
    total
        What the table shows of that row; None if it is hidden too.
    printed, printed_sum, hidden
        Cells of the row that are published, what they add up to, and those that are not and could hold something.
    same
        For equal counts: the cells that hold the same count, and what is published of each.
    otherwise
        What would be known of the cell without it or, if it is left out already, with it; None if that contradicts itself.
    """

    name: str
    where: dict[str, str]
    total: float | None
    printed: int
    printed_sum: float
    hidden: int
    threshold: float | None
    same: tuple[tuple[dict[str, str], float | None], ...] = ()
    otherwise: CountLaw | None = None

    def disagrees(self, law: CountLaw | None, /) -> bool:
        """Whether the interval without it does not meet the one with it."""
        left = self.otherwise
        return law is not None and left is not None and (left.high < law.low or left.low > law.high)

    def to_json(self, law: CountLaw | None, /) -> dict[str, Any]:
        """As plain values for JSON; `law` is what is known with everything that is switched on."""
        return {
            "name": self.name,
            "where": self.where,
            "total": self.total,
            "printed": self.printed,
            "printed_sum": self.printed_sum,
            "hidden": self.hidden,
            "threshold": self.threshold,
            "same": [{"cell": cell, "published": shown} for cell, shown in self.same],
            "otherwise": None if self.otherwise is None else self.otherwise.to_json(),
            "disagrees": self.disagrees(law),
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CloseLook:
    """What is known of one cell.

    Attributes
    ----------
    law
        With all that is not left out; None if that contradicts itself, and no number holds.
    alone
        From its own record only.
    witnesses
        What speaks of it beside its own record, in order of how far each moves the interval.
    left_out
        The names that were left out.
    neighbours, whole
        How many cells were solved for it, and whether these are all that hang together with it.
    proof
        Where sums prove a range, the equations that do.
    """

    cell: int
    labels: dict[str, str]
    state: CellState
    published: float | None
    threshold: float | None
    level: float
    law: CountLaw | None
    alone: CountLaw | None
    witnesses: tuple[Witness, ...]
    left_out: tuple[str, ...]
    neighbours: int
    whole: bool
    proof: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "cell": self.cell,
            "labels": self.labels,
            "state": self.state.name.lower(),
            "published": self.published,
            "threshold": self.threshold,
            "level": self.level,
            "law": None if self.law is None else self.law.to_json(),
            "alone": None if self.alone is None else self.alone.to_json(),
            "witnesses": [one.to_json(self.law) for one in self.witnesses],
            "left_out": list(self.left_out),
            "proof": list(self.proof),
            "neighbours": self.neighbours,
            "whole": self.whole,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Around:
    """Cells that are solved together, ascending, and whether nothing else hangs together with them."""

    cells: Ints
    whole: bool


@dataclass(kw_only=True, eq=False)
class Microscope:
    """Close looks at single cells of an inference, each worked out once."""

    inference: Inference
    _rows: dict[str, Ints] = field(default_factory=dict, init=False, repr=False)
    _leans: dict[int, float] = field(default_factory=dict, init=False, repr=False)
    _solved: OrderedDict[tuple[int, int, tuple[str, ...]], CellEstimates | None] = field(
        default_factory=OrderedDict, init=False, repr=False
    )

    @property
    def _known(self) -> Evidence:
        return self.inference.evidence.known

    @cached_property
    def states(self) -> NDArray[np.uint8]:
        """The state of every cell of the base."""
        return cell_states(self.inference)

    def look(self, cell: int, /, *, without: Collection[str] = ()) -> CloseLook:
        """What is known of one cell of the base, by its number, if some tables are left out.

        Raises
        ------
        SpecError
            For a cell or a table that there is not.
        """
        base = self.inference.cells
        if not 0 <= cell < base.size:
            raise SpecError.for_value("a cell", found=cell, allowed=f"a number from 0 to {base.size - 1}")
        place = self._place(cell)
        around = self._around(place)
        names = self._names(place)
        for name in without:
            if name not in names:
                raise SpecError.for_choice("a table that is left out", found=name, allowed=names)
        gone = tuple(sorted(without))
        law = self._law(place, around, gone)
        witnesses = [
            replace(one, otherwise=self._law(place, around, tuple({*gone} ^ {one.name})))
            for one in self._witnesses(place, names)
        ]
        witnesses.sort(key=lambda one: (-self._moved(place, around, one.name), one.name))
        shown = float(self.inference.evidence.base.values[cell])
        return CloseLook(
            cell=cell,
            labels=self._labels(cell),
            state=CellState(int(self.states[cell])),
            published=None if np.isnan(shown) else shown,
            threshold=_number(self._known.base.mechanism.threshold),
            level=self.inference.posterior.level,
            law=law,
            alone=self._law(place, around, names),
            witnesses=tuple(witnesses),
            left_out=gone,
            neighbours=len(around.cells),
            whole=around.whole,
        )

    def _moved(self, place: int, around: _Around, name: str, /) -> float:
        """By how many persons both ends of the interval move if only this is left out."""
        law, left = self._law(place, around, ()), self._law(place, around, (name,))
        if law is None or left is None:
            return np.inf
        return abs(left.low - law.low) + abs(left.high - law.high)

    def _place(self, cell: int, /) -> int:
        place = self.inference.evidence.place
        found = cell if place is None else int(place[cell])
        if found < 0:
            raise DataError(
                "this cell is not one that the card of the release lists, so nothing is known of it."
            )
        return found

    def _labels(self, cell: int, /) -> dict[str, str]:
        return {name: str(one[0]) for name, one in self.inference.cells.labels(np.array([cell])).items()}

    def _cells_of(self, places: Iterable[int], /) -> list[int]:
        """The cells of the base at these numbers of the engine."""
        place = self.inference.evidence.place
        wanted = list(places)
        return wanted if place is None else [int(np.flatnonzero(place == one)[0]) for one in wanted]

    def _row(self, margin: Observation, /) -> Ints:
        """The row of every cell in a margin."""
        if margin.name not in self._rows:
            self._rows[margin.name] = margin.where.of(np.arange(self._known.layout.size))
        return self._rows[margin.name]

    def _names(self, place: int, /) -> tuple[str, ...]:
        """What speaks of a cell beside its own record."""
        tables = [m.name for m in self._known.margins if self._row(m)[place] >= 0 and self._usable(m, place)]
        return (*tables, *((EQUAL_COUNTS,) if self._same(place).size else ()))

    def _usable(self, margin: Observation, place: int, /) -> bool:
        return margin.usable is None or bool(margin.usable[self._row(margin)[place]])

    def _same(self, place: int, /) -> Ints:
        """The cells that hold the same count as this one."""
        pairs = self._known.equal
        if pairs is None or not pairs.size:
            return np.zeros(0, np.int64)
        left, right = pairs
        return np.unique(np.concatenate([right[left == place], left[right == place]]))

    def _witnesses(self, place: int, names: Collection[str], /) -> list[Witness]:
        own = self._labels(self._cells_of([place])[0])
        found = [self._table(m, place, own) for m in self._known.margins if m.name in names]
        if EQUAL_COUNTS in names:
            values = self._known.base.values
            same = [
                (self._labels(cell), _number(values[other]))
                for other in self._same(place).tolist()
                for cell in self._cells_of([other])
            ]
            found.append(
                Witness(
                    name=EQUAL_COUNTS,
                    where={},
                    total=None,
                    printed=0,
                    printed_sum=0.0,
                    hidden=0,
                    threshold=None,
                    same=tuple(same),
                )
            )
        return found

    def _table(self, margin: Observation, place: int, own: dict[str, str], /) -> Witness:
        rows = self._row(margin)
        members = np.flatnonzero(rows == rows[place])
        values, zero = self._known.base.values[members], self._known.zero
        hidden = np.isnan(values)
        return Witness(
            name=margin.name,
            where={name: own[name] for name in margin.where.labels if name in own},
            total=_number(margin.values[rows[place]]),
            printed=int((~hidden).sum()),
            printed_sum=float(np.nansum(values)),
            hidden=int((hidden if zero is None else hidden & ~zero[members]).sum()),
            threshold=_number(margin.mechanism.threshold),
        )

    def _around(self, place: int, /) -> _Around:
        """What hangs together with a cell; only what shares a total with it, if that is too much."""
        most = limits.current().close_cells
        size, tables = self._known.layout.size, [(self._row(m), len(m.values)) for m in self._known.margins]
        inside = np.zeros(size, bool)
        inside[place] = True
        first: Bools | None = None
        while True:
            before = int(inside.sum())
            inside = self._joined(inside, tables)
            now = int(inside.sum())
            first = inside.copy() if first is None else first
            if now > most:
                return self._near(place, first, most)
            if now == before:
                return _Around(cells=np.flatnonzero(inside), whole=True)

    def _near(self, place: int, first: Bools, most: int, /) -> _Around:
        """The cells that share a total with this one; without the widest totals, if these are too many."""
        if int(first.sum()) <= most:
            return _Around(cells=np.flatnonzero(first), whole=False)
        inside = np.zeros(len(first), bool)
        inside[[place, *self._same(place).tolist()]] = True
        parts = [self._row(m) == self._row(m)[place] for m in self._known.margins if self._row(m)[place] >= 0]
        for part in sorted(parts, key=lambda one: int(one.sum())):
            if int((inside | part).sum()) <= most:
                inside |= part
        return _Around(cells=np.flatnonzero(inside), whole=False)

    def _joined(self, inside: Bools, tables: list[tuple[Ints, int]], /) -> Bools:
        grown = inside.copy()
        for rows, count in tables:
            touched = np.zeros(count + 1, bool)
            touched[rows[inside]] = True
            touched[-1] = False
            grown |= touched[rows]
        if self._known.equal is not None and self._known.equal.size:
            left, right = self._known.equal
            grown[right[inside[left]]] = True
            grown[left[inside[right]]] = True
        return grown

    def _law(self, place: int, around: _Around, gone: tuple[str, ...], /) -> CountLaw | None:
        """The law of one cell if some tables are gone, solved with the cells around it."""
        known = self._without(around, gone)
        if not known.margins and known.equal is None:
            cells = np.array([place])
            found = self._solve(known, cells)
        else:
            cells = around.cells
            found = self._remembered(known, around, tuple(sorted(gone)))
        if found is None:
            return None
        counts, probabilities = found.marginal(int(np.searchsorted(cells, place)))
        lean = self._lean(place, around) if known.margins else 0.0
        return _count_law(counts, _leaning(probabilities, lean), level=found.level)

    def _lean(self, place: int, around: _Around, /) -> float:
        """How far the engine moved a cell beyond what hangs together with it: hidden cells add up to what totals leave for all of them.

        That is as much a belief about the cell as its prior, and is held fixed like it as long as any total is looked at.
        """
        if place not in self._leans:
            found = self._remembered(self._without(around, ()), around, ())
            if found is None:
                return 0.0
            counts, probabilities = found.marginal(int(np.searchsorted(around.cells, place)))
            wanted = float(self.inference.posterior.mean[self._cells_of([place])[0]])
            self._leans[place] = _lean_to(wanted - counts[0], probabilities)
        return self._leans[place]

    def _remembered(self, known: Evidence, around: _Around, gone: tuple[str, ...], /) -> CellEstimates | None:
        """The cells that hang together, solved once for all of them."""
        key = (int(around.cells[0]), hash(around.cells.tobytes()), gone)
        if key not in self._solved:
            self._solved[key] = self._solve(known, around.cells)
            while len(self._solved) > limits.current().close_looks:
                self._solved.popitem(last=False)
        self._solved.move_to_end(key)
        return self._solved[key]

    def _solve(self, known: Evidence, cells: Ints, /) -> CellEstimates | None:
        try:
            return infer(
                known.problem(cells),
                prior=self.inference.engine.prior(cells),
                level=self.inference.posterior.level,
                keep=True,
                options=Options(threads=1),
            )
        except DataError:
            return None

    def _without(self, around: _Around, gone: tuple[str, ...], /) -> Evidence:
        """The evidence less some tables; of those that stay, only rows whose cells are all there."""
        known = self._known
        margins = [m for m in known.margins if m.name not in gone]
        if not around.whole:
            margins = [replace(m, usable=self._complete(m, around)) for m in margins]
        return replace(
            known,
            margins=tuple(margins),
            consistent=known.consistent and around.whole,
            equal=None if EQUAL_COUNTS in gone else known.equal,
        )

    def _complete(self, margin: Observation, around: _Around, /) -> Bools:
        rows, size = self._row(margin), len(margin.values)
        there = rows[around.cells]
        whole = np.bincount(rows[rows >= 0], minlength=size) == np.bincount(there[there >= 0], minlength=size)
        return np.asarray(whole if margin.usable is None else whole & margin.usable)


def _number(value: float | None, /) -> float | None:
    return None if value is None or np.isnan(value) else float(value)


def _leaning(probabilities: Floats, lean: float, /) -> Floats:
    """A law times exp(lean * count)."""
    if not lean:
        return probabilities
    steps = np.arange(len(probabilities))
    weighed = probabilities * np.exp(lean * (steps - (steps[-1] if lean > 0 else 0)))
    return np.asarray(weighed / weighed.sum())


def _lean_to(mean: float, probabilities: Floats, /) -> float:
    """The lean that gives a law of 0, 1, 2, ... this mean; as near as a lean comes, if it has no count on one side of it."""
    steps, lean = np.arange(len(probabilities)), 0.0
    for _ in range(_LEANS):
        law = _leaning(probabilities, lean)
        now = float(law @ steps)
        width = float(law @ (steps - now) ** 2)
        if abs(mean - now) < 1e-10 or width < 1e-12:
            break
        lean += float(np.clip((mean - now) / width, -_LONGEST_LEAN, _LONGEST_LEAN))
    return lean


def _count_law(counts: Ints, probabilities: Floats, /, *, level: float) -> CountLaw:
    start = np.array([0, len(counts)], np.int64)
    pmfs = Pmfs(low=np.asarray(counts[:1], np.int64), start=start, p=np.asarray(probabilities))
    found = CellEstimates.from_pmfs(pmfs, level=level)
    return CountLaw(
        counts=counts,
        probabilities=probabilities,
        low=int(found.low[0]),
        high=int(found.high[0]),
        mode=int(found.mode[0]),
        mean=float(found.mean[0]),
        p_zero=float(found.p_zero[0]),
    )
