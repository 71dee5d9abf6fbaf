"""How likely the identities are at points of parameter space, and where in it the likelihood is.

ResidualIdentities that look alike are counted once: a column stands for a residual (or a bound on one)
with given numbers of noises, and `times` says how often it was seen.

A grid has up to three axes: the scale that is wanted, the scale of the other table if it has one of
its own, and the ratio of missing counts if there are any. All points of a grid are worked out at
once. From one round to the next each scale axis shrinks to where the likelihood is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from noisegate.laws import Floats, Ints
from noisegate.recovery.candidates import Candidate
from noisegate.recovery.identities import ResidualIdentities
from noisegate.recovery.residual_law import (
    OUTERMOST,
    Lattice,
    Points,
    ResidualLaw,
    integrated,
    lattice_for,
    profile,
)

#: Stands for a bound that is not there; exact as a float, far outside every lattice.
UNBOUNDED = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualGroup:
    """Rows of one set with the same numbers of noises and of missing members, without repeats.

    `low`, `high` and `floor` are lattice numbers; `rows` says which rows of the set fell where.
    """

    noises: tuple[int, int]
    missing: int
    low: Ints
    high: Ints
    floor: Ints
    times: Ints
    rows: Ints
    column: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedResiduals:
    """One set of identities on its lattice."""

    identities: ResidualIdentities
    lattice: Lattice
    groups: tuple[ResidualGroup, ...]


def observe(identities: ResidualIdentities, /, *, step: float, widest: float) -> ObservedResiduals:
    """Put a set of identities on a lattice and count rows that look alike."""
    lattice = lattice_for(identities, step=step, widest=widest)
    low = np.where(np.isfinite(identities.low), identities.low, 0.0)
    high = np.where(np.isfinite(identities.high), identities.high, 0.0)
    floor = np.where(np.isfinite(identities.floor), identities.floor, 0.0)
    rows = np.column_stack(
        [
            identities.noises,
            identities.missing,
            np.where(np.isfinite(identities.low), lattice.place(low), -UNBOUNDED),
            np.where(np.isfinite(identities.high), lattice.place(high), UNBOUNDED),
            _binding(np.where(np.isfinite(identities.floor), np.ceil(floor / step), -np.inf), lattice),
        ]
    )
    unique, inverse, times = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    _, kind = np.unique(unique[:, :3], axis=0, return_inverse=True)
    groups = tuple(
        _group(unique, inverse, times, np.flatnonzero(kind == k))
        for k in range(int(kind.max(initial=-1)) + 1)
    )
    return ObservedResiduals(identities=identities, lattice=lattice, groups=groups)


def columns(observed: Sequence[ObservedResiduals], points: Points, /) -> tuple[Floats, Ints]:
    """Probabilities, shape (1 + shells, points, columns), and how often each column was seen."""
    parts: list[Floats] = []
    times: list[Ints] = []
    for one in observed:
        for group, table in tables(one, points):
            parts.append(_probabilities(group, table))
            times.append(group.times)
    return np.concatenate(parts, axis=-1), np.concatenate(times)


def tables(observed: ObservedResiduals, points: Points, /) -> Iterator[tuple[ResidualGroup, Floats]]:
    """Each group of rows with its residual law (see `ResidualLaw.tables`)."""
    law = ResidualLaw.at(observed.identities, observed.lattice, points)
    for group in observed.groups:
        yield group, law.tables(group.noises, group.missing)


def _probabilities(group: ResidualGroup, table: Floats, /) -> Floats:
    size = table.shape[-1]

    def at(residuals: Ints) -> Ints:
        # Beyond the table a law has no more than at its edge.
        return np.asarray(np.clip(residuals + size // 2, 0, size - 1))

    seen = group.low == group.high
    found = table[..., at(np.where(seen, group.low, 0))]
    below, above = group.low == -UNBOUNDED, group.high == UNBOUNDED
    bound = group.floor > -UNBOUNDED
    if below.any():
        up_to = np.cumsum(table, axis=-1)
        found[..., below] = up_to[..., at(group.high[below])]
    if above.any() or bound.any():
        down_to = np.cumsum(table[..., ::-1], axis=-1)[..., ::-1]
        found[..., above] = down_to[..., at(group.low[above])]
        found[..., bound] /= down_to[..., at(group.floor[bound])]
    return found


def _group(unique: Ints, inverse: Ints, times: Ints, members: Ints, /) -> ResidualGroup:
    first = unique[members[0]]
    column = np.full(len(unique), -1)
    column[members] = np.arange(len(members))
    rows = np.flatnonzero(column[inverse] >= 0)
    return ResidualGroup(
        noises=(int(first[0]), int(first[1])),
        missing=int(first[2]),
        low=unique[members, 3],
        high=unique[members, 4],
        floor=unique[members, 5],
        times=times[members],
        rows=rows,
        column=column[inverse[rows]],
    )


def _binding(floor: Floats, lattice: Lattice, /) -> Ints:
    """Floors as lattice numbers; those that no residual comes near do not bind."""
    near = floor * lattice.step > lattice.centre - OUTERMOST * lattice.width
    return np.where(near, np.where(near, floor, 0.0), -UNBOUNDED).astype(np.int64)


_NATS = 12.0
_ENOUGH = 17
_MOST_ROUNDS = 6
_POINTS, _POINTS_OTHER = 33, 13
_RATIOS = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 1.0])
_LEAST_SD = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class SurfaceLayout:
    """Which tables have which scale.

    `wanted` and `other` are names of tables; `other` is empty when one scale serves all of them.
    """

    wanted: str
    other: str
    tables: tuple[str, ...]
    missing: bool

    def points(self, candidate: Candidate, axes: Sequence[Floats], /) -> Points:
        """The points of a grid, flattened."""
        wanted, other, ratio = (m.ravel() for m in np.meshgrid(*axes, indexing="ij"))
        scales = {t: other if t == self.other else wanted for t in self.tables}
        return Points(candidate=candidate, scales=scales, ratio=ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """The log-likelihood of one law along the wanted scale.

    Attributes
    ----------
    scale
        The grid of scales, increasing.
    profile
        Log-likelihood with everything else at its best.
    evidence
        Log of the likelihood integrated over everything, per unit of log-scale.
    best
        The best point: wanted scale, other scale, ratio.
    weights
        Sound share and shells of contamination at the best point.
    """

    candidate: Candidate
    scale: Floats
    profile: Floats
    evidence: float
    best: tuple[float, float, float]
    weights: Floats

    def interval(self, /, *, level: float, peak: float) -> tuple[float, float]:
        """The scales that leave (1 - level)/2 of the normalised profile on either side, and the peak.

        The profile is read as a density of the log-scale; for a pure scale family that is the density
        for which such an interval covers exactly. Where it falls from one end of the scales on, the peak is that end.
        """
        low, high = self._quantiles(level)
        return min(low, peak), max(high, peak)

    def _quantiles(self, level: float, /) -> tuple[float, float]:
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        if len(self.scale) == 1:
            return float(self.scale[0]), float(self.scale[0])
        density = np.exp(self.profile - self.profile.max())
        if self.candidate.least:
            share = density / self.scale
            below = np.cumsum(share) / share.sum()
            low, high = np.minimum(np.searchsorted(below, tails), len(self.scale) - 1)
            return float(self.scale[low]), float(self.scale[high])
        log_scale = np.log(self.scale)
        steps = np.diff(log_scale) * (density[1:] + density[:-1]) / 2
        below = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()
        ends = np.exp(np.interp(tails, below, log_scale))
        return float(ends[0]), float(ends[1])

    def peak(self) -> float:
        """The scale of greatest likelihood, between grid points by a parabola."""
        top = int(np.argmax(self.profile))
        if self.candidate.least or top in {0, len(self.scale) - 1}:
            return float(self.scale[top])
        left, middle, right = self.profile[top - 1 : top + 2]
        bend = left - 2 * middle + right
        shift = 0.0 if bend >= 0 else 0.5 * (left - right) / bend
        at = np.log(self.scale)
        return float(np.exp(at[top] + shift * (at[top + 1] - at[top - 1]) / 2))


def surface(
    candidate: Candidate,
    observed: Sequence[ObservedResiduals],
    layout: SurfaceLayout,
    /,
    *,
    sd: tuple[float, float],
    bases: Floats | None = None,
) -> Surface:
    """Zoom in on where `candidate` explains the identities best.

    Parameters
    ----------
    sd
        Between which standard deviations of one noise to look.
    bases
        For random rounding: the bases that are possible.
    """
    ranges = [np.log(sd), np.log([min(_LEAST_SD, sd[0]), sd[1]])]
    ratio = _RATIOS if layout.missing else np.ones(1)
    for _ in range(_MOST_ROUNDS):
        axes = _axes(candidate, ranges, layout, bases)
        points = layout.points(candidate, [*axes, ratio])
        probability, times = columns(observed, points)
        value, weights = profile(probability, times)
        grid = value.reshape(len(axes[0]), len(axes[1]), len(ratio))
        along = [grid.max(axis=(1, 2)), grid.max(axis=(0, 2))]
        kept = [_near_top(a) for a in along]
        finished = [_fine(k, x, candidate) for k, x in zip(kept, axes, strict=True)]
        if finished[0] and (finished[1] or not layout.other):
            break
        ranges = [
            r if done else _shrunk(x, k, candidate)
            for r, x, k, done in zip(ranges, axes, kept, finished, strict=True)
        ]
    evidence = integrated(probability, times).reshape(grid.shape)
    top = int(np.argmax(value))
    at = np.unravel_index(top, grid.shape)
    return Surface(
        candidate=candidate,
        scale=axes[0],
        profile=along[0],
        evidence=_integral(evidence, axes, ratio),
        best=(float(axes[0][at[0]]), float(axes[1][at[1]]), float(ratio[at[2]])),
        weights=weights[:, top],
    )


def _axes(
    candidate: Candidate, ranges: Sequence[Floats], layout: SurfaceLayout, bases: Floats | None, /
) -> list[Floats]:
    if bases is not None:
        return [bases, np.ones(1)]
    wanted = candidate.scales(np.exp(np.linspace(ranges[0][0], ranges[0][1], _POINTS)))
    if not layout.other:
        return [wanted, np.ones(1)]
    return [wanted, candidate.scales(np.exp(np.linspace(ranges[1][0], ranges[1][1], _POINTS_OTHER)))]


def _near_top(value: Floats, /) -> Ints:
    return np.flatnonzero(value > value.max() - _NATS)


def _fine(kept: Ints, axis: Floats, candidate: Candidate, /) -> bool:
    if len(axis) == 1:
        return True
    if candidate.least:
        return bool(np.all(np.diff(axis) == 1))
    return len(kept) >= (_ENOUGH if len(axis) == _POINTS else _ENOUGH // 3)


def _shrunk(axis: Floats, kept: Ints, candidate: Candidate, /) -> Floats:
    low, high = max(int(kept[0]) - 1, 0), min(int(kept[-1]) + 1, len(axis) - 1)
    return np.asarray(np.log(axis[[low, high]] / candidate.per_sd))


def _integral(evidence: Floats, axes: Sequence[Floats], ratio: Floats, /) -> float:
    weights = [_log_width(axes[0]), _log_width(axes[1]), np.full(len(ratio), -np.log(len(ratio)))]
    total = evidence + weights[0][:, None, None] + weights[1][:, None] + weights[2]
    return float(np.logaddexp.reduce(total.ravel()))


def _log_width(axis: Floats, /) -> Floats:
    """The log of how much of the log-scale each grid point stands for."""
    if len(axis) == 1:  # a base or a width with no neighbour, or an axis that is not there
        return np.log(np.log1p(1 / (axis - 0.5))) if axis[0] > 1 else np.zeros(1)
    middle = (axis[1:] + axis[:-1]) / 2
    first, last = 2 * axis[0] - middle[0], 2 * axis[-1] - middle[-1]
    edges = np.concatenate([[max(first, axis[0] / 2)], middle, [last]])
    return np.asarray(np.log(np.diff(np.log(edges))))
