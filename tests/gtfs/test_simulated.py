"""Simulated worlds, whose truth is known: cells of one vehicle, structural zeros, and suggested merges."""

from collections import defaultdict
from datetime import timedelta

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from noisegate.errors import SpecError
from noisegate.simulation import (
    CLOSED_READER,
    FIRST_DAY,
    LINGER_S,
    READERS,
    Conduct,
    Scenario,
    invent_network,
    simulate,
)
from noisegate.spec import load_spec, parse_spec
from noisegate.timetable import (
    ALL,
    EXACT,
    NETWORK_MODES,
    OWN,
    SpecNames,
    Tolerance,
    by_hour,
    domain_grid,
    link_feed,
    match_locations,
    merge_fragment,
    merge_rules,
    needs_time,
    read_feed,
    read_groups,
    suggest_merges,
    two_stop_services,
    unique_cells,
)

DAYS, PERSONS, SEED = 7, 4_000, 5


class Seen:
    """A simulated world next to what its timetable and its public list of places say."""

    def __init__(self, folder, *, punctual):
        self.world = simulate(
            folder, days=DAYS, persons=PERSONS, seed=SEED, punctual=punctual, straggler_rate=0.3
        )
        self.feed = read_feed(self.world.gtfs)
        self.spec = load_spec(self.world.spec)
        self.domain = self.spec.domain
        self.places = self.domain.dimensions[self.domain.axis("location")].values
        self.matching = match_locations(self.feed, self.places)

    def link(self, tolerance, domain=None):
        return link_feed(
            self.feed,
            grid=domain_grid(self.feed, domain or self.domain, matching=self.matching),
            tolerance=tolerance,
        )

    def taps(self):
        """The cell and the true vehicle (trip, service date) of every tap, without forgotten tap-offs."""
        taps = pq.read_table(self.world.taps).to_pydict()
        truth = pq.read_table(self.world.truth).to_pydict()
        known = [i for i, stop in enumerate(taps["stop"]) if stop != "UNKNOWN"]
        labels = [
            [taps["mode"][i] for i in known],
            [str(taps["tapped_at"][i].date()) for i in known],
            [taps["tap"][i] for i in known],
            [f"{taps['tapped_at'][i]:%H}:{taps['tapped_at'][i].minute // 15 * 15:02d}" for i in known],
            [taps["stop"][i] for i in known],
        ]
        codes = []
        for dimension, column in zip(self.domain.dimensions, labels, strict=True):
            number = {value: code for code, value in enumerate(dimension.values)}
            codes.append([number.get(label, -1) for label in column])
        cells = self.domain.locate(*codes)
        vehicles = [(truth["trip_id"][i], truth["service_date"][i]) for i in known]
        return [(cell, vehicle) for cell, vehicle in zip(cells.tolist(), vehicles, strict=True) if cell >= 0]

    def vehicle(self, visits, run):
        day = self.world.first + timedelta(days=int(visits.runs.day[run] - visits.days[0]))
        return self.feed.trips.ids[visits.runs.trip[run]], day


@pytest.fixture(scope="module")
def punctual(tmp_path_factory):
    return Seen(tmp_path_factory.mktemp("punctual") / "world", punctual=True)


@pytest.fixture(scope="module")
def lively(tmp_path_factory):
    return Seen(tmp_path_factory.mktemp("lively") / "world", punctual=False)


def test_every_place_but_unknown_is_matched_by_name(punctual):
    assert [one.location for one in punctual.matching.unmatched] == ["UNKNOWN"]
    assert not punctual.matching.left_over


def true_cells(seen):
    """From the simulated network itself, call by call: the vehicles of every cell."""
    conduct = Conduct(punctual=True, straggler_rate=0.3)
    scenario = Scenario(days=DAYS, persons=PERSONS, seed=SEED, conduct=conduct)
    network = invent_network(scenario, stops=None, closed_ferry=True, first=FIRST_DAY)
    trips, patterns = network.trips, network.patterns
    place = {name: code for code, name in enumerate(seen.places)}
    mode = {name: code for code, name in enumerate(seen.domain.dimensions[0].values)}
    found = defaultdict(set)
    for back in range(-2, DAYS):
        day = FIRST_DAY + timedelta(days=back)
        running = network.services_on(day)
        for trip, name in enumerate(trips.ids):
            pattern = trips.pattern[trip]
            if int(trips.service[trip]) not in running:
                continue
            calls = range(patterns.start[pattern], patterns.start[pattern + 1])
            for position, call in enumerate(calls):
                row = trips.start[trip] + position
                taps = []
                if position < len(calls) - 1:
                    taps.append((0, int(trips.departure_s[row])))
                if position > 0:
                    taps.append((1, int(trips.arrival_s[row])))
                for tap, at_s in taps:
                    date, second = divmod(back * 86_400 + at_s, 86_400)
                    if 0 <= date < DAYS:
                        kind = NETWORK_MODES[network.routes[patterns.route[pattern]].mode]
                        stop = network.stops.names[patterns.stop[call]]
                        found[mode[kind], date, tap, second // 900, place[stop]].add((name, day))
    keys = np.array(list(found)).T
    cells = seen.domain.locate(*keys)
    return dict(zip(cells.tolist(), found.values(), strict=True))


def test_vehicles_of_every_cell_are_those_of_the_truth(punctual):
    truth = true_cells(punctual)
    linkage = punctual.link(EXACT)
    assert linkage.cells.tolist() == sorted(truth)
    assert linkage.vehicles.tolist() == [len(truth[cell]) for cell in linkage.cells.tolist()]
    found = unique_cells(linkage)
    told = {
        cell: {punctual.vehicle(linkage.visits, run)}
        for cell, run in zip(found.cells.tolist(), found.run.tolist(), strict=True)
    }
    alone = {cell: vehicles for cell, vehicles in truth.items() if len(vehicles) == 1}
    assert told == alone
    assert len(alone) > 1000


def test_taps_of_a_punctual_world_come_from_the_vehicles_of_their_cell(punctual):
    linkage = punctual.link(EXACT)
    by_cell = defaultdict(set)
    for cell, vehicle in punctual.taps():
        by_cell[cell].add(vehicle)
    assert len(by_cell) > 3000
    for cell, vehicles in by_cell.items():
        able = {punctual.vehicle(linkage.visits, run) for run in linkage.vehicles_of(cell).tolist()}
        assert vehicles <= able
    mixed = {cell for cell, vehicles in by_cell.items() if len(vehicles) > 1}
    assert mixed
    assert not mixed & set(unique_cells(linkage).cells.tolist())


def bounds(*, scale=1.0):
    """The tolerance that the simulation's own bounds promise, by mode; scaled to see what breaks."""
    out = {}
    for mode, name in enumerate(NETWORK_MODES):
        readers = [READERS[mode], CLOSED_READER] if name == "ferry" else [READERS[mode]]
        linger = LINGER_S if name == "ferry" else 0
        lead = max(reader.lead_max_s for reader in readers)
        delay = max(reader.delay_max_s for reader in readers)
        leave = max(reader.delay_max_s + reader.exit_max_s for reader in readers) + linger
        out[name] = Tolerance(
            on_before_s=int(lead * scale), on_after_s=int(delay * scale), off_after_s=int(leave * scale)
        )
    return out


def test_structural_zeros_never_exclude_a_cell_with_taps(lively):
    cells = np.unique([cell for cell, _ in lively.taps()])
    linkage = lively.link(bounds())
    assert not linkage.impossible(cells).any()
    everything = np.arange(lively.domain.size)
    zeros = linkage.impossible(everything)
    # Stops of other modes are no cells at all; what is left are hours without service.
    assert 0.1 < zeros.mean() < 0.5
    nowhere = lively.domain.decode(everything)[4] == lively.places.index("UNKNOWN")
    assert not zeros[nowhere].any()


def test_a_tolerance_that_is_too_small_does_exclude_some(lively):
    cells = np.unique([cell for cell, _ in lively.taps()])
    assert lively.link(bounds(scale=0.3)).impossible(cells).any()
    assert lively.link(EXACT).impossible(cells).sum() > 50


def test_the_true_vehicle_is_always_among_the_candidates(lively):
    linkage = lively.link(bounds())
    for cell, vehicle in lively.taps()[::7]:
        able = {lively.vehicle(linkage.visits, run) for run in linkage.vehicles_of(cell).tolist()}
        assert vehicle in able


def test_the_closed_ferry_is_found_and_nothing_else_is_closed(punctual):
    visits = punctual.link(EXACT).visits
    found = two_stop_services(visits, places=punctual.matching.places)
    quay, beach = (punctual.places.index(name) for name in punctual.world.closed_pair)
    assert {(s.origin, s.destination, s.lag_s[0]) for s in found if s.closed} == {
        (quay, beach, 1800),
        (beach, quay, 1800),
    }


def test_night_is_when_binning_stops_protecting(punctual):
    hours = by_hour(punctual.link(EXACT))
    bus = NETWORK_MODES.index("bus")
    assert hours.cells.sum() == len(punctual.link(EXACT))
    share = hours.one_vehicle[bus] / np.maximum(hours.cells[bus], 1)
    assert share[22] > 0.8 > share[8]
    assert {(bus, 21), (bus, 22)} <= set(hours.unprotected(share=0.8))
    assert (bus, 8) not in hours.unprotected(share=0.8)
    assert (hours.one_stop <= hours.one_vehicle).all()


def levels(seen):
    groups = read_groups(seen.world.places)
    postcodes = np.unique([groups[place] for place in seen.places], return_inverse=True)[1]
    return {
        OWN: np.arange(len(seen.places)),
        "postcode": postcodes,
        ALL: np.zeros(len(seen.places), dtype=np.int64),
    }


def merged_spec(seen, merges, *, keep_places):
    """The sound spec of the world with the suggested merges put in, as text through YAML."""
    names = SpecNames(modes=seen.domain.dimensions[0].values)
    written = yaml.load(seen.world.spec.read_text(), Loader=yaml.BaseLoader)
    written["merge"] = yaml.load(merge_fragment(merges, bin_s=900, names=names), Loader=yaml.BaseLoader)[
        "merge"
    ]
    if not keep_places:
        del written["tables"]["loc"]
    return parse_spec(written, folder=seen.world.folder)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("by_hour_of_day", [True, False])
def test_suggested_merges_leave_no_cell_below_k(punctual, k, by_hour_of_day):
    linkage = punctual.link(EXACT)
    assert (linkage.vehicles < k).sum() > 1000
    merges = suggest_merges(linkage, k=k, levels=levels(punctual), by_hour=by_hour_of_day)
    assert not merges.hopeless
    assert merges.below == (linkage.vehicles < k).sum()
    spec = merged_spec(punctual, merges, keep_places=not needs_time(merges))
    after = punctual.link(EXACT, spec.domain)
    assert after.vehicles.min() >= k
    assert len(after) == merges.after
    assert merges.after > 300


def test_merges_hold_for_vehicles_that_are_early_or_late_too(punctual):
    linkage, reach = punctual.link(EXACT), punctual.link(bounds())
    merges = suggest_merges(linkage, k=3, levels=levels(punctual), reach=reach)
    spec = merged_spec(punctual, merges, keep_places=not needs_time(merges))
    scheduled, reached = punctual.link(EXACT, spec.domain), punctual.link(bounds(), spec.domain)
    assert scheduled.vehicle_counts(reached.cells).min() >= 3
    assert len(reached) == merges.after


def test_places_that_are_merged_at_some_hours_need_the_time_in_every_table(punctual):
    merges = suggest_merges(punctual.link(EXACT), k=3, levels=levels(punctual), charge=0.0)
    assert needs_time(merges)
    assert "publish no table that leaves out the time" in merge_fragment(
        merges, bin_s=900, names=SpecNames(modes=punctual.domain.dimensions[0].values)
    )
    with pytest.raises(SpecError, match="would mix cells of different widths"):
        merged_spec(punctual, merges, keep_places=True)


def test_a_mode_with_too_few_vehicles_is_said_to_be_hopeless(punctual):
    linkage = punctual.link(EXACT)
    visits, modes = linkage.visits, punctual.domain.dimensions[0].values
    kinds = np.column_stack([visits.mode, visits.departure_date, visits.run])[visits.boards]
    fewest = {mode: len(np.unique(kinds[kinds[:, 0] == mode][:, 1:], axis=0)) for mode in range(len(modes))}
    poorest = min(fewest, key=fewest.get)
    merges = suggest_merges(linkage, k=-(-fewest[poorest] // DAYS) + 1, levels=levels(punctual))
    assert poorest in merges.hopeless
    assert len(merges.hopeless) < len(modes)
    assert {segment.mode for segment in merges.segments} == set(range(len(modes))) - set(merges.hopeless)
    text = merge_fragment(merges, bin_s=900, names=SpecNames(modes=modes))
    assert f"Not possible for {', '.join(modes[mode] for mode in merges.hopeless)}" in text


def test_nothing_to_merge_gives_no_rules(punctual):
    merges = suggest_merges(punctual.link(EXACT), k=1, levels=levels(punctual))
    assert merges.below == 0
    assert merges.after == merges.before
    assert merge_rules(merges, bin_s=900, names=SpecNames(modes=punctual.domain.dimensions[0].values)) == []
