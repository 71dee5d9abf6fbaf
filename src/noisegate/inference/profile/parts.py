"""Where the error of an answer comes from: aggregation, bounding, noise, suppression.

An answer passes through stages; each is the same question asked of the data in a different state:

    truth         all events, exactly as asked
    aggregated    all events, from the cells that are published: a cell that is asked for in part counts in part
    bounded       the same, each privacy unit held to its bound
    noised        the same with noise (and, where tables are reconciled, made consistent), nothing left out
    published     the same from the rows that are there: a missing row counts as nothing

The error is published - truth, and the differences between neighbouring stages add up to it: that is the whole
decomposition, and it holds for every single draw of the noise. Over many draws each part has a mean (its bias) and a
mean square. Mean squares do not add up, because parts are correlated; what does is E[part x total], and
these add up to E[total^2] exactly. That is the *share* of the squared error that a part is responsible for; it can be
negative where one part takes back what another did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError

Floats = NDArray[np.float64]

STAGES = ("aggregation", "bounding", "noise", "suppression")


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorParts:
    """Mean errors of one question over its groups and over draws of the noise.

    `bias`, `absolute` and `share` hold one number for each of `STAGES`; `total_bias`, `total_absolute` and
    `total_square` are those of the whole error. Sums of `bias` and `share` are `total_bias` and `total_square`.
    """

    bias: dict[str, float]
    absolute: dict[str, float]
    share: dict[str, float]
    total_bias: float
    total_absolute: float
    total_square: float
    total_absolute_error: float


def error_parts(stages: Floats, /) -> ErrorParts:
    """The parts of the error, from an array of draws x stages (five of them, truth first) x groups.

    Examples
    --------
    >>> parts = error_parts(np.array([[[10.0], [10.0], [9.0], [11.0], [8.0]]]))
    >>> parts.bias["suppression"], parts.total_bias
    (-3.0, -2.0)
    """
    if stages.ndim != 3 or stages.shape[1] != len(STAGES) + 1:
        raise InternalError("error parts need draws x five stages x groups")
    steps = np.diff(stages, axis=1)
    total = stages[:, -1] - stages[:, 0]
    by_draw = np.abs(total).mean(axis=1)
    return ErrorParts(
        bias={name: float(steps[:, i].mean()) for i, name in enumerate(STAGES)},
        absolute={name: float(np.abs(steps[:, i]).mean()) for i, name in enumerate(STAGES)},
        share={name: float((steps[:, i] * total).mean()) for i, name in enumerate(STAGES)},
        total_bias=float(total.mean()),
        total_absolute=float(np.abs(total).mean()),
        total_square=float((total**2).mean()),
        total_absolute_error=float(by_draw.std(ddof=1) / np.sqrt(len(by_draw))) if len(by_draw) > 1 else 0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trio:
    """The usual three figures: quantiles of the relative error, share of real groups lost, share of groups invented.

    Relative errors are over groups with a truth of at least one. A group is dropped if its truth is not zero and nothing
    is published of it, spurious if its truth is zero and something is.
    """

    relative: dict[str, float]
    dropped: float
    spurious: float


def usual_trio(truth: Floats, published: Floats, there: NDArray[np.bool_], /) -> Trio:
    """The trio over groups (and draws); `there` says whether any row of the group is published."""
    real = truth >= 1
    error = np.abs(published - truth)[real] / truth[real]
    at = {"median": 0.5, "ninth_decile": 0.9}
    return Trio(
        relative={name: float(np.quantile(error, q)) if error.size else 0.0 for name, q in at.items()},
        dropped=float((~there[real]).mean()) if real.any() else 0.0,
        spurious=float(there[~real].mean()) if (~real).any() else 0.0,
    )


def largest_kept(truth: Floats, published: Floats, top: int, /) -> float:
    """The share of the `top` truly largest groups that are among the largest published ones.

    Examples
    --------
    >>> largest_kept(np.array([5.0, 9.0, 1.0]), np.array([4.0, 8.0, 6.0]), 2)
    0.5
    """
    real, seen = (set(np.argsort(-values, kind="stable")[:top].tolist()) for values in (truth, published))
    return len(real & seen) / max(1, len(real))
