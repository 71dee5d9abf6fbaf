"""Timetables in an assessment: structural zeros, cells of one vehicle, missing taps, merges, hostile feeds."""

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pyarrow.parquet as pq
import pytest

from noisegate.assess.services import Services, tolerance_of
from noisegate.core.randomness import SeededNoise
from noisegate.errors import DataError, SpecError
from noisegate.gtfs import read_feed
from noisegate.release import release
from noisegate.simulate import simulate
from noisegate.spec import load_spec
from noisegate.tables import find_structure, read_table

DAYS, PERSONS = 3, 12_000


class Published:
    """A world, its release as in 2016, and the tables as an assessor sees them."""

    def __init__(self, folder, *, punctual):
        self.world = simulate(
            folder / "world", days=DAYS, persons=PERSONS, seed=3, punctual=punctual, straggler_rate=0
        )
        self.folder = folder / "release"
        spec = load_spec(self.world.spec_2016)
        release(spec, out=self.folder, ledger=folder / "ledger.db", noise=SeededNoise(seed=3))
        self.paths = [self.folder / f"{name}.csv" for name in ("time-loc", "time", "loc")]
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


def test_bad_requests_are_refused(punctual):
    for late in (-1, 241, 1.5, True):
        with pytest.raises(SpecError, match="--late must be whole minutes from 0 to 240"):
            tolerance_of(late)
    with pytest.raises(DataError, match="No location of time-loc has the name"):
        Services.of(_renamed(feed=punctual.feed, keep=None), punctual.structure)
