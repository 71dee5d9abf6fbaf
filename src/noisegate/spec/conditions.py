"""Which values of a dimension a condition means."""

from __future__ import annotations

import numpy as np

from noisegate.spec.dimensions import Condition, DateDimension, ListedDimension, TimeDimension
from noisegate.spec.fields import DAY_S, clock, day, did_you_mean, placed, refusal, shown, span_text
from noisegate.tables.domain import Mask

At = tuple[str | int, ...]


def which(
    dimension: ListedDimension | DateDimension | TimeDimension, condition: Condition, /, *, at: At
) -> Mask:
    """For each value of `dimension`, whether it meets `condition`.

    Listed values are meant themselves. Days run from `from` to `to`, both included. Times run from
    `from` up to `to`, which is not included, and past midnight if `to` is not later.
    """
    if condition.listed is not None:
        return _listed(dimension.values, condition.listed, at=at)
    if isinstance(dimension, DateDimension):
        return _days(dimension, condition, at=at)
    if isinstance(dimension, TimeDimension):
        return _times(dimension, condition, at=at)
    raise refusal("must be a list of values; from and to are for dates and times", at=at)


def _listed(values: tuple[str, ...], listed: tuple[str, ...], /, *, at: At) -> Mask:
    for value in listed:
        if value not in values:
            raise refusal(
                f"lists {shown(value)}, which is not a value of it{did_you_mean(value, values)}", at=at
            )
    wanted = frozenset(listed)
    return np.array([value in wanted for value in values])


def _days(dimension: DateDimension, condition: Condition, /, *, at: At) -> Mask:
    first = placed(day, condition.first, at=(*at, "from"))
    last = placed(day, condition.last, at=(*at, "to"))
    codes = np.arange(dimension.days)
    mask = (codes >= dimension.code(first)) & (codes <= dimension.code(last))
    if not mask.any():
        raise refusal(f"meets none of the days from {dimension.first} to {dimension.last}", at=at)
    return mask


def _times(dimension: TimeDimension, condition: Condition, /, *, at: At) -> Mask:
    start = placed(clock, condition.first, at=(*at, "from"))
    end = placed(clock, condition.last, at=(*at, "to"))
    for name, at_s in (("from", start), ("to", end)):
        if at_s % dimension.every:
            raise refusal(f"must lie on a border of the {span_text(dimension.every)} bins", at=(*at, name))
    starts = np.arange(dimension.bins) * dimension.every
    if start % DAY_S < end:
        return (starts >= start % DAY_S) & (starts < end)
    return (starts >= start) | (starts < end)
