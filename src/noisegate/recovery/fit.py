"""Law, scale and rounding of the noise, from identities that hold among raw counts (MATH 2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from noisegate.errors import DataError, SpecError
from noisegate.laws import Floats
from noisegate.recovery.candidates import CANDIDATES, PRESUMED, Candidate, eligible, prior_weights
from noisegate.recovery.goodness import Goodness, judge
from noisegate.recovery.identities import ResidualIdentities
from noisegate.recovery.likelihood import ObservedResiduals, Surface, SurfaceLayout, observe, surface
from noisegate.recovery.outcome import FittedModel, LawEvidence, NoiseFit
from noisegate.recovery.residual_law import common_step, noise_sd, share_off

#: Fewer identities than this say nothing.
FEWEST = 5
# A discrete law is named instead of the rounded one of its family only if it is so likely within it.
_NAME_WITHIN_FAMILY = 0.95
# Another family is named instead of the presumed one only if it is so likely; from few identities more is asked.
_NAME_AGAINST_PRESUMED, _FROM_FEW, _FEW = 0.9, 0.98, 200
_LEAST_SD = 0.15


def fit_noise(
    identities: ResidualIdentities | Sequence[ResidualIdentities],
    /,
    *,
    table: str | None = None,
    laws: Sequence[str] = tuple(CANDIDATES),
    shared: bool = False,
    level: float = 0.95,
) -> NoiseFit:
    """Law, scale and rounding of the noise of one table, or the reason why they cannot be had.

    Parameters
    ----------
    identities
        One set of identities or several; sets that name the same table share its scale.
    table
        Whose noise is wanted; the first table of the first set if not given.
    laws
        Names of the laws to choose among.
    shared
        Whether all tables have the same scale. If not, at most two tables may be involved.
    level
        The chance with which the interval is to hold the true scale.

    Returns
    -------
    NoiseFit
        With `refusal` set when the identities do not look like equal counts.

    Assumes
    -------
    Noises are independent, of one family of laws in all tables, and do not depend on the count (but
    for random rounding). Raw counts vary smoothly, on the scale of the noise, around a cut.

    Notes
    -----
    The interval comes from the likelihood, profiled over contamination and over whatever else is
    unknown, taken as a density of the log-scale. For a pure scale family its coverage is exact at any
    n; the calibration tests show it for rounded, suppressed and contaminated identities.
    It is the interval of the law that is named. A wrong name would spoil it, so another law than
    Laplace is named only with a probability of nine in ten (98 in a hundred from fewer than 200 identities); until then `rivals`
    has the others.

    Examples
    --------
    >>> from noisegate.recovery import fit_noise, pair_identities
    >>> rng = np.random.default_rng(1)
    >>> count = rng.integers(50, 300, size=400)
    >>> on, off = count + np.rint(rng.laplace(scale=1.4, size=(2, 400)))
    >>> fit = fit_noise(pair_identities(on, off))
    >>> fit.law, fit.rounding, fit.interval[0] < 1.4 < fit.interval[1]
    ('laplace', 'nearest', True)
    """
    given = [identities] if isinstance(identities, ResidualIdentities) else list(identities)
    sets = [s for s in given if len(s)]
    _check(sets, level)
    layout = _layout(sets, table, shared=shared)
    whole = all(s.whole for s in sets)
    candidates = eligible(laws, whole=whole, grid=math.gcd(*(s.grid for s in sets)))
    if not candidates:
        kind = "whole" if whole else "not whole"
        raise SpecError(
            f"none of the laws {', '.join(laws)} makes residuals that are {kind}; add one that does."
        )
    if all(np.all(s.low == 0) and np.all(s.high == 0) for s in sets) and not layout.missing:
        return _no_noise(sets, layout, candidates[0], level)
    observed, surfaces = _surfaces(sets, layout, candidates)
    return _report(observed, surfaces, layout, level)


def _surfaces(
    sets: Sequence[ResidualIdentities], layout: SurfaceLayout, candidates: Sequence[Candidate], /
) -> tuple[tuple[ObservedResiduals, ...], list[Surface]]:
    step = common_step(sets)
    if step > 1:  # so wide that rounded and discrete noise are the same
        candidates = [one for one in candidates if not one.name.startswith("discrete-")] or candidates
    sd = _sd_range(sets, layout, step)
    observed = tuple(observe(s, step=step, widest=sd[1]) for s in sets)
    bases = _divisors(math.gcd(*(s.grid for s in sets)))
    surfaces = [
        surface(c, observed, layout, sd=sd, bases=bases if c.name == "random-rounding" else None)
        for c in candidates
    ]
    return observed, surfaces


def _report(
    observed: tuple[ObservedResiduals, ...],
    surfaces: Sequence[Surface],
    layout: SurfaceLayout,
    level: float,
    /,
) -> NoiseFit:
    chance = _chances(surfaces)
    n = sum(len(o.identities) for o in observed)
    named, apart = _name(surfaces, chance, against=_FROM_FEW if n < _FEW else _NAME_AGAINST_PRESUMED)
    best = surfaces[named]
    point = layout.points(best.candidate, [np.array([value]) for value in best.best])
    model = FittedModel(observed=observed, point=point, weights=best.weights)
    goodness = judge(observed, point, best.weights)
    evidence = {
        s.candidate.name: LawEvidence(
            log_likelihood=float(s.profile.max()),
            probability=float(p),
            scale=s.peak(),
            interval=s.interval(level=level, peak=s.peak()),
        )
        for s, p in zip(surfaces, chance, strict=True)
    }
    chosen = evidence[best.candidate.name]
    return NoiseFit(
        table=layout.wanted,
        law=best.candidate.law,
        rounding=best.candidate.rounding,
        scale=chosen.scale,
        interval=chosen.interval,
        level=level,
        n=n,
        evidence=evidence,
        told_apart=bool(apart),
        contamination=share_off(best.weights),
        others={layout.other: best.best[1]} if layout.other else {},
        goodness=goodness,
        refusal=goodness.refusal,
        model=model,
    )


def _chances(surfaces: Sequence[Surface], /) -> Floats:
    logs = np.array([s.evidence for s in surfaces]) + np.log(prior_weights([s.candidate for s in surfaces]))
    return np.asarray(np.exp(logs - np.logaddexp.reduce(logs)))


def _name(surfaces: Sequence[Surface], chance: Floats, /, *, against: float) -> tuple[int, bool]:
    """Which law is named, and whether its rivals within the family are out."""
    families = [s.candidate.family for s in surfaces]
    total = {f: sum(c for g, c in zip(families, chance, strict=True) if g == f) for f in families}
    family = max(total, key=total.__getitem__)
    if PRESUMED in total and total[family] < against:
        family = PRESUMED
    members = [i for i, f in enumerate(families) if f == family]
    likely = max(members, key=lambda i: float(chance[i]))
    apart = float(chance[likely]) >= _NAME_WITHIN_FAMILY * total[family]
    return (likely if apart else members[0]), apart


def _no_noise(
    sets: Sequence[ResidualIdentities], layout: SurfaceLayout, candidate: Candidate, level: float, /
) -> NoiseFit:
    """Every residual is zero: no noise, up to a scale that would have shown with chance `level`."""
    noises = np.concatenate([s.noises.sum(axis=1) for s in sets])
    scales = candidate.scales(np.exp(np.linspace(math.log(0.01), math.log(2.0), 200)))
    zeros = [float(candidate.make(float(s)).log_between(-0.5, 0.5)) * float(noises.sum()) for s in scales]
    possible = scales[np.array(zeros) >= math.log1p(-level)]
    n = sum(len(s) for s in sets)
    return NoiseFit(
        table=layout.wanted,
        law="none",
        rounding="none",
        scale=0.0,
        interval=(0.0, float(possible.max(initial=0.0))),
        level=level,
        n=n,
        evidence={},
        told_apart=True,
        contamination=0.0,
        others={},
        goodness=Goodness.exact(n),
        refusal=None,
    )


def _layout(sets: Sequence[ResidualIdentities], table: str | None, /, *, shared: bool) -> SurfaceLayout:
    tables = tuple(dict.fromkeys(t for s in sets for t in s.tables))
    wanted = tables[0] if table is None else table
    if wanted not in tables:
        raise SpecError.for_choice("table", found=table, allowed=tables)
    others = [t for t in tables if t != wanted]
    if len(others) > 1 and not shared:
        raise SpecError(
            f"the scales of {len(tables)} tables cannot be told apart at once; use identities of two tables, "
            "or shared=True for one scale."
        )
    return SurfaceLayout(
        wanted=wanted,
        other="" if shared or not others else others[0],
        tables=tables,
        missing=any(bool(s.missing.any()) for s in sets),
    )


def _check(sets: Sequence[ResidualIdentities], level: float, /) -> None:
    if not 0 < level < 1:
        raise SpecError.for_value("level", found=level, allowed="between 0 and 1")
    n = sum(len(s) for s in sets)
    if n < FEWEST or not any(s.seen.any() for s in sets):
        raise DataError(
            f"{n} identities are too few to say anything about noise; at least {FEWEST} are needed."
        )


def _sd_range(
    sets: Sequence[ResidualIdentities], layout: SurfaceLayout, step: float, /
) -> tuple[float, float]:
    """Between which standard deviations of one noise to look, from the spread of the residuals."""
    n = sum(len(s) for s in sets)
    guess = noise_sd(sets, step=step)
    high = 1.5 * guess * max(2.0, min(12.0, math.exp(14 / n)))
    low = guess / 8
    if layout.other or layout.missing:
        most = max(float(np.sqrt(s.noises.sum(axis=1).max())) for s in sets)
        high, low = high * most, low / most
    floor = _LEAST_SD if all(s.whole for s in sets) else 0.0
    return max(low, floor), max(high, 2 * floor)


def _divisors(number: int, /) -> Floats:
    return np.array([d for d in range(2, min(number, 1000) + 1) if number % d == 0], dtype=float)
