"""The posterior of every cell of a problem, each part by the way that suits its size.

Exact marginals of small sets: linked nodes one after another, and totals that share no cell many at a time.

The state is the vector of partial sums of the links that are open: begun, not complete. Adding
a node moves the state; a link that is complete weighs it and leaves it. One pass forward and
one back give the message to every node. The cost is that of the largest state, so the order
matters; it is chosen greedily.

A base with one margin is thousands of such totals. Taken one by one, most of the time would go
into setting them up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from noisegate.inference.linked.model import Model
from noisegate.inference.linked.nodes import NodeLink, Nodes
from noisegate.inference.linked.part import Part, in_order, parts_of
from noisegate.inference.linked.pmfs import Pmfs, costs, spread
from noisegate.inference.linked.posterior import CellEstimates
from noisegate.inference.linked.problem import Bools, Flat, Floats, Ints, Prior, Problem
from noisegate.inference.linked.propagation import Schedule, propagate
from noisegate.laws import compiled

_MOST_NODES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class EliminationPlan:
    """An order of elimination and about how many multiplications it takes."""

    order: tuple[int, ...]
    cost: float

    @classmethod
    def of(cls, sizes: Ints, links: Sequence[NodeLink], /, *, limit: float) -> EliminationPlan:
        """A greedy order: next the node that leaves the smallest state. Gives up beyond `limit`."""
        links_of = _links_of(len(sizes), links)
        if len(sizes) > _MOST_NODES:
            return cls(order=(), cost=math.inf)
        left = [len(link.nodes) for link in links]
        reach: dict[int, float] = {}
        order: list[int] = []
        cost = 0.0
        todo = set(range(len(sizes)))
        while todo and cost <= limit:
            node = min(todo, key=lambda v: (_state(v, sizes, links_of, left, reach)[0], v))
            cost += 3 * _state(node, sizes, links_of, left, reach)[1] * float(sizes[node])
            for f, weight in links_of[node]:
                reach[f] = reach.get(f, 1.0) + abs(weight) * (float(sizes[node]) - 1)
                left[f] -= 1
                if left[f] == 0:
                    del reach[f]
            order.append(node)
            todo.remove(node)
        return cls(order=tuple(order), cost=cost if not todo else math.inf)


def _links_of(count: int, links: Sequence[NodeLink], /) -> list[list[tuple[int, int]]]:
    result: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for f, link in enumerate(links):
        for v, weight in zip(link.nodes, link.weights, strict=True):
            result[v].append((f, int(weight)))
    return result


def _state(
    v: int, sizes: Ints, links_of: list[list[tuple[int, int]]], left: list[int], reach: dict[int, float], /
) -> tuple[float, float]:
    """How large the state is after node `v` and its completed links, and how large before those."""
    grown = dict(reach)
    for f, weight in links_of[v]:
        grown[f] = grown.get(f, 1.0) + abs(weight) * (float(sizes[v]) - 1)
    done = {f for f, _ in links_of[v] if left[f] == 1}
    after = math.prod(size for f, size in grown.items() if f not in done)
    return after, math.prod(grown.values())


@dataclass(slots=True)
class _Step:
    """What one step of the forward pass leaves for the way back."""

    node: int
    before: Floats
    weights: list[int]
    opened: int
    closed: list[tuple[int, Floats]]


def eliminate(nodes: Nodes, plan: EliminationPlan, /) -> Floats:
    """The messages to all nodes from their links, laid out like `nodes.pmfs.p`."""
    pmfs = nodes.pmfs
    prior = pmfs.p * nodes.evidence
    messages = np.ones(len(pmfs.p))
    steps = _forward(nodes, plan, prior)
    back = np.ones(())
    for step in reversed(steps):
        for axis, evidence in reversed(step.closed):
            shape = [1] * (back.ndim + 1)
            shape[axis] = -1
            back = np.expand_dims(back, axis) * evidence.reshape(shape)
        at = slice(pmfs.start[step.node], pmfs.start[step.node + 1])
        p = prior[at]
        earlier = np.zeros_like(step.before)
        for k in range(len(p)):
            seen = back[_window(step, k, len(p))]
            messages[at][k] = (step.before * seen).sum()
            earlier += p[k] * seen
        messages[at] /= messages[at].max() or 1.0
        back = earlier.reshape(earlier.shape[: earlier.ndim - step.opened])
        back = back / (back.max() or 1.0)
    return messages


def _forward(nodes: Nodes, plan: EliminationPlan, prior: Floats, /) -> list[_Step]:
    links, links_of = nodes.links, _links_of(nodes.count, nodes.links)
    left = [len(link.nodes) for link in links]
    state: Floats = np.ones(())
    axes: list[int] = []
    steps: list[_Step] = []
    for v in plan.order:
        weight_of = dict(links_of[v])
        opened = [f for f in weight_of if f not in axes]
        axes += opened
        state = state.reshape((*state.shape, *([1] * len(opened))))
        weights = [weight_of.get(f, 0) for f in axes]
        step = _Step(node=v, before=state, weights=weights, opened=len(opened), closed=[])
        p = prior[nodes.pmfs.start[v] : nodes.pmfs.start[v + 1]]
        room = [state.shape[axis] + abs(w) * (len(p) - 1) for axis, w in enumerate(weights)]
        grown = np.zeros(room)
        for k in range(len(p)):
            grown[_window(step, k, len(p))] += p[k] * state
        for f in weight_of:
            left[f] -= 1
            if left[f] == 0:
                axis = axes.index(f)
                grown = np.tensordot(grown, links[f].evidence, axes=([axis], [0]))
                step.closed.append((axis, links[f].evidence))
                del axes[axis]
        state = grown / (grown.max() or 1.0)
        steps.append(step)
    return steps


def _window(step: _Step, k: int, size: int, /) -> tuple[slice, ...]:
    """Where the state lands when the node takes its k-th value."""
    shifts = [w * k if w >= 0 else -w * (size - 1 - k) for w in step.weights]
    return tuple(slice(s, s + n) for s, n in zip(shifts, step.before.shape, strict=True))


def solve_stars(part: Part, pmfs: Pmfs, /) -> Pmfs:
    """The marginals of all unknowns, which are distributed as `pmfs` but for what their totals say."""
    f = part.factors
    evidence = _evidence(part, pmfs)
    messages = np.ones(len(pmfs.p))
    _spread_all(
        f.indptr, f.members, f.weights, pmfs.start, pmfs.sizes, pmfs.p, evidence.start, evidence.p, messages
    )
    return pmfs.weighed(messages)


def _evidence(part: Part, pmfs: Pmfs, /) -> Pmfs:
    """The likelihood of every sum that each total can have."""
    f = part.factors
    low = pmfs.low[f.members]
    high = low + pmfs.sizes[f.members] - 1
    least = np.add.reduceat(np.where(f.weights > 0, f.weights * low, f.weights * high), f.indptr[:-1])
    most = np.add.reduceat(np.where(f.weights > 0, f.weights * high, f.weights * low), f.indptr[:-1])
    return part.likelihoods(f, least, most)


@compiled
def _spread_all(
    indptr: Ints,
    members: Ints,
    weights: Ints,
    start: Ints,
    sizes: Ints,
    p: Floats,
    evidence_start: Ints,
    evidence: Floats,
    messages: Floats,
    /,
) -> None:
    for k in range(len(indptr) - 1):
        a, b = indptr[k], indptr[k + 1]
        of = members[a:b]
        said = evidence[evidence_start[k] : evidence_start[k + 1]]
        spread(start[of], sizes[of], weights[a:b], p, said, messages)


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
    exact_nats, nats
        Counts less likely than e^{-nats} are left out, in exact parts and elsewhere.
    schedule
        When message passing stops.
    threads
        How many parts are worked on at the same time.
    """

    exact_limit: float = 2e7
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
    if part.sets is not None and options.exact_limit < np.inf:
        return _by_messages(part, prior, options)
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
    outcome = propagate(part, pmfs, schedule=options.schedule)
    found = pmfs.weighed(outcome.messages)
    if not outcome.settled:
        # Either may be right: what sums said last, or what unknowns are without them.
        found = replace(found, p=(found.p + pmfs.p) / 2)
    return Solved(
        pmfs=found,
        exact=False,
        iterations=outcome.iterations,
        change=outcome.change,
        settled=outcome.settled,
    )


def _exactly(part: Part, prior: Prior, options: Options, /) -> Solved | None:
    """The part solved by elimination, if that costs no more than the limit."""
    if part.size * 10 > options.exact_limit or part.size > 2000:
        return None
    pmfs = part.pmfs(prior, nats=options.exact_nats)
    merging = Nodes.merging_cost(part, pmfs.sizes)
    if merging > options.exact_limit:
        return None
    nodes = Nodes.of(part, pmfs)
    plan = EliminationPlan.of(nodes.pmfs.sizes, nodes.links, limit=options.exact_limit)
    if plan.cost + merging > options.exact_limit:
        return None
    return Solved(pmfs=nodes.marginals(pmfs, eliminate(nodes, plan)), exact=True)


def _copy_equal(model: Model, result: CellEstimates, /) -> None:
    """Cells that an identity makes equal have one posterior."""
    live = np.flatnonzero(model.unknown_of >= 0)
    first = model.first_cell[model.unknown_of[live]]
    for array in result.arrays:
        array[live] = array[first]


def _gather_marginals(model: Model, kept: list[Pmfs], /) -> Pmfs:
    """All marginals, in the order of the cells; a structural zero is 0 for certain."""
    zero = Pmfs.ones(np.zeros(1, np.int64), np.zeros(1, np.int64))
    found = Pmfs.joined([*kept, zero])
    return found.take(np.where(model.unknown_of >= 0, model.unknown_of, found.count - 1))
