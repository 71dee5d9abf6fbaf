"""How each table was made, as far as it is known: what inference about its cells rests on.

The noise of a table is what a person states, whatever else is known of it: that the tables contradict it is then said, and assumed away. Else it is what its
card says, unless the tables contradict the card; else what was recovered from it; else that of another table. The cut is the one on the card, or the one found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.inference import LatentScale, RivalNoise
from noisegate.laws import LAWS, Laplace, Law, PointMass, make_law
from noisegate.mechanisms import (
    Authority,
    Cut,
    Known,
    Mechanism,
    Rounding,
    Rule,
    Zeros,
    known_mechanism,
    named_law,
    whole_rounding,
)
from noisegate.reading import Structure
from noisegate.recovery.candidates import CANDIDATES
from noisegate.recovery.identity_sets import IdentitySet
from noisegate.recovery.outcome import DifferenceCurve, NoiseFit, difference_curve
from noisegate.recovery.recognition import Recognition
from noisegate.tables import Card, Table


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

    def beside(self, recognised: Recognition | None, /) -> Noise:
        """The same where it is known how the table was made: what is rounded in another way than at random has no law of noise, and noise that grows with the count no one scale."""
        if recognised is None or recognised.kind == "random-rounding":
            return self
        if recognised.kind == "growing":
            return Noise(table=self.table, reason="its noise grows with the count, and so has no one scale")
        if self.fit is not None and self.fit.law == "random-rounding" and not recognised.rounded:
            why = "its values are multiples of a base, and what totals differ by is more than rounding explains: the law of noise before rounding is not known"
            return Noise(table=self.table, reason=why)
        if not recognised.rounded:
            return self
        return Noise(
            table=self.table, reason=f"its values are multiples of {recognised.base}: rounded, not noisy"
        )

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


Floats = NDArray[np.float64]
#: Families of laws without a largest value.
_UNBOUNDED = ("laplace", "gaussian")
_Noise = tuple[Law, Rounding, Authority, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seen:
    """A table as evidence: what every cell of its domain shows, and how it came to be.

    Attributes
    ----------
    known
        The mechanisms that may have made it, and what is assumed.
    values
        The published count of every cell; NaN where it is suppressed.
    usable
        Which cells are evidence: all, but for those that slipped below the cut, and for absent ones in a
        table that cuts nothing.
    """

    cells: Table
    known: Known
    values: Floats
    usable: NDArray[np.bool_]

    @property
    def mechanism(self) -> Mechanism:
        """The likeliest mechanism; where the zero rule is not known, the one that perturbs zeros: the weaker evidence."""
        return self.known.mechanism

    @property
    def assumes(self) -> tuple[str, ...]:
        """What had to be assumed, in words."""
        return self.known.assumes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Makers:
    """What is known about the making of all tables.

    Attributes
    ----------
    noise
        Recovered noise by table.
    card
        What the makers say; leave it out if the tables contradict it.
    stated
        What a person says of all tables; it is never overridden.
    zeros
        The zero rule; None if it is not known, and then there are two rivals.
    consistent
        Tables that add up where it can be checked, and hold more than their published parts. If nothing is
        known about noise, their counts are taken as they were before suppression.
    latent
        The scale of the noise as far as totals tell it that all lack a part; for tables of which nothing else is known.
    """

    noise: Mapping[str, Noise]
    card: Card | None
    stated: Law | None
    zeros: Zeros | None
    consistent: frozenset[str] = frozenset()
    latent: LatentScale | None = None

    def of(self, cells: Table, structure: Structure, /) -> Seen | None:
        """One table as evidence; None if nothing is known about its noise, or counts are not whole."""
        if cells.values.size and (cells.values != np.rint(cells.values)).any():
            return None
        found = self._noise(cells, structure)
        if found is None:
            return None
        law, rounding, source, assumes = found
        values = cells.dense()
        said = self.card.about(cells) if self.card is not None else None
        threshold, rule, cut, usable, assumed = _cut(
            cells, values, None if said is None or said.threshold is None else float(said.threshold)
        )
        zeros = self.zeros
        if said is None and cells.hidden.size:
            raw = isinstance(law, PointMass)
            marked = _marked_cut(cells, values, raw=raw)
            if raw or (marked.threshold is not None and marked.usable.all()):
                threshold, usable, zeros = marked.threshold, marked.usable, marked.zeros or zeros
                rule, cut, assumed = "ge", "after", ()
        known = known_mechanism(
            law,
            rounding=rounding,
            threshold=threshold,
            rule=rule,
            cut=cut,
            zeros=zeros,
            source=source,
            assumes=(*assumes, *assumed),
        )
        return Seen(cells=cells, known=known, values=values, usable=usable)

    def _noise(self, cells: Table, structure: Structure, /) -> _Noise | None:
        """Law, rounding, who says so, and what is assumed."""
        if self.stated is not None:
            said = f"{cells.name}: noise as stated"
            why = self.against_stated(cells)
            return (
                self.stated,
                whole_rounding(self.stated),
                "person",
                (f"{said}, though the tables contradict it: {why}" if why else said,),
            )
        own = self._own(cells)
        if own is not None:
            return (*own, ())
        if cells.name in self.consistent:
            return (
                PointMass(),
                "none",
                "recovered",
                ("no sum of the tables shows noise, so counts are taken as they are",),
            )
        for other in structure.tables:
            borrowed = self._own(other)
            if borrowed is not None:
                return (*borrowed[:2], "borrowed", (f"{cells.name}: noise as in {other.name}",))
        if self.latent is None:
            return None
        law, (low, high) = Laplace(self.latent.scale), self.latent.interval
        said = f"Laplace noise of one scale in all tables, {low:.2g} to {high:.2g} by {self.latent.totals:,} totals that lack parts"
        return law, whole_rounding(law), "recovered", (said,)

    def rivals(self, tables: Sequence[Seen], /) -> tuple[RivalNoise, ...]:
        """Other laws with which recovered noise of the first of some tables may have been made, each with all tables as it would have made them.

        Noise that is bounded is no such rival: what it cannot have made it contradicts.
        """
        fit = self.noise[tables[0].cells.name].fit
        if tables[0].known.source != "recovered" or fit is None or fit.law == "none":
            return ()
        return tuple(
            RivalNoise(
                weight=weight,
                name=family,
                mechanisms={one.cells.name: self._as_made_by(family, one) for one in tables},
            )
            for family, weight in fit.rivals.items()
            if family in _UNBOUNDED
        )

    def _as_made_by(self, family: str, seen: Seen, /) -> Mechanism:
        """How a table would have been made by noise of this family: at the scale that was recovered for it, else as wide as it is taken to be."""
        fit = self.noise[seen.cells.name].fit
        members = {} if fit is None else fit.members(family)
        name = max(members, key=lambda one: members[one].probability) if members else f"rounded-{family}"
        candidate = CANDIDATES[name]
        wide = math.sqrt(seen.mechanism.law.variance)
        scale = members[name].scale if members else wide * candidate.per_sd
        law = make_law(candidate.law, scale=scale)
        return replace(seen.mechanism, law=law, rounding=candidate.rounding)

    def against_stated(self, cells: Table, /) -> str:
        """How a table or its card contradicts what a person states of its noise, in words; empty if neither does."""
        if self.stated is None:
            return ""
        law, (scale,) = self.stated.name, astuple(self.stated)  # type: ignore[call-overload]  # every named law is a dataclass of its scale
        said = self.card.about(cells) if self.card is not None else None
        if said is not None and said.scale is not None and (said.law, said.scale) != (law, scale):
            return f"its card says {said.law} of scale {said.scale:.3g}"
        fit = self.noise[cells.name].fit
        return "" if fit is None else fit.contradicts(law, float(scale))

    def _own(self, cells: Table, /) -> tuple[Law, Rounding, Authority] | None:
        said = self.card.about(cells) if self.card is not None else None
        if said is not None and said.law in LAWS and said.scale is not None:
            law = make_law(said.law, scale=said.scale)
            return law, whole_rounding(law), "card"
        fit = self.noise[cells.name].fit
        if fit is None or (fit.law != "none" and fit.law not in LAWS):
            return None
        return named_law(fit.law, scale=fit.scale), fit.rounding, "recovered"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _MarkedCut:
    """What markers say of the cut; `zeros` is None where they do not say what becomes of empty cells."""

    threshold: float | None
    usable: NDArray[np.bool_]
    zeros: Zeros | None = None


def _marked_cut(cells: Table, values: Floats, /, *, raw: bool) -> _MarkedCut:
    """The cut by the ranges of markers; `raw`: what is shown and hidden is the count itself, so that its range says whether an empty cell shows.

    A cell whose marker has no largest count is no evidence of its own, nor is any marker where smaller counts than it hides are shown.
    """
    low, high = cells.ranges()
    hidden = np.isnan(values)
    ranged = hidden & np.isfinite(high)
    usable = ~hidden | ranged
    if not ranged.any():
        return _MarkedCut(threshold=None, usable=usable)
    least = float(high[ranged].max()) + 1
    zeros: Zeros = "show" if low[ranged].min() > 0 else "perturb"
    slipped = values < least
    if raw and zeros == "show":
        slipped &= values > 0
    if slipped.any():
        return _MarkedCut(threshold=None, usable=~hidden)
    return _MarkedCut(threshold=least, usable=usable, zeros=zeros if raw else None)


def _cut(
    cells: Table, values: Floats, said: float | None, /
) -> tuple[float | None, Rule, Cut, NDArray[np.bool_], tuple[str, ...]]:
    """Threshold, rule and stage of the cut; which cells it explains; what is assumed."""
    found = cells.threshold
    usable = np.ones(values.size, dtype=bool)
    if said is not None:
        return said, "ge", "after", usable & ~(values < said), ()
    if found.value is not None:
        least = found.value if found.rule == "ge" or found.cut == "before" else found.value + 1
        usable &= ~(values < least)
        return float(found.value), found.rule or "ge", found.cut or "after", usable, ()
    absent = np.isnan(values)
    if not absent.any():
        return None, "ge", "after", usable, ()
    least = float(cells.values.min()) if cells.values.size else 0.0
    if least <= 0:
        return None, "ge", "after", usable & ~absent, (f"{cells.name}: absent cells tell nothing",)
    return least, "ge", "after", usable, (f"{cells.name}: absent cells were below {least:g}",)
