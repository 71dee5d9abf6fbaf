"""Exact marginals of small sets: linked nodes one after another, and totals that share no cell many at a time.

The state is the vector of partial sums of the links that are open: begun, not complete. Adding
a node moves the state; a link that is complete weighs it and leaves it. One pass forward and
one back give the message to every node. The cost is that of the largest state, so the order
matters; it is chosen greedily.

A base with one margin is thousands of such totals. Taken one by one, most of the time would go
into setting them up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisegate.inference.linked.nodes import NodeLink, Nodes
from noisegate.inference.linked.part import Part
from noisegate.inference.linked.pmfs import Pmfs, spread
from noisegate.inference.linked.problem import Floats, Ints
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
