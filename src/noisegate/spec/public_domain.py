"""From the words of a spec to the public domain of its base table.

Nothing here has seen an event: the domain is a function of the spec and of its values files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.spec.dimensions import Condition, DateDimension, ListedDimension, TimeDimension
from noisegate.spec.fields import (
    SPAN,
    clock,
    clock_text,
    day,
    did_you_mean,
    placed,
    refusal,
    seconds,
    shown,
    span_text,
)
from noisegate.spec.kinds import AnyDimension, CalendarDimension, LookupDimension
from noisegate.tables import DAY_S, Dimension, Domain, Ints, Mask, shares_of_values

At = tuple[str | int, ...]


def which(dimension: AnyDimension, condition: Condition, /, *, at: At) -> Mask:
    """For each value of `dimension`, whether it meets `condition`.

    Listed values, and ranges among them, are meant as in any condition (`noisegate.tables.where`). Days run from `from` to
    `to`, both included. Times run from `from` up to `to`, which is not included, and past midnight if `to` is not later.
    """
    if condition.listed is not None:
        return np.asarray(
            np.logical_or.reduce([_listed(dimension, value, at=at) for value in condition.listed])
        )
    text = f"{condition.first}..{condition.last}"
    if isinstance(dimension, DateDimension):
        first = placed(day, condition.first, at=(*at, "from"))
        last = placed(day, condition.last, at=(*at, "to"))
        mask = (
            shares_of_values(dimension.values, [text], subject="") > 0 if first <= last else np.zeros(1, bool)
        )
        if not mask.any():
            raise refusal(f"meets none of the days from {dimension.first} to {dimension.last}", at=at)
        return np.asarray(mask)
    if isinstance(dimension, TimeDimension):
        for name, border in (("from", condition.first), ("to", condition.last)):
            if placed(clock, border, at=(*at, name)) % dimension.every:
                raise refusal(
                    f"must lie on a border of the {span_text(dimension.every)} bins", at=(*at, name)
                )
        return np.asarray(shares_of_values(dimension.values, [text], subject="") > 0)
    raise refusal("must be a list of values; from and to are for dates and times", at=at)


def _listed(dimension: AnyDimension, value: str, /, *, at: At) -> Mask:
    try:
        shares: NDArray[np.float64] = shares_of_values(dimension.values, [value], subject="")
    except SpecError:
        hint = did_you_mean(value, dimension.values)
        raise refusal(f"lists {shown(value)}, which is not a value of it{hint}", at=at) from None
    if not np.isin(shares, (0.0, 1.0)).all():
        raise refusal(f"lists {shown(value)}, which cuts through a value of it", at=at)
    return np.asarray(shares > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRule:
    """One merge, worked out: the group of each value, and which values meet each condition."""

    name: str
    groups: tuple[str, ...]
    where: dict[str, Mask]
    at: At


def merge_rule(
    dimensions: Mapping[str, AnyDimension],
    name: str,
    /,
    *,
    by: str | None = None,
    into: str | None = None,
    where: Mapping[str, Condition],
    at: At,
) -> MergeRule:
    """The merge of dimension `name` by a column of its file, or into a time span or one new label."""
    met = {}
    for other, condition in where.items():
        dim = known(dimensions, other, at=(*at, "where"))
        met[other] = which(dim, condition, at=(*at, "where", other))
    dimension = known(dimensions, name, at=(*at, "dimension"))
    own = met.get(name, np.ones(len(dimension.values), dtype=bool))
    if by is not None:
        groups = _groups_by_column(dimension, by, at=at)
    elif isinstance(dimension, TimeDimension) and SPAN.fullmatch(str(into)):
        groups = _groups_by_span(dimension, seconds(into), at=(*at, "into"))
    else:
        groups = tuple(str(into) if here else "" for here in own)
    _check_whole(groups, own, name=name, at=at)
    return MergeRule(name=name, groups=groups, where=met, at=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Combinations that a values file rules out and the domain has all the same, and why."""

    dimension: str
    within: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicDomain:
    """The domain of a base table, and what could not be ruled out of it."""

    domain: Domain
    left_out: tuple[LeftOut, ...]


def build_domain(
    dimensions: Mapping[str, AnyDimension],
    names: Sequence[str],
    rules: Sequence[MergeRule],
    /,
    *,
    check: Callable[[Domain], None],
) -> PublicDomain:
    """The domain over the dimensions `names`: all merges applied, then what `only` and values files rule out.

    A column of a values file that is called like another dimension says which of its values each value goes with. What
    `only` asks for is done or refused. What a column says is left out where it is no list of such values, or where `check`
    refuses the domain that it would make.
    """
    domain = Domain.product(Dimension(name=name, values=dimensions[name].values) for name in names)
    for rule in rules:
        domain = _merged(domain, rule)
    listed = [(name, one) for name in names if isinstance(one := dimensions[name], ListedDimension)]
    for name, dimension in listed:
        for other in dimension.only:
            domain = _nested(domain, dimensions, name, other)
    for name, other, pairs in public_pairs(dimensions, names):
        domain = domain.nest(name, other, pairs)
    told = [
        (name, other)
        for name, dimension in listed
        for other in (() if "only" in dimension.model_fields_set else dimension.listed.attributes)
        if other in names
        and other != name
        and _rules_out(dimensions[other], dimension.listed.attributes[other])
    ]
    return _told(domain, dimensions, told, check)


def public_pairs(
    dimensions: Mapping[str, AnyDimension], names: Sequence[str], /
) -> Iterator[tuple[str, str, Ints]]:
    """The pairs of two dimensions over one column that the calendar or a lookup ties together, and which of their values go together."""
    for name in names:
        fine = dimensions[name]
        for other in names:
            coarse = dimensions[other]
            if other == name or coarse.column != fine.column:
                continue
            if isinstance(fine, DateDimension) and isinstance(coarse, CalendarDimension):
                days = [fine.first + timedelta(days=n) for n in range(fine.days)]
                yield name, other, _inside([coarse.code(day) for day in days], len(coarse.values))
            elif isinstance(fine, TimeDimension) and isinstance(coarse, TimeDimension):
                if coarse.every > fine.every and coarse.every % fine.every == 0:
                    ratio = coarse.every // fine.every
                    yield name, other, _inside([n // ratio for n in range(fine.bins)], coarse.bins)
            elif isinstance(fine, ListedDimension) and isinstance(coarse, LookupDimension):
                code = dict(zip(coarse.lookup.keys, coarse.lookup.codes, strict=True))
                yield name, other, _inside([code.get(value, -1) for value in fine.values], len(coarse.values))
    yield from _tied_lookups(dimensions, names)


def _tied_lookups(
    dimensions: Mapping[str, AnyDimension], names: Sequence[str], /
) -> Iterator[tuple[str, str, Ints]]:
    """Lookups over one column whose own values no table lists: what goes together is what some key has."""
    lookups = [(name, one) for name in names if isinstance(one := dimensions[name], LookupDimension)]
    listed = {one.column for name in names if isinstance(one := dimensions[name], ListedDimension)}
    for place, (name, fine) in enumerate(lookups):
        for other, coarse in lookups[place + 1 :]:
            if fine.column == coarse.column and fine.column not in listed:
                code = dict(zip(coarse.lookup.keys, coarse.lookup.codes, strict=True))
                both = {
                    (mine, code.get(key, -1))
                    for key, mine in zip(fine.lookup.keys, fine.lookup.codes, strict=True)
                }
                yield name, other, np.array(sorted(p for p in both if min(p) >= 0), dtype=np.int64).T


def _inside(codes: Sequence[int], size: int, /) -> Ints:
    """The pairs (place, code) with a code from 0 up to `size`, as two rows."""
    column = np.asarray(codes, dtype=np.int64)
    here = np.flatnonzero((column >= 0) & (column < size))
    return np.stack([here, column[here]])


def _told(
    domain: Domain,
    dimensions: Mapping[str, AnyDimension],
    told: Sequence[tuple[str, str]],
    check: Callable[[Domain], None],
    /,
) -> PublicDomain:
    """The domain with only the combinations that values files tell: all of them, or one after the other where that fails."""
    whole = domain
    try:
        for name, other in told:
            whole = whole.nest(name, other, _told_pairs(dimensions, name, other))
        if told:
            check(whole)
        return PublicDomain(domain=whole, left_out=())
    except SpecError:
        left_out = []
    for name, other in told:
        try:
            nested = domain.nest(name, other, _told_pairs(dimensions, name, other))
            check(nested)
            domain = nested
        except SpecError as problem:
            left_out.append(LeftOut(dimension=name, within=other, reason=str(problem)))
    return PublicDomain(domain=domain, left_out=tuple(left_out))


def _rules_out(partner: AnyDimension, marks: Sequence[str], /) -> bool:
    """Whether marks that name values of another dimension rule any combination out."""
    return isinstance(partner, ListedDimension) and len(partner.values) > 1 and any(marks)


def _told_pairs(dimensions: Mapping[str, AnyDimension], name: str, other: str, /) -> Ints:
    """The pairs of values that a values file tells; refuses a column that is no list of values."""
    dimension, values = dimensions[name], dimensions[other].values
    assert isinstance(dimension, ListedDimension)
    marks = dimension.listed.attributes[other]
    known = frozenset(values)
    strange = next((mark for mark in marks if mark and mark not in known), None)
    if strange is not None:
        raise SpecError(
            f"column {other} of {dimension.listed.file} has {shown(strange)}, which is no value of {other}"
        )
    return _pairs(marks, values)


def _merged(domain: Domain, rule: MergeRule, /) -> Domain:
    for name in (rule.name, *rule.where):
        if name not in domain.names:
            raise refusal(
                f"uses {name}, which the base table does not have; add it to that table", at=rule.at
            )
    try:
        return domain.merge(rule.name, groups=rule.groups, where=rule.where)
    except SpecError as error:
        raise refusal(f"cannot be done: {error}", at=rule.at) from None


def _nested(domain: Domain, dimensions: Mapping[str, AnyDimension], name: str, other: str, /) -> Domain:
    at = ("dimensions", name, "only", other)
    allowed = _allowed(dimensions, name, other)
    if other not in domain.names:
        raise refusal("is not a dimension of the base table; add it to that table", at=at)
    try:
        return domain.nest(name, other, allowed)
    except SpecError as error:
        raise refusal(f"cannot be done: {error}", at=at) from None


def known(dimensions: Mapping[str, AnyDimension], name: str, /, *, at: At) -> AnyDimension:
    """The dimension called `name`."""
    if name not in dimensions:
        hint = did_you_mean(name, dimensions) or f"; there are {', '.join(dimensions)}"
        raise refusal(f"names a dimension {name!r} that does not exist{hint}", at=at)
    return dimensions[name]


def _groups_by_column(dimension: AnyDimension, column: str, /, *, at: At) -> tuple[str, ...]:
    if not isinstance(dimension, ListedDimension):
        raise refusal(f"merges by a column {column!r}, which only listed values have; use into", at=at)
    groups = dimension.listed.attribute(column, at=at)
    for value, group in zip(dimension.values, groups, strict=True):
        if not group.strip():
            raise refusal(f"merges by {column}, which is empty for {shown(value)}; fill it in", at=at)
    return groups


def _groups_by_span(dimension: TimeDimension, span_s: int, /, *, at: At) -> tuple[str, ...]:
    if DAY_S % span_s or span_s % dimension.every:
        every = span_text(dimension.every)
        raise refusal(
            f"must be a multiple of the {every} bins that divides the day, got {span_text(span_s)!r}", at=at
        )
    starts = [index * dimension.every // span_s * span_s for index in range(dimension.bins)]
    step = dimension.every
    return tuple(f"{clock_text(s, step_s=step)}-{clock_text(s + span_s, step_s=step)}" for s in starts)


def _check_whole(groups: Sequence[str], own: Mask, /, *, name: str, at: At) -> None:
    """Refuse a condition that covers a part of a group only: its label would say too much."""
    inside = {group for group, here in zip(groups, own, strict=True) if here}
    outside = {group for group, here in zip(groups, own, strict=True) if not here}
    torn = sorted(inside & outside)
    if torn:
        raise refusal(
            f"covers only a part of {shown(torn[0])}; widen it to whole groups", at=(*at, "where", name)
        )


def _allowed(dimensions: Mapping[str, AnyDimension], name: str, other: str, /) -> Ints:
    """The pairs of values of both that may go together, as two rows; empty in the file means all."""
    at = ("dimensions", name, "only", other)
    dimension, partner = dimensions[name], known(dimensions, other, at=at[:-1])
    assert isinstance(dimension, ListedDimension)
    marks = dimension.listed.attribute(dimension.only[other], at=at)
    for value, mark in zip(dimension.values, marks, strict=True):
        if mark and mark not in partner.values:
            file = dimension.listed.file
            raise refusal(
                f"reads {shown(mark)} for {shown(value)} in {file}, which is not a value of {other}", at=at
            )
    return _pairs(marks, partner.values)


def _pairs(marks: Sequence[str], values: Sequence[str], /) -> Ints:
    """The place of each mark and the place of the value that it names, as two rows; an empty one names all."""
    places = {value: place for place, value in enumerate(values)}
    named = np.array([places[mark] if mark else -1 for mark in marks], dtype=np.int64)
    some, every = np.flatnonzero(named >= 0), np.flatnonzero(named < 0)
    grid = np.meshgrid(every, np.arange(len(values)), indexing="ij")
    return np.concatenate(
        [np.stack([some, named[some]]), np.stack([one.reshape(-1) for one in grid])], axis=1
    )
