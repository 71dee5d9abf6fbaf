"""A release as questions are put to it: its public domain, its tables cell by cell, and what it is said to do.

It comes from the card beside the tables or, where there is none, from the spec that the tables were made by; so do the
questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.query import OpenRelease, open_release
from noisegate.reading import Structure, place_rows
from noisegate.spec import (
    AnyDimension,
    ContributionBound,
    DateDimension,
    ListedDimension,
    ReleaseSpec,
    TimeDimension,
)
from noisegate.tables import (
    CARD,
    DAY_S,
    Card,
    Domain,
    Groups,
    Ints,
    Margin,
    Mask,
    Question,
    Selection,
    Table,
    folded,
    kind_of,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrameTable:
    """A published table: for each cell its value (0 where there is no row), and whether it has a row."""

    name: str
    domain: Domain
    margin: Margin | None
    values: NDArray[Any]
    shown: Mask

    def sums(self, cells: Ints, weights: NDArray[Any], /) -> NDArray[np.float64]:
        """What base cells with these weights add up to, in each cell of this table."""
        places = cells if self.margin is None else self.margin.of(cells)
        return np.bincount(places, weights=weights, minlength=self.domain.size).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frame:
    """A release as questions are put to it.

    Attributes
    ----------
    dimensions
        Of the base: which values an event can have.
    domain
        The cells of the base, in terms of these values.
    tables
        The base first.
    method
        How margins were made: `derive`, `reconcile` or `independent`.
    unit, bound
        The privacy unit, and the most that one adds; None if the unit is an event.
    release
        The opened release, if there is a card: it knows the laws of its noise.
    """

    dimensions: Mapping[str, AnyDimension]
    domain: Domain
    tables: tuple[FrameTable, ...]
    method: str
    unit: str
    bound: ContributionBound | None
    release: OpenRelease | None = None

    @property
    def base(self) -> FrameTable:
        """The finest table."""
        return self.tables[0]

    @property
    def day(self) -> str | None:
        """The dimension that days of a person are told by."""
        days = [name for name, one in self.dimensions.items() if isinstance(one, DateDimension)]
        return days[0] if len(days) == 1 else None

    def answering(self, selection: Selection, /) -> FrameTable:
        """The table that a reader would ask, with the least noise."""
        able = {
            table.name: selection.groups(table.domain)
            for table in self.tables
            if selection.restricted <= set(table.domain.names)
        }
        name = self._fewest(able) if self.release is None else self.release.errors.best_table(able)
        return next(table for table in self.tables if table.name == name)

    def _fewest(self, able: Mapping[str, Groups], /) -> str:
        """The table with the fewest cells to add up; derived margins have no more to say than the base."""
        if self.method == "derive":
            return self.base.name
        return min(able, key=lambda name: int(able[name].counts().sum()))


def frame_of_card(folder: Path, /) -> Frame:
    """The release in `folder`, as its card states it.

    Raises
    ------
    DataError
        If the card cannot be used, tables are missing, or they are too large to hold.
    """
    release = open_release(folder)
    domain, bounding = release.domain, release.card.bounding
    _check_size(domain.size)
    return Frame(
        dimensions={one.name: stated_dimension(one.name, one.values) for one in domain.dimensions},
        domain=domain,
        tables=tuple(
            FrameTable(
                name=table.name,
                domain=table.domain,
                margin=table.margin,
                values=values,
                shown=shown,
            )
            for table in release.release.tables
            for values, shown in [table.filled()]
        ),
        method=release.method,
        unit=release.card.unit,
        bound=None
        if bounding is None
        else ContributionBound(cells=bounding.max_cells, per_cell=bounding.max_per_cell),
        release=release,
    )


def frame_of_spec(spec: ReleaseSpec, structure: Structure, /) -> Frame:
    """The tables that were read, as the spec lays them out.

    Raises
    ------
    SpecError
        If the finest table of the spec is not among them.
    """
    _check_size(spec.domain.size)
    found = {name: _cells_of(spec, name, structure) for name in spec.tables}
    if found[spec.base] is None:
        raise SpecError(
            f"none of the tables has the dimensions of {spec.base!r}, the finest table of the spec "
            f"({', '.join(spec.tables[spec.base])}); give all tables that it made."
        )
    names = (spec.base, *(name for name in spec.margins if found[name] is not None))
    return Frame(
        dimensions={name: spec.dimensions[name] for name in spec.domain.names},
        domain=spec.domain,
        tables=tuple(
            _read(name, spec.margins.get(name), spec.domain, cells)
            for name in names
            if (cells := found[name]) is not None
        ),
        method=spec.privacy.margins,
        unit=spec.privacy.unit,
        bound=None if spec.privacy.unit == "event" else spec.privacy.contribution,
    )


def stated_dimension(name: str, values: tuple[str, ...], /) -> AnyDimension:
    """What a list of values is: days without a gap, bins that fill a day, or names.

    Examples
    --------
    >>> type(stated_dimension("time", ("00:00", "12:00"))).__name__
    'TimeDimension'
    """
    kind = kind_of(values)
    found: AnyDimension | None = None
    if kind == "day":
        found = DateDimension.model_validate({"column": name, "from": values[0], "to": values[-1]})
    if kind == "time" and DAY_S % len(values) == 0:
        found = TimeDimension.model_validate({"column": name, "every": f"{DAY_S // len(values)}s"})
    if found is not None and found.values == values:
        return found
    return ListedDimension.model_validate({"column": name, "values": list(values)})


def _check_size(cells: int, /) -> None:
    if cells > limits.current().questioned_cells:
        raise DataError(
            f"the release has {cells:,} cells; its questions are taken apart for at most {limits.current().questioned_cells:,}."
        )


def _cells_of(spec: ReleaseSpec, name: str, structure: Structure, /) -> Table | None:
    """The table that was read for one of the spec: by its name, else the only one with its dimensions."""
    wanted = {folded(one) for one in spec.tables[name]}
    alike = [cells for cells in structure.tables if {folded(one.name) for one in cells.dimensions} == wanted]
    named = [cells for cells in alike if cells.name == name]
    return named[0] if named else alike[0] if len(alike) == 1 else None


def _read(name: str, margin: Margin | None, base: Domain, cells: Table, /) -> FrameTable:
    """The rows of a table at their places in the domain; rows that have none there are left out."""
    domain = base if margin is None else margin.domain
    places = place_rows(cells.dimensions, cells.codes(cells.cells), domain)
    inside = places >= 0
    values, shown = np.zeros(domain.size), np.zeros(domain.size, bool)
    values[places[inside]] = cells.values[inside]
    shown[places[inside]] = True
    return FrameTable(name=name, domain=domain, margin=margin, values=values, shown=shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSource:
    """Questions, and what states how the release was made.

    Attributes
    ----------
    kind
        Whether the questions are the card's or the spec's.
    folder
        The directory of the release, if it has a card of ours.
    spec
        The spec, if a person named one.
    """

    kind: Literal["card", "spec"]
    wanted: tuple[Question, ...]
    folder: Path | None = None
    spec: ReleaseSpec | None = None

    def frame(self, structure: Structure, /) -> Frame:
        """The release as questions are put to it: by its card, else by the spec."""
        if self.folder is not None:
            return frame_of_card(self.folder)
        if self.spec is None:
            raise DataError("there is neither a card nor a spec that lays the release out.")
        return frame_of_spec(self.spec, structure)


def wanted_by_spec(spec: ReleaseSpec, /) -> tuple[Question, ...]:
    """The questions of a spec.

    Raises
    ------
    SpecError
        If it has none.
    """
    if not spec.workload:
        raise SpecError(
            "the spec given with --workload has no workload; add one, such as workload: {by-mode: {by: [mode]}}."
        )
    return spec.questions


def find_workload(card: Card | None, spec: ReleaseSpec | None, /) -> WorkloadSource | None:
    """The questions of the spec, else those of the card; None if nobody states any.

    Raises
    ------
    SpecError, DataError
        If the spec has no workload, or the card's is in another form.
    """
    folder, stated = None, tuple[Question, ...]()
    # The card of another program may say enough to assess by, but not to compute with.
    if card is not None and card.complete and card.path is not None and card.path.name == CARD:
        folder, stated = card.path.parent, tuple(entry.question for entry in card.workload)
    if spec is not None:
        return WorkloadSource(kind="spec", wanted=wanted_by_spec(spec), folder=folder, spec=spec)
    return WorkloadSource(kind="card", wanted=stated, folder=folder) if stated else None
