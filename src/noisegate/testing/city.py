"""A city whose truth is known, published as in 2016: what inference is judged on.

Stops differ like Zipf's law, the day has two peaks, days differ a little, stops have times of
their own, and cells are over-dispersed. Each stop has hours of service, which are public; a few
run all night. Nothing here comes from real data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from noisegate.inference import Bools, Floats, Ints, Problem, Sums, as_codes, crossed
from noisegate.laws import as_rng
from noisegate.testing.worlds import publish_counts, recipe_2016

BINS = 96


@dataclass(frozen=True, slots=True, kw_only=True)
class ModePlan:
    """One mode in one direction: how many stops, how many taps a stop sees in a day, how uneven.

    `shape` is that of the over-dispersion of single cells, `habit` that of stops with times of
    their own (large means none); `night_stops` stops run all night.
    """

    stops: int
    taps: float
    shape: float = 8.0
    habit: float = 4.0
    zipf: float = 0.8
    night_stops: int = 6


#: Trains, buses, ferries and light rail of a city: busy stations, many quiet stops, few wharves.
CITY = (
    ModePlan(stops=60, taps=1200.0),
    ModePlan(stops=80, taps=300.0),
    ModePlan(stops=8, taps=500.0, night_stops=3),
    ModePlan(stops=16, taps=700.0, night_stops=4),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CityTruth:
    """A problem and the counts behind it; every list has one entry for each cell.

    `intensity` is the true mean of each cell, if there is one to know.
    """

    problem: Problem
    counts: Ints
    mode: Ints
    day: Ints
    stop: Ints
    time: Ints
    intensity: Floats | None = None

    @classmethod
    def publish(
        cls,
        counts: Sequence[Ints],
        /,
        *,
        rng: np.random.Generator,
        closed: Sequence[Bools] | None = None,
        intensity: Floats | None = None,
    ) -> CityTruth:
        """Counts by day, stop and time of each mode, published as in 2016 with margins by time and by stop.

        The base has threshold 18, margins have noise of their own and threshold 35. `closed` are
        cells known to have no service.
        """
        generator = as_rng(rng)
        grids = [np.indices(grid.shape).reshape(3, -1) for grid in counts]
        day, stop, time = np.concatenate(grids, axis=1)
        mode = np.repeat(np.arange(len(counts)), [grid.size for grid in counts])
        flat = np.concatenate([grid.ravel() for grid in counts]).astype(np.int64)
        days = int(day.max()) + 1
        by_time = (mode * days + day) * BINS + time
        by_stop = as_codes((mode * days + day) * (int(stop.max()) + 1) + stop)
        base, margin = recipe_2016(threshold=18), recipe_2016(threshold=35)
        tables = [Sums.of_cells(publish_counts(flat, base, rng=generator), mechanism=base, name="time-loc")]
        for name, codes in (("time", by_time), ("loc", by_stop)):
            sums = np.bincount(codes, weights=flat).astype(np.int64)
            tables.append(
                Sums.by(codes, publish_counts(sums, margin, rng=generator), mechanism=margin, name=name)
            )
        zeros = None if closed is None else np.concatenate([flags.ravel() for flags in closed])
        problem = Problem(cells=len(flat), tables=tuple(tables), structural_zero=zeros)
        return cls(
            problem=problem, counts=flat, mode=mode, day=day, stop=stop, time=time, intensity=intensity
        )

    @property
    def suppressed(self) -> Bools:
        """Cells that could have been published and were not."""
        return np.isnan(self.problem.tables[0].values) & ~self.problem.zeros

    @property
    def effects(self) -> tuple[Ints, ...]:
        """Stop, time and day within each mode, and each pair of them."""
        return crossed(
            row=self.mode * 10_000 + self.stop,
            column=self.mode * BINS + self.time,
            day=self.mode * 1000 + self.day,
        )

    @property
    def base_only(self) -> Problem:
        """The same without the margins: what the obvious attacker has."""
        return Problem(
            cells=self.problem.cells,
            tables=self.problem.tables[:1],
            structural_zero=self.problem.structural_zero,
        )

    def smallest_total(self) -> Ints:
        """For each cell the number of possibly non-empty members of its smallest published total."""
        members = np.full(self.problem.cells, self.problem.cells, dtype=np.int64)
        for table in self.problem.tables[1:]:
            live = ~self.problem.zeros[table.indices]
            row = np.repeat(np.arange(table.rows), np.diff(table.indptr))
            sizes = np.bincount(row[live], minlength=table.rows)
            sizes[np.isnan(table.values)] = self.problem.cells
            np.minimum.at(members, table.indices, sizes[row])
        return members


def simulate_tables(
    plans: Sequence[ModePlan], /, *, days: int, rng: np.random.Generator, known_service: bool = True
) -> CityTruth:
    """Base table and margins by time and by location for some modes and days.

    With `known_service` off, stops without service are as unknown as any other cell.
    """
    generator = as_rng(rng)
    pieces = [_intensities(plan, days, generator) for plan in plans]
    intensity = np.concatenate([mean.ravel() for mean in pieces])
    dispersion = np.repeat([plan.shape for plan in plans], [mean.size for mean in pieces])
    counts = generator.poisson(intensity * generator.gamma(dispersion, 1 / dispersion)).astype(np.int64)
    closed = [mean == 0 for mean in pieces] if known_service else None
    edges = np.cumsum([mean.size for mean in pieces])[:-1]
    grids = [part.reshape(mean.shape) for part, mean in zip(np.split(counts, edges), pieces, strict=True)]
    return CityTruth.publish(grids, rng=generator, closed=closed, intensity=intensity)


def _intensities(plan: ModePlan, days: int, rng: np.random.Generator, /) -> Floats:
    """Mean counts by day, stop and time of one mode; zero where there is no service."""
    stops = np.arange(1, plan.stops + 1) ** -plan.zipf
    hours = (np.arange(BINS) + 0.5) * 24 / BINS
    peaks = ((8.5, 1.2, 1.0), (17.5, 1.5, 0.9), (13.0, 4.0, 0.25))
    profile = np.full(BINS, 0.03)
    for at, width, height in peaks:
        profile += height * np.exp(-(((hours - at) / width) ** 2) / 2)
    habit = rng.gamma(plan.habit, 1 / plan.habit, (1, plan.stops, BINS))
    levels = np.exp(rng.normal(0, 0.15, (days, 1, 1)))
    opens, closes = rng.uniform(4.5, 6.5, plan.stops), rng.uniform(21.5, 24.5, plan.stops)
    runs = (hours >= opens[:, None]) & (hours < closes[:, None])
    runs[rng.permutation(plan.stops)[: plan.night_stops]] = True
    shares = stops[:, None] / stops.mean() * profile / profile.sum()
    return np.asarray(plan.taps * levels * shares * habit * runs)
