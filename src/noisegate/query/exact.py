"""Sums of tables in which nothing was left out: the published sum, and the exact law of its error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noisegate.core.domain import Ints
from noisegate.core.laws import LatticeLaw
from noisegate.core.margins import Design, ErrorLaw, ErrorTerm, MeasuredTable, Piece, pieces
from noisegate.query.cells import Cells
from noisegate.query.statement import StatedTable, Statement


@dataclass(frozen=True, slots=True, eq=False)
class ErrorLaws:
    """The law of the error of any sum of a release's cells, before counts were made non-negative.

    *derive* and *independent*: a sum of as many independent noises as there are cells. *reconcile*: the error of the
    least-squares estimate, a fixed combination of the noises of all measured tables.
    """

    statement: Statement
    _pieces: tuple[Piece, ...]

    @classmethod
    def of(cls, statement: Statement, /) -> ErrorLaws:
        """The laws of a release; all of it follows from the card."""
        margins = {table.name: table.margin for table in statement.margins if table.margin is not None}
        parts = pieces(statement.domain, margins) if statement.method == "reconcile" else ()
        return cls(statement, parts)

    def of_groups(self, cells: Cells, table: StatedTable, groups: Ints, /) -> list[ErrorLaw]:
        """The law of the error of each of these groups' sums."""
        if self.statement.method != "reconcile":
            law = table.law if table.law is not None else self.statement.base.law
            assert law is not None
            terms = cells.counts()
            return [
                ErrorLaw(terms=(ErrorTerm(coefficient=1.0, copies=int(terms[g]), law=law),)) for g in groups
            ]
        known: dict[bytes, ErrorLaw] = {}
        boxes = np.stack([self._boxes(cells, piece) for piece in self._pieces], axis=1)
        found = []
        for group in groups.tolist():
            key = boxes[group].tobytes()
            if key not in known:
                known[key] = self._of_boxes(boxes[group])
            found.append(known[key])
        return found

    def _boxes(self, cells: Cells, piece: Piece, /) -> Ints:
        """For each group, how many labels of each axis of the piece lie in it; zeros if none do."""
        domain, selection = self.statement.domain, cells.selection
        taken = np.zeros((cells.groups, len(domain.names)), np.int64)
        inside = []
        for axis in range(len(domain.names)):
            own = [domain.blocks[i].axes[axis] for i in self._blocks(piece)]
            labels = np.unique(np.concatenate(own))
            inside.append(labels[selection.mask(domain.names[axis])[labels]])
        if not all(codes.size for codes in inside):
            return taken
        sizes = [
            1 if name in selection.by else codes.size
            for name, codes in zip(domain.names, inside, strict=True)
        ]
        grids = [inside[domain.axis(name)] for name in selection.by]
        places = (
            np.ravel_multi_index(np.ix_(*grids), cells.group_shape).reshape(-1) if grids else np.zeros(1, int)
        )
        taken[places] = sizes
        return taken

    def _blocks(self, piece: Piece, /) -> list[int]:
        starts = {int(where.start) for where, _ in piece.blocks}
        offsets = self.statement.domain.offsets.tolist()
        return [i for i in range(len(self.statement.domain.blocks)) if offsets[i] in starts]

    def _of_boxes(self, boxes: Ints, /) -> ErrorLaw:
        terms: list[ErrorTerm] = []
        for piece, taken in zip(self._pieces, boxes, strict=True):
            if taken.all():
                box = dict(zip(piece.shape.axes, taken.tolist(), strict=True))
                terms += ErrorLaw.of(*self._design(piece), box).terms
        return ErrorLaw(terms=tuple(terms))

    def _design(self, piece: Piece, /) -> tuple[Design, tuple[LatticeLaw, ...]]:
        measured = [(t.domain.names, t.law) for t in self.statement.tables if t.law is not None]
        design = Design(
            shape=piece.shape,
            measured=tuple(
                MeasuredTable(table=piece.shape.table(names), variance=law.variance)
                for names, law in measured
            ),
        )
        return design, tuple(law for _, law in measured)


def best_table(statement: Statement, cells_of: dict[str, Cells], /) -> StatedTable:
    """The table whose sums have the least noise in the mean; after reconciling all agree, so the smallest one."""

    def noise(table: StatedTable) -> float:
        terms = cells_of[table.name].counts()
        mean = float(terms[terms > 0].mean()) if (terms > 0).any() else math.inf
        own = table.law if statement.method != "derive" else statement.base.law
        if statement.method == "reconcile":
            return mean
        return mean * own.variance if own is not None else math.inf

    # A derived margin is the sum of its base cells: no less noise, only fewer rows.
    allowed = [t for t in statement.tables if t.name in cells_of]
    if statement.method == "derive":
        return statement.base
    return min(allowed, key=noise)
