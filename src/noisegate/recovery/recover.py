"""The noise of every table: which identities serve it, how fits are combined, and when there is no number.

The base is best served by identities inside it (pairs, stated identities): they hold nothing but its own
noise. Identities between a margin and the base hold the noise of both. They tell the two scales apart only
when one is known otherwise; where it is not, one scale is assumed for both tables, and said to be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from noisegate.recovery.candidates import CANDIDATES
from noisegate.recovery.fit import FEWEST, fit_noise
from noisegate.recovery.identity_sets import IdentitySet
from noisegate.recovery.makers import Noise
from noisegate.recovery.outcome import NoiseFit

Report = Callable[[str], None]

#: The scale of a table is told from identities when its interval spans less than this ratio.
_SHARP = 3.0
#: Beyond so many noises of the base in a row, that of the margin cannot be seen.
_MOST_NOISES = 12
#: Two scales at once take time; so many identities of each kind are enough for them.
_TWO_SCALES = 300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Trial:
    """One fit that was tried; `shared` says that it assumes one scale for all its tables."""

    fit: NoiseFit | None = None
    sets: tuple[IdentitySet, ...] = ()
    refused: tuple[tuple[IdentitySet, str], ...] = ()
    left_out: tuple[IdentitySet, ...] = ()
    shared: bool = False

    @property
    def sharp(self) -> bool:
        """Whether the scale is known to within the wanted ratio."""
        if self.fit is None:
            return False
        low, high = self.fit.interval
        return self.fit.law == "none" or high <= _SHARP * low


def recover(
    sets: Sequence[IdentitySet],
    tables: Sequence[str],
    /,
    *,
    level: float,
    assumes: str = "",
    bases: Mapping[str, int] = MappingProxyType({}),
    report: Report = lambda _: None,
) -> dict[str, Noise]:
    """The noise of each of `tables`, the base first, from these sets of identities.

    Parameters
    ----------
    assumes
        What the identities with cells of the base rest on, if anything.
    bases
        The base to which the values of a table are rounded, by its name, where they are. Such values carry no noise but that of
        random rounding, and identities among tables with different bases say nothing about a law of noise.
    """
    alike = tuple(one for one in sets if len({bases.get(name, 1) for name in one.identities.tables}) == 1)
    work = _Recovery(sets=alike, bases=bases, level=level, report=report)
    base = tables[0]
    own = {name: work.inside(name) for name in tables}
    found = {base: work.of_base(base, own)}
    for name in tables[1:]:
        found[name] = work.of_margin(name, base, own[name], own[base])
    return {name: _assuming(noise, base, assumes) for name, noise in found.items()}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Recovery:
    """The sets of identities, and the fits that were made of them."""

    sets: tuple[IdentitySet, ...]
    bases: Mapping[str, int]
    level: float
    report: Report
    _fits: dict[tuple[tuple[IdentitySet, ...], str | None], NoiseFit | None] = field(default_factory=dict)

    def _between(self, table: str, /) -> list[IdentitySet]:
        """The identities among several tables that are rounded to the same base as this one, or to none like it."""
        mine = self.bases.get(table, 1)
        return [one for one in self.sets if one.inside is None and self._base(one) == mine]

    def _base(self, one: IdentitySet, /) -> int:
        return self.bases.get(one.identities.tables[0], 1)

    def inside(self, table: str, /) -> _Trial:
        """The fit of identities inside one table; those that do not hold are left out."""
        mine = [one for one in self.sets if one.inside == table]
        doubtful = tuple((one, one.doubt) for one in mine if one.doubt)
        sound = [one for one in mine if not one.doubt]
        if not sound:
            return _Trial(refused=doubtful)
        self.report(f"recovering the noise of {table}")
        trial = self._sound(sound, None)
        return replace(trial, refused=(*doubtful, *trial.refused))

    def of_base(self, base: str, found: Mapping[str, _Trial], /) -> Noise:
        """The noise of the base: from inside it, and from margins where that is not enough.

        Where a margin has another scale, as what it adds up to shows, both are fitted beside each other.
        """
        between, own = self._between(base), found[base]
        if own.sharp or not between:
            return _noise(base, own)
        self.report(f"recovering the noise of {base} from its margins")
        together = self._together(base, own, between)
        for name, margin in found.items():
            mine = [one for one in between if name in one.identities.tables]
            if name == base or not margin.sharp or not mine or together.fit is None:
                continue
            alone = self._together(base, own, mine)
            if alone.fit is not None and margin.fit is not None and not _holds(margin.fit, alone.fit.scale):
                return _noise(base, self._two_scales(base, own, margin, mine))
        return _noise(base, together)

    def of_margin(self, name: str, base: str, own: _Trial, base_own: _Trial, /) -> Noise:
        """The noise of a margin: from inside it, beside the known noise of the base, or as that of the base."""
        between = [one for one in self._between(name) if name in one.identities.tables]
        if own.sharp or not between:
            return _noise(name, own)
        noises = int(between[0].identities.noises[:, 0].min())
        if noises > _MOST_NOISES:
            reason = f"its one noise cannot be seen beside the {noises} or more noises of {base} in each row"
            return Noise(table=name, sets=own.sets, refused=own.refused, reason=reason)
        self.report(f"recovering the noise of {name}")
        together = self._together(name, own, between)
        if base_own.sharp and together.fit is not None and not _agree(together.fit, base_own.fit):
            return _noise(name, self._two_scales(name, own, base_own, between))
        return _noise(name, together)

    def _two_scales(
        self, name: str, own: _Trial, base_own: _Trial, between: Sequence[IdentitySet], /
    ) -> _Trial:
        """The scale of a table beside that of another one which is known, for the law of that."""
        largest = max(base_own.sets, key=lambda one: len(one.identities))
        chosen = tuple(one.some(_TWO_SCALES) for one in (largest, *between, *own.sets))
        law = base_own.fit.name if base_own.fit is not None else None
        fit = self._fit(chosen, name, law=law)
        if fit is None or fit.refusal is not None:
            why = "its rows do not fit the noise of the base" if fit is None else fit.refusal or ""
            return _Trial(refused=(*own.refused, *((one, why) for one in between)))
        return _Trial(fit=fit, sets=chosen, refused=own.refused)

    def _together(self, table: str, own: _Trial, between: Sequence[IdentitySet], /) -> _Trial:
        """One scale for the base and its margins, from everything that holds."""
        trial = self._sound([*own.sets, *between], table, shared=True)
        return replace(trial, refused=(*own.refused, *trial.refused), shared=True)

    def _sound(self, sets: Sequence[IdentitySet], table: str | None, /, *, shared: bool = False) -> _Trial:
        """The fit of all sets that hold: first of all together, then without those refused alone."""
        fit = self._fit(sets, table, shared=shared)
        if fit is None or fit.refusal is None:
            return _Trial(fit=fit, sets=tuple(sets))
        alone = [(one, self._fit([one], None, shared=shared)) for one in sets]
        refused = tuple((one, found.refusal) for one, found in alone if found is not None and found.refusal)
        sound = [one for one, found in alone if found is None or not found.refusal]
        again = self._fit(sound, table, shared=shared)
        if again is None or again.refusal is None:
            return _Trial(fit=again, sets=tuple(sound), refused=refused)
        largest = max(sound, key=lambda one: len(one.identities))
        return _Trial(
            fit=self._fit([largest], table, shared=shared),
            sets=(largest,),
            refused=refused,
            left_out=tuple(one for one in sound if one is not largest),
        )

    def _fit(
        self,
        sets: Sequence[IdentitySet],
        table: str | None,
        /,
        *,
        shared: bool = False,
        law: str | None = None,
    ) -> NoiseFit | None:
        """The fit of these sets, made once; None when there are too few identities to say anything."""
        key = (tuple(sets), None if shared else table)
        if key not in self._fits:
            usable = [one.identities for one in sets if len(one.identities)]
            enough = sum(map(len, usable)) >= FEWEST and any(one.seen.any() for one in usable)
            rounded = any(self._base(one) > 1 for one in sets)
            if rounded:  # the odd exception to a base leaves no lattice to fit on
                enough = enough and math.gcd(*(one.grid for one in usable)) > 1
            laws = ("random-rounding",) if rounded else tuple(CANDIDATES)
            self._fits[key] = (
                fit_noise(
                    usable,
                    table=None if shared else table,
                    laws=laws if law is None else (law,),
                    shared=shared,
                    level=self.level,
                )
                if enough
                else None
            )
        fit = self._fits[key]
        return fit if fit is None or table is None else replace(fit, table=table)


def _agree(one: NoiseFit, other: NoiseFit | None, /) -> bool:
    """Whether the intervals of two scales meet."""
    return other is None or (one.interval[0] <= other.interval[1] and other.interval[0] <= one.interval[1])


def _holds(one: NoiseFit, scale: float, /) -> bool:
    """Whether a scale is within the interval of a fit."""
    return one.interval[0] <= scale <= one.interval[1]


def _noise(table: str, trial: _Trial, /) -> Noise:
    """The outcome of a trial in words."""
    fit, n = trial.fit, sum(len(one.identities) for one in trial.sets)
    derived = fit is not None and fit.law == "none" and any(one.kind != "pair" for one in trial.sets)
    if fit is not None and not derived:
        tables = sorted({name for one in trial.sets for name in one.identities.tables})
        shared = trial.shared and len(tables) > 1
        assumes: tuple[str, ...] = (
            (f"the noise has the same scale in {' and '.join(tables)}",) if shared else ()
        )
        assumes += tuple(dict.fromkeys(one.assumes for one in trial.sets if one.assumes))
        if any(one.identities.missing.any() for one in trial.sets):
            assumes = (
                *assumes,
                "suppressed counts thin out by a constant factor from each number to the next",
            )
        return Noise(
            table=table,
            fit=fit,
            sets=trial.sets,
            assumes=assumes,
            refused=trial.refused,
            left_out=trial.left_out,
        )
    if derived:
        reason = (
            f"all {n} identities hold exactly: totals were summed from published parts, or there is no noise"
        )
    elif trial.refused:
        reason = trial.refused[0][1]
    elif n:
        reason = f"only {n} identit{'y is' if n == 1 else 'ies are'} at hand; at least {FEWEST} are needed"
    else:
        reason = (
            "no identity is known: no total has all its parts published, and no counts are known to be equal"
        )
    return Noise(table=table, sets=trial.sets, refused=trial.refused, reason=reason)


def _assuming(noise: Noise, base: str, assumption: str, /) -> Noise:
    """The noise with what its identities with the base rest on."""
    tables = {name for one in noise.sets for name in one.identities.tables}
    if not assumption or noise.fit is None or base not in tables:
        return noise
    return replace(noise, assumes=(*noise.assumes, assumption))
