"""A map of cells: two dimensions as rows and columns, the others held at one value each, every cell one pixel."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.assessment import Assessment, CellState, Inference, Microscope, ProofScope
from noisegate.errors import SpecError
from noisegate.report.map_facts import InferredFacts, MapFacts, ProvedFacts
from noisegate.tables import Dimension, Kind, Table

Ints = NDArray[np.int64]
#: States in which a hidden cell gives something away.
_LEAKED = (CellState.OCCUPIED, CellState.SHARP, CellState.EXACT)
#: Widths in which numbers of pixels are packed.
_WIDTHS = ("|i1", "<i2", "<i4")
#: How many of the sharpest holes are listed.
_LISTED = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a map shows: its row and column dimensions, and the value of each other one."""

    rows: str
    columns: str | None
    at: Mapping[str, str]


def map_of(assessment: Assessment, /) -> CellMap | None:
    """The cells of an assessment, ready to be laid out; None if they were neither inferred nor bounded.

    Where counts are known to stand as they are, what sums prove needs no law.
    """
    known, inference = assessment.known_counts, assessment.inference
    if inference is not None and (known is None or known.assumed):
        return inferred_map(inference)
    if known is None:
        return None
    scope = ProofScope(known=known)
    return CellMap(facts=ProvedFacts(known=known, tables=scope.tables), microscope=scope)


def inferred_map(inference: Inference, /) -> CellMap:
    """The cells of an inference, ready to be laid out."""
    return CellMap(facts=InferredFacts(inference=inference), microscope=Microscope(inference=inference))


@dataclass(kw_only=True, eq=False)
class CellMap:
    """The cells of an assessed base, ready to be laid out."""

    facts: MapFacts
    microscope: Microscope | ProofScope

    @property
    def base(self) -> Table:
        """The table whose cells these are."""
        return self.facts.base

    @cached_property
    def codes(self) -> NDArray[Any]:
        """The label codes of every cell, one line for each dimension."""
        return self.base.codes(np.arange(self.base.size))

    @cached_property
    def leaked(self) -> NDArray[np.bool_]:
        """Hidden cells that surely hold somebody."""
        return np.isin(self.microscope.states, np.array(_LEAKED, np.uint8))

    def dimension(self, name: str, /) -> Dimension:
        """The dimension of this name."""
        return self.base.dimensions[self._place(name)]

    def _place(self, name: str, /) -> int:
        names = [one.name for one in self.base.dimensions]
        if name not in names:
            raise SpecError.for_choice("a dimension", found=name, allowed=names)
        return names.index(name)

    def mates(self, name: str, /) -> list[str]:
        """Dimensions that depend on this one or it on them: they go into the same rows."""
        place = self._place(name)
        names = [one.name for one in self.base.dimensions]
        nests = [nest for nest in self.base.domain.nests if place in nest]
        return [names[other] for nest in nests for other in nest if other != place]

    def view(self, asked: Mapping[str, str], /) -> View:
        """What is asked for, with the best choice for what is not said: times across, the longest list down."""
        dimensions = sorted(self.base.dimensions, key=lambda one: -one.size)
        columns = asked.get("columns") or self._columns(dimensions, asked.get("rows"))
        rows = asked.get("rows") or next(
            (one.name for one in dimensions if one.name != columns and one.kind is not Kind.DATE),
            next((one.name for one in dimensions if one.name != columns), dimensions[0].name),
        )
        if columns == rows or columns in self.mates(rows):
            columns = None
        fixed = [
            one
            for one in self.base.dimensions
            if one.name not in {rows, columns} and one.name not in self.mates(rows)
        ]
        at: dict[str, str] = {}
        start = asked.get("cell")
        for one in fixed:
            label = asked.get(f"at.{one.name}")
            if label is None and start is not None and start.isdecimal() and int(start) < self.base.size:
                label = one.labels[int(self.codes[self._place(one.name), int(start)])]
            at[one.name] = label if label in one.labels else self._best(one, at)
        return View(rows=rows, columns=columns, at=at)

    def _columns(self, dimensions: list[Dimension], rows: str | None, /) -> str | None:
        able = [one for one in dimensions if one.name != rows]
        if rows is None and len(able) < 2:
            return None
        taken = set(self.mates(rows if rows is not None else dimensions[0].name))
        free = [
            one for one in able if one.name not in taken and (rows is not None or one is not dimensions[0])
        ]
        order = (
            [one for one in able if one.kind is Kind.TIME]
            + [one for one in free if one.kind is Kind.DATE]
            + free
        )
        return order[0].name if order else None

    def _best(self, one: Dimension, at: Mapping[str, str], /) -> str:
        """The value under which most is given away; the first if nothing is."""
        which = self.leaked & self._there(at)
        counted = np.bincount(self.codes[self._place(one.name)][which], minlength=one.size)
        return one.labels[int(np.argmax(counted))]

    def _there(self, at: Mapping[str, str], /) -> NDArray[np.bool_]:
        found = np.ones(self.base.size, bool)
        for name, label in at.items():
            place = self._place(name)
            found &= self.codes[place] == self.base.dimensions[place].labels.index(label)
        return found

    def to_json(self, asked: Mapping[str, str], /) -> dict[str, Any]:
        """The map that is asked for: rows, columns, and for each pixel a cell with what is known of it."""
        view = self.view(asked)
        cells = np.flatnonzero(self._there(view.at))
        if len(cells) > limits.current().map_cells:
            raise SpecError(
                f"This map would have {len(cells):,} cells, {limits.current().map_cells:,} are allowed; choose other dimensions."
            )
        rows, row = self._rows(view, cells)
        labels, column = self._across(view, cells)
        pixel = row * len(labels) + column
        return {
            "view": {"rows": view.rows, "columns": view.columns, "at": dict(view.at)},
            "dimensions": [
                {"name": one.name, "size": one.size, "kind": str(one.kind)} for one in self.base.dimensions
            ],
            "filters": [self._filter(name, view) for name in view.at],
            "rows": rows,
            "columns": labels,
            "cells": self._pixels(cells, pixel, (len(rows), len(labels))),
            "counts": self._counts(cells),
            "level": self.facts.level,
            "threshold": self.facts.threshold,
            "table": self.base.name,
            "tables": list(self.facts.tables),
            "left_out": [{"table": name, "reason": why} for name, why in self.facts.left_out],
            "assumes": list(self.facts.assumes),
            "first": self.first(view),
            "sharpest": self.sharpest,
        }

    def first(self, view: View, /) -> int | None:
        """The cell that a view opens on: the hole of it that is known best, else any hole, else any cell."""
        inside = self._there(view.at)
        found = next((cell for cell in self._ranked if inside[cell]), None)
        if found is not None:
            return found
        holes = np.flatnonzero(inside & (self.microscope.states == CellState.HIDDEN))
        some = holes if holes.size else np.flatnonzero(inside)
        return int(some[0]) if some.size else None

    def _rows(self, view: View, cells: Ints, /) -> tuple[list[dict[str, Any]], Ints]:
        """The rows, in the order of what they depend on and the fullest first, and the row of each cell."""
        names = [*self.mates(view.rows), view.rows]
        sizes = [self.dimension(name).size for name in names]
        key = np.zeros(len(cells), np.int64)
        for name, size in zip(names, sizes, strict=True):
            key = key * size + self.codes[self._place(name)][cells]
        distinct, first, row = np.unique(key, return_index=True, return_inverse=True)
        weight = np.bincount(row, weights=self.facts.weight[cells], minlength=len(distinct))
        group = distinct // sizes[-1]
        own = self.dimension(view.rows)
        order = np.lexsort((-weight if own.kind is Kind.TEXT else distinct, group))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        at = cells[first[order]]
        columns = [
            [self.dimension(name).labels[code] for code in self.codes[self._place(name)][at].tolist()]
            for name in names
        ]
        found = [{"label": said[-1], "group": ", ".join(said[:-1])} for said in zip(*columns, strict=True)]
        return found, rank[row.reshape(-1)]

    def _across(self, view: View, cells: Ints, /) -> tuple[list[str], Ints]:
        if view.columns is None:
            return [""], np.zeros(len(cells), np.int64)
        dimension = self.dimension(view.columns)
        written = dimension.keys if dimension.kind in {Kind.DATE, Kind.TIME} else dimension.labels
        return list(written), self.codes[self._place(view.columns)][cells].astype(np.int64)

    def _filter(self, name: str, view: View, /) -> dict[str, Any]:
        """The values of a dimension that is held, each with how many holes give something away."""
        others = {other: label for other, label in view.at.items() if other != name}
        which, one = self.leaked & self._there(others), self.dimension(name)
        counted = np.bincount(self.codes[self._place(name)][which], minlength=one.size)
        written = one.keys if one.kind in {Kind.DATE, Kind.TIME} else one.labels
        return {
            "name": name,
            "kind": str(one.kind),
            "at": view.at[name],
            "values": [
                {"label": label, "shown": shown, "leaked": int(count)}
                for label, shown, count in zip(one.labels, written, counted.tolist(), strict=True)
            ],
        }

    def _pixels(self, cells: Ints, pixel: Ints, shape: tuple[int, int], /) -> dict[str, Any]:
        """What is known of each pixel's cell, packed; a pixel without a cell has the number -1.

        Whole numbers of the first width that holds them all: one, two or four bytes, of which the length tells which.
        """
        found, shown = self.facts, self.facts.shown
        size = shape[0] * shape[1]

        def packed(values: NDArray[Any], empty: int) -> str:
            wide = np.iinfo("<i4")
            whole = np.full(size, empty, "<i4")
            whole[pixel] = np.clip(values, wide.min, wide.max)
            least, most = (int(whole.min()), int(whole.max())) if size else (0, 0)
            kind = next(one for one in _WIDTHS if np.iinfo(one).min <= least and most <= np.iinfo(one).max)
            return base64.b64encode(whole.astype(kind).tobytes()).decode()

        return {
            "cell": _stepping(cells, pixel, shape) or packed(cells, -1),
            "state": packed(self.microscope.states[cells], 0),
            "low": packed(found.low[cells], 0),
            "high": packed(found.high[cells], 0),
            "shown": packed(np.nan_to_num(shown[cells], nan=-1.0), -1),
        }

    def _counts(self, cells: Ints, /) -> dict[str, int]:
        counted = np.bincount(self.microscope.states[cells], minlength=len(CellState)).tolist()
        return {state.name.lower(): counted[state] for state in CellState}

    @property
    def sharpest(self) -> list[int]:
        """The hidden cells that are known best."""
        return self._ranked[:_LISTED]

    @cached_property
    def _ranked(self) -> list[int]:
        """Hidden cells that surely hold somebody, the narrowest interval first, then the largest count."""
        found = self.facts
        holes = np.flatnonzero(self.leaked)
        order = np.lexsort((-found.low[holes], (found.high - found.low)[holes]))
        return [int(cell) for cell in holes[order]]


def _stepping(cells: Ints, pixel: Ints, shape: tuple[int, int], /) -> dict[str, Any] | None:
    """The numbers of cells as the first of each row and the step to the next, where every row steps alike; else None."""
    if len(cells) != shape[0] * shape[1] or shape[1] < 2:
        return None
    whole = np.empty(len(cells), np.int64)
    whole[pixel] = cells
    table = whole.reshape(shape)
    steps = np.diff(table, axis=1)
    if not len(steps) or (steps != steps[0, 0]).any():
        return None
    return {"rows": table[:, 0].tolist(), "step": int(steps[0, 0])}
