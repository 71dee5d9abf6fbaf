"""Simulate a small city, release it three ways, assess each release, and set the results side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.assessment import Assessment, assess
from noisegate.demo.recipes import Recipe, measured_errors, write_recipes
from noisegate.errors import OutputError
from noisegate.inference import CellEstimates
from noisegate.laws import Entropy
from noisegate.ledger import open_ledger
from noisegate.releases import release
from noisegate.report import write_assessment
from noisegate.simulation import World, simulate
from noisegate.spec import load_spec
from noisegate.tables import Card

Report = Callable[[str], None]

#: A city small enough for a minute, large enough for a ferry whose noise can be read off.
PERSONS, DAYS, SEED = 60_000, 7, 7
#: Suppressed counts whose 95 % interval spans at most this are called narrow.
NARROW = 7
_TABLES = ("time-loc", "time", "loc")


@dataclass(frozen=True, kw_only=True, eq=False)
class Chapter:
    """One release, what an outsider gets out of it, and how accurate it is.

    Attributes
    ----------
    errors
        For each table, the mean distance from the raw counts, over cells that hold somebody.
    """

    recipe: Recipe
    release: Path
    report: Path
    card: Card
    assessment: Assessment
    errors: dict[str, float]

    @property
    def promise(self) -> tuple[float | None, float | None]:
        """Epsilon and delta of what the release promises to one unit."""
        charged = self.card.parameters
        return (None, None) if charged is None else (charged.epsilon, charged.delta)

    @property
    def scale(self) -> tuple[float, tuple[float, float]] | None:
        """The scale of the noise as recovered from the base, with its interval; None if it was not."""
        fit = self.assessment.noise[_TABLES[0]].fit
        return None if fit is None else (fit.scale, fit.interval)

    @property
    def couplings(self) -> int:
        """How many pairs of series hold the same counts twice."""
        return len(self.assessment.couplings)

    @cached_property
    def worked_out(self) -> int:
        """Suppressed counts that other records narrow down to a few, and that surely are not zero.

        Those that are nearly as narrow without the other records do not count: they follow from how counts vary.
        """
        inference = self.assessment.inference
        if inference is None or not inference.evidence.linked:
            return 0
        known, alone = inference.posterior, inference.alone()
        gained = _narrow(known) & (alone.high - alone.low >= 2 * (known.high - known.low))
        return int((gained & inference.evidence.suppressed).sum())

    @property
    def sharpest(self) -> str:
        """The suppressed cell that is known best, in words; empty if none surely holds somebody."""
        found = [one for one in self.assessment.results if one.id == "pinned-cells"]
        cells = found[0].numbers.get("most_exposed", []) if found else []
        return f"{cells[0]['cell']}: {cells[0]['lo']} to {cells[0]['hi']}" if cells else ""

    @property
    def one_vehicle(self) -> int:
        """Published cells that only one scheduled vehicle can have filled."""
        vehicles = self.assessment.vehicles
        return 0 if vehicles is None else vehicles.exposure.published_alone

    @property
    def severities(self) -> dict[str, int]:
        """How many findings there are of each severity."""
        found = [one.severity for one in self.assessment.findings]
        return {name: found.count(name) for name in ("high", "medium", "low")}

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        epsilon, delta = self.promise
        return {
            "release": self.recipe.key,
            "unit": self.recipe.unit,
            "epsilon": epsilon,
            "delta": delta,
            "delta_positive_at_every_epsilon": bool(delta),
            "recovered_scale": None if self.scale is None else self.scale[0],
            "recovered_scale_interval": None if self.scale is None else list(self.scale[1]),
            "coupled_series": self.couplings,
            "suppressed_counts_worked_out": self.worked_out,
            "sharpest": self.sharpest,
            "one_vehicle_cells": self.one_vehicle,
            "findings": self.severities,
            "mean_absolute_error": self.errors,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Story:
    """The city and its three releases."""

    folder: Path
    world: World
    chapters: tuple[Chapter, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "city": {"taps": self.world.events, "cards": self.world.persons, "days": self.world.days},
            "tables": [chapter.to_json() for chapter in self.chapters],
        }


def tell(
    folder: Path,
    /,
    *,
    persons: int = PERSONS,
    days: int = DAYS,
    seed: int = SEED,
    entropy: Entropy | None = None,
    report: Report = lambda _: None,
) -> Story:
    """Run the whole story in the directory `folder`, which must not exist.

    The city is the same on every run; the noise of the releases is not, unless `entropy` is repeatable.
    """
    if folder.exists():
        raise OutputError(f"The directory {folder} exists already; remove it, or choose another with --out.")
    try:
        folder.mkdir(parents=True)
    except OSError as problem:
        reason = (problem.strerror or "unknown reason").lower()
        raise OutputError(
            f"The directory {folder} cannot be made: {reason}; choose another with --out."
        ) from None
    report("simulating a city")
    world = simulate(folder / "city", persons=persons, days=days, seed=seed)
    recipes = write_recipes(world, str(world.first + timedelta(days=days - 1)))
    return Story(
        folder=folder,
        world=world,
        chapters=tuple(_chapter(recipe, world, folder / recipe.key, entropy, report) for recipe in recipes),
    )


def _narrow(posterior: CellEstimates, /) -> NDArray[np.bool_]:
    return np.asarray((posterior.low > 0) & (posterior.high - posterior.low <= NARROW))


def _chapter(
    recipe: Recipe, world: World, folder: Path, entropy: Entropy | None, report: Report, /
) -> Chapter:
    """Release once, and take the release apart with the public timetable."""

    def say(what: str) -> None:
        report(f"{recipe.title}: {what}")

    folder.mkdir()
    released = folder / "release"
    with open_ledger(folder / "ledger.db", read_only=True) as ledger:
        ledger.forget()  # the ledger of an earlier run may have been here
    made = release(
        load_spec(recipe.spec), out=released, ledger=folder / "ledger.db", entropy=entropy, report=say
    )
    assessment = assess(
        [released / f"{name}.csv" for name in _TABLES],
        gtfs=world.gtfs,
        weeks=52,
        progress=say,
    )
    write_assessment(assessment, folder / "assessment", progress=say)
    say("measuring errors")
    return Chapter(
        recipe=recipe,
        release=released,
        report=folder / "assessment" / "report.html",
        card=made.card,
        assessment=assessment,
        errors=measured_errors(recipe.spec, released),
    )
