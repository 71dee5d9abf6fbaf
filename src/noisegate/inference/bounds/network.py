"""Bounds in networks: every cell stands in at most two equations, with signs that can be turned into "out of one, into the other".

Such equations are the nodes of a graph and the cells its edges. One feasible flow is found; then a cell can be made larger if
and only if a path leads back through the rest of the graph. The path is a new solution, and shows what its cells can be.
Where there is no path, the equations of all nodes that can be reached add up to the proof. What one such sum leaves to all
edges that cross it bounds them too. Bounds are those of whole counts: flows with whole capacities are whole.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from noisegate.inference.bounds.equations import Equations, Ints, Mask, Signs
from noisegate.laws import compiled

#: So many cells are looked at between two looks at the clock.
_STRETCH = 512


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowBounds:
    """What a network says of its cells.

    Attributes
    ----------
    low, high
        Proven bounds of each cell.
    sharp
        Whether both are attained by a solution.
    cuts
        For each cell and end, shape (cells, 2), the set in `sets` that proves it; -1: the range it came with.
    sets
        Equations, by number in the network, that prove bounds: their sum does, each times its entry of `flips`.
    conflict
        The equations that contradict each other; None if there is a solution.
    """

    low: Ints
    high: Ints
    sharp: Mask
    cuts: Ints
    sets: tuple[Ints, ...]
    flips: Ints
    conflict: Ints | None


def as_graph(equations: Equations, cells: int, /) -> tuple[Ints, Ints, Ints] | None:
    """Tail and head of every cell, and the sign of each equation; None if these equations are no network.

    Node 0 is for cells in a single equation: it has no equation of its own, and equation r is node r + 1.
    """
    starts, rows, signs = equations.by_cell(cells)
    if np.diff(starts).max(initial=0) > 2:
        return None
    flips = np.zeros(len(equations), np.int64)
    if not _orient(equations.starts, equations.cells, equations.signs, starts, rows, signs, flips):
        return None
    tail, head = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    turned = signs * flips[rows]
    owner = np.repeat(np.arange(cells), np.diff(starts))
    tail[owner[turned > 0]] = rows[turned > 0] + 1
    head[owner[turned < 0]] = rows[turned < 0] + 1
    return tail, head, flips


@compiled
def _orient(
    starts: Ints, cells: Ints, signs: Signs, of_cell: Ints, rows: Ints, row_signs: Signs, flips: Ints, /
) -> bool:
    """Whether equations can be turned so that each cell has one sign in one and the other in the other; fills `flips`."""
    stack = np.empty(flips.size + 1, np.int64)
    for root in range(flips.size):
        if flips[root] != 0:
            continue
        flips[root] = 1
        stack[0] = root
        height = 1
        while height > 0:
            height -= 1
            row = stack[height]
            for at in range(starts[row], starts[row + 1]):
                cell = cells[at]
                for place in range(of_cell[cell], of_cell[cell + 1]):
                    other = rows[place]
                    if other == row:
                        continue
                    wanted = -flips[row] * signs[at] * row_signs[place]
                    if flips[other] == 0:
                        flips[other] = wanted
                        stack[height] = other
                        height += 1
                    elif flips[other] != wanted:
                        return False
    return True


class _Net(NamedTuple):
    """Edges from tail to head with the least and the largest flow, and the edges of each node from its start on."""

    tail: Ints
    head: Ints
    low: Ints
    high: Ints
    starts: Ints
    edges: Ints


class _Search(NamedTuple):
    """Room for searches: what each node was reached by, its step to the target, its mark, and the nodes in line."""

    via: Ints
    last_step: Ints
    mark: Ints
    queue: Ints


class _Known(NamedTuple):
    """What is known of the edges: least and largest flow seen, proven bounds, and the sets that prove them."""

    seen_low: Ints
    seen_high: Ints
    least: Ints
    most: Ints
    cuts: Ints


def flow_bounds(
    low: Ints,
    high: Ints,
    equations: Equations,
    graph: tuple[Ints, Ints, Ints],
    /,
    *,
    until: float,
) -> FlowBounds:
    """The bounds of every cell of a network whose graph is `graph`, by the clock's time `until` (`time.monotonic`)."""
    tail, head, flips = graph
    nodes, cells = len(equations) + 1, low.size
    need = np.zeros(nodes, np.int64)
    need[1:] = equations.right * flips
    need[0] = -need[1:].sum()
    starts, edges = _incidence(tail, head, nodes)
    net = _Net(tail=tail, head=head, low=low, high=high, starts=starts, edges=edges)
    room = _Search(*(np.zeros(nodes, np.int64) for _ in range(4)))
    flow, reached = low.copy(), np.zeros(nodes, np.bool_)
    feasible = _feasible(net, room, flow, need, reached)
    known = _Known(
        seen_low=flow.copy(),
        seen_high=flow.copy(),
        least=low.copy(),
        most=high.copy(),
        cuts=np.full((cells, 2), -1, np.int64),
    )
    sets: list[Ints] = []
    at, stamp = 0, int(room.mark.max(initial=0))
    while feasible and at < 2 * cells and time.monotonic() < until:
        end = min(at + _STRETCH, 2 * cells)
        at, stamp, proven = _walk(net, room, known, flow, reached, len(sets), at, end, stamp)
        if proven:
            sets.append(_rows_of(reached))
    return FlowBounds(
        low=known.least,
        high=known.most,
        sharp=feasible & (known.seen_low == known.least) & (known.seen_high == known.most),
        cuts=known.cuts,
        sets=tuple(sets),
        flips=flips,
        conflict=None if feasible else _rows_of(reached),
    )


def _rows_of(reached: Mask, /) -> Ints:
    """The equations whose sum a set of nodes stands for: its own, or all others if it holds node 0."""
    inside = ~reached if reached[0] else reached
    return np.flatnonzero(inside[1:])


def _incidence(tail: Ints, head: Ints, nodes: int, /) -> tuple[Ints, Ints]:
    """Where the edges of each node begin, and these edges."""
    ends = np.concatenate([tail, head])
    order = np.argsort(ends, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=nodes))]).astype(np.int64)
    return starts, order % tail.size


@compiled
def _mark_before(net: _Net, room: _Search, flow: Ints, target: int, barred: int, stamp: int, /) -> None:
    """Marks with -`stamp` the nodes one edge before the target: in wide tables that saves most of a search."""
    tail, head, low, high, starts, edges = net
    for at in range(starts[target], starts[target + 1]):
        edge = edges[at]
        enters = head[edge] == target
        if edge != barred and (flow[edge] < high[edge] if enters else flow[edge] > low[edge]):
            other = tail[edge] if enters else head[edge]
            room.mark[other] = -stamp
            room.last_step[other] = edge


@compiled
def _find(
    net: _Net, room: _Search, flow: Ints, root: int, target: int, barred: int, lacks: Ints, stamp: int, /
) -> int:
    """Breadth first from `root`, not over edge `barred`: the node found, -1 if none.

    Found is node `target`, or if that is -1 the first node for which `lacks` is below 0. Marks what it reaches with `stamp`.
    """
    if target >= 0:
        _mark_before(net, room, flow, target, barred, stamp)
    tail, head, low, high, starts, edges = (
        net  # by name: looking into a tuple for every edge costs more than the search
    )
    via, last_step, mark, queue = room
    via[root] = -1
    if mark[root] == -stamp:
        via[target] = last_step[root]
        return target
    mark[root], queue[0] = stamp, root
    first, last = 0, 1
    while first < last:
        node = queue[first]
        first += 1
        for at in range(starts[node], starts[node + 1]):
            edge = edges[at]
            leaves = tail[edge] == node
            other = head[edge] if leaves else tail[edge]
            if mark[other] == stamp or edge == barred:
                continue
            if flow[edge] >= high[edge] if leaves else flow[edge] <= low[edge]:
                continue
            via[other] = edge
            if mark[other] == -stamp:
                via[target] = last_step[other]
                return target
            mark[other] = stamp
            if target < 0 and lacks[other] < 0:
                return int(other)
            queue[last] = other
            last += 1
    return -1


@compiled
def _push(net: _Net, room: _Search, known: _Known, flow: Ints, found: int, limit: int, /) -> int:
    """How much was pushed along the path to `found`, at most `limit`; moves the flow and what was seen."""
    amount, node = limit, found
    while room.via[node] >= 0:
        edge = room.via[node]
        forward = net.head[edge] == node
        amount = min(amount, net.high[edge] - flow[edge] if forward else flow[edge] - net.low[edge])
        node = net.tail[edge] if forward else net.head[edge]
    node = found
    while room.via[node] >= 0:
        edge = room.via[node]
        forward = net.head[edge] == node
        flow[edge] += amount if forward else -amount
        known.seen_high[edge] = max(known.seen_high[edge], flow[edge])
        known.seen_low[edge] = min(known.seen_low[edge], flow[edge])
        node = net.tail[edge] if forward else net.head[edge]
    return amount


@compiled
def _feasible(net: _Net, room: _Search, flow: Ints, need: Ints, reached: Mask, /) -> bool:
    """Whether a flow meets the need of all nodes; makes it, or marks the nodes whose needs cannot be met."""
    lacks = need.copy()
    for edge in range(flow.size):
        lacks[net.tail[edge]] -= flow[edge]
        lacks[net.head[edge]] += flow[edge]
    for edge in range(flow.size):
        tail, head = net.tail[edge], net.head[edge]
        amount = min(net.high[edge] - flow[edge], lacks[tail], -lacks[head])
        if amount > 0:
            flow[edge] += amount
            lacks[tail] -= amount
            lacks[head] += amount
    unused = _Known(flow.copy(), flow.copy(), flow.copy(), flow.copy(), np.zeros((1, 2), np.int64))
    stamp = 0
    for node in range(need.size):
        while lacks[node] > 0:
            stamp += 1
            found = _find(net, room, flow, node, -1, -1, lacks, stamp)
            if found < 0:
                reached[:] = room.mark == stamp
                return False
            amount = _push(net, room, unused, flow, found, min(lacks[node], -lacks[found]))
            lacks[node] -= amount
            lacks[found] += amount
    return True


@compiled
def _walk(
    net: _Net,
    room: _Search,
    known: _Known,
    flow: Ints,
    reached: Mask,
    number: int,
    begin: int,
    end: int,
    stamp: int,
    /,
) -> tuple[int, int, bool]:
    """Looks at ends `begin` to `end` (2 cell: the upper one, 2 cell + 1: the lower one), until one is proven by a cut.

    Returns where it stopped, the last stamp, and whether there is a cut: `reached` holds it, and it is number `number`.
    """
    lacks = np.zeros(1, np.int64)
    for side in range(begin, end):
        edge, up = side // 2, side % 2 == 0
        root, target = (net.head[edge], net.tail[edge]) if up else (net.tail[edge], net.head[edge])
        while known.seen_high[edge] < known.most[edge] if up else known.seen_low[edge] > known.least[edge]:
            stamp += 1
            found = _find(net, room, flow, root, target, edge, lacks, stamp)
            if found < 0:
                reached[:] = room.mark == stamp
                # What leaves the set is as large as it can be and what enters as small, but for this edge: so much is left.
                left = flow[edge] - net.low[edge] if up else net.high[edge] - flow[edge]
                _bound_crossing(net, known, reached, number, left)
                return side + 1, stamp, True
            limit = net.high[edge] - flow[edge] if up else flow[edge] - net.low[edge]
            amount = _push(net, room, known, flow, found, limit)
            flow[edge] += amount if up else -amount
            known.seen_high[edge] = max(known.seen_high[edge], flow[edge])
            known.seen_low[edge] = min(known.seen_low[edge], flow[edge])
    return end, stamp, False


@compiled
def _bound_crossing(net: _Net, known: _Known, reached: Mask, number: int, left: int, /) -> None:
    """Bounds every edge into or out of a set, where all of them together can move by `left` only."""
    for edge in range(net.tail.size):
        from_set, into_set = reached[net.tail[edge]], reached[net.head[edge]]
        if into_set and not from_set and net.low[edge] + left < known.most[edge]:
            known.most[edge] = net.low[edge] + left
            known.cuts[edge, 1] = number
        if from_set and not into_set and net.high[edge] - left > known.least[edge]:
            known.least[edge] = net.high[edge] - left
            known.cuts[edge, 0] = number
