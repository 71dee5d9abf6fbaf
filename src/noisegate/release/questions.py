"""The questions of a workload, in terms of the cells that a release publishes.

For each dimension a question has a weight for every label: 1 if all that the label stands for is asked for, 0 if nothing
is, and a share if the label is coarser than the question (half of an hour, three of ten stops of a postcode).
Everything here follows from the spec: no event has been seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noisegate.core.workload import Selection
from noisegate.errors import SpecError
from noisegate.spec import DateDimension, ListedDimension, Question, ReleaseSpec, TimeDimension
from noisegate.spec.fields import DAY_S, clock, day

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Asked:
    """One question of the workload. `reason` says why no table can answer it; None if one can.

    `values` holds a weight for each value of every dimension that has a condition.
    """

    name: str
    spec: ReleaseSpec
    question: Question
    values: Mapping[str, Floats]
    reason: str | None = None

    @cached_property
    def weights(self) -> tuple[Floats, ...]:
        """For each dimension of the base, a weight for each label."""
        return tuple(self._label_weights(axis) for axis in range(len(self.spec.domain.names)))

    @property
    def whole(self) -> bool:
        """Whether the published labels are at least as fine as the question."""
        return all(bool(np.isin(weights, (0.0, 1.0)).all()) for weights in self.weights)

    @property
    def selection(self) -> Selection:
        """The cells that are asked for, wholly or in part."""
        masks = tuple(weights > 0 for weights in self.weights)
        return Selection(domain=self.spec.domain, masks=masks, by=self.question.by)

    @property
    def dimensions(self) -> frozenset[str]:
        """All dimensions that the question uses."""
        return frozenset((*self.question.by, *self.question.where))

    def _label_weights(self, axis: int, /) -> Floats:
        dimension = self.spec.domain.dimensions[axis]
        own = self.values.get(dimension.name)
        if own is None:
            return np.ones(len(dimension.labels))
        weights = np.zeros(len(dimension.labels))
        for block in self.spec.domain.blocks:
            codes = block.maps[axis]
            here = codes >= 0
            members = np.bincount(codes[here], minlength=len(weights))
            asked = np.bincount(codes[here], weights=own[here], minlength=len(weights))
            weights = np.where(members > 0, asked / np.maximum(members, 1), weights)
        return weights


def asked_questions(spec: ReleaseSpec, /) -> tuple[Asked, ...]:
    """All questions of the spec's workload; refuses values that no dimension has."""
    return tuple(_asked(spec, name, question) for name, question in spec.workload.items())


def _asked(spec: ReleaseSpec, name: str, question: Question, /) -> Asked:
    values = {
        dimension: _weights(spec, dimension, parts, at=f"workload.{name}.where.{dimension}")
        for dimension, parts in question.where.items()
    }
    lacking = [dim for dim in (*question.by, *question.where) if dim not in spec.domain.names]
    reason = f"no table has {' or '.join(dict.fromkeys(lacking))}" if lacking else None
    found = Asked(name=name, spec=spec, question=question, values=values, reason=reason)
    if reason is None and not _has_cells(found):
        return Asked(
            name=name,
            spec=spec,
            question=question,
            values=values,
            reason="no cell of the domain meets its conditions",
        )
    return found


def _has_cells(asked: Asked, /) -> bool:
    return any(
        all(bool((w[codes] > 0).any()) for w, codes in zip(asked.weights, block.axes, strict=True))
        for block in asked.spec.domain.blocks
    )


def _weights(spec: ReleaseSpec, name: str, parts: tuple[str, ...], /, *, at: str) -> Floats:
    dimension = spec.dimensions[name]
    return np.asarray(np.maximum.reduce([_one(dimension, part, spec, name, at) for part in parts]))


def _one(
    dimension: ListedDimension | DateDimension | TimeDimension,
    part: str,
    spec: ReleaseSpec,
    name: str,
    at: str,
    /,
) -> Floats:
    if part in dimension.values:
        return np.array([float(value == part) for value in dimension.values])
    first, dots, last = (text.strip() for text in part.partition(".."))
    try:
        if dots and isinstance(dimension, TimeDimension):
            return _share_of_bins(dimension, clock(first), clock(last))
        if dots and isinstance(dimension, DateDimension):
            return np.array([float(day(first) <= day(value) <= day(last)) for value in dimension.values])
    except ValueError:
        raise SpecError(f"{at} must be a range such as {_example(dimension)}, got {part!r}.") from None
    members = _merged_members(spec, name, part)
    if members is not None:
        return members
    raise SpecError.for_choice(at, found=part, allowed=_some(dimension.values))


def _example(dimension: ListedDimension | DateDimension | TimeDimension, /) -> str:
    return "07:00..09:00" if isinstance(dimension, TimeDimension) else "2016-07-25..2016-07-29"


def _some(values: tuple[str, ...], /) -> tuple[str, ...]:
    return values if len(values) <= 30 else (*values[:30], f"... ({len(values):,} in all)")


def _share_of_bins(dimension: TimeDimension, start: int, end: int, /) -> Floats:
    """How much of each bin lies between two times of day, past midnight if the second is not later."""
    ranges = [(start % DAY_S, end)] if start % DAY_S < end else [(start, DAY_S), (0, end)]
    low = np.arange(dimension.bins) * dimension.every
    inside = sum(
        np.clip(np.minimum(low + dimension.every, b) - np.maximum(low, a), 0, None) for a, b in ranges
    )
    return np.asarray(inside / dimension.every, dtype=np.float64)


def _merged_members(spec: ReleaseSpec, name: str, label: str, /) -> Floats | None:
    """The values that a merged label stands for."""
    if name not in spec.domain.names:
        return None
    axis = spec.domain.axis(name)
    labels = spec.domain.dimensions[axis].labels
    if label not in labels:
        return None
    code = labels.index(label)
    found = np.zeros(len(spec.dimensions[name].values))
    for block in spec.domain.blocks:
        found = np.maximum(found, block.maps[axis] == code)
    return found
