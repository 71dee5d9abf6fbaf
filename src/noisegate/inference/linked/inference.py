"""The posterior of every cell of a problem, each part by the way that suits its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from noisegate.inference.linked.elimination import EliminationPlan, eliminate, solve_stars
from noisegate.inference.linked.model import Model
from noisegate.inference.linked.nodes import Nodes
from noisegate.inference.linked.part import Part, in_order, parts_of
from noisegate.inference.linked.pmfs import Pmfs, costs
from noisegate.inference.linked.posterior import CellEstimates
from noisegate.inference.linked.problem import Bools, Flat, Ints, Prior, Problem
from noisegate.inference.linked.propagation import Schedule, propagate

#: Called with the number of cells done and the number of all cells.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Where to be exact, and how hard to try.

    Parameters
    ----------
    exact_limit
        Totals, and parts of several, that take at most this many multiplications are solved
        exactly; 0 passes messages everywhere.
    narrow_members
        Sums of at most this many cells send messages by convolution, larger ones as Gaussians.
    exact_nats, nats
        Counts less likely than e^{-nats} are left out, in exact parts and elsewhere.
    schedule
        When message passing stops.
    threads
        How many parts are worked on at the same time.
    """

    exact_limit: float = 2e7
    narrow_members: int = 8
    narrow_limit: float = 3e6
    exact_nats: float = 30.0
    nats: float = 16.0
    schedule: Schedule = field(default_factory=Schedule)
    threads: int = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solved:
    """The marginals of one part, and how they were found."""

    pmfs: Pmfs
    exact: bool | Bools
    iterations: int = 0
    change: float = 0.0
    settled: bool = True


def infer(
    problem: Problem,
    /,
    *,
    prior: Prior | None = None,
    level: float = 0.95,
    keep: bool = False,
    options: Options | None = None,
    progress: Progress | None = None,
) -> CellEstimates:
    """What can be known about each cell of `problem`.

    Assumes that the tables were made as their mechanisms say, with independent noise, and that
    the prior describes the cells. The result does not depend on the number of threads.
    """
    chosen = options or Options()
    belief = Flat() if prior is None else prior
    model = Model.of(problem)
    result = CellEstimates.empty(problem.cells, level=level)
    kept: list[Pmfs] = []
    iterations, change, unsettled, done = 0, 0.0, 0, problem.cells - model.unknowns
    solved_parts = in_order(
        parts_of(model), lambda item: solve(item[1], belief, chosen), threads=chosen.threads
    )
    for (_, part), solved in solved_parts:
        result.write(part.cells, solved.pmfs, exact=solved.exact)
        if keep:
            kept.append(solved.pmfs)
        iterations, change = max(iterations, solved.iterations), max(change, solved.change)
        unsettled += 0 if solved.settled else part.size - int(np.sum(solved.exact))
        done += part.size
        if progress is not None:
            progress(done, problem.cells)
    _copy_equal(model, result)
    pmfs = _gather_marginals(model, kept) if keep else None
    return replace(result, iterations=iterations, change=change, unsettled=unsettled, pmfs=pmfs)


def solve(part: Part, prior: Prior, options: Options, /) -> Solved:
    """The marginals of one part."""
    if part.factors.count == 0:
        return Solved(pmfs=part.pmfs(prior, nats=options.exact_nats), exact=True)
    if part.stars:
        return _solve_totals(part, prior, options)
    exactly = _exactly(part, prior, options)
    return _by_messages(part, prior, options) if exactly is None else exactly


def _solve_totals(part: Part, prior: Prior, options: Options, /) -> Solved:
    """Totals that share no cell: by convolution those that cost no more than the limit, the rest by messages."""
    low, high = part.supports(prior, nats=options.exact_nats)
    f = part.factors
    cheap = costs(f.indptr, (high - low + 1)[f.members], f.weights) <= options.exact_limit
    if not cheap.any():
        return _by_messages(part, prior, options)
    which, easy = part.only(cheap)
    solved = solve_stars(easy, easy.pmfs(prior, nats=options.exact_nats))
    if cheap.all():
        return Solved(pmfs=solved, exact=True)
    others, hard = part.only(~cheap)
    rest = _by_messages(hard, prior, options)
    exact = np.zeros(part.size, dtype=bool)
    exact[which] = True
    order = np.argsort(np.concatenate([which, others]))
    return replace(rest, pmfs=Pmfs.joined([solved, rest.pmfs]).take(order), exact=exact)


def _by_messages(part: Part, prior: Prior, options: Options, /) -> Solved:
    pmfs = part.pmfs(prior, nats=options.nats).trimmed(1e-9)
    nodes = Nodes.of(part, pmfs, narrow=_narrow(part, pmfs, options))
    outcome = propagate(part, nodes, schedule=options.schedule)
    return Solved(
        pmfs=nodes.marginals(pmfs, outcome.messages),
        exact=False,
        iterations=outcome.iterations,
        change=outcome.change,
        settled=outcome.change <= options.schedule.tolerance,
    )


def _exactly(part: Part, prior: Prior, options: Options, /) -> Solved | None:
    """The part solved by elimination, if that costs no more than the limit."""
    if part.size * 10 > options.exact_limit or part.size > 2000:
        return None
    pmfs = part.pmfs(prior, nats=options.exact_nats)
    merging = Nodes.merging_cost(part, pmfs.sizes)
    if merging > options.exact_limit:
        return None
    nodes = Nodes.of(part, pmfs, narrow=np.ones(part.factors.count, dtype=bool))
    plan = EliminationPlan.of(nodes.pmfs.sizes, nodes.links, limit=options.exact_limit)
    if plan.cost + merging > options.exact_limit:
        return None
    return Solved(pmfs=nodes.marginals(pmfs, eliminate(nodes, plan)), exact=True)


def _narrow(part: Part, pmfs: Pmfs, options: Options, /) -> Bools:
    """Which factors have few enough members for convolution."""
    f = part.factors
    cheap = costs(f.indptr, pmfs.sizes[f.members], f.weights) <= options.narrow_limit
    return np.asarray((f.sizes <= options.narrow_members) & cheap)


def _copy_equal(model: Model, result: CellEstimates, /) -> None:
    """Cells that an identity makes equal have one posterior."""
    live = np.flatnonzero(model.unknown_of >= 0)
    first = model.first_cell[model.unknown_of[live]]
    for array in result.arrays:
        array[live] = array[first]


def _gather_marginals(model: Model, kept: list[Pmfs], /) -> Pmfs:
    """All marginals, in the order of the cells; a structural zero is 0 for certain."""
    low = np.concatenate([*(pmfs.low for pmfs in kept), [0]])
    sizes = np.concatenate([*(pmfs.sizes for pmfs in kept), [1]])
    flat = np.concatenate([*(pmfs.p for pmfs in kept), [1.0]])
    starts = np.cumsum(sizes) - sizes
    which = np.where(model.unknown_of >= 0, model.unknown_of, len(low) - 1)
    start = np.concatenate([[0], np.cumsum(sizes[which])]).astype(np.int64)
    places: Ints = np.repeat(starts[which] - start[:-1], sizes[which]) + np.arange(start[-1])
    return Pmfs(low=low[which], start=start, p=flat[places])
