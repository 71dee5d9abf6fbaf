"""What to count, and how an event becomes a cell: said once for every engine.

A release counts by its spec, a custodian who measures it counts the same events again: all of them, in finer bins, or with
every unit held to its bound on average. All hand the engine a plan like this one.

An engine looks up, for every dimension, what the event's value adds to the number of its cell, and
adds these terms up: one sum for each block of the domain, at most one of which exists. For dimensions that depend on each other it
looks their combination up, by one number made of their codes. If none
does, the event is outside, and the first reason that applies is noted as a negative number. So
one integer for each event says all there is to know, in a single pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Self

import numpy as np

from noisegate.engine.source import Source
from noisegate.errors import InternalError
from noisegate.spec import (
    AnyDimension,
    ContributionBound,
    DateDimension,
    DateOrder,
    ListedDimension,
    LookupDimension,
    ReleaseSpec,
)
from noisegate.tables import Domain, Ints, combine

Unit = Literal["event", "person-day", "person"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountPlan:
    """What to count.

    Attributes
    ----------
    domain
        The cells.
    dimensions
        For each dimension its column and its values. Those that the domain does not have select events: an event counts
        only if it has one of their values.
    source
        A path, a glob, a table of the engine, or a source that is open already; `folder` is what paths are relative to.
    unit
        What the bound is about.
    bound
        The most that one unit adds; None if the unit is an event.
    person
        The column that says whose event it is.
    weight
        The column that says how many events a row stands for; None if each is one. Only for events, since rows of several
        do not say whose they are.
    timezone
        Whose clock times with an offset are read on.
    dates
        The order of dates in text; None if the year comes first.
    clipping
        Also tell what bounding did; only with a bound.
    total
        Count whatever the rows hold, as a release must: no event at all, a text that should be a time and is none, or a line that
        cannot be split is no error but falls outside.
    """

    domain: Domain
    dimensions: Mapping[str, AnyDimension] = field(repr=False)
    source: str | Source
    folder: Path = Path()
    unit: Unit = "event"
    bound: ContributionBound | None = None
    person: str | None = None
    weight: str | None = None
    timezone: str | None = None
    dates: DateOrder | None = None
    clipping: bool = False
    total: bool = False

    def __post_init__(self) -> None:
        by_unit = self.unit != "event"
        if by_unit and (self.person is None or self.bound is None or self.weight is not None):
            raise InternalError(f"counting by {self.unit} needs a person, a bound and single events")
        if self.unit == "person-day" and self.day is None:
            raise InternalError("counting by days of a person needs a dimension of dates")

    @classmethod
    def of(cls, spec: ReleaseSpec, /) -> Self:
        """What the release of a spec counts."""
        by_unit = spec.privacy.unit != "event"
        return cls(
            domain=spec.domain,
            dimensions=spec.dimensions,
            source=spec.events.source,
            folder=spec.folder,
            unit=spec.privacy.unit,
            bound=spec.privacy.contribution if by_unit else None,
            person=spec.events.person if by_unit else None,
            timezone=spec.events.timezone,
            dates=spec.events.dates,
            clipping=spec.privacy.report_clipped is not None,
        )

    @property
    def day(self) -> DateDimension | None:
        """The dates that days of a person are told by."""
        days = [one for one in self.dimensions.values() if isinstance(one, DateDimension)]
        return days[0] if days else None

    @property
    def source_name(self) -> str:
        """What messages call the source."""
        return self.source if isinstance(self.source, str) else self.source.name

    def every_event(self) -> CountPlan:
        """The same with every event counted, whoever has how many."""
        return replace(self, unit="event", bound=None, person=None)


Cause = Literal["unreadable", "missing", "outside", "person", "ruled out"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DimensionPlan:
    """One dimension: its column, and for each block what each value adds to the cell; -1 outside.

    A dimension that no table shows adds nothing, but its values must still be in its list. One that is `nested` adds
    nothing by itself.
    """

    name: str
    spec: AnyDimension
    terms: tuple[Ints, ...]
    nested: bool = False
    steps: tuple[tuple[int, int], ...] | None = field(init=False)

    def __post_init__(self) -> None:
        steps = [_step(terms) for terms in self.terms]
        regular = not isinstance(self.spec, ListedDimension | LookupDimension) and None not in steps
        object.__setattr__(self, "steps", tuple(steps) if regular else None)

    @property
    def column(self) -> str:
        """The column of the events."""
        return self.spec.column

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.terms[0].size

    @property
    def keys(self) -> tuple[tuple[str, ...] | range, Ints]:
        """What a column can hold, as text or as the number of a day or bin, and the number of the value that each stands for."""
        if isinstance(self.spec, LookupDimension):
            codes = np.asarray(self.spec.lookup.codes, dtype=np.int64)
            inside = np.flatnonzero(codes >= 0)
            return tuple(self.spec.lookup.keys[place] for place in inside.tolist()), codes[inside]
        texts = self.spec.values if isinstance(self.spec, ListedDimension) else range(self.size)
        return texts, np.arange(self.size)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NestPlan:
    """Dimensions that depend on each other: their places in the plan, and their combinations that exist.

    `keys` is the number of each combination, made of value codes as digits in base `sizes`; `terms` are as for a dimension.
    """

    dimensions: tuple[int, ...]
    sizes: tuple[int, ...]
    keys: Ints
    terms: tuple[Ints, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why an event is outside: the cause, and the dimension that it is about."""

    cause: Cause
    dimension: str = ""
    column: str = ""

    def __str__(self) -> str:
        if self.cause == "missing":
            return f"{self.dimension} is missing"
        if self.cause == "outside":
            return f"{self.dimension} is not in the list"
        if self.cause == "unreadable":
            return f"{self.dimension} cannot be read"
        return "no person is named" if self.cause == "person" else "a combination that is ruled out"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPlan:
    """The dimensions, the number of blocks, and the reasons in the order they are tried."""

    dimensions: tuple[DimensionPlan, ...]
    nests: tuple[NestPlan, ...]
    blocks: int
    reasons: tuple[Reason, ...]

    def code(self, reason: Reason, /) -> int:
        """The negative number that stands for a reason."""
        return -1 - self.reasons.index(reason)


def plan_cells(wanted: CountPlan, /) -> CellPlan:
    """How to go about counting the cells of `wanted`."""
    domain = wanted.domain
    names = list(wanted.dimensions)
    lookups = [(tuple(domain.names[d] for d in one.dimensions), one) for one in domain.lookups()]
    alone = {axis[0]: lookup.terms for axis, lookup in lookups if len(axis) == 1}
    dims = []
    for name, dim in wanted.dimensions.items():
        nothing = tuple(np.zeros(len(dim.values), dtype=np.int64) for _ in domain.blocks)
        nested = name in domain.names and name not in alone
        dims.append(DimensionPlan(name=name, spec=dim, terms=alone.get(name, nothing), nested=nested))
    nests = []
    for axis, lookup in lookups:
        if len(axis) > 1:
            sizes = tuple(len(wanted.dimensions[name].values) for name in axis)
            keys = combine(list(lookup.keys), sizes)
            places = tuple(names.index(name) for name in axis)
            nests.append(NestPlan(dimensions=places, sizes=sizes, keys=keys, terms=lookup.terms))
    return CellPlan(
        dimensions=tuple(dims), nests=tuple(nests), blocks=len(domain.blocks), reasons=_reasons(wanted)
    )


def _reasons(wanted: CountPlan, /) -> tuple[Reason, ...]:
    causes: tuple[Cause, ...] = ("unreadable", "missing", "outside")
    about = [
        Reason(cause=cause, dimension=name, column=dim.column)
        for cause in causes
        for name, dim in wanted.dimensions.items()
    ]
    return (*about, Reason(cause="person"), Reason(cause="ruled out"))


def _step(terms: Ints, /) -> tuple[int, int] | None:
    """Start and step of an arithmetic progression; None if the terms are none."""
    if terms.min() < 0:
        return None
    step = int(terms[1] - terms[0]) if terms.size > 1 else 0
    return (int(terms[0]), step) if (np.diff(terms) == step).all() else None
