"""Which kind of mechanism made a table: the lattice first, then what totals and their parts differ by.

    values are multiples of a base       rounding: to the nearest, at random, or it cannot be told
    totals are the sums of their parts   exact, with holes or without; or made to add up afterwards, which looks the same
    they are not                         noise: Laplace, Gaussian, uniform, or a free law with a bound

Named is a kind only where its rivals are unlikely; otherwise the answer is `unknown`, with all of them and their probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from noisegate.laws import NearestRounding, PointMass, RandomRounding
from noisegate.mechanisms import Known, Mechanism
from noisegate.recovery.complete import CompleteIdentities
from noisegate.recovery.families import SLIPS, Family, IdentityLedger
from noisegate.recovery.identity_sets import IdentitySet
from noisegate.recovery.lattice import RoundingBase, find_grades, find_lattice
from noisegate.recovery.noise_kind import NoiseEvidence, known_laws, noise_kind
from noisegate.recovery.recognition import MechanismKind, Recognition
from noisegate.recovery.rounding_kind import (
    CLASSES,
    RoundedSums,
    RoundingWeights,
    has_few_values,
    how_often,
    weigh_rounding,
)
from noisegate.recovery.table_scales import ADD_UP, BOTH_ADD_UP
from noisegate.tables import Table

_FEWEST = 5
#: So much more likely must exact tables be than ones with a noise of about one person.
_EXACT = 4.6
#: A kind of rounding is named from this probability on. What is proven rests on every account of it that is likelier than the first of the next two; if
#: noise before rounding is likelier than the second, nothing is.
_NAMED_ROUNDING, _HAS_WEIGHT, _PERHAPS_NOISY = 0.9, 1e-3, 0.01
#: Totals of a rounded table stand as counted from this probability on.
_AS_COUNTED = 0.999
#: How likely tables that add up were perturbed, or their records swapped, and made to add up afterwards: nothing in them tells.
_ADDS_UP = 0.1


def recognise(
    table: Table,
    /,
    *,
    ledger: IdentityLedger | None = None,
    sets: Sequence[IdentitySet] = (),
) -> Recognition:
    """How `table` was made, from its values and from the identities that it takes part in.

    Parameters
    ----------
    ledger
        The sums among tables that nothing refutes are used.
    sets
        Sets of identities inside one table, such as pairs of equal counts.
    """
    return _Recogniser(ledger, sets).of(table)


def recognise_all(
    tables: Sequence[Table], /, *, ledger: IdentityLedger | None = None, sets: Sequence[IdentitySet] = ()
) -> dict[str, Recognition]:
    """How each table was made, by name; see `recognise`."""
    work = _Recogniser(ledger, sets)
    found = {table.name: work.of(table) for table in tables}
    return {table.name: _like_others(table, found, ledger) for table in tables}


def _like_others(
    table: Table, found: Mapping[str, Recognition], ledger: IdentityLedger | None, /
) -> Recognition:
    """A table with too few sums to tell, all of which hold, is exact if every table that it is compared with is: whoever adds noise to one total adds it to all."""
    mine = found[table.name]
    if ledger is None or not mine.perhaps_exact or not mine.n or mine.slips:
        return mine
    families = ledger.of(table.name)
    others = {one.name for family in families for one in (family.parts, family.total)} - {table.name}
    if not others or not all(name in found and found[name].raw_counts for name in others):
        return mine
    said = mine.evidence.removesuffix(": too few to tell") + ", and all that it is compared with is exact"
    kind: MechanismKind = "hidden-ranges" if table.suppressed > 0 else "exact"
    return replace(
        mine,
        kind=kind,
        rivals={kind: 1 - _ADDS_UP, "adds-up": _ADDS_UP},
        known=Known.sure(Mechanism(law=PointMass(), rule="ge", zeros="keep"), source="recovered"),
        bound=0,
        evidence=said,
    )


#: The log-odds from which totals do not agree with rounded parts by chance.
_NOT_BY_CHANCE = 7.0


class _Recogniser:
    """All identities, and what they show of noise."""

    def __init__(self, ledger: IdentityLedger | None, sets: Sequence[IdentitySet], /) -> None:
        self.ledger = ledger
        self.sets = [one for one in sets if not one.doubt]
        self._bases: dict[str, int] = {}
        self._sums: dict[tuple[int, int], RoundedSums] = {}
        self._noise: NoiseEvidence | None = None
        self._looked = False

    def of(self, table: Table, /) -> Recognition:
        """How one table was made."""
        if table.values.size and (np.asarray(table.values) != np.rint(table.values)).any():
            return Recognition(table=table.name, kind="unknown", evidence="values are not whole numbers")
        lattice = find_lattice(table.values)
        if grades := find_grades(table.values):
            return _graded(table, grades)
        families = () if self.ledger is None else self.ledger.of(table.name)
        inside = [one for one in self.sets if one.inside == table.name]
        if parts := self._sums_of_rounded(table, families):
            said = f"its cells are the sums of what {parts} shows, which is rounded: they may be off by what rounding moved all parts by"
            return Recognition(table=table.name, kind="summed", rivals={"summed": 1.0}, evidence=said)
        if lattice.base > 1:
            sums = self._rounded_sums(lattice.base, families, inside)
            return _rounded(table, lattice, weigh_rounding(lattice.base, sums))
        if self._is_summed(table, families):
            said = "its cells are the sums of what is published beside it, which has noise of its own"
            return Recognition(table=table.name, kind="summed", rivals={"summed": 1.0}, evidence=said)
        return self._by_sums(table, families, inside)

    def _by_sums(
        self, table: Table, families: Sequence[Family], inside: Sequence[IdentitySet], /
    ) -> Recognition:
        noisy = [one for one in families if not one.holds]
        used = noisy or list(families)
        for one in used:
            if one.total.name == table.name and (base := self._base(one.parts)) > 1:
                return self._over_rounded(table, one, base)
        complete = [CompleteIdentities.of_family(one) for one in used]
        complete += [CompleteIdentities.of_set(one, lattice=1) for one in inside]
        n = sum(one.residual.size for one in complete)
        off = sum(int((one.residual != 0).sum()) for one in complete)
        if off <= SLIPS * n and all(one.holds for one in used):
            return _exact(table, n, off, used)
        if n and off <= SLIPS * n:
            return _unfit(table, n, used)
        noise = self.noise if n >= _FEWEST else None
        if noise is None or table.name not in noise.residuals.tables:
            noise = NoiseEvidence.of(complete, {}) if n >= _FEWEST else None
        if noise is None:
            few = (
                f"only {n} identit{'y' if n == 1 else 'ies'} can be compared"
                if n
                else "totals are not within what their parts leave"
            )
            return Recognition(table=table.name, kind="unknown", n=n, evidence=few)
        return noise_kind(table.name, noise)

    def _rounded_sums(
        self, base: int, families: Sequence[Family], inside: Sequence[IdentitySet], /
    ) -> list[RoundedSums]:
        """All sums that tell how a table was rounded; not totals that are the sums of what is shown."""
        found = [self._sums_of(one, base) for one in families if self._base(one.total) in {1, base}]
        for one in inside:
            pairs = CompleteIdentities.of_set(one, lattice=base)
            found.append(RoundedSums.of_large(pairs.residual, pairs.parts))
        return [one for one in found if one.residual.any()]

    def _sums_of(self, family: Family, base: int, /) -> RoundedSums:
        assert self.ledger is not None
        key = family.number, base
        if key in self._sums:
            return self._sums[key]
        self._sums[key] = RoundedSums(
            residual=family.residual,
            classes=self.ledger.steps(family, base, CLASSES),
            rounded_parts=self._base(family.parts) == base,
            often=how_often(family.parts.values, base),
            few_values=has_few_values(family.parts.values, base),
            lattice_totals=bool((np.asarray(family.total.values) % base == 0).all())
            or self._base(family.total) == base,
        )
        return self._sums[key]

    def _over_rounded(self, table: Table, family: Family, base: int, /) -> Recognition:
        """Totals of a rounded table: as counted, if rounding alone explains what they differ by and no noise on them does."""
        assert self.ledger is not None
        mine = self._sums_of(family, base)
        exact: MechanismKind = "hidden-ranges" if table.suppressed > 0 else "exact"
        said = f"nothing but {family.parts.name} can be compared with it, and that is rounded"
        n = int(mine.residual.size)
        if (
            n < _FEWEST or mine.lattice_totals
        ):  # few multiples of the base show no lattice, and are rounded all the same
            return Recognition(table=table.name, kind="unknown", n=n, evidence=said)
        others = [
            one
            for one in self.ledger.of(family.parts.name)
            if one is not family and one.parts is family.parts
        ]
        sums = [mine, *self._rounded_sums(base, others, ())]
        chances = weigh_rounding(base, sums).totals[0]
        counted = chances.get("exact", 0.0)
        rivals = {kind: p for kind, p in ((exact, counted), ("noise", 1 - counted)) if p > 1e-4}
        if counted < _AS_COUNTED:
            return Recognition(
                table=table.name, kind="unknown", rivals=rivals, n=n, evidence=said, noise_sd=None
            )
        return Recognition(
            table=table.name,
            kind=exact,
            rivals=rivals,
            known=Known.sure(Mechanism(law=PointMass(), rule="ge", zeros="keep"), source="recovered"),
            bound=0,
            n=n,
            evidence=(
                f"{n:,} of its sums differ from {family.parts.name} by what rounding to {base} alone explains: its own counts "
                "are not rounded, and no noise is seen in them"
            ),
        )

    @property
    def noise(self) -> NoiseEvidence | None:
        """What all identities that do not hold show together."""
        if not self._looked:
            self._looked = True
            families = () if self.ledger is None else self.ledger.families
            noisy = [one for one in families if one.standing == "noisy" and one.n >= _FEWEST]
            plain = [one for one in noisy if self._base(one.parts) == 1 and self._base(one.total) == 1]
            found = [CompleteIdentities.of_family(one) for one in plain]
            found += [
                CompleteIdentities.of_set(one, lattice=1) for one in self.sets if one.inside is not None
            ]
            self._noise = NoiseEvidence.of(found, _adding_up(families))
        return self._noise

    def _base(self, table: Table, /) -> int:
        if table.name not in self._bases:
            self._bases[table.name] = find_lattice(table.values).base
        return self._bases[table.name]

    def _sums_of_rounded(self, table: Table, families: Sequence[Family], /) -> str:
        """The rounded table that this one sums as it is shown; empty if there is none.

        Totals that are rounded by themselves are equal to the sum of k rounded parts with a chance of at most 3/4, and of the square root of
        6 / (pi k) if these are many.
        """
        own = [one for one in families if one.total.name == table.name]
        rounded = [one for one in own if one.n and not one.open and self._base(one.parts) > 1]
        if self.ledger is None or not rounded or any(one.off for one in own):
            return ""
        every = [one for one in self.ledger.families if self._base(one.parts) > 1]
        if any(one.off for one in every):
            return ""
        parts = np.concatenate([one.positive[one.positive > 1] for one in every])
        chance = np.minimum(0.75, np.sqrt(6 / (np.pi * np.maximum(parts, 1))))
        return rounded[0].parts.name if -np.log(chance).sum() > _NOT_BY_CHANCE else ""

    def _is_summed(self, table: Table, families: Sequence[Family], /) -> bool:
        """Whether the table is the sum of a published one that itself carries noise."""
        own = [one for one in families if one.total.name == table.name]
        if self.ledger is None or not own or not all(one.holds and one.n >= _FEWEST for one in own):
            return False
        finer = {one.parts.name for one in own}
        noisy = any(
            not one.holds and one.n >= _FEWEST
            for name in finer
            for one in self.ledger.of(name)
            if one.total.name != table.name
        )
        silent = frozenset[str]() if not noisy or self.noise is None else self.noise.accounts[0].silent
        return noisy and not finer <= silent


def _graded(table: Table, grades: Sequence[tuple[int, int]], /) -> Recognition:
    """A table that is rounded the more coarsely the larger counts are; where the base changes nobody says, so that nothing is proven."""
    steps = ", ".join(f"of {base:,} from {start:,} on" for start, base in grades)
    return Recognition(
        table=table.name,
        kind="graded-rounding",
        rivals={"graded-rounding": 1.0},
        n=0,
        evidence=f"values are multiples {steps}; where the base changes nobody says, so that nothing is proven of single counts",
    )


def _adding_up(families: Sequence[Family], /) -> dict[str, float]:
    """Tables that add up to others without fail, and what that is worth as evidence that they carry no noise.

    Two tables that are no sums of each other and add up to the same totals have none on either, or somebody made all of them add up.
    """
    exact = [one for one in families if one.standing == "exact" and one.n >= _FEWEST]
    found = {one.parts.name: ADD_UP for one in exact}
    for one in exact:
        mine = {dimension.name for dimension in one.parts.dimensions}
        for other in exact:
            theirs = {dimension.name for dimension in other.parts.dimensions}
            if other.total is one.total and not mine <= theirs and not theirs <= mine:
                found[one.parts.name] = BOTH_ADD_UP
    return found


def _rounded(table: Table, lattice: RoundingBase, found: RoundingWeights, /) -> Recognition:
    """A table on a lattice: rounded to the nearest, at random, or nobody can tell; with noise before that, perhaps."""
    base, n = lattice.base, found.n
    chance = dict(found.parts)
    small_up = chance.pop("small-up")
    nearest = chance["nearest-rounding"] = chance["nearest-rounding"] + small_up
    chance = dict(sorted(chance.items(), key=lambda one: -one[1]))
    likely = next(iter(chance))
    rivals = {name: p for name, p in chance.items() if p > 1e-4}
    if n and chance["noise"] > 1 - _NAMED_ROUNDING:
        said = f"{lattice.evidence}; what {n:,} totals differ from their parts by may be noise that was added before rounding"
        return Recognition(table=table.name, kind="unknown", rivals=rivals, n=n, evidence=said)
    named = n and likely in _LAWS and chance[likely] >= _NAMED_ROUNDING
    kind: MechanismKind = likely if named else "rounding"  # type: ignore[assignment]
    laws = {law(base): chance[name] for name, law in _LAWS.items()}
    others = 1 - nearest - chance["noise"]
    within = base // 2 if n and others < _HAS_WEIGHT else base - 1
    proven = not n or chance["noise"] < _PERHAPS_NOISY
    how = (
        f"; from {n:,} totals and their parts"
        if n
        else "; no total shows whether at random or to the nearest"
    )
    return Recognition(
        table=table.name,
        kind=kind,
        base=base,
        rivals=rivals,
        known=known_laws(laws) if max(laws.values()) > _HAS_WEIGHT else None,
        bound=base // 2 if kind == "nearest-rounding" else base - 1,
        within=within if proven else None,
        small_up=small_up > _HAS_WEIGHT,
        n=n,
        evidence=f"{lattice.evidence}{how}{'' if proven else _NOT_PROVEN}",
    )


_NOT_PROVEN = "; noise before rounding is not excluded, so that nothing is proven of single counts"
_LAWS = {"nearest-rounding": NearestRounding, "random-rounding": RandomRounding}


def _unfit(table: Table, n: int, families: Sequence[Family], /) -> Recognition:
    """A table whose complete sums hold, and some sums with hidden members cannot: no noise makes that, and nothing is proven from it."""
    broken = sum(one.broken for one in families)
    kind: MechanismKind = "hidden-ranges" if table.suppressed > 0 else "exact"
    said = (
        f"all {n:,} sums with every part published are equal to their totals, but {broken:,} with hidden members cannot be: "
        "their markers hide other counts than they seem to"
    )
    return Recognition(
        table=table.name, kind="unknown", rivals={kind: 0.9, "noise": 0.1}, n=0, slips=broken, evidence=said
    )


def _exact(table: Table, n: int, off: int, families: Sequence[Family], /) -> Recognition:
    """A table whose identities all hold, or of which none can be compared, and whether that is evidence of exact counts."""
    kind: MechanismKind = "hidden-ranges" if table.suppressed > 0 else "exact"
    open_rows = sum(one.open for one in families)
    odds = sum(one.odds for one in families) + 1.0 * n
    slips = f", but for {off:,}" if off else ""
    said = (
        f"all {n:,} sums with every part published are equal to their totals{slips}"
        if n > 1
        else "the one sum with every part published is equal to its total"
        if n
        else "no sum has every part published"
    )
    if open_rows:
        said += f"; {open_rows:,} with hidden members leave for these what their markers allow"
    if odds < _EXACT:
        none = (
            "no total can be compared with its parts"
            if not n and not open_rows
            else f"{said}: too few to tell"
        )
        chance = 1 / (1 + math.exp(-odds))
        rivals = {kind: chance, "noise": 1 - chance} if n + open_rows else {}
        marked = any(one.parts.hidden.size or one.total.hidden.size for one in families)
        return Recognition(
            table=table.name,
            kind="unknown",
            rivals=rivals,
            n=n,
            left_open=open_rows if marked else 0,
            evidence=none,
        )
    return Recognition(
        table=table.name,
        kind=kind,
        rivals={kind: 1 - _ADDS_UP, "adds-up": _ADDS_UP},
        known=Known.sure(Mechanism(law=PointMass(), rule="ge", zeros="keep"), source="recovered"),
        bound=0,
        n=n + open_rows,
        slips=off,
        evidence=said,
    )
