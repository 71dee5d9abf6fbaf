"""Totals that share no cell, many at a time: each solved exactly, by convolution.

A base with one margin is thousands of such totals. Taken one by one, most of the time would go
into setting them up.
"""

from __future__ import annotations

import numpy as np

from noisegate.inference.linked.convolution import spread
from noisegate.inference.linked.part import Part
from noisegate.inference.linked.pmfs import Pmfs
from noisegate.inference.linked.problem import Floats, Ints
from noisegate.laws import compiled


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
