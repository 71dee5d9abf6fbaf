"""How much of each value, and of each label, the conditions of a question ask for.

A value is asked for wholly (1), not at all (0), or in part: half of an hour. A label that stands for several values is
asked for by the share of them that are: three of ten stops of a postcode. A part of a cell is taken to hold its even share
of what the cell counts; that is all a reader of the tables can do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.spec.dimensions import DateDimension, ListedDimension, TimeDimension
from noisegate.spec.fields import DAY_S, clock, day
from noisegate.tables.domain import Domain

Floats = NDArray[np.float64]
AnyDimension = ListedDimension | DateDimension | TimeDimension

_MOST_LISTED = 30


def value_shares(
    dimension: AnyDimension, parts: tuple[str, ...], /, *, domain: Domain, name: str, at: str
) -> Floats:
    """How much of each value of a dimension the parts of a condition ask for.

    Parameters
    ----------
    dimension, name
        The dimension, and what it is called.
    parts
        Values, ranges of times or dates, or merged labels of `domain`; any of them is meant.
    at
        The place of the condition, for a message.

    Raises
    ------
    SpecError
        If a part is nothing that the dimension has.
    """
    found = [_of_part(dimension, part, domain=domain, name=name, at=at) for part in parts]
    return np.asarray(np.maximum.reduce(found))


def label_shares(domain: Domain, axis: int, own: Floats | None, /) -> Floats:
    """How much of each label of one dimension is asked for, given that of its values; None asks for all."""
    labels = len(domain.dimensions[axis].labels)
    if own is None:
        return np.ones(labels)
    shares = np.zeros(labels)
    for block in domain.blocks:
        values, codes = block.members(axis)
        members = np.bincount(codes, minlength=labels)
        asked = np.bincount(codes, weights=own[values], minlength=labels)
        shares = np.where(members > 0, asked / np.maximum(members, 1), shares)
    return shares


def _of_part(dimension: AnyDimension, part: str, /, *, domain: Domain, name: str, at: str) -> Floats:
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
    members = _merged_members(domain, name, part)
    if members is not None:
        return members
    raise SpecError.for_choice(at, found=part, allowed=_some(dimension.values))


def _example(dimension: AnyDimension, /) -> str:
    return "07:00..09:00" if isinstance(dimension, TimeDimension) else "2016-07-25..2016-07-29"


def _some(values: tuple[str, ...], /) -> tuple[str, ...]:
    if len(values) <= _MOST_LISTED:
        return values
    return (*values[:_MOST_LISTED], f"... ({len(values):,} in all)")


def _share_of_bins(dimension: TimeDimension, start: int, end: int, /) -> Floats:
    """How much of each bin lies between two times of day, past midnight if the second is not later."""
    ranges = [(start % DAY_S, end)] if start % DAY_S < end else [(start, DAY_S), (0, end)]
    low = np.arange(dimension.bins) * dimension.every
    inside = sum(
        np.clip(np.minimum(low + dimension.every, b) - np.maximum(low, a), 0, None) for a, b in ranges
    )
    return np.asarray(inside / dimension.every, dtype=np.float64)


def _merged_members(domain: Domain, name: str, label: str, /) -> Floats | None:
    """The values that a merged label stands for."""
    if name not in domain.names:
        return None
    axis = domain.axis(name)
    labels = domain.dimensions[axis].labels
    if label not in labels:
        return None
    code = labels.index(label)
    found = np.zeros(len(domain.dimensions[axis].values))
    for block in domain.blocks:
        values, codes = block.members(axis)
        found[values[codes == code]] = 1.0
    return found
