"""Accuracy in, epsilon out: the least budget with which every wanted answer is close enough, 19 times in 20.

Nothing is read and nothing is spent. The spec is taken as it stands and only its epsilon is changed; what other choices would
need (a split made for these questions, a table for each of them, the other law) stands beside it, each with what to
write into the spec. The error of noise is known exactly beforehand, so the answer is exact as well: the epsilon is found by
scaling the noise, rounded up to three digits, and then planned once more and checked.

A percentage is of something. With `like`, it is of the counts of a release that is public already, and must hold for all groups
but the smallest twentieth (for fewer than twenty groups, for all). With neither `like` nor a size, what is said is
from which size on the percentage holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.laws import LatticeLaw, make_law
from noisegate.margins import Prediction, SumErrors, minimax_split, predict
from noisegate.mechanisms import scale_for
from noisegate.releases import AttackerView, Plan, attacker_views, make_plan, sum_errors
from noisegate.releases import unit_change as unit_change_of
from noisegate.spec import ReleaseSpec
from noisegate.tables import Asked
from noisegate.workload.error_parts import Reader
from noisegate.workload.noised import raw_table, table_domain
from noisegate.workload.rehearsal import StandIn
from noisegate.workload.want import Want, Wants, parse_wants, put_wants

Floats = NDArray[np.float64]

#: The delta of Gaussian noise where the spec states none.
USUAL_DELTA: Final = Fraction(1, 10**6)
#: Percentages need not hold for this share of the groups, the smallest ones.
SMALL_GROUPS: Final = 0.05
_PRECISION = 1e-3
_MOST_FACTOR = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedAnswer:
    """One wanted answer at the epsilon that was found.

    `limit` is the error in events that it must stay within, `half_width` the one it stays within; `alone` the epsilon that it
    would need if it were the only one. Where a percentage has nothing to be of, `limit` and `alone` are None. `holds_from` is
    the size from which on a percentage holds.
    """

    name: str
    wanted: str
    limit: float | None
    half_width: int
    groups: int
    alone: float | None
    holds_from: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {
            "question": self.name,
            "wanted": self.wanted,
            "limit": self.limit,
            "half_width": self.half_width,
            "groups": self.groups,
            "epsilon_alone": self.alone,
            "holds_from": self.holds_from,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetWay:
    """One way to meet all wants: what to change in the spec, and the epsilon and delta that it needs."""

    change: str
    law: str
    epsilon: float
    delta: float
    keys: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The way as plain data."""
        return {
            "change": self.change,
            "law": self.law,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "spec": dict(self.keys),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededBudget:
    """The least budget for what is wanted: `ways` from the spec as it stands on, the first of them.

    `binding` is the question that costs most: without it `epsilon_without` would do. `attacker` says what that budget means
    for a person.
    """

    unit: str
    wants: tuple[WantedAnswer, ...]
    ways: tuple[BudgetWay, ...]
    binding: str | None
    epsilon_without: float | None
    attacker: tuple[AttackerView, ...]
    assumes: str

    @property
    def epsilon(self) -> float:
        """That of the spec as it stands but for its epsilon."""
        return self.ways[0].epsilon

    @property
    def least(self) -> BudgetWay:
        """The way that needs the least; among laws, pure losses are preferred where they need no more."""
        return min(self.ways, key=lambda way: (way.epsilon, way.delta))

    def as_json(self) -> dict[str, Any]:
        """The budget as plain data."""
        return {
            "epsilon": self.epsilon,
            "unit": self.unit,
            "level": 0.95,
            "wants": [one.as_json() for one in self.wants],
            "binding": self.binding,
            "epsilon_without_binding": self.epsilon_without,
            "ways": [one.as_json() for one in self.ways],
            "attacker": [one.as_json() for one in self.attacker],
            "assumes": self.assumes,
        }


def needed_budget(spec: ReleaseSpec, wants: Wants, /, *, like: StandIn | None = None) -> NeededBudget:
    """The least epsilon that meets all wanted errors at 95 %; reads no event and spends nothing.

    Raises
    ------
    SpecError
        If a question cannot be asked, or no epsilon is enough.
    """
    parsed = parse_wants(wants, spec)
    asked = put_wants(parsed, spec)
    own = make_plan(spec)
    limits = {one.question.name: _limit(one, asked[one.question.name], own, like) for one in parsed}
    known = {name: limit for name, limit in limits.items() if limit is not None}
    shares = _shares(own)
    errors = sum_errors(own)
    alone = {
        name: _epsilon_for(spec, shares, {name: asked[name]}, {name: limit}, errors)
        for name, limit in known.items()
    }
    plan = _planned(spec, max(alone.values()), asked, known) if known else own
    errors = sum_errors(plan)
    answers = tuple(_answer(one, predict(asked[one.question.name], errors), limits, alone) for one in parsed)
    order = sorted(alone, key=lambda name: alone[name])
    first = BudgetWay(
        change="epsilon only",
        law=spec.privacy.law,
        epsilon=float(plan.charged.epsilon),
        delta=float(plan.charged.delta),
        keys=_keys(plan.spec, spec),
    )
    return NeededBudget(
        unit=spec.privacy.unit,
        wants=answers,
        ways=(first, *(_other_ways(spec, parsed, asked, known) if known else ())),
        binding=order[-1] if order else None,
        epsilon_without=alone[order[-2]] if len(order) > 1 else None,
        attacker=attacker_views(plan),
        assumes=_assumes(parsed, like),
    )


def _assumes(wants: tuple[Want, ...], like: StandIn | None, /) -> str:
    about = "counts well above zero; nothing is missing, bounded away or cut"
    if like is not None and any(one.percent and one.size is None for one in wants):
        about += f"; percentages are of the release {like.name!r}, for all groups but the smallest twentieth of them"
    return about


def _answer(
    want: Want, found: Prediction, limits: Mapping[str, float | None], alone: Mapping[str, float], /
) -> WantedAnswer:
    name = want.question.name
    return WantedAnswer(
        name=name,
        wanted=want.text,
        limit=limits[name],
        half_width=found.half_width,
        groups=found.groups,
        alone=alone.get(name),
        holds_from=math.ceil(100 * found.half_width / want.error) if want.percent else None,
    )


def _limit(want: Want, asked: Asked, plan: Plan, like: StandIn | None, /) -> float | None:
    """The error in events that a want allows; None if a percentage has nothing to be of."""
    if not want.percent:
        return want.error
    if want.size is not None:
        return want.error / 100 * want.size
    if like is None:
        return None
    table = predict(asked, sum_errors(plan)).table
    truth = Reader.of(asked, table, table_domain(plan, table)).answer(raw_table(plan, table, like))
    size = float(np.sort(truth)[math.floor(SMALL_GROUPS * len(truth))])
    if size <= 0:
        raise SpecError(
            f"{want.text} of {want.question.name!r} cannot be met: more than a twentieth of its groups are empty in "
            f"{like.name!r}; give an error in events, or a size such as {want.error:g}% of 2000."
        )
    return want.error / 100 * size


def _scaled(errors: SumErrors, laws: Mapping[str, tuple[str, float]], factor: float, /) -> SumErrors:
    """The errors if every noise were so many times as wide."""
    made: dict[str, LatticeLaw] = {}
    for name, (law, scale) in laws.items():
        one = make_law(law, scale=scale * factor)
        assert isinstance(one, LatticeLaw)
        made[name] = one
    return replace(errors, laws=made)


def _epsilon_for(
    spec: ReleaseSpec,
    shares: Mapping[str, Fraction],
    asked: Mapping[str, Asked],
    limits: Mapping[str, float],
    errors: SumErrors,
    /,
) -> float:
    """About the least epsilon with which all answers stay within their limits, by the noise that shares of it give."""
    noises = _nominal(spec, shares)

    def fine(factor: float) -> bool:
        at = _scaled(errors, noises, factor)
        return all(predict(one, at).half_width <= limits[name] for name, one in asked.items())

    return _epsilon_at(spec, _widest(fine))


def _nominal(spec: ReleaseSpec, shares: Mapping[str, Fraction], /) -> dict[str, tuple[str, float]]:
    """Law and scale of each measured table at epsilon 1, Gaussian noise being taken as continuous."""
    privacy, change = spec.privacy, unit_change_of(spec)
    if privacy.law == "discrete-gaussian" and privacy.delta is not None:
        sigma = float(scale_for("gaussian", epsilon=1, delta=float(privacy.delta)))
        return {
            name: (privacy.law, sigma * math.sqrt(change.square(name) / share))
            for name, share in shares.items()
            if share > 0
        }
    total = privacy.contribution.total
    return {name: ("discrete-laplace", float(total / share)) for name, share in shares.items() if share > 0}


def _widest(fine: Callable[[float], bool], /) -> float:
    """The largest factor that is fine, to a thousandth; refuses if none is."""
    low, high = 1.0, 1.0
    while not fine(low):
        low, high = low / 2, low
        if low < 1 / _MOST_FACTOR:
            raise SpecError(
                "no epsilon makes noise small enough for what is wanted; ask for larger errors, of 1 at least."
            )
    while low == high or fine(high):
        low, high = high, 2 * high
        if high > _MOST_FACTOR:
            return low
    while high / low > 1 + _PRECISION:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fine(middle) else (low, middle)
    return low


def _epsilon_at(spec: ReleaseSpec, factor: float, /) -> float:
    """The epsilon with noise that is `factor` times as wide as at epsilon 1."""
    privacy = spec.privacy
    if privacy.law != "discrete-gaussian" or privacy.delta is None:
        return 1 / factor
    delta = float(privacy.delta)
    wanted = factor * float(scale_for("gaussian", epsilon=1, delta=delta))
    low, high = 1e-6, 1e-6
    while float(scale_for("gaussian", epsilon=high, delta=delta)) > wanted:
        low, high = high, 2 * high
    while high / low > 1 + _PRECISION / 4:
        middle = math.sqrt(low * high)
        enough = float(scale_for("gaussian", epsilon=middle, delta=delta)) <= wanted
        low, high = (low, middle) if enough else (middle, high)
    return high


def _rounded(epsilon: float, /) -> Fraction:
    """Three digits, not below."""
    return Fraction(Decimal(epsilon).normalize(Context(prec=3, rounding=ROUND_CEILING)))


def _planned(
    spec: ReleaseSpec, epsilon: float, asked: Mapping[str, Asked], limits: Mapping[str, float], /
) -> Plan:
    """The plan from about this epsilon on that was checked to meet all limits.

    The guess is exact for Laplace noise; whole Gaussian noise may need a little more than continuous one.
    """
    more = 0.0
    while True:
        plan = make_plan(_with_epsilon(spec, _rounded(epsilon * (1 + more))))
        errors = sum_errors(plan)
        if all(predict(asked[name], errors).half_width <= limit for name, limit in limits.items()):
            return plan
        more = 2 * more or 5 * _PRECISION


def _with_epsilon(spec: ReleaseSpec, epsilon: Fraction, /) -> ReleaseSpec:
    privacy = spec.privacy
    if privacy.scale is not None:
        factor = epsilon / make_plan(spec).charged.epsilon
        return changed_spec(spec, privacy={"scale": privacy.scale / factor})
    return changed_spec(spec, privacy={"epsilon": epsilon})


def changed_spec(
    spec: ReleaseSpec, /, *, privacy: Mapping[str, Any], tables: Mapping[str, tuple[str, ...]] | None = None
) -> ReleaseSpec:
    """The spec with some keys of its privacy block, or its tables, changed."""
    update: dict[str, Any] = {"privacy": spec.privacy.model_copy(update=dict(privacy))}
    if tables is not None:
        update["tables"] = dict(tables)
    made = spec.model_copy(update=update)
    for name in ("domain", "margins"):
        made.__dict__.pop(name, None)  # Worked out anew: they follow from the tables.
    return made


def _other_ways(
    spec: ReleaseSpec, wants: tuple[Want, ...], asked: Mapping[str, Asked], limits: Mapping[str, float], /
) -> tuple[BudgetWay, ...]:
    """What other choices would need, where there is a choice."""
    privacy = spec.privacy
    if privacy.epsilon is None or privacy.margins != "reconcile" or privacy.zeros != "perturb":
        return ()
    other = "discrete-laplace" if privacy.law == "discrete-gaussian" else "discrete-gaussian"
    added = _added(spec, wants)
    known = {name: asked[name] for name in limits}
    found = []
    for law in (privacy.law, other):
        delta = None if law != "discrete-gaussian" else privacy.delta or USUAL_DELTA
        for tables in ({}, added) if added else ({},):
            base = changed_spec(
                spec,
                privacy={"law": law, "delta": delta, "split": None},
                tables={**spec.tables, **tables},
            )
            alike = law == privacy.law and len(base.tables) == 1
            way = None if alike else _way(base, spec, known, limits, tables)
            if way is not None:
                found.append(way)
    return tuple(found)


def _way(
    spec: ReleaseSpec,
    own: ReleaseSpec,
    asked: Mapping[str, Asked],
    limits: Mapping[str, float],
    added: Mapping[str, tuple[str, ...]],
    /,
) -> BudgetWay | None:
    """One law and one set of tables, with the split that serves the wants best; None if its tables cannot be made."""
    try:
        errors = _errors_of(spec)
        shares = _split_for(spec, asked, limits, errors)
        split = changed_spec(spec, privacy={"split": shares}, tables=spec.tables)
        plan = _planned(split, _epsilon_for(split, shares, asked, limits, errors), asked, limits)
    except SpecError:
        return None
    kept = f"{float(100 * shares[spec.base]):.0f} %"
    words = [f"split for these questions (base keeps {kept})"] if len(spec.tables) > 1 else []
    if added:
        words.append(f"table{'s' if len(added) > 1 else ''} {', '.join(added)} added")
    if spec.privacy.law != own.privacy.law:
        words.append(f"law {spec.privacy.law}")
    return BudgetWay(
        change=", ".join(words),
        law=spec.privacy.law,
        epsilon=float(plan.charged.epsilon),
        delta=float(plan.charged.delta),
        keys=_keys(plan.spec, own),
    )


def _shares(plan: Plan, /) -> dict[str, Fraction]:
    """The share of the budget of each measured table; as the noise says where only that is stated."""
    if plan.spec.privacy.scale is None:
        return {table.name: table.share or Fraction(0) for table in plan.tables}
    change, measured = unit_change_of(plan.spec), [t for t in plan.tables if t.noise is not None]
    gaussian = plan.spec.privacy.law == "discrete-gaussian"
    made = {
        table.name: change.square(table.name) / table.noise.scale**2 if gaussian else 1 / table.noise.scale
        for table in measured
        if table.noise is not None
    }
    total = sum(made.values())
    return {name: share / total for name, share in made.items()}


def _errors_of(spec: ReleaseSpec, /) -> SumErrors:
    """What sums are made of in these tables; its noise is to be replaced."""
    return SumErrors.of(
        spec.domain, base=spec.base, margins=spec.margins, laws={}, method=spec.privacy.margins
    )


def _split_for(
    spec: ReleaseSpec, asked: Mapping[str, Asked], limits: Mapping[str, float], errors: SumErrors, /
) -> dict[str, Fraction]:
    """The split of the budget that makes the worst of the wanted errors least."""
    names = [spec.base, *spec.margins]
    change = unit_change_of(spec)
    gaussian = spec.privacy.law == "discrete-gaussian"
    aims = []
    for name, one in asked.items():
        cells_of = errors.tables(one.selection)
        table = errors.best_table(cells_of)
        aims.append((cells_of[table], table, limits[name]))

    def ratios(shares: Floats) -> Floats:
        noises = {}
        for name, share in zip(names, shares.tolist(), strict=True):
            if share > 0:
                # Only ratios matter: any law of the right variance will do.
                square = change.square(name) / share if gaussian else 1 / share**2
                noises[name] = ("discrete-laplace", 100 * math.sqrt(square))
        at = _scaled(errors, noises, 1.0)
        found = []
        for cells, table, limit in aims:
            groups = np.flatnonzero(cells.counts())
            some = groups[:: max(1, len(groups) // 20)]
            sds = {law.standard_deviation for law in at.laws_of(cells, table, some)}
            found.append(max(sds) / limit)
        return np.array(found)

    return dict(zip(names, minimax_split(ratios, margins=len(names) - 1), strict=True))


def _added(spec: ReleaseSpec, wants: tuple[Want, ...], /) -> dict[str, tuple[str, ...]]:
    """A table for each wanted question that has none with just its dimensions."""
    known = {frozenset(names) for names in spec.tables.values()}
    found: dict[str, tuple[str, ...]] = {}
    for want in wants:
        kept = want.question.dimensions
        if kept and kept not in known:
            names = tuple(name for name in spec.domain.names if name in kept)
            found["by-" + "-".join(names)] = names
            known.add(kept)
    return found


def _keys(made: ReleaseSpec, own: ReleaseSpec, /) -> dict[str, Any]:
    """What to write into the spec: the keys in which it differs."""
    new, old = made.privacy, own.privacy
    privacy: dict[str, Any] = {}
    for key in ("epsilon", "scale", "delta", "law"):
        value = getattr(new, key)
        if value != getattr(old, key) and value is not None:
            privacy[key] = value if isinstance(value, str) else float(value)
    if new.split is not None and new.split != old.split:
        privacy["split"] = {name: float(share) for name, share in new.split.items()}
    added = {name: list(names) for name, names in made.tables.items() if name not in own.tables}
    return {**({"tables": added} if added else {}), "privacy": privacy}
