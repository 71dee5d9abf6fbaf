"""The problem in its plainest form: distinct unknowns, what each shows itself, and sums of several.

Structural zeros are gone, cells that an identity makes equal are one unknown, sums of one
unknown have become evidence on it, equal members of a sum carry a whole-number weight, and exact sums
are over what is not known exactly.
Unknowns are numbered so that each connected component is a run of them, followed by the run of
those that are in no sum of several.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from noisegate.errors import DataError
from noisegate.inference.linked.problem import (
    Bools,
    Floats,
    Ints,
    Problem,
    components,
    contradiction,
    tally,
)
from noisegate.laws import PointMass
from noisegate.mechanisms import Mechanism

#: An identity is an exact observation that a signed sum is zero.
IDENTITY = Mechanism(law=PointMass(), zeros="perturb")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Own:
    """Evidence on single unknowns, in their order: `values[k]` was seen for `unknowns[k]`."""

    unknowns: Ints
    values: Floats
    mechanism: Mechanism

    def between(self, low: int, high: int, /) -> Own:
        """The evidence on unknowns low .. high-1, renumbered from 0."""
        first, last = np.searchsorted(self.unknowns, [low, high])
        return Own(
            unknowns=self.unknowns[first:last] - low,
            values=self.values[first:last],
            mechanism=self.mechanism,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Factors:
    """Evidence on weighted sums of unknowns; a NaN value says suppressed."""

    indptr: Ints
    members: Ints
    weights: Ints
    values: Floats
    mechanism: Ints

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.values)

    @property
    def sizes(self) -> Ints:
        """How many members each has."""
        return np.diff(self.indptr)

    @property
    def rows(self) -> Ints:
        """The factor of each entry of `members`."""
        return np.repeat(np.arange(self.count), self.sizes)

    def take(self, which: Ints, /) -> Factors:
        """The factors `which`, in that order."""
        sizes = self.sizes[which]
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        entries = np.repeat(self.indptr[:-1][which] - indptr[:-1], sizes) + np.arange(indptr[-1])
        return Factors(
            indptr=indptr,
            members=self.members[entries],
            weights=self.weights[entries],
            values=self.values[which],
            mechanism=self.mechanism[which],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Model:
    """Unknowns, their own evidence, and the factors that link them.

    `unknown_of[cell]` is -1 for a structural zero; `first_cell[unknown]` is the least of the
    cells that are that unknown. Component c is unknowns `bounds[c] .. bounds[c + 1] - 1` and
    factors `factor_bounds[c] ..`; a component without factors, if any, is the last one.
    """

    unknown_of: Ints
    first_cell: Ints
    own: tuple[Own, ...]
    factors: Factors
    mechanisms: tuple[Mechanism, ...]
    bounds: Ints
    factor_bounds: Ints

    @classmethod
    def of(cls, problem: Problem, /) -> Self:
        """The plain form of `problem`."""
        unknown_of = _merge(problem)
        count = int(unknown_of.max(initial=-1)) + 1
        mechanisms = (*(table.mechanism for table in problem.tables), IDENTITY)
        factors, own = _split(problem, unknown_of, mechanisms)
        label = _components(factors, count)
        rank = np.empty(count, dtype=np.int64)
        rank[np.argsort(label, kind="stable")] = np.arange(count)
        unknown_of = np.where(unknown_of >= 0, rank[unknown_of], -1) if count else unknown_of
        of_factor = label[factors.members[factors.indptr[:-1]]] if factors.count else np.zeros(0, np.int64)
        factors = replace(factors, members=rank[factors.members])
        parts = int(label.max(initial=-1)) + 1
        live = np.flatnonzero(unknown_of >= 0)
        first = np.full(count, problem.cells, dtype=np.int64)
        np.minimum.at(first, unknown_of[live], live)
        return cls(
            unknown_of=unknown_of,
            first_cell=first,
            own=tuple(_sorted(evidence, rank) for evidence in own),
            factors=factors.take(np.argsort(of_factor, kind="stable")),
            mechanisms=mechanisms,
            bounds=np.concatenate([[0], np.cumsum(np.bincount(label, minlength=parts))]),
            factor_bounds=np.concatenate([[0], np.cumsum(np.bincount(of_factor, minlength=parts))]),
        )

    @property
    def unknowns(self) -> int:
        """How many there are."""
        return len(self.first_cell)


def _merge(problem: Problem, /) -> Ints:
    """The unknown of every cell (-1 for a structural zero), after equal cells became one."""
    zero = problem.zeros
    label: Ints = np.arange(problem.cells)
    pairs = [np.zeros((2, 0), dtype=np.int64)]
    for identity in problem.identities:
        starts = identity.indptr[:-1][np.diff(identity.indptr) == 2]
        starts = starts[identity.signs[starts] != identity.signs[starts + 1]]
        pairs.append(np.stack([identity.indices[starts], identity.indices[starts + 1]]))
    a, b = np.concatenate(pairs, axis=1)
    if a.size:
        label = components(a, b, problem.cells)
        zero = tally(label, zero)[label] > 0
    unknown_of = np.full(problem.cells, -1, dtype=np.int64)
    unknown_of[~zero] = np.unique(label[~zero], return_inverse=True)[1]
    return unknown_of


def _split(
    problem: Problem, unknown_of: Ints, mechanisms: tuple[Mechanism, ...], /
) -> tuple[Factors, list[Own]]:
    """All rows over unknowns: those of one unknown as its own evidence, the rest as factors."""
    own: list[Own] = []
    linked: list[Factors] = []
    identity = len(mechanisms) - 1
    for k, table in enumerate(problem.tables):
        ones = np.ones(len(table.indices), dtype=np.int64)
        rows = _rows(unknown_of, table.indptr, table.indices, ones, table.values, k)
        _check_empty(rows, table.mechanism)
        alone = _single(rows)
        if alone.any():
            starts = rows.indptr[:-1][alone]
            own.append(
                Own(unknowns=rows.members[starts], values=rows.values[alone], mechanism=table.mechanism)
            )
        linked.append(rows.take(np.flatnonzero(~alone & (rows.sizes > 0))))
    for equations in problem.identities:
        zeros = np.zeros(len(equations.indptr) - 1)
        rows = _rows(unknown_of, equations.indptr, equations.indices, equations.signs, zeros, identity)
        linked.append(rows.take(np.flatnonzero(rows.sizes > 0)))
    exactly = np.array([one.exact for one in mechanisms])
    return _without_known(_stack(linked), own, exactly, int(unknown_of.max(initial=-1)) + 1)


def _without_known(
    factors: Factors, own: list[Own], exactly: Bools, unknowns: int, /
) -> tuple[Factors, list[Own]]:
    """The same with exact sums over what is not known to a number: what is known would only tie together what it does not link.

    A sum that is left with one unknown is known as well, and so on.
    """
    known = np.full(unknowns, np.nan)
    for evidence in own:
        if evidence.mechanism.exact:
            there = ~np.isnan(evidence.values)
            known[evidence.unknowns[there]] = evidence.values[there]
    open_ = exactly[factors.mechanism] & ~np.isnan(factors.values) if factors.count else np.zeros(0, bool)
    while (drop := open_[factors.rows] & ~np.isnan(known[factors.members])).any():
        gone = factors.rows[drop]
        less = tally(gone, factors.weights[drop] * known[factors.members[drop]], size=factors.count)
        changed = np.bincount(gone, minlength=factors.count) > 0
        sizes = factors.sizes - np.bincount(gone, minlength=factors.count)
        values = factors.values - less
        if (values[sizes == 0] != 0).any():
            raise contradiction()
        factors = Factors(
            indptr=np.concatenate([[0], np.cumsum(sizes)]),
            members=factors.members[~drop],
            weights=factors.weights[~drop],
            values=values,
            # What is left of a sum is no sum that a threshold was put to.
            mechanism=np.where(changed, len(exactly) - 1, factors.mechanism),
        )
        alone = (factors.sizes == 1) & changed
        if alone.any():
            starts = factors.indptr[:-1][alone]
            mine, left = factors.members[starts], factors.values[alone] / factors.weights[starts]
            if (left != np.rint(left)).any():
                raise contradiction()
            known[mine] = left
            own.append(Own(unknowns=mine, values=left, mechanism=IDENTITY))
        kept = np.flatnonzero(~alone & (factors.sizes > 0))
        factors, open_ = factors.take(kept), open_[kept]
    return factors, own


def _rows(
    unknown_of: Ints, indptr: Ints, indices: Ints, weights: Ints, values: Floats, mechanism: int, /
) -> Factors:
    """Rows over unknowns: zeros dropped, repeated members added up, cancelled ones dropped."""
    from scipy import sparse

    count = len(indptr) - 1
    row = np.repeat(np.arange(count), np.diff(indptr))
    unknown = unknown_of[indices]
    live = unknown >= 0
    shape = (count, int(unknown_of.max(initial=0)) + 1)
    table = sparse.coo_array((weights[live], (row[live], unknown[live])), shape=shape).tocsr()
    table.sum_duplicates()
    table.eliminate_zeros()
    return Factors(
        indptr=table.indptr.astype(np.int64),
        members=table.indices.astype(np.int64),
        weights=table.data.astype(np.int64),
        values=values,
        mechanism=np.full(count, mechanism, dtype=np.int64),
    )


def _single(rows: Factors, /) -> Bools:
    """Rows that are one unknown, taken once."""
    one: Bools = rows.sizes == 1
    one[one] = rows.weights[rows.indptr[:-1][one]] == 1
    return one


def _check_empty(rows: Factors, mechanism: Mechanism, /) -> None:
    """Sums of nothing must be able to show what was seen."""
    seen = np.unique(rows.values[rows.sizes == 0])
    if (mechanism.log_likelihood(seen, np.zeros(len(seen), np.int64)) == -np.inf).any():
        raise DataError(
            "a value is published for a sum in which every cell is structurally zero; the table or the "
            "structural zeros are wrong."
        )


def _stack(parts: list[Factors], /) -> Factors:
    none = np.zeros(0, dtype=np.int64)
    sizes = np.concatenate([none, *(part.sizes for part in parts)])
    return Factors(
        indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        members=np.concatenate([none, *(part.members for part in parts)]),
        weights=np.concatenate([none, *(part.weights for part in parts)]),
        values=np.concatenate([np.zeros(0), *(part.values for part in parts)]),
        mechanism=np.concatenate([none, *(part.mechanism for part in parts)]),
    )


def _components(factors: Factors, unknowns: int, /) -> Ints:
    """The component of each unknown; those in no factor share the last one."""
    size = unknowns + factors.count
    label = components(factors.members, unknowns + factors.rows, size)[:unknowns]
    linked = np.zeros(unknowns, dtype=bool)
    linked[factors.members] = True
    result = np.empty(unknowns, dtype=np.int64)
    distinct, place = np.unique(label[linked], return_inverse=True)
    result[linked] = place
    result[~linked] = len(distinct)
    return result


def _sorted(evidence: Own, rank: Ints, /) -> Own:
    unknowns = rank[evidence.unknowns]
    order = np.argsort(unknowns, kind="stable")
    return Own(unknowns=unknowns[order], values=evidence.values[order], mechanism=evidence.mechanism)
