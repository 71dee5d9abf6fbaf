"""Sums of few nodes, exactly: messages by convolution, in the order of the links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisegate.inference.linked.convolution import spread
from noisegate.inference.linked.nodes import NodeLink
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.problem import Floats, Ints
from noisegate.laws import compiled

#: Probabilities below this are left out of convolutions.
_NEGLIGIBLE = 1e-14


@dataclass(slots=True, kw_only=True, eq=False)
class Narrow:
    """Links with their current messages; entry e is node `node[e]` as a member of a link.

    The message of entry e lies at `message[start[e]:start[e + 1]]`, as long as its node's window.
    """

    indptr: Ints
    node: Ints
    weight: Ints
    start: Ints
    message: Floats
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
            change = max(change, _renew(at, entry_start[e + 1] - at, base, message, cavity, renewed, damping))
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
    at, size = entry_start[e] - base, entry_start[e + 1] - entry_start[e]
    total = 0.0
    for k in range(size):
        value = p[start[v] + k]
        for q in range(node_indptr[v], node_indptr[v + 1]):
            other = node_entries[q]
            if other != e:
                value *= message[entry_start[other] + k]
        cavity[at + k] = value
        total += value
    if total > 0:
        for k in range(size):
            share = cavity[at + k] / total
            cavity[at + k] = share if share > _NEGLIGIBLE else 0.0


@compiled
def _renew(
    at: int, size: int, base: int, message: Floats, cavity: Floats, renewed: Floats, damping: float, /
) -> float:
    """Move a message towards its renewal; the change of the member's distribution it makes."""
    before, after, top = 0.0, 0.0, 0.0
    for k in range(size):
        new = renewed[at - base + k]
        if damping > 0:
            new = new ** (1 - damping) * message[at + k] ** damping
        renewed[at - base + k] = new
        top = max(top, new)
        before += cavity[at - base + k] * message[at + k]
        after += cavity[at - base + k] * new
    change = 0.0
    for k in range(size):
        if before > 0 and after > 0:
            change += abs(cavity[at - base + k] * (message[at + k] / before - renewed[at - base + k] / after))
        if top > 0:
            message[at + k] = renewed[at - base + k] / top
    return change / 2


@compiled
def _multiply(node: Ints, entry_start: Ints, message: Floats, start: Ints, result: Floats, /) -> None:
    for e in range(len(node)):
        for k in range(entry_start[e + 1] - entry_start[e]):
            result[start[node[e]] + k] *= message[entry_start[e] + k]
