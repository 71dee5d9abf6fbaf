"""The exact answer to a question: every event counted, in bins as fine as it asks for.

Raw data: for the custodian's eyes only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.engine import count
from noisegate.laws.entropy import Entropy
from noisegate.releases.plan import Plan
from noisegate.spec import ReleaseSpec, TimeDimension
from noisegate.spec.fields import DAY_S, clock
from noisegate.workload.draws import Floats, Reader


def unbounded(spec: ReleaseSpec, /) -> ReleaseSpec:
    """The spec with every event counted."""
    everything = spec.privacy.model_copy(update={"unit": "event", "max_cells": None, "max_per_cell": 1})
    return _remade(spec, privacy=everything)


def _remade(spec: ReleaseSpec, /, **changes: Any) -> ReleaseSpec:
    """A changed copy whose domain is worked out anew."""
    copy = spec.model_copy(update=changes)
    for name in ("domain", "margins"):
        copy.__dict__.pop(name, None)
    return copy


def exact_answer(reader: Reader, plan: Plan, entropy: Entropy, connection: Any, /) -> Floats:
    """The exact answer: events counted in bins as fine as the question, nothing merged.

    The groups are those of the published tables: labels of `by`.
    """
    asked = reader.asked
    spec = plan.spec
    fine = _remade(
        unbounded(spec),
        merge=(),
        dimensions={
            name: _finest(dim, asked.question.where.get(name, ())) for name, dim in spec.dimensions.items()
        },
        workload={},
    )
    counted = count(fine, entropy=entropy, connection=connection)
    codes = dict(zip(fine.domain.names, fine.domain.decode(counted.cells), strict=True))
    weights = counted.raw_counts.astype(np.float64)
    again = asked.question.put(fine.domain).selection
    for name in fine.domain.names:
        weights = weights * again.share(name)[codes[name]]
    group = np.zeros(len(weights), np.int64)
    for name in asked.question.by:
        group = group * len(spec.domain.dimensions[spec.domain.axis(name)].labels) + _labels(
            spec, fine, name, codes
        )
    found: Floats = np.bincount(group, weights=weights, minlength=reader.cells.size).astype(np.float64)
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
