"""Codes for levels of effects: whole numbers from 0, and the effects of crossed dimensions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import SpecError
from noisegate.inference.linked.problem import Ints


def crossed(*, row: ArrayLike, column: ArrayLike, day: ArrayLike | None = None) -> tuple[Ints, ...]:
    """The effects of a table of rows by columns by days: each dimension, and each pair of them."""
    given = [row, column] if day is None else [row, column, day]
    parts = [as_codes(values) for values in given]
    pairs = [
        parts[a] * (parts[b].max() + 1) + parts[b]
        for a in range(len(parts))
        for b in range(a + 1, len(parts))
    ]
    return (*parts, *pairs)


def as_codes(values: ArrayLike, /) -> Ints:
    """Whole numbers from 0 for values of any kind, equal where these are equal."""
    given = np.asarray(values)
    if np.issubdtype(given.dtype, np.integer):
        return compact(given.astype(np.int64))[1]
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


def codes_of_cells(values: ArrayLike, /, *, cells: int) -> Ints:
    """`as_codes`, once it is known that there is a value for each cell."""
    given = np.asarray(values)
    if given.shape != (cells,):
        raise SpecError.for_value(
            "codes of effects and groups", found=given.shape, allowed=f"one for each of {cells} cells"
        )
    return as_codes(given)


def compact(codes: Ints, /) -> tuple[Ints, Ints]:
    """The distinct codes in order, and the place of each code among them."""
    least = int(codes.min(initial=0))
    span = int(codes.max(initial=0)) - least + 1
    if span > 4 * len(codes) + 1000:
        distinct, place = np.unique(codes, return_inverse=True)
        return distinct, place.astype(np.int64)
    present = np.zeros(span, dtype=bool)
    present[codes - least] = True
    rank = np.cumsum(present) - 1
    return np.flatnonzero(present) + least, rank[codes - least]


def same_partition(a: NDArray[np.integer], b: NDArray[np.integer], /) -> bool:
    """Whether two lists of codes, each from 0 without gaps, put the same cells together."""
    levels = int(a.max(initial=-1)) + 1
    if levels != int(b.max(initial=-1)) + 1:
        return False
    return len(compact(a.astype(np.int64) * levels + b)[0]) == levels
