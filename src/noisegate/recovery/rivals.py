"""Another law or scale beside the fitted one: how likely it makes the same identities, and what differences it expects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisegate.errors import DataError, SpecError
from noisegate.laws import Floats
from noisegate.recovery.candidates import CANDIDATES, Candidate
from noisegate.recovery.likelihood import columns, tables
from noisegate.recovery.outcome import FittedModel, NoiseFit
from noisegate.recovery.residual_law import Points

#: How far below and above the fitted scale a rival may be: beyond, the lattice of the fit would cut its tails.
_FAR = 3.0
_STEPS = 41


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rivals:
    """One law at many scales.

    Attributes
    ----------
    law
        The law, as `CANDIDATES` calls it.
    scales, log_likelihood
        The scales that were tried, and how far below the fit each is: 0 says as likely, -3 that the fit is twenty times as likely.
    expected
        How often each difference would occur, a row for each scale; columns as in the curve of the fit.

    *Assumes* what the fit found for contamination and for the noise of other tables: both are held.
    """

    law: str
    scales: Floats
    log_likelihood: Floats
    expected: Floats


def rivals_of(fit: NoiseFit, law: str, /, *, differences: Floats) -> Rivals:
    """The law of this name at scales around the standard deviation of the fit.

    Parameters
    ----------
    differences
        Those of the curve that the rival is to stand beside.
    """
    model = fit.model
    if model is None:
        raise DataError("identities that hold exactly have no rival: there is no noise.")
    if law not in CANDIDATES:
        raise SpecError.for_choice("a law", found=law, allowed=sorted(CANDIDATES))
    candidate = CANDIDATES[law]
    if candidate.whole_values != model.point.candidate.whole_values:
        raise SpecError(f"{law} makes other numbers than these tables show; choose a law of the same kind.")
    sd = float(model.point.sd(fit.table)[0])
    scales = candidate.scales(sd * _FAR ** np.linspace(-1, 1, _STEPS))
    found = [_beside(model, candidate, fit.table, float(scale)) for scale in scales]
    best = _log_likelihood(model, model.point)
    return Rivals(
        law=law,
        scales=scales,
        log_likelihood=np.array([_log_likelihood(model, point) for point in found]) - best,
        expected=np.array([_expected(model, point, differences) for point in found]),
    )


def _beside(model: FittedModel, candidate: Candidate, table: str, scale: float, /) -> Points:
    """The fitted point with another law, and another scale for one table; other tables keep their spread."""
    others = {
        name: candidate.scales(model.point.sd(name))[:1] if name != table else np.array([scale])
        for name in model.point.scales
    }
    return Points(candidate=candidate, scales=others, ratio=model.point.ratio)


def _log_likelihood(model: FittedModel, point: Points, /) -> float:
    found, times = columns(model.observed, point)
    mixed = np.einsum("j,jpc->pc", model.weights, found)[0]
    return float(times @ np.log(np.maximum(mixed, np.finfo(float).tiny)))


def _expected(model: FittedModel, point: Points, differences: Floats, /) -> Floats:
    """How often each difference would occur."""
    found = np.zeros(len(differences))
    for one in model.observed:
        place = np.rint(differences / one.lattice.step).astype(np.int64)
        for group, table in tables(one, point):
            mass = np.einsum("j,jk->k", model.weights, table[:, 0, :])
            mass /= mass.sum()
            n = int(group.times[group.low == group.high].sum())
            at = place + len(mass) // 2
            inside = (at >= 0) & (at < len(mass))
            found[inside] += n * mass[at[inside]]
    return found
