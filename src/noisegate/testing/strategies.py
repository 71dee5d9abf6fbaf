"""Hypothesis strategies: laws, mechanisms, domains, tables and whole worlds, any shape that is allowed.

Needs Hypothesis, which only tests use: `pip install hypothesis`. Nothing else of this package does.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from noisegate.laws import LAWS, Law, make_law
from noisegate.mechanisms import Mechanism, PublishedCells
from noisegate.tables import Dimension, Domain
from noisegate.testing.worlds import LinkedWorld, make_world

try:
    from hypothesis import strategies as st
except ImportError as missing:
    raise ImportError(
        "noisegate.testing.strategies needs Hypothesis; install it with: pip install hypothesis"
    ) from missing

#: Laws whose scale is a whole number.
_WHOLE = ("uniform", "random-rounding")
_LETTERS = "abcdefgh"


@st.composite
def laws(draw: st.DrawFn, /, *, names: Collection[str] = tuple(LAWS)) -> Law:
    """Any law that a person can name, of moderate scale."""
    name = draw(st.sampled_from(sorted(names)))
    scale = draw(st.integers(2, 6)) if name in _WHOLE else draw(st.floats(0.3, 5))
    return make_law(name, scale=scale)


@st.composite
def mechanisms(
    draw: st.DrawFn,
    /,
    *,
    law: st.SearchStrategy[Law] | None = None,
    thresholds: st.SearchStrategy[float | None] | None = None,
    zeros: Sequence[str] = ("keep", "perturb"),
) -> Mechanism:
    """Any mechanism, with a threshold or without one."""
    chosen: dict[str, Any] = {
        "rule": draw(st.sampled_from(["gt", "ge"])),
        "rounding": draw(st.sampled_from(["none", "nearest"])),
        "cut": draw(st.sampled_from(["before", "after"])),
        "zeros": draw(st.sampled_from(list(zeros))),
    }
    anything = st.none() | st.integers(0, 20) | st.floats(0, 20)
    return Mechanism(
        law=draw(laws() if law is None else law),
        threshold=draw(anything if thresholds is None else thresholds),
        **chosen,
    )


@st.composite
def domains(
    draw: st.DrawFn, /, *, most_dimensions: int = 3, most_values: int = 4, nested: bool = True
) -> Domain:
    """A product of dimensions, some of which may depend on the one before."""
    sizes = draw(st.lists(st.integers(1, most_values), min_size=1, max_size=most_dimensions))
    domain = Domain.product(
        Dimension(name=letter, values=tuple(f"{letter}{n}" for n in range(size)))
        for letter, size in zip(_LETTERS, sizes, strict=False)
    )
    for (parent, parents), (child, children) in pairwise(zip(_LETTERS, sizes, strict=False)):
        if nested and draw(st.booleans()):
            of = draw(st.lists(st.integers(0, parents - 1), min_size=children, max_size=children))
            domain = domain.nest(child, parent, np.array([range(children), of]))
    return domain


@st.composite
def tables(draw: st.DrawFn, size: int, /, *, most_count: int = 40) -> PublishedCells:
    """The cells of a table of `size` cells that are not empty, ascending, and a count for each."""
    cells = sorted(draw(st.sets(st.integers(0, size - 1), max_size=size)))
    counts = draw(st.lists(st.integers(1, most_count), min_size=len(cells), max_size=len(cells)))
    return PublishedCells(cells=np.array(cells, np.int64), values=np.array(counts, np.int64))


@st.composite
def worlds(draw: st.DrawFn, /, *, mechanism: st.SearchStrategy[Mechanism] | None = None) -> LinkedWorld:
    """A base with a margin by each of its dimensions, published by one mechanism; its raw counts are known."""
    return make_world(
        draw(domains()),
        mechanism=draw(mechanisms() if mechanism is None else mechanism),
        mean=draw(st.floats(0.1, 20)),
        spread=draw(st.floats(0.1, 2)),
        rng=np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
    )
