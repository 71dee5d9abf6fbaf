"""Unknowns that always appear together, taken together: nodes, and the sums that link nodes.

Unknowns with the same place in every sum matter to the others only through their own sum. A
node is such a set. A sum over one node alone is evidence on that node; sums over the same nodes
are one link with two pieces of evidence. Nothing is approximated, and what is left has no loops
that come from nesting (hours in days) or from one total published twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noisegate.inference.linked.model import Factors
from noisegate.inference.linked.part import Part
from noisegate.inference.linked.pmfs import Pmfs, costs, spread
from noisegate.inference.linked.problem import Floats, Ints


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
