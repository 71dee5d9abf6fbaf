"""Exact marginals of small sets: linked nodes one after another, and totals that share no cell many at a time.

Unknowns with the same place in every sum matter to the others only through their own sum. A
*node* is such a set. A sum over one node alone is evidence on that node; sums over the same nodes
are one link with two pieces of evidence. Nothing is approximated, and what is left has no loops
that come from nesting (hours in days) or from one total published twice.

Nodes are eliminated one after another. The state is the vector of partial sums of the links that are open: begun, not complete. Adding
a node moves the state; a link that is complete weighs it and leaves it. One pass forward and
one back give the message to every node. The cost is that of the largest state, so the order
matters; it is chosen greedily.

A base with one margin is thousands of totals that share no cell. Taken one by one, most of the time would go
into setting them up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from noisegate.inference.linked.model import Factors
from noisegate.inference.linked.part import Part
from noisegate.inference.linked.pmfs import Pmfs, costs, spread
from noisegate.inference.linked.problem import Floats, Ints
from noisegate.laws import compiled

_MOST_NODES = 40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeLink:
    """A weighted sum of nodes; `evidence[a]` is the likelihood of the a-th possible sum."""

    nodes: Ints
    weights: Ints
    evidence: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nodes:
    """Sets of unknowns with the distribution of their sums, and what links them.

    Node v is the unknowns `unknowns[indptr[v]:indptr[v + 1]]`. `pmfs` is the distribution of its
    sum before any link; `evidence`, laid out like `pmfs.p`, what sums over it alone say.
    """

    indptr: Ints
    unknowns: Ints
    pmfs: Pmfs
    evidence: Floats
    links: tuple[NodeLink, ...]

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self.indptr) - 1

    @classmethod
    def of(cls, part: Part, pmfs: Pmfs, /) -> Nodes:
        """The nodes of `part`, whose unknowns are distributed as `pmfs`."""
        node_of = _signatures(part.factors, part.size)
        order = np.argsort(node_of, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(node_of))])
        sums = _sums(pmfs, indptr, order)
        factors = _over_nodes(part.factors, node_of, order[indptr[:-1]])
        evidence = np.ones(len(sums.p))
        links = _links(part, factors, sums, evidence)
        return cls(indptr=indptr, unknowns=order, pmfs=sums, evidence=evidence, links=links)

    @staticmethod
    def merging_cost(part: Part, sizes: Ints, /) -> float:
        """About how many multiplications it takes to add up unknowns that are in the same factors, and to undo it."""
        node_of = _signatures(part.factors, part.size)
        order = np.argsort(node_of, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(node_of))])
        several = np.diff(indptr) > 1
        return float(costs(indptr, sizes[order], np.ones(len(order), dtype=np.int64))[several].sum())

    def marginals(self, pmfs: Pmfs, messages: Floats, /) -> Pmfs:
        """The distribution of every unknown, given `messages` to the nodes from all links."""
        said = messages * self.evidence
        result = np.empty(len(pmfs.p))
        sizes = np.diff(self.indptr)
        single = self.unknowns[self.indptr[:-1][sizes == 1]]
        _copy(single, np.flatnonzero(sizes == 1), pmfs.start, self.pmfs.start, said, result)
        for v in np.flatnonzero(sizes > 1):
            own = self.unknowns[self.indptr[v] : self.indptr[v + 1]]
            at = self.pmfs.start[v]
            spread(
                pmfs.start[own],
                pmfs.sizes[own],
                np.ones(len(own), dtype=np.int64),
                pmfs.p,
                said[at : self.pmfs.start[v + 1]],
                result,
            )
        return pmfs.weighed(result)


def _copy(unknowns: Ints, nodes: Ints, to: Ints, start: Ints, said: Floats, result: Floats, /) -> None:
    """Hand the messages of nodes that are one unknown to that unknown."""
    sizes = start[nodes + 1] - start[nodes]
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    result[np.repeat(to[unknowns], sizes) + within] = said[np.repeat(start[nodes], sizes) + within]


def _signatures(f: Factors, size: int, /) -> Ints:
    """A node number for each unknown, equal where unknowns have one place in every factor."""
    node_of = np.arange(size)
    rows = f.rows
    if f.members.size:
        entries = np.lexsort((rows, f.members))
        member = f.members[entries]
        starts = np.flatnonzero(np.diff(member, prepend=-1))
        sizes = np.diff(starts, append=len(member))
        table = np.full((len(starts), 2 * int(sizes.max())), -1, dtype=np.int64)
        column = np.arange(len(member)) - np.repeat(starts, sizes)
        line = np.repeat(np.arange(len(starts)), sizes)
        table[line, 2 * column] = rows[entries]
        table[line, 2 * column + 1] = f.weights[entries]
        _, first, place = np.unique(table, axis=0, return_index=True, return_inverse=True)
        node_of[member[starts]] = member[starts][first][place.ravel()]
    return np.unique(node_of, return_inverse=True)[1].astype(np.int64)


def _sums(pmfs: Pmfs, indptr: Ints, order: Ints, /) -> Pmfs:
    """The distribution of the sum of each node."""
    counts = np.diff(indptr)
    low = np.add.reduceat(pmfs.low[order], indptr[:-1])
    width = np.add.reduceat(pmfs.sizes[order] - 1, indptr[:-1])
    result = Pmfs.ones(low, low + width)
    alone = np.flatnonzero(counts == 1)
    unknown = order[indptr[:-1][alone]]
    _copy(alone, unknown, result.start, pmfs.start, pmfs.p, result.p)
    for v in np.flatnonzero(counts > 1):
        total = np.ones(1)
        for unknown_in in order[indptr[v] : indptr[v + 1]]:
            total = np.convolve(total, pmfs.one(unknown_in))
        result.one(int(v))[:] = total
    return result


def _over_nodes(f: Factors, node_of: Ints, leaders: Ints, /) -> Factors:
    """The factors with nodes as members: each node stands once for all its unknowns."""
    leads = np.zeros(len(node_of), dtype=bool)
    leads[leaders] = True
    kept = leads[f.members]
    sizes = np.bincount(f.rows[kept], minlength=f.count)
    return Factors(
        indptr=np.concatenate([[0], np.cumsum(sizes)]),
        members=node_of[f.members[kept]],
        weights=f.weights[kept],
        values=f.values,
        mechanism=f.mechanism,
    )


def _links(part: Part, f: Factors, sums: Pmfs, evidence: Floats, /) -> tuple[NodeLink, ...]:
    """Factors as links; those over one node alone are multiplied into its evidence."""
    found: dict[bytes, NodeLink] = {}
    order = np.lexsort((f.members, f.rows))
    f = replace(f, members=f.members[order], weights=f.weights[order])
    tables = _tables(part, f, sums)
    bounds, starts = f.indptr.tolist(), tables.start.tolist()
    for k in range(f.count):
        row = slice(bounds[k], bounds[k + 1])
        nodes, weights = f.members[row], f.weights[row]
        said = tables.p[starts[k] : starts[k + 1]]
        if len(nodes) == 1:
            at = slice(sums.start[nodes[0]], sums.start[nodes[0] + 1])
            step = abs(int(weights[0]))
            evidence[at] *= said[::step] if weights[0] > 0 else said[::step][::-1]
            continue
        key = nodes.tobytes() + weights.tobytes()
        if key in found:
            said = said * found[key].evidence
        found[key] = NodeLink(nodes=nodes, weights=weights, evidence=said)
    return tuple(found.values())


def _tables(part: Part, f: Factors, sums: Pmfs, /) -> Pmfs:
    """The likelihood of every possible sum of each factor over nodes, scaled to a largest value of 1."""
    low = sums.low[f.members]
    high = low + sums.sizes[f.members] - 1
    starts, up = f.indptr[:-1], f.weights > 0
    least = np.add.reduceat(np.where(up, f.weights * low, f.weights * high), starts)
    most = np.add.reduceat(np.where(up, f.weights * high, f.weights * low), starts)
    return part.likelihoods(f, least, most)


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
