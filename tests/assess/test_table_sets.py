"""Which tables hurt together, against every set of tables tried, and against every list of counts there can be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import noisegate
from noisegate.inference import find_table_sets, link_cells
from noisegate.mechanisms import Marker
from noisegate.tables import Dimension, Domain, Margin, Table

#: Ways to put three values into two groups, and into three, and into one.
GROUPS = {
    "each": np.array([0, 1, 2]),
    "01|2": np.array([0, 0, 1]),
    "0|12": np.array([0, 1, 1]),
    "02|1": np.array([0, 1, 0]),
}
#: Counts go up to this in the lists that are tried; the true ones are 0 or 1, so that every way round is inside.
BOX = 3


def grouped(name, how):
    size = int(GROUPS[how].max()) + 1
    return Dimension(name=name, values=tuple(f"{how} {k}" for k in range(size))), GROUPS[how]


def margins_of(base):
    """Every table over rows, columns or both, with any grouping: the base last, all others before."""
    found = []
    for rows, columns in itertools.product([*GROUPS, None], [*GROUPS, None]):
        names = [name for name, how in (("row", rows), ("column", columns)) if how is not None]
        if not names or (rows, columns) == ("each", "each"):
            continue
        wider = {
            name: grouped(name, how)
            for name, how in (("row", rows), ("column", columns))
            if how not in (None, "each")
        }
        found.append((f"{rows}/{columns}", Margin.over(base, names, wider=wider)))
    return found


def world(n, rng):
    """A base of 3 x 3 cells and n - 1 margins of it, each with some counts hidden."""
    dims = [Dimension(name=name, values=tuple(f"{name} {k}" for k in range(3))) for name in ("row", "column")]
    base = Domain.product(dims)
    counts = rng.integers(0, 2, base.size)
    kept = [margins_of(base)[k] for k in rng.permutation(len(margins_of(base)))[: n - 1]]
    tables = [("base", None, base), *((name, margin, margin.domain) for name, margin in kept)]
    made = []
    for place, (name, margin, domain) in enumerate(tables):
        values = counts if margin is None else sums(margin, counts)
        hidden = np.flatnonzero(rng.random(domain.size) < (0.6 if place == 0 else 0.25))
        shown = np.setdiff1d(np.arange(domain.size), hidden)
        made.append(
            Table(
                name=name,
                domain=domain,
                margin=margin,
                cells=shown,
                values=values[shown],
                hidden=hidden,
                markers=(Marker(text="x", low=0, high=None),),
                marks=np.zeros(hidden.size, np.int64),
            )
        )
    return counts, made


def sums(margin, counts):
    return np.bincount(
        margin.of(np.arange(counts.size)), weights=counts, minlength=margin.domain.size
    ).astype(int)


def listed(counts, tables, cells):
    """For each cell the sets of tables that some other list of counts satisfies: no part of one gives the cell away."""
    lists = np.array(list(itertools.product(range(BOX + 1), repeat=counts.size)), np.int8)
    every, fits = [], []
    for table in tables:
        if table.margin is None:
            every.append(lists)
        else:
            groups = table.margin.of(np.arange(counts.size))
            every.append(np.stack([lists[:, groups == k].sum(axis=1) for k in range(table.size)], axis=1))
        fits.append((every[-1][:, table.cells] == table.values).all(axis=1))
    masks = sum(fit.astype(np.int64) << place for place, fit in enumerate(fits))
    columns = np.concatenate(every, axis=1)
    truth = columns[np.flatnonzero((lists == counts).all(axis=1))[0]]
    return {cell: np.unique(masks[columns[:, cell] != truth[cell]]) for cell in cells}


def brute(n, hides, costs):
    """The smallest sets for each cell, and the least cost of leaving tables out: every set is tried."""
    gives = {cell: [s for s in range(2**n) if not ((masks & s) == s).any()] for cell, masks in hides.items()}
    smallest = {}
    for cell, found in gives.items():
        least = min(s.bit_count() for s in found)
        smallest[cell] = {tuple(k for k in range(n) if s >> k & 1) for s in found if s.bit_count() == least}
    giving = set().union(*gives.values()) if gives else set()
    every = 2**n - 1
    free = [d for d in range(2**n) if every & ~d not in giving]
    return smallest, min(sum(c for k, c in enumerate(costs) if d >> k & 1) for d in free)


@pytest.mark.parametrize(("n", "seed"), [(2, 0), (3, 1), (5, 2), (8, 0), (8, 1), (10, 0), (12, 0), (12, 1)])
def test_the_smallest_sets_and_the_cheapest_to_leave_out_are_those_of_trying_all(n, seed):
    counts, tables = world(n, np.random.default_rng(1000 * n + seed))
    linked = link_cells(tables)
    found = find_table_sets(linked)
    assert found.looked_at == found.given_away
    hidden = np.concatenate(
        [table.hidden + offset for table, offset in zip(tables, linked.offsets, strict=False)]
    )
    hides = listed(counts, tables, hidden.tolist())
    # Nothing that is given away was overlooked.
    given = {cell: masks for cell, masks in hides.items() if not ((masks & (2**n - 1)) == 2**n - 1).any()}
    assert set(given) == {one.cell for one in found.cells}
    smallest, cost = brute(n, given, found.costs)
    assert {one.cell: set(one.sets) for one in found.cells} == smallest
    assert all(one.proven for one in found.cells)
    assert found.cost == cost


def test_some_worlds_need_several_tables():
    """The oracle above would agree with anything if every count were given away by one table alone."""
    sizes = [
        len(one.sets[0])
        for seed in range(3)
        for one in find_table_sets(link_cells(world(8, np.random.default_rng(8000 + seed))[1])).cells
    ]
    assert max(sizes) >= 2


def test_costs_can_be_said():
    _, tables = world(8, np.random.default_rng(8001))
    linked = link_cells(tables)
    plain = find_table_sets(linked)
    assert plain.drop
    dear = [1000.0 if k in plain.drop else 1.0 for k in range(8)]
    other = find_table_sets(linked, costs=dear)
    assert other.cost is not None
    assert other.cost <= sum(dear[k] for k in plain.drop)


def test_assess_names_the_tables_and_what_to_leave_out(tmp_path):
    """Five towns by sex with holes; the margin of towns fills them, that of sexes does not."""
    rng = np.random.default_rng(4)
    counts = rng.integers(12, 90, (12, 2))
    holes = {(k, 0) for k in (2, 5, 9)}
    rows = [
        (f"town {t}", "MF"[s], "x" if (t, s) in holes else counts[t, s])
        for t, s in itertools.product(range(12), range(2))
    ]
    (tmp_path / "cells.csv").write_text("town,sex,count\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    towns = "".join(f"town {t},{counts[t].sum()}\n" for t in range(12))
    (tmp_path / "towns.csv").write_text("town,count\n" + towns)
    found = noisegate.assess([tmp_path / "cells.csv", tmp_path / "towns.csv"], attacker=None)
    (finding,) = [one for one in found.findings if one.id == "tables-together"]
    assert "3 hidden counts are given away by tables together" in finding.title
    assert finding.numbers["sets"] == [{"tables": ["cells", "towns"], "cells": 3}]
    assert finding.numbers["drop"] == ["towns"]
    assert finding.baseline["counts"] == 0
    sets = noisegate.find_table_sets([tmp_path / "cells.csv", tmp_path / "towns.csv"])
    assert sets.drop_names == ("towns",)
