"""Timetables, cells and merges: everything against loops that do the same one call at a time."""

from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate.errors import InternalError, SpecError
from noisegate.tables import Dimension, Domain
from noisegate.timetable import (
    EXACT,
    NO_TIME,
    OFF,
    ON,
    ROLES,
    Running,
    Runs,
    TableGrid,
    Tolerance,
    Visits,
    by_hour,
    chances,
    link,
    suggest_merges,
    two_stop_services,
    unique_cells,
    vehicles_of_cells,
)

DAY_S = 86_400
FIRST = 17_007
DAYS, MODES, STOPS = 2, 2, 4
BIN_S = 4 * 3600


def make_visits(calls, *, margin_s=7200, slack=None, modes=None):
    """Visits from lists of runs; each run is a list of (stop, arrival_s, departure_s)."""
    lengths = [len(run) for run in calls]
    count = len(calls)
    zeros = np.zeros(count, dtype=np.int32)
    runs = Runs(
        trip=np.arange(count, dtype=np.int32),
        route=zeros,
        mode=np.array(modes if modes is not None else [0] * count, dtype=np.int32),
        day=np.full(count, FIRST, dtype=np.int32),
        offset_s=zeros,
        slack_s=np.array(slack if slack is not None else [0] * count, dtype=np.int32),
        calls=np.array(lengths, dtype=np.int32),
    )
    flat = [call for run in calls for call in run]
    position = np.array([p for n in lengths for p in range(n)], dtype=np.int32)
    last = np.array([p == n - 1 for n in lengths for p in range(n)], dtype=bool)
    columns = np.array(flat, dtype=np.int32).reshape(-1, 3)
    return Visits(
        runs=runs,
        days=FIRST + np.arange(DAYS),
        margin_s=margin_s,
        run=np.repeat(np.arange(count), lengths).astype(np.int32),
        stop=columns[:, 0],
        arrival_s=columns[:, 1],
        departure_s=columns[:, 2],
        position=position,
        last=last,
        boards=~last,
        alights=position > 0,
    )


def make_domain(roles, *, bins=DAY_S // BIN_S):
    sizes = {"mode": MODES, "date": DAYS, "tap": 2, "time": bins, "location": 3}
    return Domain.product(
        [Dimension(name=role, values=tuple(f"{role} {n}" for n in range(sizes[role]))) for role in roles]
    )


def make_grid(domain, roles, *, bin_s=BIN_S, places=None):
    where = np.array([[0, 1, 2, -1], [0, 0, 1, 2]], dtype=np.int32) if places is None else places
    return TableGrid.of_domain(
        domain,
        roles=roles,
        days=FIRST + np.arange(DAYS),
        starts_s=np.arange(DAY_S // bin_s) * bin_s if "time" in roles else np.zeros(1, dtype=np.int64),
        bin_s=bin_s if "time" in roles else DAY_S,
        taps=(0, 1) if "tap" in roles else (0, 0),
        modes=np.arange(len(where)) if "mode" in roles else np.zeros(len(where), dtype=np.int64),
        places=where if "location" in roles else np.zeros_like(where),
    )


def slow_link(visits, grid, domain, tolerances):
    """Cells and their visits, second by second at the borders of bins."""
    found = defaultdict(set)
    for v in range(len(visits)):
        mode, run = int(visits.mode[v]), int(visits.run[v])
        for tap, able, at in (
            (ON, visits.boards[v], visits.departure_s[v]),
            (OFF, visits.alights[v], visits.arrival_s[v]),
        ):
            if not able:
                continue
            wide = int(visits.runs.slack_s[run])
            low = int(at) - tolerances[mode].before_s(tap) - wide
            high = int(at) + tolerances[mode].after_s(tap) + wide
            for day, bin_ in product(range(DAYS), range(DAY_S // grid.bin_s)):
                start = day * DAY_S + bin_ * grid.bin_s
                if start <= high and low < start + grid.bin_s and grid.places[mode, visits.stop[v]] >= 0:
                    values = {
                        "mode": mode,
                        "date": day,
                        "tap": tap,
                        "time": bin_,
                        "location": int(grid.places[mode, visits.stop[v]]),
                    }
                    cell = int(domain.locate(*([values[role]] for role in grid.roles))[0])
                    found[cell].add(v)
    return found


run_lists = st.lists(
    st.lists(
        st.tuples(st.integers(0, STOPS - 1), st.integers(-7000, 2 * DAY_S + 7000), st.integers(0, 3000)),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=5,
)
tolerances = st.builds(
    Tolerance,
    on_before_s=st.sampled_from([0, 1, 900, 7200]),
    on_after_s=st.sampled_from([0, 1, 3600]),
    off_before_s=st.sampled_from([0, 60]),
    off_after_s=st.sampled_from([0, 5000]),
)
role_lists = st.permutations(ROLES).flatmap(
    lambda roles: st.integers(1, len(roles)).map(lambda n: tuple(roles[:n]))
)


@given(
    calls=run_lists,
    roles=role_lists,
    tolerance=st.tuples(tolerances, tolerances),
    merged=st.booleans(),
    data=st.data(),
)
def test_linking_is_the_same_as_looking_at_every_bin(calls, roles, tolerance, merged, data):
    modes = data.draw(st.lists(st.integers(0, MODES - 1), min_size=len(calls), max_size=len(calls)))
    slack = data.draw(st.lists(st.sampled_from([0, 600]), min_size=len(calls), max_size=len(calls)))
    visits = make_visits([[(s, a, a + d) for s, a, d in run] for run in calls], modes=modes, slack=slack)
    domain = make_domain(roles)
    if merged and "time" in roles:
        domain = domain.merge("time", groups=["early"] * 3 + ["late"] * 3, where={})
    grid = make_grid(domain, roles)
    linkage = link(visits, grid=grid, tolerance=tolerance)
    expected = slow_link(visits, grid, domain, tolerance)
    assert linkage.cells.tolist() == sorted(expected)
    for cell in expected:
        assert set(linkage.visits_of(cell).tolist()) == expected[cell]
        vehicles = {int(visits.run[v]) for v in expected[cell]}
        assert linkage.vehicles_of(cell).tolist() == sorted(vehicles)
        assert linkage.vehicle_counts([cell])[0] == len(vehicles)
    alone = {cell for cell in expected if len({int(visits.run[v]) for v in expected[cell]}) == 1}
    found = unique_cells(linkage)
    assert set(found.cells.tolist()) == alone
    for cell, stop in zip(found.cells.tolist(), found.stop.tolist(), strict=True):
        stops = {int(visits.stop[v]) for v in expected[cell]}
        assert stop == (stops.pop() if len(stops) == 1 else -1)


def test_cells_with_very_large_numbers():
    visits = make_visits([[(0, 0, 0), (1, 20_000, 20_000)], [(0, 10, 10), (1, 90_000, 90_000)]])
    domain = make_domain(ROLES)
    small = make_grid(domain, ROLES)
    huge = TableGrid(
        roles=small.roles,
        sizes=small.sizes,
        locate=lambda *codes: domain.locate(*codes) + 2**61,
        decode=lambda cells: domain.decode(cells - 2**61),
        days=small.days,
        starts_s=small.starts_s,
        bin_s=small.bin_s,
        taps=small.taps,
        modes=small.modes,
        places=small.places,
    )
    one, other = link(visits, grid=small, tolerance=EXACT), link(visits, grid=huge, tolerance=EXACT)
    assert (other.cells - 2**61).tolist() == one.cells.tolist()
    assert other.visit.tolist() == one.visit.tolist()
    assert other.vehicles.tolist() == one.vehicles.tolist() == [2, 1, 1]


def test_no_visits_link_to_nothing():
    grid = make_grid(make_domain(ROLES), ROLES)
    linkage = link(make_visits([]), grid=grid, tolerance=EXACT)
    assert len(linkage) == len(unique_cells(linkage)) == 0
    assert linkage.vehicle_counts([0, 5]).tolist() == [0, 0]
    assert not linkage.impossible([0, 5]).any()
    assert by_hour(linkage).cells.sum() == 0


def test_only_what_the_timetable_covers_is_judged():
    # Mode 0 runs on the first day only; location 2 of mode 0 and everything of mode 1 on day 0 are silent.
    visits = make_visits(
        [[(0, 100, 100), (1, 200, 200)], [(2, DAY_S, DAY_S), (3, DAY_S + 60, DAY_S + 60)]], modes=[0, 1]
    )
    domain = make_domain(ROLES)
    linkage = link(visits, grid=make_grid(domain, ROLES), tolerance=EXACT)
    mode, date, *_, place = domain.decode(np.arange(domain.size))
    judged = linkage.judged(np.arange(domain.size))
    assert np.array_equal(judged, ((mode == 0) & (date == 0)) | ((mode == 1) & (date == 1)))
    possible = linkage.find(np.arange(domain.size)) >= 0
    assert np.array_equal(linkage.impossible(np.arange(domain.size)), judged & ~possible)
    assert possible.sum() == 4
    nowhere = make_grid(domain, ROLES, places=np.array([[0, 1, -1, -1], [0, 0, 1, 1]], dtype=np.int32))
    silent = link(visits, grid=nowhere, tolerance=EXACT).judged(np.arange(domain.size))
    assert not silent[place == 2].any()
    assert silent[(place == 1) & (mode == 0) & (date == 0)].all()


def test_a_merged_place_is_judged_only_if_all_of_it_is_known():
    visits = make_visits([[(0, 100, 100), (1, 200, 200)]])
    domain = make_domain(ROLES).merge("location", groups=["x", "x", "y"], where={})
    places = np.array([[0, -1, 2, -1]] * 2, dtype=np.int32)
    linkage = link(visits, grid=make_grid(domain, ROLES, places=places), tolerance=EXACT)
    labels = domain.labels(np.arange(domain.size))["location"]
    judged = linkage.judged(np.arange(domain.size))
    assert not judged[labels == "x"].any()
    assert judged[labels == "y"].any()


def test_unknown_times_and_dates_are_never_judged():
    visits = make_visits([[(0, 100, 100), (1, 200, 200)]])
    domain = make_domain(("date", "time", "location"), bins=7)
    grid = TableGrid.of_domain(
        domain,
        roles=("date", "time", "location"),
        days=np.array([FIRST, NO_TIME]),
        starts_s=np.append(np.arange(6) * BIN_S, NO_TIME),
        bin_s=BIN_S,
        taps=(0, 0),
        modes=np.zeros(2, dtype=np.int64),
        places=np.array([[0, 1, 2, -1]] * 2, dtype=np.int32),
    )
    linkage = link(visits, grid=grid, tolerance=EXACT)
    date, time, _ = domain.decode(np.arange(domain.size))
    assert np.array_equal(linkage.judged(np.arange(domain.size)), (date == 0) & (time < 6))
    assert grid.wanted_days.tolist() == [FIRST]


def test_bad_parts_are_refused():
    visits = make_visits([[(0, 0, 0), (1, 10, 10)]], margin_s=5)
    grid = make_grid(make_domain(ROLES), ROLES)
    with pytest.raises(SpecError, match="margin of 5 s cannot answer for a tolerance of 60 s"):
        link(visits, grid=grid, tolerance=Tolerance(off_after_s=60))
    with pytest.raises(SpecError, match="2 modes, got 3 tolerances"):
        link(visits, grid=grid, tolerance=[EXACT] * 3)
    for bad in (-1, 1.5, True, 7 * 3600):
        with pytest.raises(SpecError, match="on_after_s must be whole seconds"):
            Tolerance(on_after_s=bad)
    with pytest.raises(SpecError, match="divides the day"):
        make_grid(make_domain(ROLES), ROLES, bin_s=7000)
    with pytest.raises(SpecError, match="got 4 roles"):
        make_grid(make_domain(ROLES), ROLES[:4])
    with pytest.raises(InternalError, match="must ascend"):
        Visits(**{name: getattr(visits, name) for name in Visits.__slots__} | {"days": np.array([3, 2])})


def test_trails_follow_one_vehicle_in_order_of_time():
    late, early = 3 * BIN_S, BIN_S
    visits = make_visits(
        [[(0, early, early), (1, late, late), (2, late + 5, late + 5)], [(2, 10, 10), (1, late, late)]]
    )
    domain = make_domain(ROLES)
    found = unique_cells(link(visits, grid=make_grid(domain, ROLES), tolerance=EXACT))
    trails = dict(found.trails())
    assert {run: len(cells) for run, cells in trails.items()} == {0: 3}
    times = [domain.decode(cells)[3].tolist() for cells in trails.values()]
    assert times == [[1, 3, 3]]
    assert [run for run, _ in found.trails(least=1)] == [0, 1]


def test_hours_count_cells_of_one_vehicle():
    visits = make_visits(
        [
            [(0, 7 * 3600, 7 * 3600), (1, 8 * 3600, 8 * 3600)],
            [(0, 7 * 3600, 7 * 3600), (2, 9 * 3600, 9 * 3600)],
        ]
    )
    hours = by_hour(
        link(visits, grid=make_grid(make_domain(ROLES, bins=24), ROLES, bin_s=3600), tolerance=EXACT)
    )
    assert hours.cells[0, 7:10].tolist() == [1, 1, 1]
    assert hours.one_vehicle[0, 7:10].tolist() == [0, 1, 1]
    assert hours.unprotected() == [(0, 8), (0, 9)]


# Two-stop services


def test_a_third_stop_or_another_line_opens_a_closed_pair():
    places = np.array([[0, 1, 2, -1], [0, 1, 2, 3]], dtype=np.int32)
    there, back = [(0, 0, 0), (1, 1800, 1800)], [(1, 3600, 3660), (0, 5400, 5400)]
    found = two_stop_services(make_visits([there, back]), places=places)
    assert [(s.origin, s.destination, s.runs, s.lag_s, s.closed) for s in found] == [
        (0, 1, 1, (1800, 1800, 1800), True),
        (1, 0, 1, (1740, 1740, 1740), True),
    ]
    assert found[0].bins_later(900) == (2, 2)
    assert found[1].bins_later(900) == (1, 2)
    passing = [(2, 0, 0), (1, 900, 900), (2, 1000, 1000)]
    opened = two_stop_services(make_visits([there, back, passing]), places=places)
    assert not any(s.closed for s in opened)
    other_mode = two_stop_services(make_visits([there, back, passing], modes=[0, 0, 1]), places=places)
    assert all(s.closed for s in other_mode)


def test_chances_of_a_cell_with_several_calls_and_of_a_merged_cell():
    visits = make_visits([[(0, 0, 0), (1, 100, 100)], [(0, 0, 0), (1, 14_300, 14_300)]])
    domain = make_domain(ROLES)
    running = Running(early_share=0.2, early_mean_s=100, late_mean_s=300)
    wide = Tolerance(off_before_s=3600, off_after_s=3600)
    linkage = link(visits, grid=make_grid(domain, ROLES), tolerance=wide)
    cell = int(domain.locate([0], [0], [1], [0], [1])[0])
    each = running.chance([100, 14_300], low_s=0, high_s=BIN_S, tap=OFF)
    found = chances(linkage, [cell, cell + 1], running=running)
    assert found.total[0] == pytest.approx(1 - (1 - each[0]) * (1 - each[1]))
    assert found.total[1] == 0
    merged = domain.merge("time", groups=["early"] * 2 + ["late"] * 4, where={})
    coarse = link(visits, grid=make_grid(merged, ROLES), tolerance=wide)
    cell = int(merged.locate([0], [0], [1], [0], [1])[0])
    each = running.chance([100, 14_300], low_s=0, high_s=2 * BIN_S, tap=OFF)
    assert chances(coarse, [cell], running=running).total[0] == pytest.approx(
        1 - (1 - each[0]) * (1 - each[1])
    )


# Merges

LEVELS = {"own": np.array([0, 1, 2]), "all": np.zeros(3, dtype=np.int64)}


WAYS = [(width, level) for width in (1, 2, 3, 6) for level in LEVELS]


def served_cells(visits):
    """For each bin of the day, the runs of each date, tap and place."""
    found = defaultdict(lambda: defaultdict(set))
    columns = (visits.boards, visits.alights, visits.departure_s, visits.arrival_s, visits.stop, visits.run)
    for boards, alights, leaves, comes, stop, run in zip(*(c.tolist() for c in columns), strict=True):
        for tap, able, at in ((0, boards, leaves), (1, alights, comes)):
            date, second = divmod(at, DAY_S)
            if able and 0 <= date < DAYS:
                found[second // BIN_S][date, tap, stop].add(run)
    return found


def mixed_cells(found, start, width, level):
    """The runs of each cell once bins and places are merged."""
    mixed = defaultdict(set)
    for bin_ in range(start, start + width):
        for (date, tap, place), runs in found[bin_].items():
            mixed[date, tap, int(LEVELS[level][place])] |= runs
    return mixed


def slow_merges(found, start, before, *, k, fee):
    """What the best cutting of the rest of the day is worth, by trying all of them; None if there is none."""
    bins = DAY_S // BIN_S
    if start == bins:
        return 0.0
    values = []
    for way in WAYS:
        mixed = mixed_cells(found, start, *way) if start % way[0] == 0 else {0: set()}
        if all(len(runs) >= k for runs in mixed.values()):
            rest = slow_merges(found, start + way[0], way, k=k, fee=fee)
            if rest is not None:
                values.append(len(mixed) + rest - (fee if before not in {None, way} else 0))
    return max(values, default=None)


@given(
    calls=st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 11)), min_size=2, max_size=3),
        min_size=1,
        max_size=14,
    ),
    k=st.integers(1, 4),
    charge=st.sampled_from([0.0, 0.05]),
)
def test_the_best_merges_are_found(calls, k, charge):
    visits = make_visits(
        [[(s, b * BIN_S, b * BIN_S) for s, b in sorted(run, key=lambda c: c[1])] for run in calls]
    )
    domain = make_domain(ROLES)
    places = np.array([[0, 1, 2, -1]] * 2, dtype=np.int32)
    linkage = link(visits, grid=make_grid(domain, ROLES, places=places), tolerance=EXACT)
    merges = suggest_merges(linkage, k=k, levels=LEVELS, charge=charge)
    found = served_cells(visits)
    most = max(sum(len(mixed_cells(found, s, w, level)) for s in range(0, 6, w)) for w, level in WAYS)
    expected = slow_merges(found, 0, None, k=k, fee=charge * most)
    if expected is None:
        assert merges.hopeless == (0,)
        assert not merges.segments
        return
    assert merges.after - charge * most * (len(merges.segments) - 1) == pytest.approx(expected)
    assert merges.segments[0].start_s == 0
    assert merges.segments[-1].end_s == DAY_S
    assert merges.before == len(linkage)
    assert merges.below == (linkage.vehicles < k).sum()


def test_merges_need_time_place_and_an_unmerged_table():
    visits = make_visits([[(0, 0, 0), (1, 10, 10)]])
    no_time = link(
        visits, grid=make_grid(make_domain(("date", "location")), ("date", "location")), tolerance=EXACT
    )
    with pytest.raises(SpecError, match="with time and location only"):
        suggest_merges(no_time, k=2, levels=LEVELS)
    merged = make_domain(ROLES).merge("time", groups=["all day"] * 6, where={})
    coarse = link(visits, grid=make_grid(merged, ROLES), tolerance=EXACT)
    with pytest.raises(SpecError, match="before merging"):
        suggest_merges(coarse, k=2, levels=LEVELS)
    fine = link(visits, grid=make_grid(make_domain(ROLES), ROLES), tolerance=EXACT)
    with pytest.raises(SpecError, match="k must be"):
        suggest_merges(fine, k=0, levels=LEVELS)
    with pytest.raises(SpecError, match="levels"):
        suggest_merges(fine, k=2, levels={})


def test_vehicles_of_cells_are_counted_once_each():
    rng = np.random.default_rng(3)
    run = np.sort(rng.integers(0, 60, 2_000))
    cell = rng.integers(0, 40, 2_000) * 7
    names, vehicles = vehicles_of_cells(cell, run)
    for name, number in zip(names.tolist(), vehicles.tolist(), strict=True):
        assert number == len(set(run[cell == name].tolist()))
    assert names.tolist() == sorted(set(cell.tolist()))
    far_names, far_vehicles = vehicles_of_cells(cell + 2**40, run)
    assert (far_names - 2**40).tolist() == names.tolist()
    assert far_vehicles.tolist() == vehicles.tolist()
    assert vehicles_of_cells(cell[:0], run[:0])[0].size == 0
