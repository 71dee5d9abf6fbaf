"""Reconciling stretch by stretch: the same estimates as whole, whole numbers that add up, and a way out where it cannot be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.margins import (
    NoisyTable,
    estimate_tables,
    is_separable,
    pieces,
    reconcile_tables,
    stretch_cells,
    stretches,
)
from noisegate.tables import Dimension, Domain, Margin

SIZES = {"day": 5, "tap": 2, "time": 3, "stop": 4}
DAYS = Domain.product(
    [Dimension(name=name, values=tuple(f"{name}{n}" for n in range(size))) for name, size in SIZES.items()]
)
kept = st.lists(st.sampled_from(["tap", "time", "stop"]), unique=True, min_size=1, max_size=2)


def noisy(margins, seed):
    """Noisy tables: the base, and every margin but the last, which is not measured."""
    rng = np.random.default_rng(seed)
    raw = rng.poisson(3, DAYS.size)
    base = NoisyTable(values=raw + rng.integers(-4, 5, DAYS.size), variance=6.0)
    measured = {}
    for name, margin in list(margins.items())[:-1] or list(margins.items()):
        sums = np.bincount(margin.of(np.arange(DAYS.size)), raw).astype(np.int64)
        measured[name] = NoisyTable(values=sums + rng.integers(-2, 3, sums.size), variance=2.0)
    return base, measured


@given(
    tables=st.lists(st.tuples(kept, st.booleans()), min_size=1, max_size=3),
    labels=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_estimates_are_those_of_the_whole_and_whole_numbers_add_up(tables, labels, seed):
    names = {tuple(["day", *own] if first else [*own, "day"]): None for own, first in tables}
    margins = {"-".join(one): Margin.over(DAYS, list(one)) for one in names}
    if len({frozenset(one) for one in names}) < len(names):
        return
    assert is_separable(DAYS, margins)
    base, measured = noisy(margins, seed)
    try:
        whole = estimate_tables(DAYS, margins, base=base, measured=measured)
    except SpecError:
        return  # margins that cannot all be rounded at once
    each = DAYS.size // 5
    with limits.override(dense_cells=labels * each):
        parts = list(stretches(DAYS, margins))
        assert [part.stop - part.start for part in parts[:-1]] == [stretch_cells(DAYS)] * (len(parts) - 1)
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    for part in parts:
        given_ = {
            "base": NoisyTable(values=base.values[part.start : part.stop], variance=base.variance),
            "measured": {
                name: NoisyTable(values=part.take(name, table.values), variance=table.variance)
                for name, table in measured.items()
            },
        }
        found = estimate_tables(part.domain, part.margins, **given_)
        np.testing.assert_allclose(found.base, whole.base[part.start : part.stop], atol=1e-9)
        counts = reconcile_tables(part.domain, part.margins, **given_)
        assert counts.base.min() >= 0
        for name, margin in part.margins.items():
            sums = np.bincount(margin.of(np.arange(part.domain.size)), counts.base)
            assert (counts.margins[name] == sums).all()
            put = np.zeros(margins[name].domain.size, np.int64)
            part.put(name, counts.margins[name], put)
            assert (part.take(name, put) == counts.margins[name]).all()
            assert put.sum() == counts.base.sum()


def test_what_cannot_be_cut_is_refused_with_the_way_out():
    """A margin over the days couples them, and so do merges; a stretch may be too large itself."""
    days = {"days": Margin.over(DAYS, ["day", "tap"])}
    with limits.override(reconciled_cells=50):
        pieces(DAYS, days)
        assert not is_separable(DAYS, {"all": Margin.over(DAYS, ["tap"])})
        with pytest.raises(
            SpecError, match=r"has 120 cells .* let every table keep day, the first dimension"
        ):
            pieces(DAYS, days | {"all": Margin.over(DAYS, ["tap"])})
        where = {"day": np.arange(5) < 2}
        merged = DAYS.merge("time", groups=["am", "am", ""], where=where)
        with pytest.raises(SpecError, match="without merges"):
            pieces(merged, {"days": Margin.over(merged, ["day", "tap"])})
    with limits.override(reconciled_cells=50, stretched_cells=99), pytest.raises(SpecError, match="derive"):
        pieces(DAYS, days)
    with limits.override(reconciled_cells=20), pytest.raises(SpecError, match="every cell of one day"):
        pieces(DAYS, days)
