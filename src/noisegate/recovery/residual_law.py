"""The law of a residual, sound or contaminated, on the lattice on which it is worked out.

An identity may be off: a few passengers alight one bin later. Its residual is then the noise plus an
amount from one of the *shells* (1.5-3, 3-6, 6-12 or 12-24 spreads of the residual, either sign, uniform
inside). The weights of the shells are unknown. Their prior is a Dirichlet with as much weight on
"sound" as `_SOUND` identities seen to be sound, and one for each shell.

Two uses. The interval for the scale *profiles* the weights: each scale is judged with the weights
that suit it best. The choice of a law *integrates* over them, or else the law with the lighter tails
could borrow a contamination that mimics the heavier ones.

Whole residuals live on the integers. Others are put on a lattice much finer than the noise, and
whole ones of very wide noise on a coarser one; a law's mass at a point is then what it gives to the
cell around it. Sums are products of Fourier transforms on a ring of `points`, wide enough for
nothing to come round; probabilities below about 1e-15 are not told apart.

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

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import fft, special

from noisegate.laws import Floats, Ints, LatticeLaw, Law
from noisegate.recovery.candidates import Candidate
from noisegate.recovery.identities import ResidualIdentities, spread

_SOUND = 20.0
_MOST_ROUNDS = 200
_CLOSE = 1e-4
_ZERO = 1e-7

#: For the choice of a law: no contamination, only far shells, all but the nearest; prior chances.
_CONTAMINATIONS: tuple[tuple[tuple[int, ...], float], ...] = (((), 0.5), ((3, 4), 0.25), ((2, 3, 4), 0.25))


def profile(probability: Floats, times: Ints, /) -> tuple[Floats, Floats]:
    """The log-likelihood with the best weights, and those weights (sound first), at every point.

    The prior of the weights is part of the log-likelihood. Expectation maximisation: the objective is
    concave in the weights, so the maximum found is the only one.
    """
    parts, points, _ = probability.shape
    weight = np.full((parts, points), 0.01)
    weight[0] = 1 - 0.01 * (parts - 1)
    total = float(times.sum())
    last = np.full(points, -np.inf)
    for _ in range(_MOST_ROUNDS):
        mixed = np.einsum("jb,jbu->bu", weight, probability)
        value = np.log(mixed) @ times + _SOUND * np.log(weight[0])
        share = weight * np.einsum("jbu,bu->jb", probability, times / mixed)
        share[0] += _SOUND
        weight = share / (total + _SOUND)
        if np.all(value - last < _CLOSE):
            break
        last = value
    return np.asarray(value), weight


def integrated(probability: Floats, times: Ints, /) -> Floats:
    """The log-likelihood averaged over the weights, at every point."""
    models = [_averaged(probability[[0, *shells]], times) + math.log(p) for shells, p in _CONTAMINATIONS]
    return np.asarray(np.logaddexp.reduce(models))


def _averaged(probability: Floats, times: Ints, /) -> Floats:
    """Laplace's method around the best weights, one weight at a time, none below zero."""
    shells = len(probability) - 1
    if shells == 0:
        return np.asarray(np.log(probability[0]) @ times)
    best, weight = profile(probability, times)
    mixed = np.einsum("jb,jbu->bu", weight, probability)
    relative = (probability[1:] - probability[0]) / mixed
    pull = _SOUND / weight[0] - relative @ times
    stiffness = np.maximum((relative**2) @ times, 1e-12)
    inside = weight[1:] > _ZERO
    pull = np.where(inside, 0.0, np.maximum(pull, 0.0))
    root = np.sqrt(stiffness)
    log_volume = (
        0.5 * np.log(2 * math.pi / stiffness)
        + pull**2 / (2 * stiffness)
        + special.log_ndtr(np.where(inside, weight[1:], 0.0) * root - pull / root)
    )
    prior = special.gammaln(_SOUND + 1 + shells) - special.gammaln(_SOUND + 1)
    return np.asarray(best + log_volume.sum(axis=0) + prior)


def share_off(weights: Sequence[float] | Floats, /) -> float:
    """The share of identities that do not hold."""
    return float(np.sum(np.asarray(weights)[1:]))


Spectra = NDArray[np.complex128]

#: Shells of contamination: an identity may be off by 1.5-3, 3-6, 6-12 or 12-24 spreads of the residual.
SHELLS = (1.5, 3.0, 6.0, 12.0)
OUTERMOST = 2 * SHELLS[-1]
#: Noise that is wider than this is looked at in steps of about a sixteenth of its spread.
_COARSE_ABOVE = 40.0
_MOST_POINTS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """The multiples of `step` on a ring of `points`, for one set of identities.

    `width` is the spread of its residuals, `centre` their median; residuals more than 24 spreads
    away from it are moved to that distance.
    """

    step: float
    width: float
    centre: float
    points: int

    @property
    def values(self) -> Ints:
        """The lattice numbers in the order of the transform: 0, 1, ..., -2, -1."""
        return np.asarray(fft.fftfreq(self.points, 1 / self.points)).round().astype(np.int64)

    def place(self, residual: Floats, /) -> Ints:
        """The lattice number of each residual, as far out as the lattice goes."""
        reach = OUTERMOST * self.width
        inside = np.clip(residual, self.centre - reach, self.centre + reach)
        return np.rint(inside / self.step).astype(np.int64)

    def shells(self) -> Floats:
        """The chance of being off by each lattice number, one row a shell of contamination."""
        away = np.abs(self.values) * self.step
        edges = np.array([*SHELLS, OUTERMOST]) * self.width
        inside = (away > edges[:-1, None]) & (away <= edges[1:, None])
        return np.asarray(inside / inside.sum(axis=1, keepdims=True))

    def masses(self, laws: Sequence[Law], /) -> Floats:
        """The mass of each law at every lattice number, one row a law."""
        values = self.values
        if self.step == 1.0 and all(isinstance(law, LatticeLaw) for law in laws):
            logs = [law.logpmf(values) for law in laws if isinstance(law, LatticeLaw)]
        else:
            low, high = (values - 0.5) * self.step, (values + 0.5) * self.step
            logs = [law.log_between(low, high) for law in laws]
        mass = np.exp(np.stack(logs))
        return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def common_step(sets: Sequence[ResidualIdentities], /) -> float:
    """The lattice step that suits all sets."""
    sd = min(_noise_sd(s, step=0.0) for s in sets)
    if all(s.whole for s in sets):
        return 1.0 if sd <= _COARSE_ABOVE else 2.0 * round(sd / 32) + 1
    return sd / 24 if sd > 0 else 1e-6


def lattice_for(identities: ResidualIdentities, /, *, step: float, widest: float) -> Lattice:
    """The lattice for a set, when one noise has a standard deviation of at most `widest`."""
    residual = identities.low[identities.seen]
    width = spread(residual, step=step)
    centre = float(np.median(residual)) if len(residual) else 0.0
    noises = float(identities.noises.sum(axis=1).max())
    hidden = float(identities.missing.max()) * max(identities.cut, 0.0) if identities.missing.any() else 0.0
    reach = abs(centre) + 2 * OUTERMOST * width + 8 * widest * math.sqrt(noises) + hidden
    points = fft.next_fast_len(min(math.ceil(2 * reach / step), _MOST_POINTS), real=True)
    return Lattice(step=step, width=width, centre=centre, points=points + points % 2)


def noise_sd(sets: Sequence[ResidualIdentities], /, *, step: float) -> float:
    """A first guess at the standard deviation of one noise."""
    return float(np.median([_noise_sd(s, step=step) for s in sets]))


def _noise_sd(identities: ResidualIdentities, /, *, step: float) -> float:
    usable = identities.seen & (identities.missing == 0)
    if not usable.any():
        usable = identities.seen
    if not usable.any():
        return max(step, 1.0)
    each = identities.low[usable] / np.sqrt(identities.noises[usable].sum(axis=1))
    return spread(each, step=step / 4)


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
    most = weight.max(axis=-1, keepdims=True)
    # A law with a bound may not let any count below the cut: then nothing can be missing, and such rows are impossible.
    weight = np.exp(weight - np.where(np.isfinite(most), most, 0.0))
    mass = np.zeros((lattice.points, len(which)))
    np.add.at(mass, np.rint(counts / lattice.step).astype(np.int64), weight.T)
    mass = mass.T
    return np.asarray(fft.rfft(mass / np.maximum(mass.sum(axis=-1, keepdims=True), _TINY), axis=-1))
