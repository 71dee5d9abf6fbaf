"""Which kind of mechanism made a table: the lattice first, then what totals and their parts differ by.

    values are multiples of a base       rounding: to the nearest, at random, or it cannot be told
    totals are the sums of their parts   exact, with holes or without; or made to add up afterwards, which looks the same
    they are not                         noise: Laplace, Gaussian, uniform, or a free law with a bound

Named is a kind only where its rivals are unlikely; otherwise the answer is `unknown`, with all of them and their probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import NearestRounding, PointMass, RandomRounding, Tabulated, make_law
from noisegate.mechanisms import Known, Mechanism
from noisegate.recovery.families import SLIPS, Family, IdentityLedger
from noisegate.recovery.free_law import Excluded, LawFit, NoiseSums, chances, exclude, fit_laws
from noisegate.recovery.identity_sets import IdentitySet
from noisegate.recovery.lattice import RoundingBase, find_lattice, rounding_evidence
from noisegate.recovery.ranks import rank_correlation
from noisegate.tables import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MechanismKind = Literal[
    "exact",
    "hidden-ranges",
    "nearest-rounding",
    "random-rounding",
    "rounding",
    "uniform",
    "bounded",
    "laplace",
    "gaussian",
    "growing",
    "summed",
    "unknown",
]
#: Noise that has no largest value: the only kinds of which an epsilon can be stated, with its condition.
UNBOUNDED_KINDS = ("laplace", "gaussian")

#: How likely each family is beforehand. Gaussian noise on single counts is rare, and p-tables are often close to it.
_WEIGHTS = {"laplace": 4.0, "gaussian": 2.0, "uniform": 6.0, "bounded": 1.5}
#: A kind is named from this probability on.
_NAMED = 0.9
_FEWEST = 5
#: So much more likely must exact tables be than ones with a noise of about one person.
_EXACT = 6.0
#: So many totals may be off for reasons of their own.
_SLIP = 1
#: Growth of the noise with the count: how sure, and by which factor the spread must grow.
_GROWS, _FACTOR = 1e-6, 1.6
_PARTED = 200
#: Rounding to the nearest is the commoner of the two, but for base 3: log-odds beforehand.
_USUALLY = math.log(2)
#: Parts from this count on are clear of what is done to small ones; so many equations of such parts are enough.
_CLEAR, _ENOUGH = 10, 100
#: Noise is named Laplace, or Gaussian, if less of it than this lies beyond the bounded laws that are excluded: many p-tables are close
#: to Gaussian noise, and few to Laplace.
_LOOSE, _TIGHT = 0.05, 0.01


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recognition:
    """How a table was made, as far as the tables tell.

    Attributes
    ----------
    kind
        What it was; `unknown` if rivals remain.
    base
        The base of rounding; None if there is none.
    rivals
        All kinds that remain possible and their probabilities, the likeliest first.
    known
        As mechanisms with probabilities; None if there is no law to state.
    bound
        The largest value of the noise, where it has one.
    pmf
        P(0), P(1), ... of one noise, where a law was fitted.
    excluded
        How far out bounded laws are excluded, where the likeliest law is unbounded.
    n, slips
        How many identities tell, and how many of them are off where the rest is exact.
    evidence
        In words.
    """

    table: str
    kind: MechanismKind
    evidence: str
    base: int | None = None
    rivals: Mapping[str, float] = field(default_factory=dict)
    known: Known | None = None
    bound: int | None = None
    pmf: tuple[float, ...] = ()
    excluded: Excluded | None = None
    n: int = 0
    slips: int = 0

    @property
    def raw_counts(self) -> bool:
        """Whether what is published is the raw count."""
        return self.kind in {"exact", "hidden-ranges"}

    @property
    def rounded(self) -> bool:
        """Whether values were rounded to a base."""
        return self.base is not None

    @property
    def has_epsilon(self) -> bool:
        """Whether an epsilon can be stated, with its condition: no law with a bound explains the tables as well."""
        return self.kind in UNBOUNDED_KINDS and self.excluded is not None

    @property
    def reach(self) -> int | None:
        """How far a published value can be from its raw count for certain; None if nothing says so."""
        if self.raw_counts:
            return 0
        if self.base is None:
            return None
        return self.base // 2 if self.kind == "nearest-rounding" else self.base - 1

    def ranges(self, table: Table, /) -> tuple[Floats, Floats] | None:
        """The least and the largest raw count of every cell of the table; None if its mechanism sets no limits."""
        if self.reach is None:
            return None
        low, high = table.ranges()
        shown = table.status(np.arange(table.size)) == 0
        return np.where(shown, np.maximum(low - self.reach, 0), low), np.where(shown, high + self.reach, high)

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "kind": self.kind,
            "rounding_base": self.base,
            "rivals": {kind: round(chance, 4) for kind, chance in self.rivals.items()},
            "bound": self.bound,
            "pmf": [round(p, 5) for p in self.pmf],
            "excluded_up_to": None if self.excluded is None else self.excluded.bound,
            "mass_beyond": None if self.excluded is None else float(f"{self.excluded.beyond:.3g}"),
            "n": self.n,
            "slips": self.slips,
            "evidence": self.evidence,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Complete:
    """Complete identities that a table takes part in: residuals, how many parts and noises, sizes, the total's lattice."""

    residual: Ints
    parts: Ints
    noises: Ints
    size: Floats
    totals: int
    pairs: bool = False


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
    if table.values.size and (np.asarray(table.values) != np.rint(table.values)).any():
        return Recognition(table=table.name, kind="unknown", evidence="values are not whole numbers")
    lattice = find_lattice(table.values)
    families = () if ledger is None else ledger.of(table.name)
    noisy = {name for one in families if not one.holds for name in (one.total.name, one.parts.name)}
    if lattice.base > 1:
        found = [_of_family(one) for one in families]
        found += [_of_set(one, lattice) for one in sets if one.inside == table.name]
        return _rounded(table, lattice, [one for one in found if one.residual.size])
    if ledger is not None and _is_summed(table, families, ledger):
        said = "its cells are the sums of what is published beside it, which has noise of its own"
        return Recognition(table=table.name, kind="summed", rivals={"summed": 1.0}, evidence=said)
    used = [one for one in families if not noisy or not one.holds]
    rounded = [
        one for one in used if find_lattice(one.parts.values).base > 1 and one.total.name == table.name
    ]
    if rounded:
        said = f"nothing but {rounded[0].parts.name} can be compared with it, and that is rounded"
        return Recognition(table=table.name, kind="unknown", evidence=said)
    complete = [_of_family(one, noisy_totals=ledger is None or not ledger.exact_totals(one)) for one in used]
    complete += [_of_set(one, lattice) for one in sets if one.inside == table.name and not one.doubt]
    return _by_sums(table, [one for one in complete if one.residual.size], used)


def recognise_all(
    tables: Sequence[Table], /, *, ledger: IdentityLedger | None = None, sets: Sequence[IdentitySet] = ()
) -> dict[str, Recognition]:
    """How each table was made, by name; see `recognise`."""
    return {table.name: recognise(table, ledger=ledger, sets=sets) for table in tables}


def _is_summed(table: Table, families: Sequence[Family], ledger: IdentityLedger, /) -> bool:
    """Whether the table is the sum of a published one that itself carries noise."""
    own = [one for one in families if one.total.name == table.name]
    if not own or not all(one.holds and one.n >= _FEWEST for one in own):
        return False
    finer = {one.parts.name for one in own}
    return any(
        not one.holds and one.n >= _FEWEST
        for name in finer
        for one in ledger.of(name)
        if one.total.name != table.name
    )


def _of_family(family: Family, /, *, noisy_totals: bool = True) -> _Complete:
    """The complete equations of a family; those with small parts are left out if enough others remain."""
    clear = family.smallest >= _CLEAR
    keep = clear if clear.sum() >= max(_ENOUGH, 0.3 * family.n) else np.ones(family.n, bool)
    members = family.members[keep]
    return _Complete(
        residual=family.residual[keep],
        parts=members,
        noises=members + int(noisy_totals),
        size=family.size[keep],
        totals=find_lattice(family.total.values).base,
    )


def _of_set(one: IdentitySet, lattice: RoundingBase, /) -> _Complete:
    found = one.identities
    whole = (found.missing == 0) & (found.low == found.high)
    noises = found.noises[whole].sum(axis=1).astype(np.int64)
    return _Complete(
        residual=found.low[whole].astype(np.int64),
        parts=noises - 1,
        noises=noises,
        size=np.abs(found.size[whole]),
        totals=lattice.base,
        pairs=one.kind == "pair",
    )


def _rounded(table: Table, lattice: RoundingBase, complete: Sequence[_Complete], /) -> Recognition:
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
    kind: MechanismKind = likely if n and chance[likely] >= _NAMED else "rounding"
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
        known=_known({laws[name]: p for name, p in chance.items()}),
        bound=base // 2 if kind == "nearest-rounding" else base - 1,
        n=n,
        evidence=f"{lattice.evidence}{how}",
    )


def _known(laws: Mapping[Any, float], /) -> Known:
    """Mechanisms of these laws, the impossible ones left out."""
    kept = {law: p for law, p in laws.items() if p > 1e-4}
    total = sum(kept.values())
    rivals = tuple((Mechanism(law=law, rule="ge", zeros="perturb"), p / total) for law, p in kept.items())
    return Known(rivals=rivals, source="recovered")


def _by_sums(table: Table, complete: Sequence[_Complete], families: Sequence[Family], /) -> Recognition:
    n = sum(one.residual.size for one in complete)
    off = sum(int((one.residual != 0).sum()) for one in complete)
    if off <= max(SLIPS * n, 0) and all(one.holds for one in families):
        return _exact(table, n, off, families)
    if n < _FEWEST:
        few = f"only {n} identities can be compared" if n else "totals are not within what their parts leave"
        return Recognition(table=table.name, kind="unknown", n=n, evidence=few)
    return _noisy(table, complete)


def _exact(table: Table, n: int, off: int, families: Sequence[Family], /) -> Recognition:
    """A table whose identities all hold, or of which none can be compared, and whether that is evidence of exact counts."""
    kind: MechanismKind = "hidden-ranges" if table.suppressed > 0 else "exact"
    open_rows = sum(one.open for one in families)
    odds = sum(one.odds for one in families) + 1.0 * n
    slips = f", but for {off:,}" if off else ""
    said = f"all {n:,} sums with every part published are equal to their totals{slips}"
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
        rivals={kind: 1.0},
        known=Known.sure(Mechanism(law=PointMass(), rule="ge", zeros="keep"), source="recovered"),
        bound=0,
        n=n + open_rows,
        slips=off,
        evidence=said,
    )


def _noisy(table: Table, complete: Sequence[_Complete], /) -> Recognition:
    """A table whose totals and parts differ: which law the noise has."""
    residual = np.concatenate([one.residual for one in complete])
    noises = np.concatenate([one.noises for one in complete])
    size = np.concatenate([one.size for one in complete])
    pairs = all(one.pairs for one in complete)
    growth = _growth(residual, noises, size)
    if growth is not None:
        return Recognition(
            table=table.name, kind="growing", rivals={"growing": 1.0}, n=residual.size, evidence=growth
        )
    sums = NoiseSums.of(residual, noises, off=pairs)
    fits = fit_laws(sums)
    found = dict(sorted(chances(fits, weights=_WEIGHTS).items(), key=lambda one: -one[1]))
    unbounded = max((one for one in fits if one.family in UNBOUNDED_KINDS), key=lambda one: one.log_evidence)
    out = exclude(sums, unbounded)
    first = next(iter(found))
    limited = ("uniform", "bounded")
    named = (sum(found.get(name, 0.0) for name in limited) if first in limited else found[first]) >= _NAMED
    if first in UNBOUNDED_KINDS:
        named &= out.beyond < (_TIGHT if first == "gaussian" else _LOOSE)
    by_family = {one.family: one for one in fits}
    best = by_family[first]
    kind: MechanismKind = first if named else "unknown"  # type: ignore[assignment]
    return Recognition(
        table=table.name,
        kind=kind,
        rivals={name: p for name, p in found.items() if p >= 0.001},
        known=_known({_law_of(by_family[name]): p for name, p in found.items()}),
        bound=int(best.scale) if first in {"uniform", "bounded"} else None,
        pmf=tuple(best.half[:12].tolist()),
        excluded=out,
        n=sums.n,
        evidence=_said(best, found, out, sums.n),
    )


def _law_of(fit: LawFit, /) -> Any:
    if fit.family == "bounded":
        with np.errstate(divide="ignore"):
            return Tabulated.symmetric(np.log(fit.half))
    return make_law(fit.law, scale=fit.scale)


def _said(best: LawFit, found: Mapping[str, float], out: Excluded, n: int, /) -> str:
    """What the residuals say, in words."""
    names = {
        "bounded": "a law with a bound",
        "uniform": "uniform",
        "laplace": "Laplace",
        "gaussian": "Gaussian",
    }
    rivals = ", ".join(f"{names[name]} {p:.0%}" for name, p in found.items() if p >= 0.01)
    if best.family in UNBOUNDED_KINDS:
        return (
            f"{n:,} identities: {rivals}; laws that never exceed ±{out.bound} are excluded, a wider one would have "
            f"δ of about {out.beyond:.2g}"
        )
    return f"{n:,} identities: {rivals}; within ±{best.scale:.0f}"


def _growth(residual: Ints, noises: Ints, size: Floats, /) -> str | None:
    """Whether the noise grows with the count, in words; None if nothing shows that."""
    if residual.size < 60 or not (size > 0).any():
        return None
    scaled = np.abs(residual) / np.sqrt(noises)
    order = np.argsort(size, kind="stable")
    third = residual.size // 3
    small, large = scaled[order[:third]], scaled[order[-third:]]
    rank = rank_correlation(size, scaled)
    root = [math.sqrt(float(np.mean(one**2))) for one in (small, large)]
    if rank.apart > _GROWS or rank.value < 0 or root[1] < _FACTOR * max(root[0], 0.3):
        return None
    return (
        f"{residual.size:,} identities: the spread of one noise is {root[0]:.2g} in the smaller third of the counts and "
        f"{root[1]:.2g} in the larger third, so it grows with the count"
    )
