"""The law of a residual: what each identity would show if the noise had a given law and scale.

For a pair whose raw count has log-density slope -s, with noises l₁ and l₂ of the two values,

    P(r | smaller value) ∝ e^{-s|r|/2} Σ_{l₂ - l₁ = r} f₁(l₁) f₂(l₂) e^{s(l₁+l₂)/2},

and e^{+s|r|/2} given the larger one. With s = 0 both are the plain law of a difference: where counts
are locally uniform, suppression changes nothing. For a margin the noise of each member follows
f(l) e^{s l}, and the residual is the pivot's noise, minus those, plus the missing counts.

Random rounding is the exception: what it adds depends on the count. If remainders are uniform, the
last value of an identity has its remainder fixed by the others, and so

    P(r) = b · (sum of triangular laws)(r)   on the multiples of the base b, and 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import fft

from noisegate.laws import Floats, Ints, Law
from noisegate.recovery.candidates import Candidate
from noisegate.recovery.identities import ResidualIdentities
from noisegate.recovery.lattice import Lattice, Spectra

# The steepest tilts that leave the law a law, in units of one over its standard deviation.
_STEEPEST_MEMBER, _STEEPEST_PAIR = 0.9, 2.5
_TINY = 1e-16
_MOST_EXPONENT = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Points of parameter space: a scale for each table, and the ratio r of missing counts."""

    candidate: Candidate
    scales: Mapping[str, Floats]
    ratio: Floats

    def laws(self, table: str, /) -> tuple[list[Law], Ints]:
        """The different laws of a table, and which of them each point has."""
        scale, which = np.unique(self.scales[table], return_inverse=True)
        return [self.candidate.make(float(s)) for s in scale], which

    def sd(self, table: str, /) -> Floats:
        """About the standard deviation of one noise."""
        return np.asarray(self.scales[table] / self.candidate.per_sd)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualLaw:
    """The laws of the residuals of one set of identities, at all points at once."""

    identities: ResidualIdentities
    lattice: Lattice
    points: Points
    held: Spectra
    pivot: Spectra
    hidden: Spectra | None
    slope: Floats
    shells: Spectra

    @classmethod
    def at(cls, identities: ResidualIdentities, lattice: Lattice, points: Points, /) -> ResidualLaw:
        """Work out what all rows of a set have in common."""
        pair = identities.held != "members"
        held_table, pivot_table = identities.tables
        sd = np.maximum(points.sd(held_table), points.sd(pivot_table))
        steepest = (_STEEPEST_PAIR if pair else _STEEPEST_MEMBER) / sd
        slope = np.minimum(identities.edge, steepest)
        return cls(
            identities=identities,
            lattice=lattice,
            points=points,
            held=_spectra(lattice, points, held_table, tilt=slope / 2 if pair else slope),
            pivot=_spectra(lattice, points, pivot_table, tilt=slope / 2 if pair else np.zeros_like(slope)),
            hidden=_hidden(identities, lattice, points) if identities.missing.any() else None,
            slope=slope,
            shells=np.asarray(fft.rfft(lattice.shells(), axis=-1)),
        )

    def tables(self, noises: tuple[int, int], missing: int, /) -> Floats:
        """P(residual = k) for k from -points/2 on, for a row with these numbers of noises.

        Returns
        -------
        Array of shape (1 + shells, points of parameter space, lattice points): the law of a sound
        identity, then that of one which is off by an amount from each shell.
        """
        n = self.lattice.points
        spectrum = np.conj(self.held) ** noises[0] * self.pivot ** noises[1]
        if self.hidden is not None and missing:
            spectrum = spectrum * self.hidden**missing
        if self.identities.held != "members":
            spectrum = self._given_one_value(spectrum)
        spectra = np.concatenate([spectrum[None], spectrum[None] * self.shells[:, None, :]])
        table = np.asarray(fft.irfft(spectra, n, axis=-1))
        if self.points.candidate.name == "random-rounding":
            table = self._on_multiples(table)
        return np.asarray(np.maximum(fft.fftshift(table, axes=-1), _TINY))

    def _given_one_value(self, spectrum: Spectra, /) -> Spectra:
        """A pair's law given its smaller or larger value."""
        if not self.slope.any():
            return spectrum
        n = self.lattice.points
        away = np.abs(self.lattice.values * self.lattice.step - self.identities.shift)
        sign = -0.5 if self.identities.held == "smaller" else 0.5
        exponent = np.minimum(sign * self.slope[:, None] * away, _MOST_EXPONENT)
        table = np.maximum(fft.irfft(spectrum, n, axis=-1), 0.0)
        table = np.where(table > _TINY * table.max(axis=-1, keepdims=True), table, 0.0) * np.exp(exponent)
        return np.asarray(fft.rfft(table / table.sum(axis=-1, keepdims=True), axis=-1))

    def _on_multiples(self, table: Floats, /) -> Floats:
        base = self.points.scales[self.identities.tables[0]][:, None]
        return np.where(self.lattice.values % base == 0, table * base, 0.0)


def _spectra(lattice: Lattice, points: Points, table: str, /, *, tilt: Floats) -> Spectra:
    """Transforms of the noise laws of one table at every point, each tilted by e^{tilt l}."""
    laws, which = points.laws(table)
    mass = lattice.masses(laws)
    if not tilt.any():
        return np.asarray(fft.rfft(mass, axis=-1))[which]
    exponent = np.clip(tilt[:, None] * (lattice.values * lattice.step), -_MOST_EXPONENT, _MOST_EXPONENT)
    mass = mass[which] * np.exp(exponent)
    return np.asarray(fft.rfft(mass / mass.sum(axis=-1, keepdims=True), axis=-1))


def _hidden(identities: ResidualIdentities, lattice: Lattice, points: Points, /) -> Spectra:
    """Transforms of the law of one missing count: prior r^c times the chance of suppression."""
    laws, which = points.laws(identities.tables[0])
    widest = float(points.sd(identities.tables[0]).max())
    counts = np.arange(np.ceil(max(identities.cut, 0.0) + 8 * widest) + 1)
    gap = 1.0 if points.candidate.whole_values else 0.0
    suppressed = np.stack([law.logcdf(identities.cut - gap - counts) for law in laws])[which]
    weight = suppressed + np.log(points.ratio)[:, None] * counts
    weight = np.exp(weight - weight.max(axis=-1, keepdims=True))
    mass = np.zeros((lattice.points, len(which)))
    np.add.at(mass, np.rint(counts / lattice.step).astype(np.int64), weight.T)
    mass = mass.T
    return np.asarray(fft.rfft(mass / mass.sum(axis=-1, keepdims=True), axis=-1))
