"""The picture of a fit as plain numbers: differences seen, expected and simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate.core.laws._law import Floats, Ints
from noisegate.core.randomness import as_rng
from noisegate.core.recovery.likelihood import tables
from noisegate.core.recovery.outcome import NoiseFit
from noisegate.errors import DataError

_NEGLIGIBLE = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceCurve:
    """How often each difference occurs.

    Attributes
    ----------
    difference
        The residuals, from the smallest to the largest that matters.
    observed
        How many identities show each.
    expected
        How many would under the fitted law, contamination included.
    simulated
        How many did in one simulation of as many identities from the fitted law.
    """

    difference: Floats
    observed: Ints
    expected: Floats
    simulated: Ints


def difference_curve(fit: NoiseFit, /, *, rng: np.random.Generator) -> DifferenceCurve:
    """Observed differences against the fitted law and against a simulation from it.

    Examples
    --------
    >>> from noisegate.core.recovery import difference_curve, fit_noise, pair_identities
    >>> rng = np.random.default_rng(1)
    >>> on, off = 100 + np.rint(rng.laplace(scale=1.4, size=(2, 300)))
    >>> curve = difference_curve(fit_noise(pair_identities(on, off)), rng=rng)
    >>> int(curve.observed.sum()), int(curve.simulated.sum())
    (300, 300)
    """
    generator = as_rng(rng)
    if fit.model is None:
        raise DataError("identities that hold exactly have no differences to draw.")
    model = fit.model
    half = max(one.lattice.points for one in model.observed) // 2
    seen, law, drawn = (np.zeros(2 * half + 1) for _ in range(3))
    for one in model.observed:
        for group, table in tables(one, model.point):
            mass = np.einsum("j,jk->k", model.weights, table[:, 0, :])
            mass /= mass.sum()
            shown = group.low == group.high
            n = int(group.times[shown].sum())
            here = slice(half - len(mass) // 2, half - len(mass) // 2 + len(mass))
            np.add.at(seen, group.low[shown] + half, group.times[shown])
            law[here] += n * mass
            drawn[here] += generator.multinomial(n, mass)
    matter = np.flatnonzero((law > _NEGLIGIBLE) | (seen > 0) | (drawn > 0))
    kept = slice(int(matter[0]), int(matter[-1]) + 1)
    return DifferenceCurve(
        difference=np.asarray(
            (np.arange(2 * half + 1) - half)[kept] * model.observed[0].lattice.step, dtype=float
        ),
        observed=seen[kept].astype(np.int64),
        expected=law[kept],
        simulated=drawn[kept].astype(np.int64),
    )
