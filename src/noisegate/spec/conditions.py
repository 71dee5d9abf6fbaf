"""Which values of a dimension a condition of a merge means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.spec.dimensions import Condition, DateDimension, ListedDimension, TimeDimension
from noisegate.spec.fields import clock, day, did_you_mean, placed, refusal, shown, span_text
from noisegate.tables import Mask, shares_of_values

AnyDimension = ListedDimension | DateDimension | TimeDimension
At = tuple[str | int, ...]


def which(dimension: AnyDimension, condition: Condition, /, *, at: At) -> Mask:
    """For each value of `dimension`, whether it meets `condition`.

    Listed values, and ranges among them, are meant as in any condition (`noisegate.tables.where`). Days run from `from` to
    `to`, both included. Times run from `from` up to `to`, which is not included, and past midnight if `to` is not later.
    """
    if condition.listed is not None:
        return np.asarray(
            np.logical_or.reduce([_listed(dimension, value, at=at) for value in condition.listed])
        )
    text = f"{condition.first}..{condition.last}"
    if isinstance(dimension, DateDimension):
        first = placed(day, condition.first, at=(*at, "from"))
        last = placed(day, condition.last, at=(*at, "to"))
        mask = (
            shares_of_values(dimension.values, [text], subject="") > 0 if first <= last else np.zeros(1, bool)
        )
        if not mask.any():
            raise refusal(f"meets none of the days from {dimension.first} to {dimension.last}", at=at)
        return np.asarray(mask)
    if isinstance(dimension, TimeDimension):
        for name, border in (("from", condition.first), ("to", condition.last)):
            if placed(clock, border, at=(*at, name)) % dimension.every:
                raise refusal(
                    f"must lie on a border of the {span_text(dimension.every)} bins", at=(*at, name)
                )
        return np.asarray(shares_of_values(dimension.values, [text], subject="") > 0)
    raise refusal("must be a list of values; from and to are for dates and times", at=at)


def _listed(dimension: AnyDimension, value: str, /, *, at: At) -> Mask:
    try:
        shares: NDArray[np.float64] = shares_of_values(dimension.values, [value], subject="")
    except SpecError:
        hint = did_you_mean(value, dimension.values)
        raise refusal(f"lists {shown(value)}, which is not a value of it{hint}", at=at) from None
    if not np.isin(shares, (0.0, 1.0)).all():
        raise refusal(f"lists {shown(value)}, which cuts through a value of it", at=at)
    return np.asarray(shares > 0)
