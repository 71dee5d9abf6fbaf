"""How each table was made, as far as it is known: what inference about its cells rests on.

The noise of a table is what its card says, unless the tables contradict the card; else what was recovered from
it; else what a person states; else that of another table. The cut is the one on the card, or the one found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.laws import LAWS, make_law
from noisegate.laws._law import Law
from noisegate.laws.bounded import PointMass
from noisegate.mechanisms.mechanism import Cut, Mechanism, Rounding, Rule, Zeros
from noisegate.reading.structure import Structure
from noisegate.recovery.card import Card
from noisegate.recovery.noise import Noise
from noisegate.tables.table import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedNoise:
    """Noise that a person states: `laplace:1.4`."""

    law: Law
    rounding: Rounding

    @classmethod
    def parse(cls, text: str, /) -> Self:
        """The noise in the form LAW:SCALE."""
        name, _, scale = text.partition(":")
        try:
            width = float(scale)
        except ValueError:
            raise SpecError.for_value(
                "--noise", found=text, allowed="a law and its scale, such as laplace:1.4"
            ) from None
        law = make_law(name.strip(), scale=width)
        return cls(law=law, rounding="none" if law.lattice else "nearest")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Seen:
    """A table as evidence: what every cell of its domain shows, and how it came to be.

    Attributes
    ----------
    values
        The published count of every cell; NaN where it is suppressed.
    usable
        Which cells are evidence: all, but for those that slipped below the cut, and for absent ones in a
        table that cuts nothing.
    """

    cells: Table
    mechanism: Mechanism
    values: Floats
    usable: NDArray[np.bool_]
    assumes: tuple[str, ...]


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
        What a person says, for tables of which neither is known.
    zeros
        The zero rule; None if it is not known, and then zeros are taken to be perturbed, the weaker evidence.
    consistent
        Tables that add up where it can be checked, and hold more than their published parts. If nothing is
        known about noise, their counts are taken as they were before suppression.
    """

    noise: Mapping[str, Noise]
    card: Card | None
    stated: StatedNoise | None
    zeros: Zeros | None
    consistent: frozenset[str] = frozenset()

    def of(self, cells: Table, structure: Structure, /) -> Seen | None:
        """One table as evidence; None if nothing is known about its noise, or counts are not whole."""
        if cells.values.size and (cells.values != np.rint(cells.values)).any():
            return None
        found = self._noise(cells, structure)
        if found is None:
            return None
        law, rounding, assumes = found
        values = cells.dense()
        said = self.card.of(cells) if self.card is not None else None
        threshold, rule, cut, usable, assumed = _cut(cells, values, None if said is None else said.least)
        mechanism = Mechanism(
            law=law,
            rounding=rounding,
            threshold=threshold,
            rule=rule,
            cut=cut,
            zeros=self.zeros or "perturb",
        )
        return Seen(
            cells=cells, mechanism=mechanism, values=values, usable=usable, assumes=(*assumes, *assumed)
        )

    def _noise(self, cells: Table, structure: Structure, /) -> tuple[Law, Rounding, tuple[str, ...]] | None:
        """Law, rounding, and what is assumed."""
        own = self._own(cells)
        if own is not None:
            return (*own, ())
        if self.stated is not None:
            return self.stated.law, self.stated.rounding, (f"{cells.name}: noise as stated",)
        if cells.name in self.consistent:
            return (
                PointMass(),
                "none",
                ("the tables add up, so counts are inferred as they were before the cut",),
            )
        for other in structure.tables:
            known = self._own(other)
            if known is not None:
                return (*known, (f"{cells.name}: noise as in {other.name}",))
        return None

    def _own(self, cells: Table, /) -> tuple[Law, Rounding] | None:
        said = self.card.of(cells) if self.card is not None else None
        if said is not None and said.law in LAWS and said.scale is not None:
            law = make_law(said.law, scale=said.scale)
            return law, "none" if law.lattice else "nearest"
        fit = self.noise[cells.name].fit
        if fit is None or (fit.law != "none" and fit.law not in LAWS):
            return None
        return PointMass() if fit.law == "none" else make_law(fit.law, scale=fit.scale), fit.rounding


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
