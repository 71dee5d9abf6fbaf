"""Which kind of mechanism made a table: the lattice first, then what totals and their parts differ by.

    values are multiples of a base       rounding: to the nearest, at random, or it cannot be told
    totals are the sums of their parts   exact, with holes or without; or made to add up afterwards, which looks the same
    they are not                         noise: Laplace, Gaussian, uniform, or a free law with a bound

Named is a kind only where its rivals are unlikely; otherwise the answer is `unknown`, with all of them and their probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from noisegate.laws import NearestRounding, PointMass, RandomRounding
from noisegate.mechanisms import Known, Mechanism
from noisegate.recovery.complete import CompleteIdentities
from noisegate.recovery.families import SLIPS, Family, IdentityLedger
from noisegate.recovery.identity_sets import IdentitySet
from noisegate.recovery.lattice import RoundingBase, find_lattice, rounding_evidence
from noisegate.recovery.noise_kind import NAMED, NoiseEvidence, known_laws, noise_kind
from noisegate.recovery.recognition import MechanismKind, Recognition
from noisegate.tables import Table

_FEWEST = 5
#: So much more likely must exact tables be than ones with a noise of about one person.
_EXACT = 4.6
#: So many totals may be off for reasons of their own.
_SLIP = 1
_PARTED = 200
#: Rounding to the nearest is the commoner of the two, but for base 3: log-odds beforehand.
_USUALLY = math.log(2)
#: Log-odds beforehand that totals of a rounded table stand as counted, for whoever rounds a table hardly adds noise to its totals; and the
#: standard deviations of noise that they are compared with.
_HARDLY_NOISY, _NOISY = 2.0, (1.0, 2.0, 4.0)
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
    return {table.name: work.of(table) for table in tables}


class _Recogniser:
    """All identities, and what they show of noise."""

    def __init__(self, ledger: IdentityLedger | None, sets: Sequence[IdentitySet], /) -> None:
        self.ledger = ledger
        self.sets = [one for one in sets if not one.doubt]
        self._bases: dict[str, int] = {}
        self._noise: NoiseEvidence | None = None
        self._looked = False

    def of(self, table: Table, /) -> Recognition:
        """How one table was made."""
        if table.values.size and (np.asarray(table.values) != np.rint(table.values)).any():
            return Recognition(table=table.name, kind="unknown", evidence="values are not whole numbers")
        lattice = find_lattice(table.values)
        families = () if self.ledger is None else self.ledger.of(table.name)
        inside = [one for one in self.sets if one.inside == table.name]
        if lattice.base > 1:
            found = [CompleteIdentities.of_family(one) for one in families]
            found += [CompleteIdentities.of_set(one, lattice=lattice.base) for one in inside]
            return _rounded(table, lattice, [one for one in found if one.residual.size])
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
                return _over_rounded(table, one, base)
        complete = [CompleteIdentities.of_family(one) for one in used]
        complete += [CompleteIdentities.of_set(one, lattice=1) for one in inside]
        n = sum(one.residual.size for one in complete)
        off = sum(int((one.residual != 0).sum()) for one in complete)
        if off <= SLIPS * n and all(one.holds for one in used):
            return _exact(table, n, off, used)
        noise = self.noise if n >= _FEWEST else None
        if noise is None or table.name not in noise.residuals.tables:
            noise = NoiseEvidence.of(complete, frozenset()) if n >= _FEWEST else None
        if noise is None:
            few = (
                f"only {n} identities can be compared"
                if n
                else "totals are not within what their parts leave"
            )
            return Recognition(table=table.name, kind="unknown", n=n, evidence=few)
        return noise_kind(table.name, noise)

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
            add_up = frozenset(
                one.parts.name for one in families if one.standing == "exact" and one.n >= _FEWEST
            )
            self._noise = NoiseEvidence.of(found, add_up)
        return self._noise

    def _base(self, table: Table, /) -> int:
        if table.name not in self._bases:
            self._bases[table.name] = find_lattice(table.values).base
        return self._bases[table.name]

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


def _rounded(table: Table, lattice: RoundingBase, complete: Sequence[CompleteIdentities], /) -> Recognition:
    """A table on a lattice: rounded to the nearest, at random, or nobody can tell."""
    base = lattice.base
    logs: dict[str, float] = {"nearest-rounding": 0.0, "random-rounding": 0.0}
    n, beyond = 0, 0
    for one in complete:
        if one.totals not in {1, base} or not one.residual.any():
            continue
        near = one.parts <= _PARTED
        residual, parts = one.residual[near], one.parts[near]
        possible = np.abs(residual) <= (parts + (one.totals > 1)) * (base - 1)
        found = rounding_evidence(residual[possible], parts[possible], base=base, totals=one.totals)
        for name, log in found.items():
            logs[name] += log
        n, beyond = n + int(near.sum()), beyond + int((~possible).sum())
    if beyond > max(_SLIP, SLIPS * n):
        said = f"{lattice.evidence}; {beyond:,} of {n:,} totals are further from their parts than rounding alone can take them"
        return Recognition(table=table.name, kind="unknown", n=n, evidence=said)
    gap = logs["nearest-rounding"] - logs["random-rounding"] + (0.0 if base == 3 else _USUALLY)
    nearest = 1 / (1 + math.exp(-max(min(gap, 700.0), -700.0)))
    chance = dict(
        sorted({"nearest-rounding": nearest, "random-rounding": 1 - nearest}.items(), key=lambda one: -one[1])
    )
    likely: MechanismKind = "nearest-rounding" if nearest >= 0.5 else "random-rounding"
    kind: MechanismKind = likely if n and chance[likely] >= NAMED else "rounding"
    laws = {"nearest-rounding": NearestRounding(base), "random-rounding": RandomRounding(base)}
    how = (
        f"; from {n:,} totals and their parts"
        if n
        else "; no total shows whether at random or to the nearest"
    )
    return Recognition(
        table=table.name,
        kind=kind,
        base=base,
        rivals={name: p for name, p in chance.items() if p > 1e-4},
        known=known_laws({laws[name]: p for name, p in chance.items()}),
        bound=base // 2 if kind == "nearest-rounding" else base - 1,
        n=n,
        evidence=f"{lattice.evidence}{how}",
    )


def _over_rounded(table: Table, family: Family, base: int, /) -> Recognition:
    """Totals of a rounded table: as counted, if rounding alone explains what they differ by and noise of one person on them does not."""
    complete = CompleteIdentities.of_family(family)
    near = complete.parts <= _PARTED
    residual, parts = complete.residual[near], complete.parts[near]
    said = f"nothing but {family.parts.name} can be compared with it, and that is rounded"
    gap = 0.0
    # Few totals that are all multiples of the base show no lattice, and are rounded all the same.
    if residual.size >= _FEWEST and (np.asarray(table.values) % base != 0).any():
        far = np.abs(np.arange(-24, 25))
        noises = [np.exp(-math.sqrt(2.0) * far / sd) for sd in _NOISY]
        logs = [
            max(rounding_evidence(residual, parts, base=base, totals=1, noise=law).values())
            for law in (None, *(one / one.sum() for one in noises))
        ]
        gap = logs[0] - max(logs[1:]) + _HARDLY_NOISY
    exact: MechanismKind = "hidden-ranges" if table.suppressed > 0 else "exact"
    chance = 1 / (1 + math.exp(-max(min(gap, 700.0), -700.0)))
    rivals = {name: p for name, p in ((exact, chance), ("noise", 1 - chance)) if p > 1e-4}
    if gap < _EXACT:
        n, found = int(residual.size), rivals if gap > 0 else {}
        return Recognition(table=table.name, kind="unknown", rivals=found, n=n, evidence=said)
    return Recognition(
        table=table.name,
        kind=exact,
        rivals=rivals,
        known=Known.sure(Mechanism(law=PointMass(), rule="ge", zeros="keep"), source="recovered"),
        bound=0,
        n=int(residual.size),
        evidence=(
            f"{residual.size:,} of its sums differ from {family.parts.name} by what rounding to {base} alone explains: its own counts "
            "are not rounded, and no noise is seen in them"
        ),
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
        return Recognition(table=table.name, kind="unknown", rivals=rivals, n=n, evidence=none)
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
