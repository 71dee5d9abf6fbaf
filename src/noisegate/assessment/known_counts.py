"""Which raw counts are known for certain: exactly, to within one, or to be above zero. Each with the equations that prove it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment.cell_state import CellState
from noisegate.assessment.finding import Check, Finding, Result, Severity
from noisegate.assessment.inquiry import Exhibit, Grid, Words
from noisegate.assessment.overlaps import Overlap
from noisegate.inference import Bounds, LinkedCells
from noisegate.tables import Status

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

Ints = NDArray[np.int64]

#: So many equations of a proof are shown, and so many cells; all are in the numbers.
_EQUATIONS, _CELLS, _LISTED = 5, 5, 5_000

WORDS: Mapping[str, Words] = {
    "bounds": Words(
        says="What hidden or rounded counts can be, jointly over all tables, and whether that is proven to be the best.",
    ),
    "overlap": Words(
        says="Tables that share dimensions without one containing the other, and whether sums of one bound the cells of the other.",
    ),
    "contradictory-tables": Words(
        says="Equations that cannot hold together, so nothing is concluded from them.",
    ),
    "known-exactly": Words(
        says="Counts that were hidden or rounded and are known exactly from the other cells.",
        meaning="Some counts that were meant to be hidden can be worked out exactly by subtraction.",
        method=(
            "Every cell has a range: its count where it is published as it is, what its marker stands for where it is hidden, "
            "what rounds to the value where it is rounded. Over all tables together totals are sums of their parts. The least "
            "and the largest count that each cell can have under all of that are worked out exactly, in whole counts; where "
            "they are the same the count is known for certain, and the equations that prove it are named."
        ),
    ),
    "known-within-one": Words(
        says="Counts of which only two are left possible.",
        meaning="Some counts that were meant to be hidden are known to within one person.",
        method="As for counts that are known exactly: the least and the largest possible count differ by one.",
    ),
    "surely-not-empty": Words(
        says="Hidden cells that must hold somebody, though what is shown of them allows 0.",
        meaning="Somebody is certainly in cells that were meant to hide whether there is anybody.",
        method="As for counts that are known exactly: the least possible count is above 0.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KnownCounts:
    """What equations say of the cells that are not published as counted.

    Attributes
    ----------
    linked, bounds
        The cells of all tables, and the least and the largest count of each.
    overlaps
        Tables beside these that share dimensions with them, and whether they could be used.
    assumed
        Tables that are taken to show counts as they are, though too few sums tell so.
    """

    linked: LinkedCells
    bounds: Bounds
    overlaps: tuple[Overlap, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def condition(self) -> str:
        """What all of this rests on, where it is not known; as the start of a sentence."""
        if self.assumed and self.linked.tables[0].name not in self.assumed:
            shows = "shows" if len(self.assumed) == 1 else "show"
            return f"if {' and '.join(self.assumed)} {shows} counts as they are, "
        return "if the shown counts are exact, " if self.assumed else ""

    @property
    def tells(self) -> bool:
        """Whether any count is known for certain, to within one, or to be there."""
        return bool(self.exact.size or self.within_one.size or self.not_empty.size)

    @property
    def open(self) -> NDArray[np.bool_]:
        """Which cells have several possible counts by themselves."""
        return self._cells(self.linked.low < self.linked.high)

    @property
    def how(self) -> str:
        """What was done to the cells that are open: hidden, rounded, or either."""
        shown = np.concatenate(
            [table.status(np.arange(table.size)) == Status.PUBLISHED for table in self.linked.tables]
        )
        shown = self.open[: shown.size] & shown
        rounded, hidden = bool(shown.any()), bool(self.open.sum() > shown.sum())
        return "hidden or rounded" if rounded and hidden else "rounded" if rounded else "hidden"

    def _cells(self, which: NDArray[np.bool_], /) -> NDArray[np.bool_]:
        """The mask without rests that no table lists."""
        kept = which.copy()
        kept[self.linked.offsets[-1] :] = False
        return kept

    @property
    def exact(self) -> Ints:
        """Cells that are known exactly; not those without a row that hold nobody, as their total says."""
        absent = np.concatenate(
            [table.status(np.arange(table.size)) == Status.ABSENT for table in self.linked.tables]
        )
        absent = np.append(absent, np.zeros(self.linked.low.size - absent.size, bool))
        return np.flatnonzero(self._cells(self.bounds.exact & ~(absent & (self.bounds.high == 0))))

    @property
    def within_one(self) -> Ints:
        """Cells of which two counts are left, of more before."""
        low, high = self.bounds.low, self.bounds.high
        return np.flatnonzero(self._cells((high - low == 1) & (self.linked.high - self.linked.low > 1)))

    @property
    def not_empty(self) -> Ints:
        """Cells that may be 0 by themselves and are not; totals of parts that are shown are left out, which need no subtraction."""
        there = (self.linked.low == 0) & (self.bounds.low > 0) & self.open
        return np.flatnonzero(self._cells(there & ~self._of_shown_parts))

    @property
    def _of_shown_parts(self) -> NDArray[np.bool_]:
        """Which cells are totals of parts that show somebody by themselves."""
        sums = self.linked.equations
        parts = np.where(sums.signs > 0, self.linked.low[sums.cells], 0)
        shown = np.bincount(sums.owner, weights=parts, minlength=len(sums)) > 0
        totals = (sums.signs < 0) & shown[sums.owner]
        found = np.zeros(self.linked.low.size, bool)
        found[sums.cells[totals]] = True
        return found

    @property
    def states(self) -> NDArray[np.uint8]:
        """The state of every cell of the base, as sums prove it.

        `EXACT` is a hidden or rounded count of which one is left, `SHARP` one to within one, `OCCUPIED` one that may be 0 by itself and is
        not; what a marker says by itself gives nothing away.
        """
        size = self.linked.tables[0].size
        inside = np.zeros(self.linked.low.size, bool)
        inside[:size] = True
        found = np.full(size, CellState.HIDDEN, np.uint8)
        shown = self.linked.tables[0].status(np.arange(size)) == Status.PUBLISHED
        found[(self.bounds.high[:size] == 0) & ~shown] = CellState.EMPTY
        found[shown] = CellState.PUBLISHED
        for cells, state in (
            (self.not_empty, CellState.OCCUPIED),
            (self.within_one, CellState.SHARP),
            (self.exact, CellState.EXACT),
        ):
            here = cells[inside[cells]]
            found[here[self.bounds.high[here] > 0]] = state
        return found

    def name(self, cell: int, /) -> str:
        """A cell in words: its table and labels."""
        table, place = self.linked.table_of(cell)
        labels = self.linked.tables[table].labels(np.array([place]))
        where = ", ".join(f"{name} {values[0]}" for name, values in labels.items()) or "all"
        where = self._telling(where)
        return where if table == 0 else f"{where} ({self.linked.tables[table].name})"

    def _telling(self, text: str, /) -> str:
        """The text without dimensions that have one value, which every cell has."""
        for one in self.linked.tables[0].domain.dimensions:
            if one.size == 1:
                text = text.replace(f"{one.name} {one.labels[0]}, ", "")
        return text

    def proof(self, cell: int, /) -> list[str]:
        """The equations that prove the bounds of a cell, in words."""
        return [self._telling(self.linked.describe(row)) for row in self.bounds.proof(cell)]

    def listed(self, cells: Ints, /) -> list[dict[str, Any]]:
        """Cells with bounds, what they could be by themselves, and proofs, as plain values."""
        chosen, found = cells[:_LISTED], []
        owner = np.searchsorted(self.linked.offsets, chosen, side="right") - 1
        words = {
            int(table): self.linked.tables[table].labels(
                chosen[owner == table] - int(self.linked.offsets[table])
            )
            for table in np.unique(owner)
        }
        place = dict.fromkeys(words, 0)
        for cell, table in zip(chosen.tolist(), owner.tolist(), strict=True):
            found.append(
                {
                    "table": self.linked.tables[table].name,
                    **{name: str(values[place[table]]) for name, values in words[table].items()},
                    "low": int(self.bounds.low[cell]),
                    "high": int(self.bounds.high[cell]),
                    "shown_as": [int(self.linked.low[cell]), int(self.linked.high[cell])],
                    "proof": self.proof(cell),
                }
            )
            place[table] += 1
        return found


def ask(facts: Facts, /) -> list[Result]:
    """Which counts are known for certain."""
    return [] if facts.known_counts is None else about_counts(facts.known_counts)


def about_counts(known: KnownCounts, /) -> list[Result]:
    """Which counts are known for certain, with proofs; and equations that contradict each other."""
    results: list[Result] = [*_contradictions(known), _looked_at(known), *_beside(known)]
    exact, within, there = known.exact, known.within_one, known.not_empty
    if exact.size:
        results.append(_finding(known, exact, "known-exactly", "are known exactly", most="high"))
    if within.size:
        results.append(_finding(known, within, "known-within-one", "are known to within one", most="medium"))
    if there.size:
        results.append(_finding(known, there, "surely-not-empty", "surely hold somebody", most="low"))
    return results


def _finding(known: KnownCounts, cells: Ints, kind: str, what: str, /, *, most: Severity) -> Finding:
    hidden = int(known.open.sum())
    severity: Severity = "medium" if most == "high" and cells.size < 2 else most
    if known.assumed:  # what rests on a condition does not lead
        severity = "low" if severity == "low" else "medium"
    order = cells[np.argsort(known.bounds.high[cells], kind="stable")]
    one = cells.size == 1
    verb = what.replace("are", "is").replace("hold ", "holds ") if one else what
    return Finding(
        id=kind,
        severity=severity,
        title=_started(
            f"{known.condition}{cells.size:,} of {hidden:,} counts that are {known.how} {verb}, by "
            f"subtraction{_in_base(known, cells)}"
        ),
        numbers={
            "cells": int(cells.size),
            "cells_of_base": int((cells < known.linked.offsets[1]).sum()),
            "hidden": hidden,
            "how": known.how,
            "listed": known.listed(order),
            "seconds": round(known.bounds.seconds, 3),
        },
        baseline={"from": "each cell by itself, without the others", "cells": 0},
        evidence=[_sentence(known, cell) for cell in order[:_CELLS].tolist()],
        assumptions=[
            *(text for one in known.overlaps if one.used for text in one.assumes),
            *(
                f"{name} shows counts as they are: its sums show no noise, and are too few to tell"
                for name in known.assumed
            ),
        ],
        advice=(
            "Hide or round further cells until no sum leaves a single solution (secondary suppression), or leave out the totals "
            "that give them away."
        ),
    )


def _started(sentence: str, /) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _in_base(known: KnownCounts, cells: Ints, /) -> str:
    """How many of the cells are in the base, where some are not."""
    inside = int((cells < known.linked.offsets[1]).sum())
    return "" if inside == cells.size else f" ({inside:,} of them in {known.linked.tables[0].name})"


def _sentence(known: KnownCounts, cell: int, /) -> str:
    """What is known of a cell, what was shown, and why."""
    low, high = int(known.bounds.low[cell]), int(known.bounds.high[cell])
    before = int(known.linked.low[cell]), int(known.linked.high[cell])
    ends = f"at least {low:,}" if before[1] <= high else f"{low:,} to {high:,}"
    count = f"{low:,}" if low == high else f"{low:,} or {high:,}" if high - low == 1 else ends
    shown = f"{before[0]:,} or more" if before[1] >= 1 << 41 else f"{before[0]:,} to {before[1]:,}"
    proof = known.proof(cell)
    rest = f" and {len(proof) - _EQUATIONS} more" if len(proof) > _EQUATIONS else ""
    return f"{known.name(cell)}: {count} (shown as {shown}), by {'; '.join(proof[:_EQUATIONS])}{rest}."


def _looked_at(known: KnownCounts, /) -> Check:
    hidden, narrowed = int(known.open.sum()), int((known.bounds.narrowed & known.open).sum())
    sharp = int((known.bounds.sharp & known.open).sum())
    proven = "all proven to be the best" if sharp == hidden else f"{sharp:,} of them proven to be the best"
    cells = np.flatnonzero(known.bounds.narrowed & known.open)
    return Check(
        id="bounds",
        outcome="known",
        title=(
            f"{known.condition}bounds of {hidden:,} {known.how} counts, {proven}; the other tables narrow {narrowed:,}"
        ),
        evidence=[_sentence(known, cell) for cell in cells[:_CELLS].tolist()] if known.assumed else [],
        numbers={
            "hidden": hidden,
            "narrowed": narrowed,
            "proven": sharp,
            "exact": int(known.exact.size),
            "ways": dict(known.bounds.ways),
            "equations": len(known.linked.equations),
        },
    )


def _beside(known: KnownCounts, /) -> list[Check]:
    """What was made of tables that share dimensions with these."""
    return [
        Check(
            id="overlap",
            outcome="known" if one.used else "refused" if one.compared > one.agreed else "cannot tell",
            title=one.describe(),
            numbers={"beside": one.beside, "compared": one.compared, "agreed": one.agreed, "used": one.used},
        )
        for one in known.overlaps
    ]


def _contradictions(known: KnownCounts, /) -> list[Check]:
    found = known.bounds.contradictions
    if not found:
        return []
    first = min(found, key=lambda one: len(one.equations))
    said = [known.linked.describe(row) for row in first.equations]
    return [
        Check(
            id="contradictory-tables",
            outcome="refused",
            title=(
                f"{len(found):,} famil{'y' if len(found) == 1 else 'ies'} of sums cannot hold together; nothing is concluded from "
                f"the cells in them. The smallest: {'; '.join(said[:_EQUATIONS])}"
            ),
            numbers={"families": len(found), "smallest": said},
        )
    ]


def show(assessment: Assessment, /) -> Exhibit | None:
    """The cells that are known exactly."""
    listed = [cell for numbers in assessment.numbers("known-exactly") for cell in numbers["listed"]]
    if not listed:
        return None
    skipped = {"low", "high", "shown_as", "proof", "table"}
    rows = [
        (
            ", ".join(value for name, value in one.items() if name not in skipped),
            one["table"],
            one["low"],
            f"{one['shown_as'][0]} to {one['shown_as'][1]}",
            "; ".join(one["proof"][:_EQUATIONS]),
        )
        for one in listed
    ]
    return Exhibit(
        section="cells",
        grids=(
            Grid.of("Counts that are known exactly", ("cell", "table", "count", "shown as", "proof"), rows),
        ),
    )
