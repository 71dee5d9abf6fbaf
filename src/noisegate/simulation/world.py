"""`simulate`: a city, its people and a stretch of days, written to files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from noisegate.errors import SpecError
from noisegate.places import new_directory
from noisegate.simulation.city import FEWEST_STOPS, MOST_STOPS, draw_map
from noisegate.simulation.day import Conduct
from noisegate.simulation.files import TapWriter, write_specs, write_stops
from noisegate.simulation.schedule import write_timetable
from noisegate.simulation.season import CITY, POPULARITY, Scenario, tap_days
from noisegate.simulation.town import settle
from noisegate.timetable import NETWORK_MODES, Network, read_feed, write_feed

FIRST_DAY = date(2016, 7, 25)
STOPS_PER_ROOT_PERSON = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What was written, and where.

    Attributes
    ----------
    events
        Rows of `taps.parquet`.
    closed_pair
        The two wharves of the closed ferry, or None in a world without one.
    """

    folder: Path
    events: int
    persons: int
    first: date
    days: int
    stops: int
    seed: int
    closed_pair: tuple[str, str] | None

    @property
    def taps(self) -> Path:
        """The raw events."""
        return self.folder / "taps.parquet"

    @property
    def truth(self) -> Path:
        """Trip, vehicle, service date and true stop of every event, in the same row order."""
        return self.folder / "taps_truth.parquet"

    @property
    def places(self) -> Path:
        """The public list of stops."""
        return self.folder / "stops.csv"

    @property
    def gtfs(self) -> Path:
        """The timetable."""
        return self.folder / "gtfs.zip"

    @property
    def spec(self) -> Path:
        """A sound release spec."""
        return self.folder / "spec.yaml"

    @property
    def spec_2016(self) -> Path:
        """The recipe of 2016."""
        return self.folder / "spec-2016.yaml"


def simulate(
    out: Path,
    /,
    *,
    days: int = 14,
    persons: int = 200_000,
    seed: int = 1,
    gtfs: Path | None = None,
    stops: int | None = None,
    closed_ferry: bool = True,
    forget_rate: float = 0.02,
    straggler_rate: float = 0.01,
    punctual: bool = False,
    start: date | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> World:
    """A world of raw taps with its truth, public lists, timetable and release specs, in a new directory.

    Parameters
    ----------
    out
        The directory to make; it must not exist.
    gtfs
        A feed (zip or folder) whose network is used in place of an invented one.
    stops
        Number of stops of the invented network; 0.7 times the square root of `persons` by default.
    closed_ferry
        Whether there is a two-stop ferry with automatic tap-off. Without it, two-stop ferries of a
        given feed are left out too.
    forget_rate, straggler_rate, punctual
        See `noisegate.simulation.Conduct`.
    start
        The first date. By default 2016-07-25, and with `gtfs` the first Monday that lets all days fall
        inside the feed's calendar.
    progress
        Called with the days done and the days to do.

    Notes
    -----
    *Guarantee*: the same arguments give the same bytes in every file (with the same versions of NumPy
    and Arrow). The directory appears whole or not at all.
    """
    scenario = Scenario(
        days=days,
        persons=persons,
        seed=seed,
        conduct=Conduct(forget_rate=forget_rate, straggler_rate=straggler_rate, punctual=punctual),
    )
    if gtfs is None:
        first = start or FIRST_DAY
        network = invent_network(scenario, stops=stops, closed_ferry=closed_ferry, first=first)
    else:
        if stops is not None:
            raise SpecError(
                "stops and gtfs cannot be given together: a feed has its own stops. Leave one out."
            )
        network = Network.of(read_feed(gtfs), closed_ferry=closed_ferry)
        first = _first_day(network, days=days, start=start)
    dates = [first + timedelta(days=i) for i in range(days)]
    town = settle(network, dates, rng=scenario.rng(POPULARITY))
    with new_directory(Path(out), parents=True) as folder:
        write_feed(network, folder / "gtfs.zip")
        write_stops(network, folder / "stops.csv")
        modes = [NETWORK_MODES[mode] for mode in sorted({route.mode for route in network.routes})]
        write_specs(folder, modes=modes, first=first, days=days)
        events = 0
        with TapWriter(folder, network) as writer:
            for done, taps in enumerate(tap_days(town, scenario, first=first), start=1):
                writer.write(taps)
                events += len(taps)
                if progress is not None:
                    progress(done, days)
    return World(
        folder=Path(out),
        events=events,
        persons=persons,
        first=first,
        days=days,
        stops=len(network.stops),
        seed=seed,
        closed_pair=network.closed_pair(),
    )


def invent_network(scenario: Scenario, /, *, stops: int | None, closed_ferry: bool, first: date) -> Network:
    """The network of an invented city."""
    rng = scenario.rng(CITY)
    count = (
        stops
        if stops is not None
        else min(max(round(STOPS_PER_ROOT_PERSON * scenario.persons**0.5), FEWEST_STOPS), MOST_STOPS)
    )
    city = draw_map(count, closed_ferry=closed_ferry, rng=rng)
    return write_timetable(city, first=first, days=scenario.days, rng=rng)


def _first_day(network: Network, *, days: int, start: date | None) -> date:
    """The first date inside a feed's calendar."""
    opens, closes = network.calendar.first_date, network.calendar.last_date
    latest = closes - timedelta(days=days - 1)
    if latest < opens:
        raise SpecError.for_value(
            "days",
            found=days,
            allowed=f"from 1 to {(closes - opens).days + 1}, the length of the feed's calendar",
        )
    if start is None:
        monday = opens + timedelta(days=-opens.weekday() % 7)
        return min(monday, latest)
    if not opens <= start <= latest:
        raise SpecError.for_value(
            "start", found=str(start), allowed=f"from {opens} to {latest} with this feed"
        )
    return start
