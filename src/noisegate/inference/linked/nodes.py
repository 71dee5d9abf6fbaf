"""Unknowns that always appear together, taken together: nodes, and the sums that link nodes.

Unknowns with the same place in every sum matter to the others only through their own sum. A
node is such a set. A sum over one node alone is evidence on that node; sums over the same nodes
are one link with two pieces of evidence. Nothing is approximated, and what is left has no loops
that come from nesting (hours in days) or from one total published twice.

Sums of few nodes, exactly: messages by convolution, in the order of the links.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from noisegate.inference.linked.model import Factors
from noisegate.inference.linked.part import Part
from noisegate.inference.linked.pmfs import Pmfs, costs, spread
from noisegate.inference.linked.problem import Bools, Floats, Ints
from noisegate.laws import compiled


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
    sum before any link; `evidence`, laid out like `pmfs.p`, what sums over it alone say. `links`
    are narrow; `wide` are the remaining factors, with nodes as members.
    """

    indptr: Ints
    unknowns: Ints
    pmfs: Pmfs
    evidence: Floats
    links: tuple[NodeLink, ...]
    wide: Factors

    @property
    def count(self) -> int:
        """How many nodes there are."""
        return len(self.indptr) - 1

    @classmethod
    def of(cls, part: Part, pmfs: Pmfs, /, *, narrow: Bools) -> Nodes:
        """The nodes of `part`, whose unknowns are distributed as `pmfs`; `narrow` flags factors."""
        if not narrow.any():
            return cls._apart(part, pmfs)
        node_of = _signatures(part.factors, part.size, narrow)
        order = np.argsort(node_of, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(node_of))])
        sums = _sums(pmfs, indptr, order)
        factors = _over_nodes(part.factors, node_of, order[indptr[:-1]])
        evidence = np.ones(len(sums.p))
        links = _links(part, factors, sums, evidence, narrow)
        return cls(
            indptr=indptr,
            unknowns=order,
            pmfs=sums,
            evidence=evidence,
            links=links,
            wide=factors.take(np.flatnonzero(~narrow)),
        )

    @staticmethod
    def merging_cost(part: Part, sizes: Ints, /) -> float:
        """About how many multiplications it takes to add up unknowns that are in the same factors, and to undo it."""
        node_of = _signatures(part.factors, part.size, np.ones(part.factors.count, dtype=bool))
        order = np.argsort(node_of, kind="stable")
        indptr = np.concatenate([[0], np.cumsum(np.bincount(node_of))])
        several = np.diff(indptr) > 1
        return float(costs(indptr, sizes[order], np.ones(len(order), dtype=np.int64))[several].sum())

    @classmethod
    def _apart(cls, part: Part, pmfs: Pmfs, /) -> Nodes:
        """Every unknown is a node and every factor is wide."""
        return cls(
            indptr=np.arange(part.size + 1),
            unknowns=np.arange(part.size),
            pmfs=pmfs,
            evidence=np.ones(len(pmfs.p)),
            links=(),
            wide=part.factors,
        )

    def marginals(self, pmfs: Pmfs, messages: Floats, /) -> Pmfs:
        """The distribution of every unknown, given `messages` to the nodes from all links."""
        said = messages * self.evidence
        if self.pmfs is pmfs:
            return pmfs.weighed(said)
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


def _signatures(f: Factors, size: int, narrow: Bools, /) -> Ints:
    """A node number for each unknown, equal where unknowns have one place in every factor.

    Unknowns in no narrow factor are not put together: nothing is won by it.
    """
    node_of = np.arange(size)
    rows = f.rows
    touched = np.zeros(size, dtype=bool)
    touched[f.members[narrow[rows]]] = True
    entries = np.flatnonzero(touched[f.members])
    if entries.size:
        entries = entries[np.lexsort((rows[entries], f.members[entries]))]
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


def _links(part: Part, f: Factors, sums: Pmfs, evidence: Floats, narrow: Bools, /) -> tuple[NodeLink, ...]:
    """Narrow factors as links; those over one node alone are multiplied into its evidence."""
    found: dict[bytes, NodeLink] = {}
    if not narrow.any():
        return ()
    f = f.take(np.flatnonzero(narrow))
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


#: Probabilities below this are left out of convolutions.
_NEGLIGIBLE = 1e-14


@dataclass(slots=True, kw_only=True, eq=False)
class Narrow:
    """Links with their current messages; entry e is node `node[e]` as a member of a link.

    The message of entry e lies at `message[start[e]:start[e + 1]]`, as long as its node's window, and its logs likewise.
    """

    indptr: Ints
    node: Ints
    weight: Ints
    start: Ints
    message: Floats
    logs: Floats
    evidence_start: Ints
    evidence: Floats
    node_indptr: Ints
    node_entries: Ints

    @classmethod
    def of(cls, links: Sequence[NodeLink], pmfs: Pmfs, /) -> Narrow:
        """Links whose messages say nothing yet."""
        none = np.zeros(0, dtype=np.int64)
        node = np.concatenate([none, *(link.nodes for link in links)])
        sizes = np.array([len(link.nodes) for link in links], dtype=np.int64)
        lengths = np.array([len(link.evidence) for link in links], dtype=np.int64)
        start = np.concatenate([[0], np.cumsum(pmfs.sizes[node])]).astype(np.int64)
        return cls(
            indptr=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            node=node,
            weight=np.concatenate([none, *(link.weights for link in links)]),
            start=start,
            message=np.ones(int(start[-1])),
            logs=np.zeros(int(start[-1])),
            evidence_start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            evidence=np.concatenate([np.zeros(0), *(link.evidence for link in links)]),
            node_indptr=np.concatenate([[0], np.cumsum(np.bincount(node, minlength=pmfs.count))]),
            node_entries=np.argsort(node, kind="stable"),
        )

    @property
    def count(self) -> int:
        """How many links there are."""
        return len(self.indptr) - 1

    def sweep(self, start: Ints, p: Floats, /, *, damping: float) -> float:
        """Renew the messages of every link in turn, given node weights `p` from elsewhere.

        Returns the largest change of a node's distribution, in total variation.
        """
        return _sweep(
            self.indptr,
            self.node,
            self.weight,
            self.start,
            self.message,
            self.logs,
            self.evidence_start,
            self.evidence,
            self.node_indptr,
            self.node_entries,
            start,
            p,
            damping,
        )

    def product(self, start: Ints, size: int, /) -> Floats:
        """The product of all messages to each node, laid out like the nodes' distributions."""
        result = np.ones(size)
        _multiply(self.node, self.start, self.message, start, result)
        return result


@compiled
def _sweep(
    indptr: Ints,
    node: Ints,
    weight: Ints,
    entry_start: Ints,
    message: Floats,
    logs: Floats,
    evidence_start: Ints,
    evidence: Floats,
    node_indptr: Ints,
    node_entries: Ints,
    start: Ints,
    p: Floats,
    damping: float,
    /,
) -> float:
    change = 0.0
    for link in range(len(indptr) - 1):
        a, b = indptr[link], indptr[link + 1]
        base = entry_start[a]
        size = entry_start[b] - base
        cavity = np.empty(size)
        renewed = np.empty(size)
        for e in range(a, b):
            _cavity(e, node, entry_start, message, node_indptr, node_entries, start, p, cavity, base)
        spread(
            entry_start[a:b] - base,
            entry_start[a + 1 : b + 1] - entry_start[a:b],
            weight[a:b],
            cavity,
            evidence[evidence_start[link] : evidence_start[link + 1]],
            renewed,
        )
        for e in range(a, b):
            at = entry_start[e]
            size = entry_start[e + 1] - at
            change = max(change, _renew(at, size, base, message, logs, cavity, renewed, damping))
    return change


@compiled
def _cavity(
    e: int,
    node: Ints,
    entry_start: Ints,
    message: Floats,
    node_indptr: Ints,
    node_entries: Ints,
    start: Ints,
    p: Floats,
    cavity: Floats,
    base: int,
    /,
) -> None:
    """The distribution of a member without the message of this link, scaled to sum to one."""
    v = node[e]
    size = entry_start[e + 1] - entry_start[e]
    own, mine = p[start[v] :], cavity[entry_start[e] - base :]
    for k in range(size):
        mine[k] = own[k]
    for q in range(node_indptr[v], node_indptr[v + 1]):
        other = node_entries[q]
        if other != e:
            said = message[entry_start[other] :]
            for k in range(size):
                mine[k] *= said[k]
    total = 0.0
    for k in range(size):
        total += mine[k]
    if total > 0:
        for k in range(size):
            share = mine[k] / total
            mine[k] = share if share > _NEGLIGIBLE else 0.0


@compiled
def _renew(
    at: int,
    size: int,
    base: int,
    message: Floats,
    logs: Floats,
    cavity: Floats,
    renewed: Floats,
    damping: float,
    /,
) -> float:
    """Move a message towards its renewal, along its logs; the change of the member's distribution it makes."""
    before, after, top = 0.0, 0.0, 0.0
    old, own, fresh, others = message[at:], logs[at:], renewed[at - base :], cavity[at - base :]
    for k in range(size):
        own[k] = (1 - damping) * np.log(fresh[k]) + (damping * own[k] if damping > 0 else 0.0)
        fresh[k] = np.exp(own[k])
        top = max(top, fresh[k])
        before += others[k] * old[k]
        after += others[k] * fresh[k]
    change = 0.0
    if before > 0 and after > 0:
        for k in range(size):
            change += abs(others[k] * (old[k] / before - fresh[k] / after))
    scale = np.log(top)
    for k in range(size):
        if top > 0:
            old[k] = fresh[k] / top
            own[k] -= scale
        else:
            own[k] = np.log(old[k])
    return change / 2


@compiled
def _multiply(node: Ints, entry_start: Ints, message: Floats, start: Ints, result: Floats, /) -> None:
    for e in range(len(node)):
        for k in range(entry_start[e + 1] - entry_start[e]):
            result[start[node[e]] + k] *= message[entry_start[e] + k]
