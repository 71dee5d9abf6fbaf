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

from noisegate.spec import Question, ReleaseSpec
from noisegate.spec.shares import label_shares, value_shares
from noisegate.tables.selection import Selection

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
        domain = self.spec.domain
        return tuple(
            label_shares(domain, axis, self.values.get(name)) for axis, name in enumerate(domain.names)
        )

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


def asked_questions(spec: ReleaseSpec, /) -> tuple[Asked, ...]:
    """All questions of the spec's workload; refuses values that no dimension has."""
    return tuple(_asked(spec, name, question) for name, question in spec.workload.items())


def _asked(spec: ReleaseSpec, name: str, question: Question, /) -> Asked:
    values = {
        dimension: value_shares(
            spec.dimensions[dimension],
            parts,
            domain=spec.domain,
            name=dimension,
            at=f"workload.{name}.where.{dimension}",
        )
        for dimension, parts in question.where.items()
    }
    lacking = [dim for dim in (*question.by, *question.where) if dim not in spec.domain.names]
    reason = f"no table has {' or '.join(dict.fromkeys(lacking))}" if lacking else None
    found = Asked(name=name, spec=spec, question=question, values=values, reason=reason)
    if reason is None and found.selection.empty:
        return Asked(
            name=name,
            spec=spec,
            question=question,
            values=values,
            reason="no cell of the domain meets its conditions",
        )
    return found
