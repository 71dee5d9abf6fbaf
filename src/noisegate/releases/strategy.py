"""What to measure for a workload: tables beside the declared ones, coarser bins of time where ranges are asked for, and their shares.

`privacy: {strategy: workload}` in a spec. The mean variance of every question is known exactly for any tables and shares
(`noisegate.margins.strategy`), and their weighted sum is made least: each question counts by what the base alone, with the whole
budget, would make of it, or, where all state an error that is wanted, by the square of that. Candidates are the
declared tables, the marginals that questions are about, and these with the time of day in coarser bins, if a question names a range of times. A table that is
added is published like any other, and the base gets a column, but no cell more, for a level of time. Never worse than what the same spec has without it: that
is compared at the end.

All of it is a function of the spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from noisegate.errors import SpecError
from noisegate.margins import (
    AnyPiece,
    Objective,
    TableShape,
    best_split,
    best_strategy,
    pieces,
    plan_rounding,
    variance_of_sums,
)
from noisegate.releases.loss import unit_change
from noisegate.releases.questions import asked_questions
from noisegate.spec import ReleaseSpec, TimeDimension
from noisegate.tables import DAY_S, Asked, Margin

#: Levels of time that are tried together, in seconds; each divides the next.
_LADDERS = ((1800, 3600, 7200, 14400, 28800), (3600, 10800, 21600, 43200))
Names = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadStrategy:
    """A spec that says what is measured for its workload.

    `value` is the weighted sum of variances that it has, `flat` that of the declared tables with their usual split; `added` are its tables
    that were not declared.
    """

    spec: ReleaseSpec
    value: float
    flat: float
    added: Mapping[str, Names]


def strategy_of(spec: ReleaseSpec, /) -> WorkloadStrategy | None:
    """The strategy that a spec leaves to be found; None if it says what is measured, or has it in it already."""
    settled = spec.privacy.strategy == "tables" or spec.privacy.split is not None
    return None if settled else workload_strategy(spec)


def workload_strategy(spec: ReleaseSpec, /) -> WorkloadStrategy:
    """The best strategy for the workload of a spec; refuses one that no table answers, or whose parts are too uneven."""
    declared = spec.changed(privacy=spec.privacy.model_copy(update={"strategy": "tables", "split": None}))
    found = [one for one in map(_solved, _candidates(declared)) if one is not None]
    flat = found[0].flat
    best = min(found, key=lambda one: one.value)
    return best if best.value < flat else WorkloadStrategy(spec=declared, value=flat, flat=flat, added={})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidates:
    """A spec with levels of time in its base, and all tables that may be measured, the base first; `declared` are those that must be."""

    declared: ReleaseSpec
    spec: ReleaseSpec
    levels: Names


def _candidates(declared: ReleaseSpec, /) -> Iterator[_Candidates]:
    """The declared dimensions alone, then with each ladder of levels."""
    yield _with_levels(declared, "", ())
    name = _ranged(declared)
    if name is None:
        return
    own = declared.dimensions[name]
    assert isinstance(own, TimeDimension)
    for ladder in _LADDERS:
        spans = tuple(one for one in ladder if one > own.every and one % own.every == 0 and DAY_S % one == 0)
        if spans:
            yield _with_levels(declared, name, spans)


def _ranged(spec: ReleaseSpec, /) -> str | None:
    """The dimension of times that a question asks a range of; None if there is none, or if the spec has levels of its own."""
    base = spec.tables[spec.base]
    for name in base:
        dimension = spec.dimensions[name]
        if not isinstance(dimension, TimeDimension) or not any(name in one.where for one in spec.questions):
            continue
        alike = [one for one in base if spec.dimensions[one].column == dimension.column]
        if sum(isinstance(spec.dimensions[one], TimeDimension) for one in alike) == 1:
            return name
    return None


def _with_levels(declared: ReleaseSpec, time: str, spans: Sequence[int], /) -> _Candidates:
    """The spec with these levels of a dimension of times, and with a table for each marginal that a question may be read from."""
    levels = {f"{time}-{_span(one)}": one for one in spans}
    dimensions = dict(declared.dimensions)
    for name, span in levels.items():
        if name in dimensions:
            raise SpecError(
                f"the dimension {name!r} would be one of the strategy's own; give it another name."
            )
        dimensions[name] = TimeDimension.model_validate(
            {"column": dimensions[time].column, "every": _span(span)}
        )
    tables = dict(declared.tables)
    tables[declared.base] = (*tables[declared.base], *levels)
    seen = {frozenset(names) for names in tables.values()}
    for kept in _marginals(declared):
        for instead in (None, *levels) if time in kept else (None,):
            names = kept if instead is None else tuple(instead if one == time else one for one in kept)
            if names and frozenset(names) not in seen:
                seen.add(frozenset(names))
                tables["by-" + "-".join(names)] = names
    return _Candidates(
        declared=declared, spec=declared.changed(dimensions=dimensions, tables=tables), levels=tuple(levels)
    )


def _marginals(spec: ReleaseSpec, /) -> Iterator[Names]:
    """The dimensions of every question that the base has, and those it is asked by alone."""
    base = spec.tables[spec.base]
    for one in spec.questions:
        if one.dimensions <= set(base):
            yield tuple(name for name in base if name in one.dimensions)
            yield tuple(name for name in base if name in one.by)
    for names in spec.tables.values():
        yield tuple(name for name in base if name in names)


def _span(seconds: int, /) -> str:
    return f"{seconds // 3600}h" if seconds % 3600 == 0 else f"{seconds // 60}min"


def _solved(candidates: _Candidates, /) -> WorkloadStrategy | None:
    """The best strategy among some candidates; None if levels of time cannot be had with the declared tables."""
    spec, declared = candidates.spec, candidates.declared
    try:
        parts, tables = _parts(candidates)
        asked = [one for one in asked_questions(spec) if one.reason is None]
        objective = _objective(spec, parts, tables, asked)
    except SpecError as problem:
        if candidates.levels:
            return None
        raise SpecError(
            f"privacy.strategy is 'workload', but {problem} Leave strategy out, or give a split."
        ) from None
    names = list(tables)
    gaussian = spec.privacy.law == "discrete-gaussian"
    change = unit_change(spec) if gaussian else None
    squares = None if change is None else {tables[name]: float(change.square(name)) for name in names}
    kept = [tables[name] for name in declared.tables]

    names_alone = TableShape(axes=spec.domain.names, sizes=(1,) * len(spec.domain.names))

    def allowed(some: Sequence[Names]) -> bool:
        try:
            margins = [one for one in some if one != tables[spec.base]]
            for shape in (names_alone, *(part.shape for part in parts)):
                plan_rounding(shape, margins)
        except SpecError:
            return False
        return True

    found = best_strategy(objective, list(tables.values()), squares=squares, kept=kept, allowed=allowed)
    usual = best_split(
        [part.shape for part in _parts(_with_levels(declared, "", ()))[0]],
        declared.tables,
        squares=_named_squares(declared),
    )
    shares = np.array([float(usual.get(name, 0)) for name in names])
    flat = objective(shares**2 if squares is None else shares / np.array(list(squares.values())))
    return _stated(
        candidates,
        {name: found.shares.get(table, Fraction(0)) for name, table in tables.items()},
        value=found.value,
        flat=flat,
    )


def _named_squares(spec: ReleaseSpec, /) -> dict[str, Fraction] | None:
    if spec.privacy.law != "discrete-gaussian":
        return None
    change = unit_change(spec)
    return {name: Fraction(change.square(name)) for name in spec.tables}


def _parts(candidates: _Candidates, /) -> tuple[tuple[AnyPiece, ...], dict[str, Names]]:
    """The pieces of the domain, and the tables that can be reconciled together: the base, the declared ones, then as many others as may be."""
    spec, declared = candidates.spec, candidates.declared
    domain = spec.domain
    margins = {
        name: Margin.over(domain, names) for name, names in declared.tables.items() if name != spec.base
    }
    found = pieces(domain, margins)
    for name, names in spec.tables.items():
        if name in declared.tables:
            continue
        try:
            more = {**margins, name: Margin.over(domain, names)}
            found = pieces(domain, more)
            margins = more
        except SpecError:
            continue
    return found, {spec.base: spec.tables[spec.base], **{name: spec.tables[name] for name in margins}}


def _objective(
    spec: ReleaseSpec, parts: Sequence[AnyPiece], tables: Mapping[str, Names], asked: Sequence[Asked], /
) -> Objective:
    """The sum of the variances of all questions, each over that of the base alone, or over the square of what is wanted."""
    wanted = [one.question.wanted for one in asked]
    alone = np.array([1.0] + [0.0] * (len(tables) - 1))
    found = []
    for one, aim in zip(asked, wanted, strict=True):
        cells = one.selection.groups(spec.domain)
        own = [
            variance_of_sums(part, [part.shape.table(names) for names in tables.values()], cells)
            for part in parts
        ]
        some = [part for part in own if part is not None]
        if not some:
            continue
        whole = some[0].plus(*some[1:])
        weight = whole(alone) if None in wanted or aim is None else aim**2
        found.append(whole.times(1 / weight))
    if not found:
        raise SpecError("no question of the workload can be answered by the tables.")
    return found[0].plus(*found[1:])


def _stated(
    candidates: _Candidates, shares: Mapping[str, Fraction], /, *, value: float, flat: float
) -> WorkloadStrategy:
    """The spec that says all of it: only levels and tables that are measured or were declared."""
    spec, declared = candidates.spec, candidates.declared
    added = {
        name: spec.tables[name] for name, share in shares.items() if share and name not in declared.tables
    }
    levels = [level for level in candidates.levels if any(level in names for names in added.values())]
    base = declared.base
    tables = {**declared.tables, base: (*declared.tables[base], *levels), **added}
    dimensions = {
        name: one for name, one in spec.dimensions.items() if name in declared.dimensions or name in levels
    }
    split = {name: shares[name] for name in tables}
    privacy = declared.privacy.model_copy(update={"split": split, "strategy": "workload"})
    made = declared.changed(dimensions=dimensions, tables=tables, privacy=privacy)
    return WorkloadStrategy(spec=made, value=value, flat=flat, added=added)
