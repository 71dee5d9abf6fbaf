"""Identities among raw counts, as the published values show them, and what suppression does to their residuals.

Suppression keeps a value when it is at or above a cut. If the raw counts behind the values were
equally likely just above and just below the cut, the noises of the kept values would follow their
law unchanged. They do not when the counts thin out: the noise of a kept value then follows the law
tilted by `e^{s l}`, with `s` the rate at which the log-density of counts falls. Averaged over the
kept values, that rate is

    E[s] = - ∫ p'(v) dv = p(cut),

the density of the kept values at the cut, whatever their distribution elsewhere. To first order in
`s` times the spread of the noise, this one number is the whole effect of suppression. See
docs/explanation/noise-recovery.md.

An identity is a linear equation that holds among raw counts: on = off half an hour later, the
members of a row add up to its total. Published, the two sides differ by a *residual*, a sum of
independent noises. Three constructors bring what is known to one form, `ResidualIdentities`:

* `pair_identities`: two published values of one raw count;
* `margin_identities`: a total and its members, some of which may be suppressed;
* `residual_identities`: bare residuals and how many noises each holds.

What the likelihood holds fixed differs, and `held` says it. Of a pair that is seen when both values
pass their cuts it is the smaller one, and of a pair that is seen when either passes the larger one:
given that value, whether the pair is seen says nothing more. Of a margin it is the members.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noisegate.errors import DataError, SpecError
from noisegate.laws import Floats, Ints

# With fewer values than this near the cut the density is taken to be flat there.
_FEW = 12
# The steepest slope that is looked for, in powers of e across the window.
_STEEPEST = 12.0


def edge_density(values: Floats, /, *, cut: float, window: float, step: float) -> float:
    """The density of `values`, per unit, at `cut`.

    Parameters
    ----------
    values
        Published values, all at or above `cut`.
    cut
        The least value that is published; minus infinity if nothing is suppressed.
    window
        How far above the cut to look: about three times the spread of the noise.
    step
        The spacing of the values: 1 for integers.

    Notes
    -----
    Inside the window the density is taken to be `e^{-a u}`, with `a` found by maximum likelihood,
    and read off half a step below the cut, where the first cell begins.
    """
    if not math.isfinite(cut) or len(values) == 0:
        return 0.0
    width = step * max(1, round(window / step))
    near = values[values < cut + width] - cut + step / 2
    share = len(near) / len(values)
    if len(near) < _FEW:
        return share / width
    slope = _exponential_slope(float(near.mean()) / width)
    return share / width * _edge_height(slope)


def _exponential_slope(mean: float, /) -> float:
    """The `a` for which a density e^{-a u} on [0, 1] has this mean."""

    def gap(a: float) -> float:
        return _exponential_mean(a) - mean

    if gap(_STEEPEST) > 0:
        return _STEEPEST
    if gap(-_STEEPEST) < 0:
        return -_STEEPEST
    # Takes long to load, and few tables need it.
    from scipy import optimize

    return float(optimize.brentq(gap, -_STEEPEST, _STEEPEST))


def _exponential_mean(a: float, /) -> float:
    return 0.5 - a / 12 if abs(a) < 1e-4 else 1 / a - 1 / math.expm1(a)


def _edge_height(a: float, /) -> float:
    """The height at 0 of the density e^{-a u} on [0, 1]."""
    return 1 + a / 2 if abs(a) < 1e-8 else a / -math.expm1(-a)


def spread(residual: Floats, /, *, step: float) -> float:
    """The half-width that holds 68 % of the residuals around their median; at least one step."""
    if len(residual) == 0:
        return step
    return max(float(np.quantile(np.abs(residual - np.median(residual)), 0.68)), step)


Flags = NDArray[np.bool_]
Held = Literal["smaller", "larger", "members"]

# How many spreads of the residual above the cut its density is measured over.
_WINDOW = 3.0
_STEP = 1e-9
_MANY = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualIdentities:
    """ResidualIdentities of one kind. Row i: a sum of noises that lies in `low[i] .. high[i]`.

    Attributes
    ----------
    held
        What the likelihood is conditional on.
    tables
        Names of the tables: of the held side, and of the other one (the pivot).
    noises
        How many noises of either side each residual holds, shape (n, 2).
    low, high
        The residual, pivot minus the rest; equal where it is seen. Where one value is suppressed,
        all that is known is that the residual is at most `high` or at least `low`.
    floor
        The residual below which the pivot would have been suppressed and the row not seen.
    missing
        How many suppressed members are part of the residual.
    size
        How large the count is; only used to ask whether residuals grow with it. Of pairs it is a value
        that a large residual makes smaller, never larger, so that noise alone cannot look like growth.
    edge
        Density of the held values at their cut (see `edge`).
    shift
        Of pairs: the second cut minus the first. The residual is `shift` when both values are
        equally far above their cuts.
    cut
        The least published value of the members; a missing member was below it.
    grid
        The greatest common divisor of all published values, 0 if they are not all whole.
    """

    held: Held
    tables: tuple[str, str]
    noises: Ints
    low: Floats
    high: Floats
    floor: Floats
    missing: Ints
    size: Floats
    edge: float
    shift: float
    cut: float
    grid: int

    def __post_init__(self) -> None:
        n = len(self.low)
        shapes = [np.shape(a) for a in (self.high, self.floor, self.missing, self.size)]
        if any(shape != (n,) for shape in shapes) or np.shape(self.noises) != (n, 2):
            raise DataError("identities need one residual, one floor and two numbers of noises a row.")
        if np.isnan(self.low).any() or np.isnan(self.high).any() or (self.low > self.high).any():
            raise DataError("every identity needs a residual, or a bound on it.")
        if (self.noises < 0).any() or (self.noises.sum(axis=1) < 1).any():
            raise DataError("every identity must hold at least one noise.")

    def __len__(self) -> int:
        return len(self.low)

    @property
    def seen(self) -> Flags:
        """Where the residual itself is seen, not only a bound on it."""
        return np.asarray(self.low == self.high)

    @property
    def whole(self) -> bool:
        """Whether all residuals are integers."""
        finite = np.concatenate([self.low[np.isfinite(self.low)], self.high[np.isfinite(self.high)]])
        return bool(np.all(finite == np.rint(finite)))

    def take(self, rows: Ints, /) -> Self:
        """The same kind of identities, only these rows."""
        return type(self)(
            held=self.held,
            tables=self.tables,
            noises=self.noises[rows],
            low=self.low[rows],
            high=self.high[rows],
            floor=self.floor[rows],
            missing=self.missing[rows],
            size=self.size[rows],
            edge=self.edge,
            shift=self.shift,
            cut=self.cut,
            grid=self.grid,
        )


def pair_identities(
    first: ArrayLike,
    second: ArrayLike,
    /,
    *,
    cuts: tuple[float, float] = (-np.inf, -np.inf),
    tables: tuple[str, str] = ("table", "table"),
    one_sided: bool = False,
) -> ResidualIdentities:
    """Two published values of the same raw count, not-a-number where one is suppressed.

    Parameters
    ----------
    cuts
        The least published value of either side.
    one_sided
        Whether pairs with one side suppressed are used as well. Say so only if *all* of them are
        here: then a large value whose partner is missing counts as evidence of wide noise.

    Assumes
    -------
    The cut is made on the value as published. Raw counts vary smoothly, on the scale of the noise,
    around the cut.

    Examples
    --------
    >>> len(pair_identities([88, 33, 20], [86, 32, np.nan], cuts=(18, 18)))
    2
    """
    a, b = _column(first, what="first values"), _column(second, what="second values")
    if len(a) != len(b):
        raise DataError(f"a pair has two values; found {len(a)} first and {len(b)} second ones.")
    _check_cut(a, cuts[0])
    _check_cut(b, cuts[1])
    if one_sided and not np.all(np.isfinite(cuts)):
        raise SpecError("one-sided pairs need the cut of either side: give cuts=(least first, least second).")
    kept = ~(np.isnan(a) & np.isnan(b)) if one_sided else ~(np.isnan(a) | np.isnan(b))
    a, b = a[kept], b[kept]
    n, step = len(a), _step(a, b)
    low, high = b - a, b - a
    low = np.where(np.isnan(a), b - cuts[0] + step, np.where(np.isnan(b), -np.inf, low))
    high = np.where(np.isnan(b), cuts[1] - a - step, np.where(np.isnan(a), np.inf, high))
    above = np.stack([a - cuts[0], b - cuts[1]]) if np.all(np.isfinite(cuts)) else np.zeros((2, n))
    held = np.nanmax(above, axis=0) if one_sided else np.min(above, axis=0)
    both = low == high
    window = _WINDOW * spread((b - a)[both], step=step)
    suppressed = bool(np.all(np.isfinite(cuts)))
    return ResidualIdentities(
        held="larger" if one_sided else "smaller",
        tables=tables,
        noises=np.ones((n, 2), dtype=np.int64),
        low=low,
        high=high,
        floor=np.full(n, -np.inf),
        missing=np.zeros(n, dtype=np.int64),
        size=np.where(both, (a + b) / 2, np.fmax(a, b)) if one_sided else np.minimum(a, b),
        edge=edge_density(held, cut=0.0 if suppressed else -np.inf, window=window, step=step),
        shift=cuts[1] - cuts[0] if suppressed else 0.0,
        cut=cuts[0],
        grid=_grid(a, b),
    )


def margin_identities(
    totals: ArrayLike,
    members: ArrayLike,
    /,
    *,
    absent: ArrayLike | None = None,
    cuts: tuple[float, float] = (-np.inf, -np.inf),
    tables: tuple[str, str] = ("base", "margin"),
    most_missing: int = 2,
) -> ResidualIdentities:
    """Published totals and their members; not-a-number where a value is suppressed.

    Parameters
    ----------
    members
        One row an identity, one column a member.
    absent
        Where a row has no such member at all, as opposed to a suppressed one.
    cuts
        The least published member and the least published total.
    most_missing
        Rows with more suppressed members than this are left out. A suppressed member hides a count
        anywhere below the cut, so such rows say little about the noise.

    Assumes
    -------
    A suppressed member holds a raw count c with prior chance proportional to r^c, with one r for all
    of them that is fitted along (r = 1 is flat), times the chance of having been suppressed.
    """
    total = _column(totals, what="totals")
    parts = np.asarray(members, dtype=float)
    if parts.ndim != 2 or len(parts) != len(total):
        raise DataError(f"members must be a table with one row for each of the {len(total)} totals.")
    away = np.zeros(parts.shape, dtype=bool) if absent is None else np.asarray(absent, dtype=bool)
    if away.shape != parts.shape:
        raise DataError("the table of absent members must have the shape of the members.")
    _check_cut(parts[~away], cuts[0])
    _check_cut(total, cuts[1])
    here = ~np.isnan(parts) & ~away
    missing = (~here & ~away).sum(axis=1)
    if missing.any() and not np.isfinite(cuts[0]):
        raise SpecError(
            "members are suppressed, so their cut is needed: give cuts=(least member, least total)."
        )
    kept = ~np.isnan(total) & (missing <= most_missing) & (here.sum(axis=1) > 0)
    total, parts, here, missing = total[kept], parts[kept], here[kept], missing[kept]
    published = np.where(here, parts, 0.0).sum(axis=1)
    residual = total - published
    step = _step(total, parts[here])
    one = spread(residual[missing == 0], step=step) / np.sqrt(max(here.sum() / max(len(total), 1), 1.0))
    return ResidualIdentities(
        held="members",
        tables=tables,
        noises=np.stack([here.sum(axis=1), np.ones(len(total), dtype=np.int64)], axis=1),
        low=residual,
        high=residual,
        floor=cuts[1] - published if np.isfinite(cuts[1]) else np.full(len(total), -np.inf),
        missing=missing.astype(np.int64),
        size=total,
        edge=edge_density(parts[here], cut=cuts[0], window=_WINDOW * np.sqrt(2) * one, step=step),
        shift=0.0,
        cut=cuts[0],
        grid=_grid(total, parts[here]),
    )


def residual_identities(
    residuals: ArrayLike,
    /,
    *,
    noises: ArrayLike,
    tables: tuple[str, str] = ("base", "margin"),
    size: ArrayLike | None = None,
) -> ResidualIdentities:
    """Bare residuals, each a sum of `noises[i, 0]` noises of one table and `noises[i, 1]` of another.

    Assumes
    -------
    No suppression: the values behind the residuals are far above their cuts.
    """
    residual = _column(residuals, what="residuals")
    if np.isnan(residual).any():
        raise DataError("bare residuals may not be missing.")
    n = len(residual)
    return ResidualIdentities(
        held="members",
        tables=tables,
        noises=np.broadcast_to(np.asarray(noises, dtype=np.int64), (n, 2)).copy(),
        low=residual,
        high=residual,
        floor=np.full(n, -np.inf),
        missing=np.zeros(n, dtype=np.int64),
        size=np.zeros(n) if size is None else _column(size, what="sizes"),
        edge=0.0,
        shift=0.0,
        cut=-np.inf,
        # The values are not known; a few residuals may share a divisor by chance.
        grid=_grid(residual) if n >= _MANY else min(_grid(residual), 1),
    )


def _column(values: ArrayLike, /, *, what: str) -> Floats:
    column = np.asarray(values, dtype=float)
    if column.ndim != 1:
        raise DataError(f"{what} must be a list of numbers, found {column.ndim} dimensions.")
    if np.isinf(column).any():
        raise DataError(f"{what} must be finite, or not-a-number where suppressed.")
    return column


def _check_cut(values: Floats, cut: float, /) -> None:
    if np.isnan(cut):
        raise SpecError.for_value("cut", found=cut, allowed="a number, or minus infinity for no cut")
    low = values < cut
    if low.any():
        raise DataError(f"{int(low.sum())} published values lie below the cut {cut:g}; lower the cut.")


def _step(*values: Floats) -> float:
    """1 for whole values, else so small that it does not matter."""
    joined = np.concatenate([v[~np.isnan(v)] for v in values])
    return 1.0 if np.all(joined == np.rint(joined)) else _STEP


def _grid(*values: Floats) -> int:
    joined = np.concatenate([v[~np.isnan(v)] for v in values])
    if not np.all(joined == np.rint(joined)):
        return 0
    return int(np.gcd.reduce(np.abs(joined).astype(np.int64), initial=0))
