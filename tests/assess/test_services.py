"""Timetables in an assessment: structural zeros, cells of one vehicle, merges, closed services."""

import shutil
from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from noisegate.assessment import Exposure, Services, assess, tolerance_of
from noisegate.errors import DataError, SpecError
from noisegate.laws import SeededNoise
from noisegate.reading import find_structure, read_table
from noisegate.releases import release
from noisegate.report import write_assessment
from noisegate.simulation import simulate
from noisegate.spec import load_spec, parse_spec
from noisegate.timetable import EXACT, domain_grid, link_feed, match_locations, read_feed
from noisegate.workload import TruthFile

DAYS, PERSONS = 3, 12_000


class Published:
    """A world, its release as in 2016, and the tables as an assessor sees them: without the card."""

    def __init__(self, folder, *, punctual):
        self.world = simulate(
            folder / "world", days=DAYS, persons=PERSONS, seed=3, punctual=punctual, straggler_rate=0
        )
        self.folder = folder / "release"
        spec = load_spec(self.world.spec_2016)
        release(spec, out=self.folder, ledger=folder / "ledger.db", entropy=SeededNoise(seed=3))
        self.paths = [folder / f"{name}.csv" for name in ("time-loc", "time", "loc")]
        for path in self.paths:
            shutil.copy(self.folder / path.name, path)
        self.feed = read_feed(self.world.gtfs)
        self.structure = find_structure([read_table(path) for path in self.paths])

    def services(self, late):
        return Services.of(self.feed, self.structure, late=late)

    def occupied(self):
        """The base cells in which somebody tapped."""
        base = self.structure.base
        taps = pq.read_table(self.world.taps).to_pylist()
        rows = [
            {
                "mode": tap["mode"],
                "date": str(tap["tapped_at"].date()),
                "tap": tap["tap"],
                "time": f"{tap['tapped_at']:%H}:{tap['tapped_at'].minute // 15 * 15:02d}",
                "location": tap["stop"],
            }
            for tap in taps
        ]
        codes = np.full((len(base.dimensions), len(rows)), -1, dtype=np.int32)
        for place, dimension in enumerate(base.dimensions):
            number = {key: code for code, key in enumerate(dimension.labels)}
            codes[place] = [number.get(row[dimension.name], -1) for row in rows]
        known = (codes >= 0).all(axis=0)
        cells = base.locate(codes[:, known])
        return np.unique(cells[cells >= 0])


@pytest.fixture(scope="module")
def punctual(tmp_path_factory):
    return Published(tmp_path_factory.mktemp("punctual"), punctual=True)


@pytest.fixture(scope="module")
def lively(tmp_path_factory):
    return Published(tmp_path_factory.mktemp("lively"), punctual=False)


def calls(feed, world, late):
    """From the feed, one call at a time: (mode, date, tap, time, stop) -> vehicles, for cards `late` min off at most."""
    first = datetime.combine(world.first, datetime.min.time())
    visits = feed.visits([world.first + timedelta(days=n) for n in range(DAYS)], margin_s=60 * late)
    found = defaultdict(set)
    bounds = {"on": (60 * late, 60 * late), "off": (min(300, 60 * late), 60 * late)}
    moments = [first + timedelta(seconds=900 * quarter) for quarter in range(-96, 96 * (DAYS + 1))]
    words = [(str(moment.date()), f"{moment:%H:%M}") for moment in moments]
    columns = (
        visits.mode,
        visits.stop,
        visits.run,
        visits.boards,
        visits.alights,
        visits.departure_s,
        visits.arrival_s,
    )
    for mode, stop, run, boards, alights, leaves, comes in zip(*(c.tolist() for c in columns), strict=True):
        for tap, able, at in (("on", boards, leaves), ("off", alights, comes)):
            before, after = bounds[tap]
            for quarter in range((at - before) // 900, (at + after) // 900 + 1) if able else ():
                day, clock = words[quarter + 96]
                found[feed.modes[mode], day, tap, clock, feed.stops.names[stop]].add(run)
    return found


@pytest.mark.parametrize("late", [0, 7])
def test_structural_zeros_are_the_cells_without_a_call_in_the_order_of_the_base(punctual, late):
    base, truth = punctual.structure.base, calls(punctual.feed, punctual.world, late)
    zero = punctual.services(late).structural_zero(base)
    assert zero.shape == (base.size,)
    assert zero.dtype == bool
    labels = base.labels(np.arange(base.size))
    names = zip(*(labels[name] for name in ("mode", "date", "tap", "time", "location")), strict=True)
    told = np.array([name[4] != "UNKNOWN" and name not in truth for name in names])
    assert (zero == told).all()
    assert 100 < zero.sum() < 0.5 * zero.size


def test_no_structural_zero_holds_a_tap(punctual, lively):
    for seen, late in ((punctual, 0), (lively, 10)):
        zero = seen.services(late).structural_zero(seen.structure.base)
        occupied = seen.occupied()
        assert occupied.size > 1000
        assert not zero[occupied].any()
    # A tolerance of zero is not safe where vehicles run late: the check above can fail.
    assert lively.services(0).structural_zero(lively.structure.base)[lively.occupied()].any()


def test_unmatched_locations_are_never_structural_zeros(punctual):
    base = punctual.structure.base
    places = base.labels(np.arange(base.size))["location"]
    served = places[punctual.services(5).structural_zero(base)][0]
    # Everything but one stop is hidden from the matching by other names.
    hidden = Services.of(_renamed(punctual.feed, keep=served), punctual.structure, late=5).structural_zero(
        base
    )
    assert not hidden[places != served].any()
    assert hidden[places == served].any()


def _renamed(feed, *, keep):
    names = tuple(name if name == keep else f"nowhere {n}" for n, name in enumerate(feed.stops.names))
    ids = tuple(f"id {n}" for n in range(len(names)))
    stops = replace(
        feed.stops, names=names, ids=ids, codes=ids, parent=np.full(len(names), -1, dtype=np.int32)
    )
    return replace(feed, stops=stops)


def test_a_map_of_stops_wins_over_names(punctual):
    base, feed = punctual.structure.base, punctual.feed
    places = sorted(set(base.labels(np.arange(base.size))["location"]) - {"UNKNOWN"})
    one, two = places[:2]
    swapped = Services.of(feed, punctual.structure, late=0, given={one: two})
    assert swapped.matching.how[two] == "given by the user"


def test_cells_that_the_table_cannot_have_are_not_counted(punctual):
    """A stop of the ferry that somebody maps to a bus stop: the table has no ferry there, so it has no such cell."""
    base, feed = punctual.structure.base, punctual.feed
    labels = base.labels(np.arange(base.size))
    wharf = labels["location"][labels["mode"] == "ferry"][0]
    corner = next(
        place
        for place in labels["location"][labels["mode"] == "bus"]
        if place not in set(labels["location"][labels["mode"] == "ferry"])
    )
    services = Services.of(feed, punctual.structure, late=0, given={wharf: corner})
    mode, place = (
        services.roles.labels("mode").index("ferry"),
        services.roles.labels("location").index(corner),
    )
    codes = dict(
        zip(
            services.roles.roles,
            np.unravel_index(services.scheduled.cells, services.roles.sizes),
            strict=True,
        )
    )
    strange = (codes["mode"] == mode) & (codes["location"] == place)
    assert strange.any()
    inside = services.roles.in_domain(services.scheduled.cells)
    assert not inside[strange].any()
    assert inside[~strange].any()
    assert not np.isin(services.alone(services.scheduled).cells, services.scheduled.cells[strange]).any()


def test_bad_requests_are_refused(punctual):
    for late in (-1, 241, 1.5, True):
        with pytest.raises(SpecError, match="--late must be whole minutes from 0 to 240"):
            tolerance_of(late)
    with pytest.raises(DataError, match="No location of time-loc has the name"):
        Services.of(_renamed(feed=punctual.feed, keep=None), punctual.structure)


@pytest.mark.parametrize("late", [0, 4])
def test_cells_of_one_vehicle_are_those_of_the_truth(punctual, late):
    """Exact set equality, over all cells of the public domain, with a count call by call."""
    services, base = punctual.services(late), punctual.structure.base
    labels = base.labels(np.arange(base.size))
    domain = set(zip(*(labels[name] for name in ("mode", "date", "tap", "time", "location")), strict=True))
    truth = calls(punctual.feed, punctual.world, late)
    alone = {key: next(iter(runs)) for key, runs in truth.items() if len(runs) == 1 and key in domain}
    found = services.alone(services.possible)
    places = np.unravel_index(found.cells, services.roles.sizes)
    words = [
        np.array(services.roles.labels(role), dtype=object)[place]
        for role, place in zip(services.roles.roles, places, strict=True)
    ]
    told = dict(zip(zip(*words, strict=True), found.run.tolist(), strict=True))
    assert told == alone
    assert len(alone) > 500


def test_published_cells_of_one_vehicle_are_listed_with_it(punctual):
    exposure = Exposure.of(punctual.services(0))
    base, truth = punctual.structure.base, calls(punctual.feed, punctual.world, 0)
    labels = base.labels(base.cells)
    names = zip(*(labels[name] for name in ("mode", "date", "tap", "time", "location")), strict=True)
    counts = {" ".join(name): count for name, count in zip(names, base.values.tolist(), strict=True)}
    alone = {" ".join(key) for key, runs in truth.items() if len(runs) == 1} & set(counts)
    assert exposure.published_alone == exposure.published_scheduled_alone == len(alone)
    assert {cell.title for cell in exposure.listed} <= alone
    assert all(counts[cell.title] == cell.count for cell in exposure.listed)
    assert all(len({cell.run for cell in trail}) == 1 for trail in exposure.trails)
    assert exposure.hours.one_vehicle.sum() <= exposure.hours.cells.sum()


def _cells_of(domain, rows):
    """The cell of each published row, by its labels."""
    codes = domain.decode(np.arange(domain.size))
    words = [
        np.array(dim.labels, dtype=object)[code] for dim, code in zip(domain.dimensions, codes, strict=True)
    ]
    number = {labels: cell for cell, labels in enumerate(zip(*words, strict=True))}
    columns = [[str(value) for value in rows[dim.name]] for dim in domain.dimensions]
    return np.array([number[labels] for labels in zip(*columns, strict=True)])


def test_the_file_lists_every_cell_of_one_vehicle(punctual, tmp_path):
    out = tmp_path / "out"
    write_assessment(assess(punctual.paths, gtfs=punctual.world.gtfs, late=4, attacker=None), out)
    rows = pq.read_table(out / "vehicles.parquet").to_pylist()
    base = punctual.structure.base
    labels = base.labels(np.arange(base.size))
    keys = ("mode", "date", "tap", "time", "location")
    domain = set(zip(*(labels[name] for name in keys), strict=True))
    truth = {late: calls(punctual.feed, punctual.world, late) for late in (0, 4)}
    alone = {key for key, runs in truth[4].items() if len(runs) == 1 and key in domain}
    assert {tuple(row[key] for key in keys) for row in rows} == alone
    for row in rows[::50]:
        key = tuple(row[name] for name in keys)
        assert row["on_time"] == (len(truth[0].get(key, ())) == 1)
        assert row["stop"] == row["location"]
    dense = base.dense()
    shown = {
        key: count
        for key, count in zip(zip(*(labels[n] for n in keys), strict=True), dense, strict=True)
        if count > 0
    }
    told = {
        tuple(row[name] for name in keys): row["published"] for row in rows if row["published"] is not None
    }
    assert told == {key: shown[key] for key in alone & set(shown)}
    assert told


@pytest.mark.parametrize("k", [2, 4])
def test_suggested_merges_put_into_a_spec_leave_no_published_cell_below_k(punctual, k, tmp_path):
    """The fragment in assessment.json, through `release`, back to the vehicles behind every published row."""
    found = assess(punctual.paths, gtfs=punctual.world.gtfs, late=0, k=k, attacker=None)
    merges = found.to_json()["services"]["merges"]
    assert merges["cells_below_k"] > 300
    written = yaml.load(punctual.world.spec_2016.read_text(), Loader=yaml.BaseLoader)
    written["merge"] = yaml.safe_load(merges["fragment"])["merge"]
    assert written["merge"] == merges["rules"]
    spec = parse_spec(written, folder=punctual.world.folder)
    out = tmp_path / "merged"
    release(spec, out=out, ledger=tmp_path / "ledger.db", entropy=SeededNoise(seed=5))
    domain = spec.domain
    places = match_locations(punctual.feed, load_spec(punctual.world.spec).domain.dimensions[-1].values)
    after = link_feed(
        punctual.feed, grid=domain_grid(punctual.feed, domain, matching=places), tolerance=EXACT
    )
    rows = pq.read_table(out / "time-loc.parquet").to_pydict()
    # Forgotten tap-offs are at no stop: UNKNOWN mixes every vehicle of its mode, whatever the timetable says.
    cells = _cells_of(domain, rows)[np.array(rows["location"]) != "UNKNOWN"]
    assert cells.size > 100
    assert (after.vehicle_counts(cells) >= k).all()
    before = punctual.services(0).vehicles(punctual.structure.base.cells)
    assert (before < k).any()


CLOSED = {
    "routes": "route_id,route_short_name,route_type\nF,F1,4\n",
    "stops": "stop_id,stop_name\nb,Beach\nq,Quay\n",
    "trips": "route_id,service_id,trip_id\n" + "".join(f"F,W,t{n}\n" for n in range(6)),
    "stop_times": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
    + "".join(
        f"t{n},{7 + n:02d}:05:00,{7 + n:02d}:05:00,b,1\nt{n},{7 + n:02d}:35:00,{7 + n:02d}:35:00,q,2\n"
        for n in range(6)
    ),
    "calendar_dates": "service_id,date,exception_type\nW,20160801,1\n",
}


@pytest.mark.parametrize("equal", [True, False])
def test_closed_services_feed_the_pair_search(tmp_path, write_feed, equal):
    """Six sailings are too few for the blind search; the timetable names the pair, and the counts decide."""
    rng = np.random.default_rng(8)
    raw = rng.poisson(400, size=(2, 6))
    raw[1] = raw[0] if equal else raw[1]
    lines = ["mode,date,tap,time,wharf,count"]
    for n, (on, off) in enumerate((raw + np.rint(rng.laplace(scale=1.4, size=raw.shape)).astype(int)).T):
        lines += [
            f"ferry,2016-08-01,on,{7 + n:02d}:00,Beach,{on}",
            f"ferry,2016-08-01,off,{7 + n:02d}:30,Quay,{off}",
        ]
    table = tmp_path / "base.csv"
    table.write_text("\n".join(lines) + "\n")
    feed = write_feed(tmp_path / "feed", CLOSED)
    assert not assess([table], attacker=None).couplings
    found = assess([table], attacker=None, gtfs=feed, late=5)
    (service,) = found.to_json()["services"]["two_stop_services"]
    assert (service["origin"], service["destination"], service["closed"]) == ("Beach", "Quay", True)
    assert [(one.lag, int(one.both.sum())) for one in found.couplings] == ([(30, 6)] if equal else [])


def test_dimensions_that_mean_nothing_to_a_timetable_are_carried_along(tmp_path, write_feed):
    """A table by fare, with more fares than wharves: zeros are the same for every fare, and the wharf is the location."""
    fares = [f"fare {n}" for n in range(5)]
    lines = ["date,tap,time,fare,wharf,count"]
    for n, fare in enumerate(fares):
        lines += [f"2016-08-01,on,07:00,{fare},Beach,{40 + n}", f"2016-08-01,off,07:30,{fare},Quay,{50 + n}"]
        lines += [f"2016-08-01,on,07:15,{fare},Quay,{30 + n}"]
    (tmp_path / "base.csv").write_text("\n".join(lines) + "\n")
    structure = find_structure([read_table(tmp_path / "base.csv")])
    services = Services.of(read_feed(write_feed(tmp_path / "feed", CLOSED)), structure, late=0)
    assert services.roles.dimension("location").name == "wharf"
    base = structure.base
    labels = base.labels(np.arange(base.size))
    zero = services.structural_zero(base)
    served = {("on", "07:00", "Beach"), ("off", "07:30", "Quay")}
    for tap, time, wharf, told in zip(labels["tap"], labels["time"], labels["wharf"], zero, strict=True):
        assert told == ((tap, time, wharf) not in served)


def test_a_table_without_dates_cannot_be_linked(tmp_path, write_feed):
    (tmp_path / "base.csv").write_text("tap,time,wharf,count\non,07:00,Beach,40\noff,07:30,Quay,50\n")
    structure = find_structure([read_table(tmp_path / "base.csv")])
    with pytest.raises(DataError, match="linked by dates, and base has none"):
        Services.of(read_feed(write_feed(tmp_path / "feed", CLOSED)), structure)


@pytest.mark.parametrize("attacker", ["minimal", pytest.param("informed", marks=pytest.mark.slow)])
def test_structural_zeros_sharpen_the_posteriors_without_losing_calibration(punctual, attacker):
    """Against the raw counts: a clearly smaller error over all suppressed cells, not a larger one over the possible ones."""
    base = punctual.structure.base
    truth = TruthFile.open(punctual.world.taps, base).count_cells(base).counts
    impossible = punctual.services(0).structural_zero(base)
    found = {}
    for known, options in (("tables", {}), ("timetable", {"gtfs": punctual.world.gtfs, "late": 0})):
        inference = assess(punctual.paths, attacker=attacker, noise="laplace:1.4", **options).inference
        posterior, hidden = inference.posterior, np.isnan(inference.evidence.base.values)
        error = np.abs(posterior.mean - truth)
        inside = (posterior.low <= truth) & (truth <= posterior.high)
        found[known] = (
            error[hidden].mean(),
            error[hidden & ~impossible].mean(),
            inside[hidden & ~impossible].mean(),
        )
        if known == "timetable":
            assert (posterior.mean[hidden & impossible] == 0).all()
    (plain, plain_possible, _), (sharp, sharp_possible, covered) = found["tables"], found["timetable"]
    assert sharp < 0.96 * plain
    assert sharp_possible < 1.01 * plain_possible
    assert covered > 0.93
