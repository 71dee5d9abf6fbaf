"""The two timetable cases of the 2017 report, rebuilt from what it prints."""

from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from noisegate.errors import DataError
from noisegate.laws import Laplace
from noisegate.mechanisms import second_algorithm
from noisegate.tables import Dimension, Domain
from noisegate.timetable import (
    EXACT,
    Chances,
    Running,
    Tolerance,
    chances,
    domain_grid,
    link_feed,
    match_locations,
    rank_candidates,
    read_feed,
    two_stop_services,
    unique_cells,
)

QUARTERS = tuple(f"{n // 4:02d}:{15 * (n % 4):02d}" for n in range(96))
MANLY, QUAY, CREMORNE, MOSMAN = (
    "Manly Wharf",
    "Circular Quay No. 3 Wharf",
    "Cremorne Point Wharf",
    "South Mosman Wharf",
)

#: Table 3 of the report. The boats left on Thursday 11 August and arrived on Friday.
FERRIES = {
    "calendar": None,
    **{
        file.stem: file.read_text()
        for file in sorted((Path(__file__).parents[1] / "feeds" / "night-ferries").iterdir())
    },
}


def dimensions(*, modes, dates, locations):
    named = {"mode": modes, "date": dates, "tap": ["on", "off"], "time": QUARTERS, "location": locations}
    return Domain.product([Dimension(name=name, values=tuple(values)) for name, values in named.items()])


def cell(domain, *labels):
    codes = [[dim.values.index(label)] for dim, label in zip(domain.dimensions, labels, strict=True)]
    return int(domain.locate(*codes)[0])


class Ferries:
    """The night of the report: a table of ferry tap-offs, the feed, and what is published."""

    def __init__(self, folder):
        self.feed = read_feed(folder)
        self.domain = dimensions(
            modes=["ferry"], dates=["2016-08-12"], locations=[MANLY, QUAY, CREMORNE, MOSMAN, "UNKNOWN"]
        )
        self.matching = match_locations(self.feed, self.domain.dimensions[-1].values)
        self.grid = domain_grid(self.feed, self.domain, matching=self.matching)

    def cell(self, place):
        return cell(self.domain, "ferry", "2016-08-12", "off", "00:00", place)

    def link(self, tolerance):
        return link_feed(self.feed, grid=self.grid, tolerance=tolerance)

    def rank(self, running, *, residual=150 - 91 - 41, others=()):
        wide = self.link(Tolerance(off_before_s=300, off_after_s=300))
        hidden = [self.cell(place) for place in (CREMORNE, MOSMAN, "UNKNOWN")]
        found = chances(wide, hidden, running=running)
        if others:
            names, weights = zip(*others, strict=True)
            late = found.late.copy()
            late[[found.cells.tolist().index(self.cell(name)) for name in names]] = weights
            found = Chances(cells=found.cells, early=found.early, late=late)
        ranked = rank_candidates(
            residual, chances=found, noise=Laplace(1.4).sum_of(3), mechanism=second_algorithm()
        )
        places = {self.cell(place): place for place in self.domain.dimensions[-1].values}
        return [(places[one.cell], one) for one in ranked]


@pytest.fixture
def ferries(write_folder):
    return Ferries(write_folder(**FERRIES))


def test_on_time_only_cremorne_point_is_served(ferries):
    punctual = ferries.link(EXACT)
    assert punctual.vehicle_counts([ferries.cell(p) for p in (MANLY, QUAY, CREMORNE, MOSMAN)]).tolist() == [
        0,
        1,
        1,
        0,
    ]
    assert punctual.impossible(
        [ferries.cell(p) for p in (MANLY, QUAY, CREMORNE, MOSMAN, "UNKNOWN")]
    ).tolist() == [
        *(True, False, False),
        *(True, False),
    ]


def test_manly_was_published_in_a_bin_its_ferry_was_not_due_in(ferries):
    """91 people tapped off at Manly before 00:15, off the boat that was due then: somebody was early that night."""
    wide = ferries.link(Tolerance(off_before_s=60))
    (run,) = wide.vehicles_of(ferries.cell(MANLY)).tolist()
    assert ferries.feed.vehicle(wide.visits, run).startswith("F1 23:45 from Circular Quay, Wharf 3")
    assert ferries.link(EXACT).impossible([ferries.cell(MANLY)]).all()


def test_cremorne_point_ranks_first_with_its_probability(ferries):
    running = Running(early_share=0.1, early_mean_s=60, late_mean_s=120, off_lag_s=30)
    ranked = ferries.rank(running)
    assert [place for place, _ in ranked] == [CREMORNE, MOSMAN, "UNKNOWN"]
    # By hand. Cremorne Point, due 00:10, read 30 s later: late by less than 270 s, or early by less than 630 s.
    # South Mosman, due 00:15, read 30 s later: early by more than 30 s.
    cremorne = 0.9 * (1 - np.exp(-270 / 120)) + 0.1 * (1 - np.exp(-630 / 60))
    mosman = 0.1 * np.exp(-30 / 60) * (1 - np.exp(-900 / 60))
    assert ranked[0][1].probability == pytest.approx(cremorne / (cremorne + mosman), rel=1e-9)
    assert ranked[0][1].probability == pytest.approx(0.937, abs=5e-4)
    assert sum(one.probability for _, one in ranked) == pytest.approx(1, abs=1e-12)
    assert ranked[1][1].early == 1
    assert ranked[2][1].probability == 0


def test_the_count_is_the_posterior_of_the_residual_and_the_suppression(ferries):
    """MATH 4: mean 15.70, mode 17, 95 % interval [10, 20]."""
    count = ferries.rank(Running())[0][1].count
    assert count.mean == pytest.approx(15.70, abs=0.005)
    assert (count.mode, count.low, count.high) == (17, 10, 20)


def test_what_is_assumed_decides(ferries):
    certain = ferries.rank(Running(early_share=0, late_mean_s=60))
    assert certain[0][1].probability == 1
    shares = [
        ferries.rank(Running(early_share=e, off_lag_s=30))[0][1].probability for e in (0.05, 0.2, 0.5, 0.9)
    ]
    assert all(a > b for a, b in pairwise(shares))
    # If every boat was early, as Manly's was, the timetable does not tell the two apart.
    early = ferries.rank(Running(early_share=1))
    assert {place for place, _ in early[:2]} == {CREMORNE, MOSMAN}
    assert early[1][1].probability == pytest.approx(0.5, abs=1e-4)


def test_a_candidate_without_a_timetable_can_be_added(ferries):
    ranked = ferries.rank(Running(early_share=0), others=[("UNKNOWN", 0.25)])
    assert [place for place, _ in ranked] == [CREMORNE, "UNKNOWN", MOSMAN]
    served = 1 - np.exp(-300 / 120)
    assert ranked[0][1].probability == pytest.approx(served / (served + 0.25), rel=1e-12)


def test_no_candidate_at_all_is_said(ferries):
    nobody = chances(ferries.link(EXACT), [ferries.cell(MOSMAN)], running=Running())
    with pytest.raises(DataError, match="widen the tolerance"):
        rank_candidates(18, chances=nobody, noise=Laplace(1.4), mechanism=second_algorithm())


def test_the_closed_ferry_feeds_the_pair_search(ferries):
    visits = ferries.feed.visits([date(2016, 8, 11), date(2016, 8, 12)])
    found = two_stop_services(visits, places=ferries.matching.places)
    names = ferries.matching.locations
    assert [(names[s.origin], names[s.destination], s.lag_s, s.closed) for s in found] == [
        (MANLY, QUAY, (1800, 1800, 1800), True),
        (QUAY, MANLY, (1800, 1800, 1800), True),
    ]
    assert found[0].bins_later(900) == (2, 2)


#: The N70 as the report has it: from Penrith at 04:16, seen at Mount Druitt and Blacktown; buses by day start after 05:00.
NIGHT = {
    "routes": "route_id,route_short_name,route_type\nN70,N70,714\n728,728,3\n750,750,3\n",
    "stops": (
        "stop_id,stop_name\npi,Penrith Interchange\nsm,St Marys Station\nmd,Mount Druitt Station\nmd2,Luxford Rd\n"
        "bt,Blacktown Station\nbt2,Flushcombe Rd\nth,City Town Hall\n"
    ),
    "trips": "route_id,service_id,trip_id\nN70,W,n\n728,W,a\n728,W,b\n750,W,c\n",
    "stop_times": (
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
        "n,28:16:00,28:16:00,pi,1\nn,28:27:00,28:27:00,sm,2\nn,28:38:00,28:38:00,md,3\nn,28:54:00,28:54:00,bt,4\n"
        "n,29:48:00,29:48:00,th,5\n"
        "a,29:05:00,29:05:00,md,1\na,29:12:00,29:12:00,md2,2\na,29:30:00,29:30:00,bt,3\n"
        "b,29:05:00,29:05:00,bt,1\nb,29:11:00,29:11:00,bt2,2\nb,29:33:00,29:33:00,md,3\n"
        "c,29:07:00,29:07:00,md,1\nc,29:13:00,29:13:00,md2,2\nc,29:35:00,29:35:00,pi,3\n"
    ),
    "calendar_dates": "service_id,date,exception_type\nW,20160725,1\n",
}
POSTCODES = {
    "pi": "2750",
    "sm": "2760",
    "md": "2770",
    "md2": "2770",
    "bt": "2148",
    "bt2": "2148",
    "th": "2000",
}


@pytest.fixture
def night(write_folder):
    feed = read_feed(write_folder(**NIGHT))
    domain = dimensions(modes=["bus"], dates=["2016-07-26"], locations=sorted(set(POSTCODES.values())))
    matching = match_locations(feed, domain.dimensions[-1].values, groups=POSTCODES)
    grid = domain_grid(feed, domain, matching=matching)
    linkage = link_feed(feed, grid=grid, tolerance=Tolerance(on_before_s=60, on_after_s=300))
    return feed, domain, linkage


def test_the_two_night_bus_cells_belong_to_one_vehicle(night):
    feed, domain, linkage = night
    cells = [
        cell(domain, "bus", "2016-07-26", "on", time, place)
        for time, place in (("04:30", "2770"), ("04:45", "2148"))
    ]
    vehicles = [linkage.vehicles_of(one).tolist() for one in cells]
    assert len(vehicles[0]) == 1
    assert vehicles[0] == vehicles[1]
    assert feed.vehicle(linkage.visits, vehicles[0][0]).startswith("N70 28:16 from Penrith Interchange")
    found = unique_cells(linkage)
    (trail,) = [own for run, own in found.trails() if run == vehicles[0][0]]
    assert set(cells) <= set(trail.tolist())
    stops = dict(zip(found.cells.tolist(), found.stop.tolist(), strict=True))
    assert [feed.stops.names[stops[one]] for one in cells] == ["Mount Druitt Station", "Blacktown Station"]


def test_after_five_the_regular_services_hide_the_trip(night):
    _, domain, linkage = night
    later = cell(domain, "bus", "2016-07-26", "on", "05:00", "2770")
    assert len(linkage.vehicles_of(later)) == 2
    assert later not in unique_cells(linkage).cells


def test_visits_are_on_the_date_of_the_wall_clock(night):
    feed, _, _ = night
    assert len(feed.visits([date(2016, 7, 25)])) == 0
    assert len(feed.visits([date(2016, 7, 26)])) == 14
