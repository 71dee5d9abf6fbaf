"""Draws from the exact posterior of small linked tables under any law of the counts: the slow oracle that engines are judged against.

A Markov chain on whole counts. Each sweep draws every cell from its full conditional law (Gibbs), and moves people between two cells of one total
(Metropolis), which single cells can do only slowly. The chain starts at the truth: that is a draw from the posterior already, so nothing has to be thrown away. It knows the law
that made the counts, which no engine does; `enumerate_exact` checks it on very small problems.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import SpecError
from noisegate.inference import CellEstimates, Pmfs, Problem, SumEstimates
from noisegate.laws import as_rng, compiled
from noisegate.query import joint_sums, spans

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ChainPosterior:
    """What a chain found: `tables` has a row of counts for each kept sweep, `laws` the mean full conditional law of each cell."""

    tables: Ints
    laws: Pmfs

    def cells(self, level: float, /) -> CellEstimates:
        """The estimate of every cell."""
        return CellEstimates.from_pmfs(self.laws, level=level, keep=True)

    def sums(self, cells: Ints, groups: Ints, /, *, size: int, level: float) -> SumEstimates:
        """What the cells of each of `size` groups add up to."""
        drawn = joint_sums(self.tables, cells, groups, size=size)
        found = spans(drawn, level=level)
        return SumEstimates(
            level=level,
            mean=found.estimate,
            sd=drawn.std(axis=0),
            low=found.low.astype(np.int64),
            high=found.high.astype(np.int64),
        )

    def draws(self, n: int, /, *, rng: np.random.Generator) -> Iterator[Ints]:
        """`n` tables out of the kept ones."""
        for place in as_rng(rng).integers(0, len(self.tables), n).tolist():
            yield self.tables[place]


def run_chain(
    problem: Problem,
    /,
    *,
    log_prior: Floats,
    start: Ints,
    rng: np.random.Generator,
    sweeps: int = 4_000,
    keep: int = 1_000,
) -> ChainPosterior:
    """A chain on the cells of a problem.

    Parameters
    ----------
    log_prior
        The log probability of counts 0, 1, ... : one row for each cell, or one for all of them.
    start
        The true counts.
    sweeps, keep
        How long the chain is, and how many of its tables are kept.
    """
    if problem.identities:
        raise SpecError("a chain does not know identities; use enumerate_exact.")
    own = np.broadcast_to(log_prior, (problem.cells, log_prior.shape[-1])).copy()
    counts, most = np.arange(own.shape[1]), own.shape[1] - 1
    if (start > most).any():
        raise SpecError(f"the law of the counts ends at {most}, below the largest of them; make it longer.")
    rows: list[Ints] = []
    logs: list[Floats] = []
    for table in problem.tables:
        for row, value in enumerate(table.values.tolist()):
            members = table.indices[table.indptr[row] : table.indptr[row + 1]]
            if len(members) == 1:
                own[members[0]] += table.mechanism.log_likelihood(value, counts)
            else:
                rows.append(members.astype(np.int64))
                logs.append(table.mechanism.log_likelihood(value, np.arange(most * len(members) + 1)))
    if problem.structural_zero is not None:
        own[problem.structural_zero, 1:] = -np.inf
    factors = _Factors.of(rows, logs, problem.cells)
    every = max(sweeps // keep, 1)
    tables = np.zeros((sweeps // every, problem.cells), np.int64)
    laws = np.zeros(own.shape)
    _run(
        start.astype(np.int64).copy(),
        own,
        laws,
        *factors.arrays,
        tables,
        every,
        int(as_rng(rng).integers(2**31)),
    )
    kept = laws / laws.sum(axis=1, keepdims=True)
    sizes = np.arange(problem.cells + 1) * own.shape[1]
    pmfs = Pmfs(low=np.zeros(problem.cells, np.int64), start=sizes.astype(np.int64), p=kept.ravel())
    return ChainPosterior(tables=tables, laws=pmfs)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Factors:
    """Totals and their members, members and their totals, and the log likelihood of every sum of each total."""

    first: Ints
    members: Ints
    cell_first: Ints
    totals: Ints
    log_first: Ints
    logs: Floats

    @classmethod
    def of(cls, rows: list[Ints], logs: list[Floats], cells: int, /) -> _Factors:
        sizes = np.array([len(row) for row in rows], np.int64)
        members = np.concatenate([np.zeros(0, np.int64), *rows])
        total = np.repeat(np.arange(len(rows)), sizes)
        order = np.argsort(members, kind="stable")
        return cls(
            first=_starts(sizes),
            members=members,
            cell_first=_starts(np.bincount(members, minlength=cells)),
            totals=total[order].astype(np.int64),
            log_first=_starts(np.array([len(one) for one in logs], np.int64)),
            logs=np.concatenate([np.zeros(0), *logs]),
        )

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Floats]:
        return self.first, self.members, self.cell_first, self.totals, self.log_first, self.logs


def _starts(sizes: Ints, /) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


@compiled
def _moved(
    cell: int, step: int, cell_first: Ints, totals: Ints, log_first: Ints, logs: Floats, sums: Ints
) -> float:
    """Add so many to the totals of a cell; what that gains in log likelihood."""
    gain = 0.0
    for t in range(cell_first[cell], cell_first[cell + 1]):
        place = log_first[totals[t]] + sums[totals[t]]
        sums[totals[t]] += step
        gain += logs[place + step] - logs[place]
    return gain


@compiled
def _conditional(
    cell: int,
    x: Ints,
    own: Floats,
    weight: Floats,
    cell_first: Ints,
    totals: Ints,
    log_first: Ints,
    logs: Floats,
    sums: Ints,
) -> None:
    """The full conditional law of a cell, into `weight`."""
    top = -np.inf
    for k in range(len(weight)):
        value = own[cell, k]
        if value > -np.inf:
            for t in range(cell_first[cell], cell_first[cell + 1]):
                value += logs[log_first[totals[t]] + sums[totals[t]] - x[cell] + k]
        weight[k] = value
        top = max(top, value)
    whole = 0.0
    for k in range(len(weight)):
        weight[k] = np.exp(weight[k] - top)
        whole += weight[k]
    for k in range(len(weight)):
        weight[k] /= whole


@compiled
def _drawn(weight: Floats, left: float) -> int:
    """The count at which the probabilities add up to `left`."""
    at = 0
    while at < len(weight) - 1 and left >= weight[at]:
        left -= weight[at]
        at += 1
    return at


@compiled
def _exchange(
    x: Ints,
    own: Floats,
    first: Ints,
    members: Ints,
    cell_first: Ints,
    totals: Ints,
    log_first: Ints,
    logs: Floats,
    sums: Ints,
) -> None:
    """Try to move some people from one cell of a total to another."""
    f = np.random.randint(0, len(first) - 1)  # noqa: NPY002 - the generator of compiled code
    size = first[f + 1] - first[f]
    i = members[first[f] + np.random.randint(0, size)]  # noqa: NPY002
    j = members[first[f] + np.random.randint(0, size)]  # noqa: NPY002
    step = np.random.randint(1, 8)  # noqa: NPY002
    if i == j or x[i] + step >= own.shape[1] or x[j] - step < 0:
        return
    gain = own[i, x[i] + step] - own[i, x[i]] + own[j, x[j] - step] - own[j, x[j]]
    gain += _moved(i, step, cell_first, totals, log_first, logs, sums)
    gain += _moved(j, -step, cell_first, totals, log_first, logs, sums)
    if np.log(np.random.random()) < gain:  # noqa: NPY002
        x[i] += step
        x[j] -= step
    else:
        _moved(i, -step, cell_first, totals, log_first, logs, sums)
        _moved(j, step, cell_first, totals, log_first, logs, sums)


@compiled
def _run(
    x: Ints,
    own: Floats,
    laws: Floats,
    first: Ints,
    members: Ints,
    cell_first: Ints,
    totals: Ints,
    log_first: Ints,
    logs: Floats,
    tables: Ints,
    every: int,
    seed: int,
    /,
) -> None:
    np.random.seed(seed)  # noqa: NPY002
    sums = np.zeros(len(first) - 1, np.int64)
    for f in range(len(sums)):
        for m in range(first[f], first[f + 1]):
            sums[f] += x[members[m]]
    weight = np.zeros(own.shape[1])
    for sweep in range(len(tables) * every):
        for i in range(len(x)):
            _conditional(i, x, own, weight, cell_first, totals, log_first, logs, sums)
            laws[i] += weight
            at = _drawn(weight, np.random.random())  # noqa: NPY002
            for t in range(cell_first[i], cell_first[i + 1]):
                sums[totals[t]] += at - x[i]
            x[i] = at
        for _ in range(len(x) if len(sums) else 0):
            _exchange(x, own, first, members, cell_first, totals, log_first, logs, sums)
        if sweep % every == every - 1:
            tables[sweep // every] = x
