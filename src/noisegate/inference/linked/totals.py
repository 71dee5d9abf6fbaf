"""What sums of cells are: how many people were suppressed in a table, with an interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from noisegate.errors import SpecError
from noisegate.inference.linked.model import Model
from noisegate.inference.linked.part import Part, in_order, parts_of
from noisegate.inference.linked.pmfs import Pmfs, tilt
from noisegate.inference.linked.posterior import check_level
from noisegate.inference.linked.problem import Bools, Flat, Floats, Ints, Prior, Problem, tally
from noisegate.inference.linked.propagation import VAGUE, Wide

_NATS = 16.0
_SWEEPS = 25
_DAMPING = 0.2
#: How cells vary together is known only where sums are solved together, which is worth waiting for.
_JOINT_LIMIT = 2000
#: No cell moves by more than this share of its spread any more.
_SETTLED = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SumEstimates:
    """The estimate of every sum asked for; intervals are those of a normal law, rounded outward.

    Where `withdrawn`, the tables do not tell: `low` and `high` are bounds, and `mean` is what a learnt law gives that has not stood its trial.
    """

    level: float
    mean: Floats
    sd: Floats
    low: Ints
    high: Ints
    withdrawn: Bools | None = None

    def __post_init__(self) -> None:
        if self.withdrawn is None:
            object.__setattr__(self, "withdrawn", np.zeros(len(self.mean), bool))

    @property
    def told(self) -> Bools:
        """Which sums the tables tell."""
        assert self.withdrawn is not None
        return ~self.withdrawn


def estimate_sums(
    problem: Problem,
    codes: ArrayLike,
    /,
    *,
    prior: Prior | None = None,
    level: float = 0.95,
    threads: int = 2,
) -> SumEstimates:
    """Mean, standard deviation and interval of the sum of all cells with code 0, 1, ...; -1 is in none.

    Cells of one table vary together, because its margins are known; a sum is much surer than
    its cells. *Assumes* what `infer` assumes, and sums of many cells (they are taken as normal).
    """
    asked = _checked(codes, problem.cells)
    model = Model.of(problem)
    belief = Flat() if prior is None else prior
    code, weight = _queries(asked, model)
    found = np.zeros((2, int(asked.max(initial=-1)) + 1))
    work = in_order(
        parts_of(model),
        lambda item: _part_sums(item[1], belief, code[item[0]], weight[item[0]], found.shape[1]),
        threads=threads,
    )
    for _, moments in work:
        found += moments
    return _estimates(found[0], found[1], level)


def _checked(codes: ArrayLike, cells: int, /) -> Ints:
    asked = np.asarray(codes, dtype=np.int64)
    if asked.shape != (cells,) or asked.min(initial=0) < -1:
        raise SpecError.for_value(
            "codes of sums", found=asked.shape, allowed=f"one of -1, 0, 1, ... for each of {cells} cells"
        )
    return asked


def _estimates(mean: Floats, variance: Floats, level: float, /) -> SumEstimates:
    sd = np.sqrt(np.maximum(variance, 0.0))
    far = float(special.ndtri((1 + min(check_level(level), 1 - 1e-12)) / 2))
    return SumEstimates(
        level=level,
        mean=mean,
        sd=sd,
        low=np.maximum(np.floor(mean - far * sd), 0).astype(np.int64),
        high=np.ceil(mean + far * sd).astype(np.int64),
    )


def _queries(asked: Ints, model: Model, /) -> tuple[Ints, Floats]:
    """For each unknown the code it is asked under, and how many of its cells are."""
    live = np.flatnonzero((model.unknown_of >= 0) & (asked >= 0))
    unknown = model.unknown_of[live]
    code = np.full(model.unknowns, -1, dtype=np.int64)
    code[unknown] = asked[live]
    if (code[unknown] != asked[live]).any():
        raise SpecError("cells that an identity makes equal are asked for in different sums.")
    return code, tally(unknown, np.ones(len(unknown)), size=model.unknowns)


def _part_sums(part: Part, prior: Prior, code: Ints, weight: Floats, size: int, /) -> tuple[Floats, Floats]:
    """What one part adds to the means and variances of all sums."""
    pmfs = part.pmfs(prior, nats=_NATS)
    wide: Wide | None = None
    if part.factors.count == 0:
        mean, variance, _ = tilt(pmfs.low, pmfs.start, pmfs.p, np.zeros(part.size), np.full(part.size, VAGUE))
    else:
        wide = Wide.of(part, part.factors, pmfs, limit=_JOINT_LIMIT)
        mean, variance = _settled(wide, pmfs)
    live = code >= 0
    total = tally(code[live], (weight**2 * variance)[live], size=size)
    if wide is not None and live.any():
        total -= wide.solver.explained(variance, 1 / wide.sum_tau, code, weight, size)
    return tally(code[live], (weight * mean)[live], size=size), total


def _settled(wide: Wide, pmfs: Pmfs, /) -> tuple[Floats, Floats]:
    """Mean and variance of every node once no mean moves any more."""
    before = np.full(pmfs.count, np.inf)
    for _ in range(_SWEEPS):
        mean, spread, _ = wide.sweep(pmfs, pmfs.p, damping=_DAMPING)
        if (np.abs(mean - before) <= _SETTLED * np.sqrt(spread)).all():
            break
        before = mean
    return mean, 1 / wide.tau
