"""What is known about the noise of one table, with what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisegate.recovery.curve import DifferenceCurve, difference_curve
from noisegate.recovery.identity_sets import IdentitySet
from noisegate.recovery.outcome import NoiseFit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Noise:
    """What is known about the noise of one table.

    Attributes
    ----------
    fit
        The recovered law; None if there is none.
    sets
        The identities it rests on.
    assumes
        What had to be assumed.
    refused
        Sets of identities that do not hold, each with the reason.
    left_out
        Sets that hold alone, but not together with the larger one that was used.
    reason
        Why there is no fit; empty if there is one.
    """

    table: str
    fit: NoiseFit | None = None
    sets: tuple[IdentitySet, ...] = ()
    assumes: tuple[str, ...] = ()
    refused: tuple[tuple[IdentitySet, str], ...] = ()
    left_out: tuple[IdentitySet, ...] = ()
    reason: str = ""

    @property
    def n(self) -> int:
        """How many identities were used."""
        return 0 if self.fit is None else self.fit.n

    def curve(self) -> DifferenceCurve | None:
        """How often each difference occurs, beside the fitted law; the simulation in it is the same on every run."""
        if self.fit is None or self.fit.model is None:
            return None
        return difference_curve(self.fit, rng=np.random.default_rng(0))

    def to_json(self, *, level: float) -> dict[str, Any]:
        """As plain values for JSON; all keys are there, null where nothing is known."""
        fit, curve = self.fit, self.curve()
        return {
            "law": fit.law if fit else None,
            "scale": round(fit.scale, 6) if fit else None,
            "interval": [round(end, 6) for end in fit.interval] if fit else None,
            "level": fit.level if fit else level,
            "rounding": fit.rounding if fit else None,
            "n": self.n,
            "curve": None
            if curve is None
            else {
                "difference": curve.difference.tolist(),
                "observed": curve.observed.tolist(),
                "expected": [round(number, 6) for number in curve.expected.tolist()],
                "simulated": curve.simulated.tolist(),
            },
            "evidence": {
                "statement": fit.goodness.statement if fit else self.reason,
                "identities": [one.to_json() for one in self.sets],
                "laws": {name: round(law.probability, 6) for name, law in fit.evidence.items()}
                if fit
                else {},
                "told_apart": fit.told_apart if fit else None,
                "contamination": round(fit.contamination, 6) if fit else None,
                "assumes": list(self.assumes),
                "refused": [{**one.to_json(), "reason": reason} for one, reason in self.refused],
                "left_out": [one.to_json() for one in self.left_out],
            },
        }
