"""A close look is what the engine says of the same cells, and, table by table, what counting all combinations says."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

import noisegate
from noisegate import limits
from noisegate.assessment import CellState, Microscope, cell_states
from noisegate.errors import SpecError
from noisegate.inference import CellEstimates, Pmfs
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import enumerate_exact, make_world


def _inferred(folder, sizes, margins, *, threshold=6, seed=1):
    world = make_world(
        sizes,
        margins=margins,
        mechanism=Mechanism(law=DiscreteLaplace(0.7), threshold=threshold, rule="ge", zeros="perturb"),
        rng=np.random.default_rng(seed),
    )
    return noisegate.infer(world.write(folder), noise="laplace:0.7")


@pytest.fixture(scope="module")
def towns(tmp_path_factory):
    """Two margins, so that everything hangs together."""
    margins = {"by area": ["area"], "by age": ["age"]}
    return _inferred(tmp_path_factory.mktemp("towns"), {"age": 6, "area": 15}, margins)


@pytest.fixture(scope="module")
def areas(tmp_path_factory):
    """One margin: each area stands by itself, with few enough cells to count all combinations."""
    return _inferred(tmp_path_factory.mktemp("areas"), {"age": 3, "area": 12}, {"by area": ["area"]})


def test_with_everything_it_is_what_the_engine_says(towns):
    scope, found = Microscope(inference=towns), towns.posterior
    for cell in range(0, found.cells, 7):
        look = scope.look(cell)
        assert look.whole
        assert look.neighbours == found.cells
        assert abs(look.law.low - found.low[cell]) <= 1
        assert abs(look.law.high - found.high[cell]) <= 1
        assert look.law.mean == pytest.approx(found.mean[cell], abs=1e-6)


def test_it_solves_only_what_hangs_together(areas):
    look = Microscope(inference=areas).look(4)
    assert (look.neighbours, look.whole) == (3, True)


def leaning_to(mean, counts, law):
    """The law times exp(t * count), with the t that gives it a mean."""

    def leaning(t):
        found = law * np.exp(t * (counts - mean))
        return found / found.sum()

    return leaning(optimize.brentq(lambda t: leaning(t) @ counts - mean, -5, 5, xtol=1e-14))


def test_with_and_without_a_table_it_is_what_all_combinations_say(areas):
    known, scope, alone = areas.evidence.known, Microscope(inference=areas), 0
    hidden = np.flatnonzero(np.isnan(known.base.values))
    for cell in hidden[:6].tolist():
        row = known.margins[0].where.of(np.arange(known.layout.size))
        cells = np.flatnonzero(row == row[cell])
        for gone in ((), ("by area",)):
            at = place = int(np.searchsorted(cells, cell))
            evidence = replace(known, margins=() if gone else known.margins)
            exact = enumerate_exact(evidence.problem(cells), prior=areas.engine.prior(cells))
            law = scope.look(cell, without=gone).law
            counts, expected = exact.marginal(place)
            if not gone:
                # The engine moves cells so that all hidden ones add up to what totals leave.
                expected = leaning_to(areas.posterior.mean[cell], counts, expected)
                pmfs = Pmfs(low=counts[:1], start=np.array([0, len(counts)]), p=expected)
                exact, at = CellEstimates.from_pmfs(pmfs, level=exact.level), 0
            seen = dict(zip(law.counts.tolist(), law.probabilities.tolist(), strict=True))
            assert (
                max(abs(seen.get(n, 0.0) - p) for n, p in zip(counts.tolist(), expected, strict=True)) < 1e-6
            )
            assert (law.low, law.high) == (exact.low[at], exact.high[at])
        alone += scope.look(cell).law.high < scope.look(cell).alone.high
    assert alone, "the margin says something of at least one cell"


def test_witnesses_show_the_arithmetic(towns):
    known = towns.evidence.known
    cell = int(np.flatnonzero(np.isnan(known.base.values))[0])
    for one in Microscope(inference=towns).look(cell).witnesses:
        margin = next(m for m in known.margins if m.name == one.name)
        rows = margin.where.of(np.arange(known.layout.size))
        values = known.base.values[rows == rows[cell]]
        assert one.printed + one.hidden == len(values)
        assert one.printed_sum == np.nansum(values)


def test_a_table_left_out_can_be_taken_in_again(towns):
    scope = Microscope(inference=towns)
    whole = scope.look(0)
    less = scope.look(0, without=["by age"])
    back = next(one for one in less.witnesses if one.name == "by age")
    assert back.otherwise.to_json() == whole.law.to_json()
    assert [one.name for one in less.witnesses] == [one.name for one in whole.witnesses]


def test_where_too_much_hangs_together_only_whole_totals_of_the_cell_are_used(towns):
    with limits.override(close_cells=30):
        near = Microscope(inference=towns).look(3)
    assert not near.whole
    assert near.neighbours == 15 + 6 - 1
    assert near.law.low <= near.law.mode <= near.law.high
    with limits.override(close_cells=10):
        nearer = Microscope(inference=towns).look(3)
    assert nearer.neighbours == 6


def test_states_say_what_an_outsider_sees(towns):
    states, found = cell_states(towns), towns.posterior
    shown = ~np.isnan(towns.evidence.base.values)
    assert ((states == CellState.PUBLISHED) == shown).all()
    assert (
        found.p_zero[np.isin(states, [CellState.OCCUPIED, CellState.SHARP, CellState.EXACT])] < 0.01
    ).all()
    assert (found.p_zero[states == CellState.EMPTY] > 0.99).all()


@pytest.mark.parametrize(("cell", "without"), [(-1, ()), (90, ()), (0, ("nothing",))])
def test_what_is_not_there_cannot_be_looked_at(towns, cell, without):
    with pytest.raises(SpecError):
        Microscope(inference=towns).look(cell, without=without)
