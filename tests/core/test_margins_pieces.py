"""Public domains with merges and impossible cells, cut into products and reconciled piece by piece."""

import numpy as np
import pytest

from noisegate.errors import DataError, SpecError
from noisegate.margins import NoisyTable, TableShape, best_split, estimate_tables, pieces, reconcile_tables
from noisegate.tables import Dimension, Domain, Margin

MODES = Dimension(name="mode", values=("train", "bus", "ferry"))
TIMES = Dimension(name="time", values=tuple(f"{h:02}" for h in range(8)))
STOPS = Dimension(name="stop", values=tuple("ABCDEF"))


def plain():
    return Domain.product([MODES, TIMES, STOPS])


def bus_by_postcode():
    return plain().merge("stop", groups=["x", "x", "x", "y", "y", "z"], where={"mode": mask(3, 1)})


def nights_merged():
    return plain().merge("time", groups=["night"] * 3 + [""] * 5, where={"time": mask(8, 0, 1, 2)})


def own_stops():
    return plain().nest("stop", "mode", [range(6), [0, 0, 0, 1, 1, 2]])


def own_stops_at_night():
    return nights_merged().nest("stop", "mode", [range(6), [0, 0, 0, 1, 1, 2]])


def mask(size, *places):
    return np.isin(np.arange(size), places)


DOMAINS = {
    "plain": plain,
    "bus by postcode": bus_by_postcode,
    "nights": nights_merged,
    "own stops": own_stops,
    "own stops at night": own_stops_at_night,
}
TABLES = {"time": ["mode", "time"], "stop": ["stop", "mode"], "mode": ["mode"]}


@pytest.fixture(params=DOMAINS)
def domain(request):
    return DOMAINS[request.param]()


def margins_of(domain, tables):
    return {name: Margin.over(domain, names) for name, names in tables.items()}


def sums(margin, base):
    out = np.zeros(margin.domain.size, np.int64)
    np.add.at(out, margin.of(np.arange(base.size)), base)
    return out


def test_pieces_cover_every_cell_of_every_table_once(domain):
    margins = margins_of(domain, TABLES)
    cells = np.arange(domain.size)
    seen, seen_in = np.zeros(domain.size, int), {n: np.zeros(m.domain.size, int) for n, m in margins.items()}
    for piece in pieces(domain, margins):
        dense = piece.take(cells)
        seen[dense.ravel()] += 1
        for name, margin in margins.items():
            numbers = piece.margin_cells[name]
            seen_in[name][numbers.ravel()] += 1
            expected = piece.shape.spread(numbers, piece.margin_axes[name])
            assert np.array_equal(margin.of(dense), np.broadcast_to(expected, dense.shape))
        back = np.full(domain.size, -1)
        piece.put(dense, back)
        assert np.array_equal(back[dense], dense)
    assert (seen == 1).all()
    assert all((count == 1).all() for count in seen_in.values())


def test_merged_nights_form_one_piece_and_modes_with_own_stops_several():
    assert [p.shape.sizes for p in pieces(nights_merged(), margins_of(nights_merged(), TABLES))] == [
        (3, 6, 6)
    ]
    found = pieces(own_stops(), margins_of(own_stops(), TABLES))
    assert sorted(p.shape.sizes for p in found) == [(1, 1, 8), (1, 2, 8), (1, 3, 8)]


def test_published_tables_add_up_in_every_domain(domain):
    rng = np.random.default_rng(9)
    margins = margins_of(domain, TABLES)
    raw = rng.poisson(rng.gamma(0.5, 20, domain.size))
    measured = {
        name: NoisyTable(
            values=sums(margins[name], raw) + rng.integers(-2, 3, margins[name].domain.size), variance=2.0
        )
        for name in ("time", "stop")
    }
    noisy = NoisyTable(values=raw + rng.integers(-6, 7, domain.size), variance=14.0)
    found = reconcile_tables(domain, margins, base=noisy, measured=measured)
    assert (found.base >= 0).all()
    for name, margin in margins.items():
        assert np.array_equal(found.margins[name], sums(margin, found.base))
        assert np.abs(found.margins[name] - sums(margin, raw)).mean() < 4


def test_margins_in_a_circle_and_huge_domains_are_refused_before_anything_is_spent():
    domain = plain()
    circle = {"a": ["mode", "time"], "b": ["time", "stop"], "c": ["mode", "stop"]}
    with pytest.raises(SpecError, match="go round in a circle"):
        pieces(domain, margins_of(domain, circle))
    huge = Domain.product(Dimension(name=f"d{i}", values=tuple(map(str, range(2000)))) for i in range(3))
    with pytest.raises(SpecError, match="Use 'margins: derive'"):
        pieces(huge, {})


def test_tables_of_the_wrong_length_are_refused():
    domain = plain()
    margins = margins_of(domain, TABLES)
    good = NoisyTable(values=np.zeros(domain.size, np.int64), variance=1.0)
    short = NoisyTable(values=np.zeros(3, np.int64), variance=1.0)
    with pytest.raises(DataError, match="one 64-bit integer for each of its 144 cells"):
        reconcile_tables(domain, margins, base=short, measured={})
    with pytest.raises(DataError, match="each of its 24 cells"):
        reconcile_tables(domain, margins, base=good, measured={"time": short})


def test_the_split_of_several_pieces_lies_between_those_of_each():
    axes = ("day", "time", "stop")
    tables = {"base": axes, "time": ("day", "time"), "stop": ("day", "stop")}
    small, large = (TableShape(axes=axes, sizes=(7, 96, n)) for n in (100, 2000))
    alone = [best_split(shape, tables) for shape in (small, large)]
    both = best_split([small, large], tables)
    assert sum(both.values()) == 1
    assert alone[0]["base"] < both["base"] <= alone[1]["base"]
    assert best_split([large, large], tables) == alone[1]


def test_estimates_are_what_whole_tables_are_close_to(domain):
    """Signed sums that agree with each other; far above zero they are the published counts up to rounding."""
    rng = np.random.default_rng(8)
    margins = margins_of(domain, TABLES)
    base = NoisyTable(values=rng.integers(200, 400, domain.size), variance=8.0)
    time = sums(margins["time"], base.values) + rng.integers(-5, 6, margins["time"].domain.size)
    measured = {"time": NoisyTable(values=time, variance=4.0)}
    found = estimate_tables(domain, margins, base=base, measured=measured)
    for name, margin in margins.items():
        added = np.bincount(
            margin.of(np.arange(domain.size)), weights=found.base, minlength=margin.domain.size
        )
        assert np.allclose(found.margins[name], added)
    whole = reconcile_tables(domain, margins, base=base, measured=measured)
    assert np.abs(whole.base - found.base).max() < 2
    assert not np.allclose(found.base, base.values)
    low = NoisyTable(values=base.values - 500, variance=8.0)
    assert estimate_tables(domain, margins, base=low, measured={}).base.max() < 0
