"""Which law the noise of a table has, from identities that do not hold exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.laws import PointMass, Tabulated, make_law
from noisegate.mechanisms import Known, Mechanism
from noisegate.recovery.complete import CompleteIdentities, joined
from noisegate.recovery.free_law import (
    LITTLE_BEYOND,
    LOSES,
    NAMED_BOUND,
    USUAL_BOUND,
    Excluded,
    FreeLaws,
    exclude,
)
from noisegate.recovery.law_fits import LawFit, fit_laws, unusual
from noisegate.recovery.ranks import rank_correlation
from noisegate.recovery.recognition import UNBOUNDED_KINDS, MechanismKind, Recognition
from noisegate.recovery.stopped_laws import open_stop
from noisegate.recovery.table_scales import (
    BOTH_ADD_UP,
    ScaleAccount,
    TableResiduals,
    scale_accounts,
    without_noise,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Of laws that fall off like an unbounded one some stop: their weight is this share of that of the whole law.
_STOPS = {"laplace": 0.15, "gaussian": 0.1}
_STOPPED = {f"stopped-{name}": name for name in UNBOUNDED_KINDS}
#: How likely each family is beforehand. Gaussian noise on single counts is rare, and p-tables are often close to it.
_PLAIN = {"laplace": 4.0, "gaussian": 1.0, "uniform": 4.0, "bounded": 1.5}
_WEIGHTS = _PLAIN | {stopped: _STOPS[name] * _PLAIN[name] for stopped, name in _STOPPED.items()}
#: A kind is named from this probability on. Gaussian noise and uniform noise are rarer than what is taken for them, and on counts without
#: noise much rests. Laplace noise of 1.4 is named in 30 of 30 worlds (seeds 500 to 529) at 0.9, in 19 of the first 20 at 0.95; p-tables within ±5 that fall off like
#: Laplace noise of 1 are called Laplace in 2 of 60 worlds at either (they have 0.99 there), and an epsilon asks for more. Cells without noise under totals with Laplace noise of 2 are named in 28 of 30 at 0.98, in 18 of the first 20 at 0.99.
NAMED = 0.9
_NAMED_FROM = {"laplace": NAMED, "gaussian": 0.98, "uniform": 0.95, "bounded": NAMED, "exact": 0.98}
#: From the first on an unbounded law is named if bounds up to a usual one are excluded, however much lies beyond, from the second on Laplace
#: noise in any case: free laws up to a bound fit no worse than the truth, as each has many masses to choose, and have lost by their evidence. Where ±5 is
#: not excluded and little lies beyond what is, a law that is cut off at ±5 looks the same, and nothing less than the second will do: p-tables within
#: ±5 that fall off like Laplace noise of scale 1 have up to 0.996 for Laplace noise there.
_CLEARLY, _SURELY = 0.99, 0.9985
_HARDLY_BEYOND = 0.025
#: With fewer identities than the first an unbounded law is named only if the second is left to it by laws that stop; with more, if the third is: which of the two is likelier
#: rests on what is usual there, and an epsilon asks for more. Sums alone, seeds from 7,000 on: from 3,000 sums of three Laplace noise of 1.4 to 20 keeps the third in 97 to 99
#: of 100 worlds, and 1,000 pairs of noise within ±7 to ±12 that falls off like it and stops leave it the second in 0 to 1.
_MANY_FOR_STOPPED, _CLEAR_OF_STOPPED, _LEFT_BY_STOPPED = 2000, 0.98, 1 / 3
#: Noise with a bound is named from this on where laws that fall off like Laplace noise and stop have most of it: from sums of three, Gaussian noise of 2 to 5 has up to 0.98 for
#: these now and then (seeds from 1,000 on).
_NAMED_STOPPED = 0.99
#: Gaussian noise of a small spread is taken to be rare. In sums of more noises than the first that does not count from the second spread on, or Gaussian noise of 1.2 (found as
#: 1.23) would be called bounded in a quarter of the worlds; p-tables within ±2 in use have spreads up to 1.1 (seeds from 1,000 on).
_TELLING_SUMS, _NARROW = 2.5, 1.15
#: Sums of so many noises are normal whatever one noise is: there a law with a bound is named only if residuals, and not what is usual, refute the others.
_NORMAL = 5.5
#: What is added to the log-probability that totals have no noise of their own when these totals are asked about.
_INVARIANT = 4.0
#: A law is named for totals only if the chance that they have no noise, and their parts have it all, is below this.
_HARDLY = 0.02
#: Noise with a bound is called uniform from this probability on.
_NAMED_UNIFORM = 0.8
#: With fewer identities than this, sums of other laws look uniform by chance, and more is asked for.
_MANY, _NEARLY_SURE = 500, 0.995
#: Growth of the noise with the count: how sure, and by which factor the spread must grow.
_GROWS, _FACTOR = 1e-6, 1.6
_FEWEST_FOR_GROWTH = 60
#: No Laplace noise is so many times its median in one of 10^17 draws; more than this share of such identities, and there is no law to name.
_FAR_OFF, _MOST_FAR_OFF = 60.0, 0.05
#: Noise that is wider than this is looked at on a coarser lattice, whose steps are this share of its spread.
_WIDE, _STEPS = 30.0, 1 / 10
#: How likely tables with a scale of their own have noise of one family: whoever perturbs tables does so in one way.
_ONE_FAMILY = 0.8
#: How often the laws of tables with a scale of their own are renewed.
_ROUNDS = 2
#: So many tables are told apart at once, those with the most identities.
_MOST_TABLES = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoiseEvidence:
    """All identities that show noise, and how large it may be in each table.

    Attributes
    ----------
    complete
        The identities by origin.
    residuals
        The same, joined, on a lattice of `step`.
    accounts
        How large the noise of each table may be, the likeliest account first.
    together
        Tables that add up, each by itself, to the same totals without fail: noise on them would not.
    far_off
        How many identities were left out, since no noise that explains the others is as large.
    """

    complete: tuple[CompleteIdentities, ...]
    residuals: TableResiduals
    accounts: tuple[ScaleAccount, ...]
    step: int = 1
    together: frozenset[str] = frozenset()
    far_off: int = 0
    _own: dict[str, Floats] = field(default_factory=dict)
    _fits: dict[frozenset[str], tuple[FreeLaws, list[LawFit]]] = field(default_factory=dict)
    _own_fits: dict[str, tuple[FreeLaws, list[LawFit], float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, complete: Sequence[CompleteIdentities], add_up: Mapping[str, float], /
    ) -> NoiseEvidence | None:
        """From identities that do not all hold; `add_up` are tables that add up to others without fail, see `scale_accounts`."""
        used = [one for one in complete if one.residual.size]
        names = {name for one in used for name in one.tables}
        if len(names) > _MOST_TABLES:
            sizes = {name: sum(one.residual.size for one in used if name in one.tables) for name in names}
            most = set(sorted(names, key=lambda name: -sizes[name])[:_MOST_TABLES])
            used = [one for one in used if set(one.tables) <= most] or used[:1]
        if not used:
            return None
        found, far_off = _without_far_off(joined(used))
        step = _step(found)
        if step > 1:
            found = replace(found, residual=np.rint(found.residual / step).astype(np.int64))
        accounts = scale_accounts(found, add_up=add_up)
        together = frozenset(name for name, worth in add_up.items() if worth >= BOTH_ADD_UP)
        return cls(
            complete=tuple(used),
            residuals=found,
            accounts=tuple(accounts),
            step=step,
            together=together,
            far_off=far_off,
        )

    def fits(self, table: str, account: ScaleAccount, /) -> tuple[FreeLaws, list[LawFit], float]:
        """The laws of one noise under an account, and the log-likelihood of what they do not explain."""
        if account.name == "own":
            if table not in self._own_fits:
                halves = self._own_laws(account)
                free = FreeLaws(sums=self.residuals.beside(table, halves))
                self._own_fits[table] = free, fit_laws(free), self.residuals.elsewhere(table, halves)
            return self._own_fits[table]
        if account.silent not in self._fits:
            free = FreeLaws(sums=self.residuals.one_law(account.silent))
            self._fits[account.silent] = free, fit_laws(free)
        return (*self._fits[account.silent], 0.0)

    def by_others(self, table: str, account: ScaleAccount, /) -> dict[str, float]:
        """What is to be added to the log-probability of each family, for what the other table that says most shows of its own."""
        if account.name != "own":
            return {}
        whole = sum(_PLAIN.values())
        tellings = []
        for other in self.residuals.tables:
            if other != table:
                fits = self.fits(other, account)[1]
                logs = {one.family: one.log_evidence for one in fits if one.family in _PLAIN}
                joint = np.array([log + math.log(_WEIGHTS[name]) for name, log in logs.items()])
                chances = np.exp(joint - np.logaddexp.reduce(joint))
                tellings.append(dict(zip(logs, chances.tolist(), strict=True)))
        most = max(tellings, key=lambda one: max(one.values()), default=None)
        if most is None:
            return {}
        found = {
            name: math.log(1 - _ONE_FAMILY + _ONE_FAMILY * most.get(name, 0.0) * whole / weight)
            for name, weight in _PLAIN.items()
        }
        return found | {stopped: found[name] for stopped, name in _STOPPED.items()}

    def _own_laws(self, account: ScaleAccount, /) -> dict[str, Floats]:
        """The likeliest law of each table beside those of the others, each renewed in turn."""
        if not self._own:
            self._own.update(account.halves)
            for _ in range(_ROUNDS):
                for name in self.residuals.tables:
                    fits = fit_laws(FreeLaws(sums=self.residuals.beside(name, self._own)), stopped=False)
                    self._own[name] = max(
                        fits, key=lambda one: one.log_evidence + math.log(_WEIGHTS[one.family])
                    ).half
        return self._own


def _without_far_off(found: TableResiduals, /) -> tuple[TableResiduals, int]:
    """The residuals without those that are further out than noise which explains the others ever is, and how many these are."""
    scaled = np.abs(found.residual) / np.sqrt(found.numbers.sum(axis=1))
    far = scaled > _FAR_OFF * max(float(np.median(scaled)), 1.0)
    if not far.any():
        return found, 0
    return replace(found, residual=found.residual[~far], numbers=found.numbers[~far]), int(far.sum())


def _step(found: TableResiduals, /) -> int:
    """The lattice on which the noise is looked at: whole numbers, unless it is very wide."""
    noises = found.numbers.sum(axis=1)
    spread = math.sqrt(float(np.median(found.residual.astype(float) ** 2 / noises)) * 2)
    return 1 if spread <= _WIDE else max(round(spread * _STEPS), 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Weighed:
    """The laws of a table's noise under one account, with the log-probability of each."""

    account: ScaleAccount
    free: FreeLaws
    fits: dict[str, LawFit]
    logs: dict[str, float]

    @classmethod
    def of(cls, table: str, evidence: NoiseEvidence, account: ScaleAccount, /) -> _Weighed:
        free, fits, rest = evidence.fits(table, account)
        usual = evidence.by_others(table, account)
        logs = {
            one.family: one.log_evidence
            + math.log(_WEIGHTS[one.family])
            + usual.get(one.family, 0.0)
            + account.log_prior
            + rest
            for one in fits
        }
        return cls(account=account, free=free, fits={one.family: one for one in fits}, logs=logs)

    @property
    def total(self) -> float:
        """The log-probability of the account."""
        return float(np.logaddexp.reduce(list(self.logs.values())))


def noise_kind(table: str, evidence: NoiseEvidence, /) -> Recognition:
    """Which law the noise of a table has, or that it has none where others have."""
    mine = [one for one in evidence.complete if table in one.tables]
    n = sum(one.residual.size for one in mine)
    growth = next((said for one in mine if (said := _growth(one, evidence.accounts[0])) is not None), None)
    if growth is not None:
        return Recognition(table=table, kind="growing", rivals={"growing": 1.0}, n=n, evidence=growth)
    if evidence.far_off > _MOST_FAR_OFF * (evidence.residuals.residual.size + evidence.far_off):
        return _no_law(table, n, evidence)
    weighed = [_Weighed.of(table, evidence, account) for account in evidence.accounts]
    # Exact totals over noisy cells are usual, so that only residuals speak against them; exact cells under noisy totals are not.
    totals = all(one.tables[0] != table for one in mine)
    usual = _INVARIANT if totals else 0.0
    # Whether there is noise at all is another question than where it stops.
    plain = _chances(table, weighed, usual, without=tuple(_STOPPED))
    if next(iter(plain)) == "exact":
        return _silent(table, plain, n, evidence)
    chances = _chances(table, weighed, usual)
    found = _kinds(chances)
    best = max((one for one in weighed if table not in one.account.silent), key=lambda one: one.total)
    first = _leading(plain, found, best.free.sums.n)
    if first == "uniform" and found["uniform"] < _NAMED_UNIFORM and found.get("bounded", 0.0) > 0:
        first = "bounded"
    unbounded = max((best.fits[name] for name in UNBOUNDED_KINDS), key=lambda one: best.logs[one.family])
    out = _excluded(best.free, unbounded)
    law, step = _likeliest(first, chances, best), evidence.step
    open_totals = totals and plain.get("exact", 0.0) > _HARDLY
    ahead = law.log_likelihood - unbounded.log_likelihood
    sure = not open_totals and _is_named(first, chances, out, best, ahead)
    kind: MechanismKind = first if sure else "unknown"  # type: ignore[assignment]
    return Recognition(
        table=table,
        kind=kind,
        rivals={name: p for name, p in found.items() if p >= 0.001},
        known=known_laws(_laws(first, found, law, best, step)),
        bound=int(law.scale) * step if first in {"uniform", "bounded"} else None,
        pmf=tuple(law.half[:12].tolist()) if step == 1 else (),
        pmf_se=tuple(np.sqrt(law.variance[:12]).tolist()) if step == 1 else (),
        excluded=_in_counts(out, step),
        usual_bound=chances.get("bounded", 0.0) + chances.get("uniform", 0.0),
        n=best.free.sums.n,
        slips=evidence.far_off,
        noise_sd=law.sd * step,
        same_cell=any(one.same_cell for one in mine),
        zeros_kept=any(one.zeros_kept for one in mine),
        evidence=_said(law, found, out, best.free.sums.n, step)
        + _beside(table, best.account, evidence)
        + (
            f"; {evidence.far_off:,} more are off by far more than that, and were left out"
            if evidence.far_off
            else ""
        ),
    )


def _no_law(table: str, n: int, evidence: NoiseEvidence, /) -> Recognition:
    said = (
        f"{n:,} identities: {evidence.far_off:,} are off by far more than the others, as no noise is that explains those: totals may count other "
        "people than their parts"
    )
    return Recognition(
        table=table, kind="unknown", rivals={"noise": 1.0}, n=n, slips=evidence.far_off, evidence=said
    )


def _chances(
    table: str, weighed: Sequence[_Weighed], usual: float, /, *, without: Sequence[str] = ()
) -> dict[str, float]:
    """The probability of each family over all accounts but some, and of none at all; the likeliest first."""
    logs: dict[str, list[float]] = {}
    for one in weighed:
        silent = table in one.account.silent
        for family, log in one.logs.items():
            if family not in without:
                logs.setdefault("exact" if silent else family, []).append(log + usual * silent)
    joint = {kind: float(np.logaddexp.reduce(several)) for kind, several in logs.items()}
    total = float(np.logaddexp.reduce(list(joint.values())))
    found = {kind: math.exp(log - total) for kind, log in joint.items()}
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def _kinds(chances: Mapping[str, float], /) -> dict[str, float]:
    """The probability of each kind, the likeliest first: laws that fall off like an unbounded one and stop have a bound."""
    found = {name: p for name, p in chances.items() if name not in _STOPPED}
    found["bounded"] = found.get("bounded", 0.0) + sum(chances.get(name, 0.0) for name in _STOPPED)
    return dict(sorted(((name, p) for name, p in found.items() if p > 0), key=lambda one: -one[1]))


def _leading(plain: Mapping[str, float], found: Mapping[str, float], n: int, /) -> str:
    """The kind that leads: the likeliest, or with many identities an unbounded one that leads without laws that stop and is not far behind these."""
    first = next(name for name in plain if name != "exact")
    if first in UNBOUNDED_KINDS and n >= _MANY_FOR_STOPPED and found[first] >= _LEFT_BY_STOPPED:
        return first
    return next(name for name in found if name != "exact")


def _likeliest(first: str, chances: Mapping[str, float], best: _Weighed, /) -> LawFit:
    """The law of a kind, the likeliest if there are several."""
    names = ("bounded", *_STOPPED) if first == "bounded" else (first,)
    return best.fits[
        max((name for name in names if name in best.fits), key=lambda one: chances.get(one, 0.0))
    ]


def _laws(
    first: str, found: Mapping[str, float], law: LawFit, best: _Weighed, step: int, /
) -> dict[Any, float]:
    """The law of each kind and its probability."""
    fits = {name: law if name == first else best.fits[name] for name in found if name in best.fits}
    return {_law_of(fit, step): found[name] for name, fit in fits.items()}


def _excluded(free: FreeLaws, unbounded: LawFit, /) -> Excluded:
    """How far out bounded laws are excluded, free ones and such that fall off like the unbounded one and stop."""
    least = unbounded.log_likelihood - LOSES
    out = exclude(free, unbounded.half, unbounded.log_likelihood)
    return replace(out, stops=open_stop(unbounded.law, unbounded.scale, free.sums, least))


def _in_counts(out: Excluded, step: int, /) -> Excluded:
    """The same where noise was looked at on a coarser lattice."""
    stops = None if out.stops is None else replace(out.stops, bound=out.stops.bound * step)
    return Excluded(bound=out.bound * step, beyond=out.beyond, stops=stops)


def _is_named(
    first: str, chances: Mapping[str, float], out: Excluded, best: _Weighed, ahead: float, /
) -> bool:
    """Whether the likeliest kind is named: likely enough, and for laws without a bound with little beyond what is excluded, or clearly.

    `ahead` is by how many units of log-likelihood it explains the residuals better than laws without a bound. An epsilon is another question: none is stated
    where much lies beyond what is excluded, or laws that stop are not, however clear the family.
    """
    found, sums = _kinds(chances), best.free.sums
    if first in {"uniform", "bounded"}:
        return _is_bounded(first, chances, best) and (sums.usual_number < _NORMAL or ahead >= LOSES)
    if sums.n < _MANY_FOR_STOPPED and found[first] < _CLEAR_OF_STOPPED:
        return False
    likely = found[first] / (1 - sum(chances.get(name, 0.0) for name in _STOPPED))
    surely = first == "laplace" and likely >= _SURELY
    cut_off = out.bound < USUAL_BOUND and out.beyond < _HARDLY_BEYOND
    far = out.bound >= NAMED_BOUND and (out.beyond < LITTLE_BEYOND or likely >= _CLEARLY)
    return likely >= _NAMED_FROM[first] and (surely or (far and not cut_off))


def _is_bounded(first: str, chances: Mapping[str, float], best: _Weighed, /) -> bool:
    """Whether it is likely enough that noise has a bound; from sums of several noises not because Gaussian noise of that spread is rare."""
    found, sums = _kinds(chances), best.free.sums
    flat = found.get("uniform", 0.0) > found.get("bounded", 0.0)
    enough = _NEARLY_SURE if flat and sums.n < _MANY else _NAMED_FROM["uniform" if flat else first]
    stops = sum(chances.get(name, 0.0) for name in _STOPPED)
    likely = found.get("uniform", 0.0) + found.get("bounded", 0.0)
    if stops > likely / 2:
        enough = max(enough, _NAMED_STOPPED)
    normal = best.fits["gaussian"]
    if sums.usual_number > _TELLING_SUMS and normal.scale > _NARROW:
        likely /= 1 + found.get("gaussian", 0.0) * math.expm1(unusual(normal))
    return likely >= enough


def _silent(table: str, found: Mapping[str, float], n: int, evidence: NoiseEvidence, /) -> Recognition:
    """A table without noise beside tables that have some; not named where noise of one person would hardly show beside theirs."""
    account = next(one for one in evidence.accounts if table in one.silent)
    exact = found["exact"] >= _NAMED_FROM["exact"] and (
        table in evidence.together or without_noise(evidence.residuals, account, step=evidence.step) >= LOSES
    )
    return Recognition(
        table=table,
        kind="exact" if exact else "unknown",
        rivals={name: p for name, p in found.items() if p >= 0.001},
        known=Known.sure(Mechanism(law=PointMass(), rule="ge", zeros="keep"), source="recovered")
        if exact
        else None,
        bound=0 if exact else None,
        n=n,
        noise_sd=0.0,
        evidence=f"{n:,} identities: the noise of other tables alone explains what it differs by"
        + (
            "; it adds up to totals that another table adds up to as well"
            if table in evidence.together
            else ""
        ),
    )


def known_laws(laws: Mapping[Any, float], /) -> Known:
    """Mechanisms of these laws, the impossible ones left out."""
    kept = {law: p for law, p in laws.items() if p > 1e-4}
    total = sum(kept.values())
    rivals = tuple((Mechanism(law=law, rule="ge", zeros="perturb"), p / total) for law, p in kept.items())
    return Known(rivals=rivals, source="recovered")


def _law_of(fit: LawFit, step: int, /) -> Any:
    if not fit.law:
        half = fit.half if step == 1 else np.repeat(fit.half, step) / step
        with np.errstate(divide="ignore"):
            return Tabulated.symmetric(np.log(half / (half[0] + 2 * half[1:].sum())))
    scale = fit.scale * step
    return make_law(fit.law, scale=float(round(scale)) if fit.family == "uniform" else scale)


def _said(best: LawFit, found: Mapping[str, float], out: Excluded, n: int, step: int, /) -> str:
    """What the residuals say, in words."""
    names = {
        "exact": "no noise of its own",
        "bounded": "a law with a bound",
        "uniform": "uniform",
        "laplace": "Laplace",
        "gaussian": "Gaussian",
    }
    rivals = ", ".join(f"{names[name]} {p:.0%}" for name, p in found.items() if p >= 0.01)
    stops = out.stops if out.stops is not None and out.stops.counts else None
    if best.family in UNBOUNDED_KINDS:
        return (
            f"{n:,} identities: {rivals}; laws that never exceed ±{out.bound * step} are excluded, a wider one would have "
            f"δ of about {out.beyond:.2g}"
            + (
                ""
                if stops is None
                else f"; noise that falls off likewise and stops at ±{stops.bound * step} is not excluded"
            )
        )
    return f"{n:,} identities: {rivals}; within ±{best.scale * step:.0f}"


def _beside(table: str, account: ScaleAccount, evidence: NoiseEvidence, /) -> str:
    """How the noise compares with that of other tables, and what is done to zeros and to the same cell, in words."""
    mine = [one for one in evidence.complete if table in one.tables]
    said = ""
    if account.name == "own":
        others = ", ".join(
            f"{sd * evidence.step:.2g} in {name}" for name, sd in account.sd.items() if name != table
        )
        said += f"; its standard deviation is {account.sd[table] * evidence.step:.2g}, and {others}"
    elif account.silent:
        said += f"; {' and '.join(sorted(account.silent))} without noise"
    if any(one.zeros_kept for one in mine):
        said += "; zeros are kept"
    if any(one.same_cell for one in mine):
        said += "; the same cell has the same noise in both tables"
    return said


def _growth(one: CompleteIdentities, account: ScaleAccount, /) -> str | None:
    """Whether the noise of a family grows with the count, in words; None if nothing shows that."""
    if one.residual.size < _FEWEST_FOR_GROWTH or not (one.size > 0).any():
        return None
    first, second = (account.sd.get(name, 1.0) ** 2 for name in one.tables)
    scaled = np.abs(one.residual) * np.sqrt(
        (first + second) / 2 / np.maximum(one.parts * first + second, 1e-9)
    )
    # What is left if each of parts and total is weighed by the other's noise does not depend on the residual.
    size = (one.size * second + (one.size + one.residual) * one.parts * first) / (one.parts * first + second)
    order = np.argsort(size, kind="stable")
    third = one.residual.size // 3
    rank = rank_correlation(size, scaled)
    root = [math.sqrt(float(np.mean(scaled[rows] ** 2))) for rows in (order[:third], order[-third:])]
    if rank.apart > _GROWS or rank.value < 0 or root[1] < _FACTOR * max(root[0], 0.3):
        return None
    return (
        f"{one.residual.size:,} identities: the spread of one noise is {root[0]:.2g} in the smaller third of the counts and "
        f"{root[1]:.2g} in the larger third, so it grows with the count"
    )
