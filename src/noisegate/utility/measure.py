"""The measured error of every question, taken apart, against the raw events: for the custodian's eyes only.

Fresh noise is drawn again and again on the custodian's machine, never the noise that is published, and what comes of
it is compared with the truth. Figures that were measured against the truth are not private: they belong on no card and
into no release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.core.margins import NoisyTable, reconcile_tables
from noisegate.core.randomness import NoiseSource, as_noise
from noisegate.core.workload import Cells, ErrorParts, Trio, error_parts, usual_trio
from noisegate.core.workload.parts import STAGES
from noisegate.engine import Counts, count
from noisegate.errors import SpecError
from noisegate.release.plan import Plan, TablePlan
from noisegate.release.prediction import Prediction, predict, sum_errors
from noisegate.release.questions import Asked, asked_questions
from noisegate.spec import ReleaseSpec, TimeDimension
from noisegate.spec.fields import DAY_S, clock

Floats = NDArray[np.float64]

DRAWS = 20
#: Tables are held cell by cell here.
MOST_CELLS = 50_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One question: what was predicted of its noise, and what was measured. Raw: never for publishing.

    `kept` is, for rankings, the mean share of the truly largest groups that the published table puts among its largest.
    """

    name: str
    reason: str | None
    prediction: Prediction | None = None
    parts: ErrorParts | None = None
    trio: Trio | None = None
    kept: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        if self.parts is None or self.trio is None or self.prediction is None:
            return {"name": self.name, "answered": False, "reason": self.reason}
        return {
            "name": self.name,
            "answered": True,
            "predicted_noise": self.prediction.as_json(),
            "bias": self.parts.bias,
            "absolute": self.parts.absolute,
            "share_of_square": self.parts.share,
            "total": {
                "bias": self.parts.total_bias,
                "absolute": self.parts.total_absolute,
                "root_mean_square": math.sqrt(self.parts.total_square),
                "standard_error_of_absolute": self.parts.total_absolute_error,
            },
            "relative_error": self.trio.relative,
            "drop_rate": self.trio.dropped,
            "spurious_rate": self.trio.spurious,
            "ranking_kept": self.kept,
        }


def measure(
    plan: Plan,
    counts: Counts,
    /,
    *,
    noise: NoiseSource,
    draws: int = DRAWS,
    connection: Any = None,
    report: Callable[[int, int], None] = lambda _done, _all: None,
) -> tuple[Measured, ...]:
    """The error of each question of the plan's workload, over `draws` fresh draws of the noise.

    Parameters
    ----------
    plan, counts
        The plan, and the raw counts after bounding, as the release uses them.
    noise
        For the draws; they are not published, and cost nothing as long as the result stays with the custodian.
    connection
        Where the events are, as for counting.
    """
    as_noise(noise)
    if draws < 2:
        raise SpecError.for_value("draws", found=draws, allowed="at least 2")
    if plan.base.cells > MOST_CELLS:
        raise SpecError(
            f"measuring holds all {plan.base.cells:,} cells in memory; at most {MOST_CELLS:,} are allowed."
        )
    questions = asked_questions(plan.spec)
    open_ones = [one for one in questions if one.reason is None]
    errors = sum_errors(plan)
    predictions = {one.name: predict(one, errors) for one in open_ones}
    every = count(_unbounded(plan.spec), noise=noise, connection=connection)
    readers = {one.name: _Reader.of(one, plan, predictions[one.name].table) for one in open_ones}
    before = {
        name: _before_noise(reader, plan, (every, counts), noise, connection)
        for name, reader in readers.items()
    }
    stages: dict[str, list[Floats]] = {name: [] for name in readers}
    there: dict[str, list[NDArray[np.bool_]]] = {name: [] for name in readers}
    for draw in range(draws):
        report(draw, draws)
        noised, published = _draw(plan, counts, noise)
        for name, reader in readers.items():
            last = published[reader.table]
            answers = [reader.answer(noised[reader.table]), reader.answer(last.values)]
            stages[name].append(np.stack([*before[name], *answers]))
            there[name].append(reader.cells.sums(last.shown)[reader.groups] > 0)
    report(draws, draws)
    return tuple(
        _measured(one, predictions.get(one.name), stages.get(one.name, []), there.get(one.name, []))
        for one in questions
    )


def _measured(
    asked: Asked, prediction: Prediction | None, stages: list[Floats], there: list[NDArray[np.bool_]], /
) -> Measured:
    if asked.reason is not None or prediction is None:
        return Measured(name=asked.name, reason=asked.reason)
    found = np.stack(stages)
    top = asked.question.top
    return Measured(
        name=asked.name,
        reason=None,
        prediction=prediction,
        parts=error_parts(found),
        trio=usual_trio(found[:, 0], found[:, -1], np.stack(there)),
        kept=None if top is None else float(np.mean([_overlap(s[0], s[-1], top) for s in found])),
    )


def _overlap(truth: Floats, published: Floats, top: int, /) -> float:
    """The share of the truly largest groups that are among the largest published ones."""
    real, seen = (set(np.argsort(-values, kind="stable")[:top].tolist()) for values in (truth, published))
    return len(real & seen) / max(1, len(real))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Published:
    values: NDArray[np.int64]
    shown: NDArray[np.bool_]


def _draw(
    plan: Plan, counts: Counts, noise: NoiseSource, /
) -> tuple[dict[str, Floats], dict[str, _Published]]:
    """All tables with fresh noise: before anything is left out, and as they would be published."""
    measured = {
        table.name: _noisy(plan, table, counts, noise) for table in plan.tables if table.noise is not None
    }
    if plan.spec.privacy.margins == "reconcile":
        whole = reconcile_tables(
            plan.spec.domain,
            plan.spec.margins,
            base=measured[plan.base.name],
            measured={name: t for name, t in measured.items() if name != plan.base.name},
        )
        full = {plan.base.name: whole.base, **whole.margins}
    else:
        full = {name: table.values for name, table in measured.items()}
        if plan.spec.privacy.zeros == "keep":
            full = {name: np.where(_raw(plan, name, counts) > 0, v, 0) for name, v in full.items()}
    noised, published = {}, {}
    for table in plan.tables:
        if table.name not in full:
            continue
        values = full[table.name]
        shown = np.ones(len(values), bool) if table.least is None else values >= table.least
        noised[table.name] = values.astype(np.float64)
        published[table.name] = _Published(values=np.where(shown, values, 0), shown=shown)
    return noised, published


def _noisy(plan: Plan, table: TablePlan, counts: Counts, noise: NoiseSource, /) -> NoisyTable:
    assert table.noise is not None
    values = table.noise.draw(table.cells, noise=noise) + _raw(plan, table.name, counts)
    return NoisyTable(values=values, variance=table.noise.law.variance)


def _raw(plan: Plan, name: str, counts: Counts, /) -> NDArray[np.int64]:
    """The raw counts of a table, zeros included."""
    if name == plan.base.name:
        values = np.zeros(plan.base.cells, np.int64)
        values[counts.cells] = counts.raw_counts
        return values
    margin = plan.spec.margins[name]
    sums = np.bincount(margin.of(counts.cells), weights=counts.raw_counts, minlength=margin.domain.size)
    return sums.astype(np.int64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Reader:
    """One question put to one table; cells that are asked for in part count in part."""

    asked: Asked
    table: str
    cells: Cells
    groups: NDArray[np.int64]
    weights: Floats | None

    @classmethod
    def of(cls, asked: Asked, plan: Plan, table: str, /) -> _Reader:
        domain = plan.spec.domain if table == plan.base.name else plan.spec.margins[table].domain
        cells = Cells(domain, asked.selection)
        weights = None
        if not asked.whole:
            weights = np.ones(domain.size)
            for name, column in zip(domain.names, domain.decode(np.arange(domain.size)), strict=True):
                weights *= asked.weights[plan.spec.domain.axis(name)][column]
        return cls(
            asked=asked, table=table, cells=cells, groups=np.flatnonzero(cells.counts()), weights=weights
        )

    def answer(self, values: NDArray[Any], /) -> Floats:
        """The answer by groups."""
        weighed = values if self.weights is None else values * self.weights
        return self.cells.sums(weighed)[self.groups]


def _before_noise(
    reader: _Reader, plan: Plan, both: tuple[Counts, Counts], noise: NoiseSource, connection: Any, /
) -> tuple[Floats, Floats, Floats]:
    """Truth, aggregated and bounded answers; `both` are all events and those within the bound."""
    aggregated, bounded = (reader.answer(_raw(plan, reader.table, counts)) for counts in both)
    if reader.weights is None:
        return aggregated, aggregated, bounded
    return _truth(reader, plan, noise, connection), aggregated, bounded


def _unbounded(spec: ReleaseSpec, /) -> ReleaseSpec:
    """The spec with every event counted."""
    everything = spec.privacy.model_copy(update={"unit": "event", "max_cells": None, "max_per_cell": 1})
    return _remade(spec, privacy=everything)


def _remade(spec: ReleaseSpec, /, **changes: Any) -> ReleaseSpec:
    """A changed copy whose domain is worked out anew."""
    copy = spec.model_copy(update=changes)
    for name in ("domain", "margins"):
        copy.__dict__.pop(name, None)
    return copy


def _truth(reader: _Reader, plan: Plan, noise: NoiseSource, connection: Any, /) -> Floats:
    """The exact answer: events counted in bins as fine as the question, nothing merged.

    The groups are those of the published tables: labels of `by`.
    """
    asked = reader.asked
    spec = plan.spec
    fine = _remade(
        _unbounded(spec),
        merge=(),
        dimensions={
            name: _finest(dim, asked.question.where.get(name, ())) for name, dim in spec.dimensions.items()
        },
        workload={},
    )
    counted = count(fine, noise=noise, connection=connection)
    codes = dict(zip(fine.domain.names, fine.domain.decode(counted.cells), strict=True))
    weights = counted.raw_counts.astype(np.float64)
    again = {one.name: one for one in asked_questions(_remade(fine, workload={asked.name: asked.question}))}
    for axis, name in enumerate(fine.domain.names):
        weights = weights * again[asked.name].weights[axis][codes[name]]
    group = np.zeros(len(weights), np.int64)
    for name in asked.question.by:
        group = group * len(spec.domain.dimensions[spec.domain.axis(name)].labels) + _labels(
            spec, fine, name, codes
        )
    found: Floats = np.bincount(group, weights=weights, minlength=reader.cells.groups).astype(np.float64)
    return found[reader.groups]


def _labels(
    spec: ReleaseSpec, fine: ReleaseSpec, name: str, codes: Mapping[str, NDArray[np.int64]], /
) -> NDArray[np.int64]:
    """The published label of `by` that each fine cell belongs to."""
    values = {}
    for other in spec.domain.names:
        old, new = len(spec.dimensions[other].values), len(fine.dimensions[other].values)
        values[other] = codes[other] * old // new
    axis = spec.domain.axis(name)
    cells = spec.domain.locate(*(values[other] for other in spec.domain.names))
    return spec.domain.decode(cells)[axis]


def _finest(dimension: Any, parts: tuple[str, ...], /) -> Any:
    """A dimension as fine as the borders of a question."""
    if not isinstance(dimension, TimeDimension):
        return (
            dimension.model_copy(update={"group_by": None}) if hasattr(dimension, "group_by") else dimension
        )
    step = dimension.every
    for border in _borders(parts):
        step = math.gcd(step, border)
    return dimension if DAY_S % step else dimension.model_copy(update={"every": step})


def _borders(parts: tuple[str, ...], /) -> Iterator[int]:
    for part in parts:
        first, dots, last = part.partition("..")
        if dots:
            yield from (clock(first.strip()), clock(last.strip()))


__all__ = ["DRAWS", "STAGES", "Measured", "measure"]
