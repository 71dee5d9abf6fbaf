"""Reconciling stretch by stretch: where every margin keeps the first dimension of the base, its labels have nothing to do with each other.

No measured sum reaches over two labels then, so the least-squares estimate of all cells is that of each stretch of labels, put side by side:
exactly the same. Whole numbers are found within a stretch, so coarse sums over stretches are as close as sums of rounded parts are, where rounding whole
would keep them closer (`coarse_tables`). Memory is that of one stretch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.tables import Dimension, Domain, Ints, Margin


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stretch:
    """Some labels of the first dimension, with the base and the margins cut down to them; cells from `start` to `stop`."""

    labels: slice
    start: int
    stop: int
    domain: Domain
    margins: dict[str, Margin]
    places: dict[str, tuple[tuple[int, ...], int]]

    def take(self, name: str, values: Ints, /) -> Ints:
        """The part of an array over the cells of a margin that belongs to these labels."""
        return np.ascontiguousarray(self._view(name, values)).reshape(-1)

    def put(self, name: str, part: Ints, values: Ints, /) -> None:
        """Write it back."""
        view = self._view(name, values)
        view[...] = part.reshape(view.shape)

    def _view(self, name: str, values: Ints, /) -> Ints:
        shape, place = self.places[name]
        return values.reshape(shape)[(slice(None),) * place + (self.labels,)]


def is_separable(domain: Domain, margins: Mapping[str, Margin], /) -> bool:
    """Whether the base is a plain product whose first dimension every margin keeps as it is."""
    return _is_full(domain) and all(
        _is_full(margin.domain)
        and 0 in margin.dimensions
        and margin.domain.dimensions == tuple(domain.dimensions[place] for place in margin.dimensions)
        for margin in margins.values()
    )


def _is_full(domain: Domain, /) -> bool:
    """Whether every combination of labels is a cell."""
    return domain.is_product and domain.size == math.prod(len(one.labels) for one in domain.dimensions)


def check_size(domain: Domain, margins: Mapping[str, Margin], /) -> None:
    """Refuse a base that is too large to be reconciled, with the way out."""
    most = limits.current().reconciled_cells
    if domain.size <= most:
        return
    first = domain.dimensions[0]
    each = domain.size // len(first.labels)
    if not is_separable(domain, margins):
        raise SpecError(
            f"'margins: reconcile' holds every cell of the domain in memory; this one has {domain.size:,} cells and at most {most:,} are "
            f"allowed. Use 'margins: derive', split the release, or let every table keep {first.name}, the first dimension of the base, without "
            "merges or dependent dimensions: then it is done part by part."
        )
    if domain.size > limits.current().stretched_cells:
        raise SpecError(
            f"'margins: reconcile' draws noise for every cell of the domain; this one has {domain.size:,} cells and at most "
            f"{limits.current().stretched_cells:,} are allowed. Use 'margins: derive', or split the release."
        )
    if each > most:
        raise SpecError(
            f"'margins: reconcile' holds every cell of one {first.name} in memory; each has {each:,} cells and at most {most:,} are allowed. "
            "Use 'margins: derive', or put a dimension with more values first in every table."
        )


def stretches(domain: Domain, margins: Mapping[str, Margin], /) -> Iterator[Stretch]:
    """The base in stretches that are reconciled one after the other; `is_separable` must hold."""
    first = domain.dimensions[0]
    each = domain.size // len(first.labels)
    step = max(1, limits.current().dense_cells // each)
    for start in range(0, len(first.labels), step):
        labels = slice(start, min(start + step, len(first.labels)))
        part = Dimension(name=first.name, values=first.labels[labels])
        cut = Domain.product([part, *domain.dimensions[1:]])
        yield Stretch(
            labels=labels,
            start=labels.start * each,
            stop=labels.stop * each,
            domain=cut,
            margins={name: Margin.over(cut, margin.domain.names) for name, margin in margins.items()},
            places={
                name: (
                    tuple(len(dimension.labels) for dimension in margin.domain.dimensions),
                    margin.dimensions.index(0),
                )
                for name, margin in margins.items()
            },
        )


def stretch_cells(domain: Domain, /) -> int:
    """Cells of every stretch but the last."""
    first = domain.dimensions[0]
    each = domain.size // len(first.labels)
    return each * max(1, limits.current().dense_cells // each)
